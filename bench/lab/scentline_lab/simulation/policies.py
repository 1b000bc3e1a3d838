"""The policies to compare, and inputs that the learned one was tried with (`docs/learning.md`)."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from scentline.models.frontier.keys import Rows
from scentline.models.frontier.rows import PageRow
from scentline.models.lessons import lessons
from scentline.models.ordering import Rank
from scentline.models.papers.patterns import mine
from scentline.models.papers.ways import Behaviour
from scentline.models.policy.combiner import Vector
from scentline.models.policy.factors import region_log
from scentline.models.policy.features import BASE, PAPER, USER, Base, Significant, region, user
from scentline.models.policy.inputs import MOST, Input
from scentline.models.policy.known import Known
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.scoring import PaperScorer, crowd_of
from scentline.models.reuse import State
from scentline.models.semantic import SemanticTable
from scentline.models.settings import PaperPolicy
from scentline.models.trace import SIXTHS, Trace
from scentline.models.url import host
from scentline.streams.settings import Settings
from scentline_lab.order.crawl import Backlinks
from scentline_lab.simulation.core import CoreCrawler
from scentline_lab.simulation.simple import BreadthFirst, Chance, Estimated, Opic, Ranked, TagPaths
from scentline_lab.simulation.virtual import Crawler, Task
from scentline_lab.simulation.words import BestFirst, Hindsight, Informed, LinkClassifier, SharkSearch


class Further(LearnedScorer):
    """The learned policy with ``more`` inputs, computed of a page and a predicate."""

    more: tuple[Input, ...]

    def __init__(self, table: SemanticTable | None, trace: Trace) -> None:
        super().__init__(table)

    def values(self, shard: Rows, row: PageRow, predicate: str) -> list[float]:
        raise NotImplementedError

    def all_inputs(self) -> tuple[Input, ...]:
        return (*super().all_inputs(), *self.more)

    def further(self, shard: Rows, rows: Sequence[PageRow], known: Sequence[Known]) -> list[Vector]:
        values = [[self.values(shard, row, each.predicate) for row in rows] for each in known]
        return [*super().further(shard, rows, known), np.clip(np.array(values, float), -MOST, MOST)]


class Significance(Further):
    """Log I^B of the users with T >= 2, and log I^TL (Aggarwal 2004, equations (9), (12) and (13))."""

    more = Input("significant users", 0.0, 0.3), Input("region of locality", 0.0, 0.3)

    def values(self, shard: Rows, row: PageRow, predicate: str) -> list[float]:
        ledger = self.ledger
        base, crowd = Base(*ledger.get(BASE, predicate)), crowd_of(shard, row, predicate)
        (pages,), (hits,) = ledger.counts([*map(user, crowd.visitors)], [predicate])
        users = float(Significant(base).logs(pages, hits, np.full(len(pages), PAPER[USER])).sum())
        within = crowd.within if row.visits else None
        return [users, region_log(within, ledger.get(region(predicate), predicate), base)]


class ExpectedVisits(Further):
    """The log of a page's visits, shrunk to those of its pattern and site (`docs/papers/2011-liu.md`)."""

    more = (Input("expected visits", 0.0, 0.3),)

    def __init__(self, table: SemanticTable | None, trace: Trace) -> None:
        sites = defaultdict[str, list[str]](list)
        for url in trace.accesses:
            sites[host(url)].append(url)
        self._patterns = {site: mine(_behaviour(trace, urls)) for site, urls in sites.items()}
        super().__init__(table, trace)

    def values(self, shard: Rows, row: PageRow, predicate: str) -> list[float]:
        patterns = self._patterns.get(host(row.url))
        expected = 0.0 if patterns is None else patterns.expected_visits(row.url, row.visits)
        return [math.log1p(expected) / 3]


def _behaviour(trace: Trace, urls: Collection[str]) -> Behaviour:
    """Return what users did on a site; co-visits stand for ways, in either direction."""
    visits = {url: trace.accesses[url] for url in urls}
    ways = {
        (url, other): sixths // SIXTHS
        for url in urls
        for other, (_, sixths) in trace.together.get(url, {}).items()
        if sixths >= SIXTHS and other in visits
    }
    referrals: Counter[str] = Counter()
    for (url, _), times in ways.items():
        referrals[url] += times
    return Behaviour(visits, referrals, ways)


