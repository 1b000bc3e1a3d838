"""The policies that can be compared, by name."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.scoring import PaperScorer
from scentline.models.interest.trace import Trace
from scentline.models.lessons import lessons
from scentline.models.reuse import State
from scentline.models.semantic.table import SemanticTable
from scentline.streams.crawl_settings import PaperPolicy
from scentline.streams.settings import Settings
from scentline_lab.simulation.baselines.informed import Hindsight, Informed
from scentline_lab.simulation.baselines.link_classifier import LinkClassifier
from scentline_lab.simulation.baselines.queries import BestFirst, SharkSearch
from scentline_lab.simulation.baselines.simple import Backlink, BreadthFirst, Chance, Opic, Oracle, PageRank
from scentline_lab.simulation.baselines.tag_paths import TagPaths
from scentline_lab.simulation.core import CoreCrawler
from scentline_lab.simulation.crawler import Crawler, Task
from scentline_lab.simulation.further import ExpectedVisits, Further, FurtherScorer, Significance

#: The policies of Aggarwal (2004).
PAPERS: tuple[PaperPolicy, ...] = ("linkage", "collaborative", "combined")
#: A bound that nothing reaches.
UNBOUNDED = 1 << 62


class Truth(NamedTuple):
    """What the policies that mark limits know: the URLs of ``hits``, and ``hindsight`` on the whole archive."""

    hits: Collection[str]
    hindsight: Hindsight


#: Makes a crawler for a task.
Maker: TypeAlias = Callable[[Task, Truth], Crawler]
#: Makes a crawler that starts with the state of an earlier one.
Heir: TypeAlias = Callable[[Task, Any], Crawler]

ORACLE = "oracle"
INFORMED = "informed"
#: Those that know more than a crawl can; they are out of contest.
LIMITS = frozenset({INFORMED, ORACLE})
#: The crawl's default, and the same without word meanings.
LEARNED = "learned"
PLAIN = "learned-plain"
#: The learned policy with inputs that it was tried with.
SIGNIFICANCE, VISITS = "learned+significance", "learned+visits"
#: The end of the names of the paper's policies as printed, to the letter.
PRINTED = "-printed"


#: The policies, or beginnings of their names, whose pages in flight the crawl's window limits.
LEARNING = (LEARNED, *PAPERS)


@runtime_checkable
class Reusable(Crawler, Protocol):
    """A crawler whose learning serves another crawl (Aggarwal 2004, section 4.1)."""

    def export_state(self) -> State:
        """Return what was learned, without pages and users' identities."""


def policies(settings: Settings, table: SemanticTable | None = None) -> dict[str, Maker]:
    """Return the policies compared where none is named; the crawl's go by its ``settings``.

    ``table`` has the learned one's word vectors.
    """
    alone: dict[str, Callable[..., Crawler]] = {
        "random": Chance, "breadth-first": BreadthFirst, "backlink": Backlink, "pagerank": PageRank,
        "opic": Opic, "tag-paths": TagPaths, "shark-search": SharkSearch, "best-first": BestFirst,
        "link-classifier": LinkClassifier,
    }  # fmt: skip
    found = {name: _without_truth(maker) for name, maker in (alone | reusable(settings, table)).items()}
    found[INFORMED] = lambda task, truth: Informed(truth.hindsight.expected(truth.hits))
    found[ORACLE] = lambda task, truth: Oracle(truth.hits)
    return found


def _without_truth(maker: Callable[..., Crawler]) -> Maker:
    return lambda task, truth: maker(task)


def named(settings: Settings, table: SemanticTable | None = None) -> dict[str, Maker]:
    """Return all policies, those too that are compared only where they are named."""
    found = policies(settings, table)
    learn, frontier = {"significance": "paper"}, {"parents": UNBOUNDED, "candidates": "paper"}
    printed = changed(settings, learn=learn, frontier=frontier)
    for name in PAPERS:
        found[name + PRINTED] = _without_truth(partial(_paper, policy=name, settings=printed))
    found[PLAIN] = _without_truth(partial(_learned, settings=settings))
    tried: dict[str, Callable[[Trace], Further]] = {SIGNIFICANCE: Significance, VISITS: ExpectedVisits}
    for tried_as, further in tried.items():
        found[tried_as] = _without_truth(partial(_learned, settings=settings, table=table, further=further))
    return found


def reusable(settings: Settings, table: SemanticTable | None = None) -> dict[str, Heir]:
    """Return the policies that can start with the state of an earlier crawl, or with None."""
    found: dict[str, Heir] = {name: partial(_paper, policy=name, settings=settings) for name in PAPERS}
    return found | {LEARNED: partial(_learned, settings=settings, table=table)}


def _learned(
    task: Task,
    state: State | None = None,
    *,
    settings: Settings,
    table: SemanticTable | None = None,
    further: Callable[[Trace], Further] | None = None,
) -> Crawler:
    scorer = LearnedScorer(table) if further is None else FurtherScorer(table, further(task.trace))
    return CoreCrawler(
        task, changed(settings, frontier={"policy": LEARNED, "domain_share": 1.0}), scorer, state
    )


def _paper(task: Task, state: State | None = None, *, policy: PaperPolicy, settings: Settings) -> Crawler:
    """Make a policy of the paper, which leaves no choice to chance."""
    settings = changed(settings, frontier={"policy": policy, "domain_share": 1.0, "explore": 0.0})
    printed = settings.frontier.candidates == "paper"
    return CoreCrawler(task, settings, PaperScorer(settings.learn, lessons(policy), printed=printed), state)


def changed(settings: Settings, **sections: Mapping[str, Any]) -> Settings:
    """Return settings of which some are others, by their sections."""
    found = {name: getattr(settings, name).model_copy(update=given) for name, given in sections.items()}
    return settings.model_copy(update=found)