PAPERS: tuple[PaperPolicy, ...] = ("linkage", "collaborative", "combined")  #: Aggarwal 2004.
UNBOUNDED = 1 << 62  #: A bound that nothing reaches.


class Truth(NamedTuple):
    """What the `LIMITS` know: the URLs of the hits, and what the whole archive tells."""

    hits: Collection[str]
    hindsight: Hindsight


class Maker(Protocol):
    """Makes a crawler for a task; one of the `REUSABLE` may start with an earlier one's state."""

    def __call__(self, task: Task, truth: Truth, state: Any = None) -> Crawler: ...


ORACLE, INFORMED = "oracle", "informed"
LIMITS = frozenset({INFORMED, ORACLE})  #: They know more than a crawl can, so they are out of contest.
#: The crawl's default; the same without word meanings, and with more inputs.
LEARNED, PLAIN = "learned", "learned-plain"
SIGNIFICANCE, VISITS = "learned+significance", "learned+visits"
PRINTED = "-printed"  #: Ends the names of the paper's policies to the letter.
#: Those that learn, so that the window limits their pages in flight; they can take up an earlier crawl's state.
REUSABLE = (*PAPERS, LEARNED)
#: Those that are compared only where they are named.
ASIDE = frozenset({*(name + PRINTED for name in PAPERS), PLAIN, SIGNIFICANCE, VISITS})


def policies(settings: Settings, table: SemanticTable | None = None) -> dict[str, Maker]:
    """Return all policies; the crawl's go by its ``settings``, ``table`` has word vectors."""
    alone: dict[str, Callable[[Task], Crawler]] = {
        "random": Chance, "breadth-first": BreadthFirst, "backlink": lambda task: Estimated(Backlinks(), task),
        "pagerank": lambda task: Estimated(Rank(), task), "opic": Opic, "tag-paths": TagPaths,
        "shark-search": SharkSearch, "best-first": BestFirst, "link-classifier": LinkClassifier,
    }  # fmt: skip
    learn, frontier = {"significance": "paper"}, {"parents": UNBOUNDED, "candidates": "paper"}
    printed = changed(settings, learn=learn, frontier=frontier)
    learned = partial(_learned, settings=settings, table=table)
    return {
        **{name: partial(_alone, maker=maker) for name, maker in alone.items()},
        **{name: partial(_paper, policy=name, settings=settings) for name in PAPERS},
        LEARNED: learned,
        INFORMED: lambda task, truth, state=None: Informed(truth.hindsight.expected(truth.hits)),
        # Greedy, so no upper bound; without the log, which would tell it every URL at once.
        ORACLE: lambda task, truth, state=None: Ranked(lambda url: float(url in truth.hits)),
        **{name + PRINTED: partial(_paper, policy=name, settings=printed) for name in PAPERS},
        PLAIN: partial(_learned, settings=settings),
        SIGNIFICANCE: partial(learned, further=Significance),
        VISITS: partial(learned, further=ExpectedVisits),
    }


def _alone(task: Task, truth: Truth, state: None = None, *, maker: Callable[[Task], Crawler]) -> Crawler:
    return maker(task)


def _learned(
    task: Task,
    truth: Truth,
    state: State | None = None,
    *,
    settings: Settings,
    table: SemanticTable | None = None,
    further: type[Further] | None = None,
) -> Crawler:
    scorer = LearnedScorer(table) if further is None else further(table, task.trace)
    settings = changed(settings, frontier={"policy": LEARNED, "domain_share": 1.0})
    return CoreCrawler(task, settings, scorer, state)


def _paper(
    task: Task, truth: Truth, state: State | None = None, *, policy: PaperPolicy, settings: Settings
) -> Crawler:
    """Make a policy of the paper, which leaves no choice to chance."""
    settings = changed(settings, frontier={"policy": policy, "domain_share": 1.0, "explore": 0.0})
    printed = settings.frontier.candidates == "paper"
    return CoreCrawler(task, settings, PaperScorer(settings.learn, lessons(policy), printed=printed), state)


def changed(settings: Settings, **sections: Mapping[str, Any]) -> Settings:
    """Return settings with some values changed, by section."""
    found = {name: getattr(settings, name).model_copy(update=given) for name, given in sections.items()}
    return settings.model_copy(update=found)
