"""The policies that can be compared, by name."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

from scentline.models.interest.ratio import Denominator
from scentline.models.semantic.table import SemanticTable
from scentline_lab.simulation.baselines.informed import Hindsight, Informed
from scentline_lab.simulation.baselines.link_classifier import LinkClassifier
from scentline_lab.simulation.baselines.queries import BestFirst, SharkSearch
from scentline_lab.simulation.baselines.simple import Backlink, BreadthFirst, Chance, Opic, Oracle, PageRank
from scentline_lab.simulation.baselines.tag_paths import TagPaths
from scentline_lab.simulation.crawler import Crawler, Task
from scentline_lab.simulation.further import ExpectedVisits, Significance
from scentline_lab.simulation.learned import LearnedCrawler
from scentline_lab.simulation.paper import UNBOUNDED, PaperCrawler, PaperPolicy


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
LEARNING = (LEARNED, *get_args(PaperPolicy))


class Measures(NamedTuple):
    """The settings that the policies go by, by their names."""

    t: float = 2.0
    significance: Denominator = "binomial"
    weights: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    parents: int = 32
    rescored: int = 50
    explore: float = 0.01


USUAL = Measures()


@runtime_checkable
class Reusable(Protocol):
    """A crawler whose learning serves another crawl (Aggarwal 2004, section 4.1)."""

    def export_state(self) -> object:
        """Return what was learned, without pages and users' identities."""


def policies(measures: Measures = USUAL, table: SemanticTable | None = None) -> dict[str, Maker]:
    """Return the policies compared where none is named; ``table`` has the learned one's word vectors."""
    alone: dict[str, Callable[..., Crawler]] = {
        "random": Chance, "breadth-first": BreadthFirst, "backlink": Backlink, "pagerank": PageRank,
        "opic": Opic, "tag-paths": TagPaths, "shark-search": SharkSearch, "best-first": BestFirst,
        "link-classifier": LinkClassifier,
    }  # fmt: skip
    found = {name: _without_truth(maker) for name, maker in (alone | reusable(measures, table)).items()}
    found[INFORMED] = lambda task, truth: Informed(truth.hindsight.expected(truth.hits))
    found[ORACLE] = lambda task, truth: Oracle(truth.hits)
    return found


def _without_truth(maker: Callable[..., Crawler]) -> Maker:
    return lambda task, truth: maker(task)


def named(measures: Measures = USUAL, table: SemanticTable | None = None) -> dict[str, Maker]:
    """Return all policies, those too that are compared only where they are named."""
    found = policies(measures, table)
    for name in get_args(PaperPolicy):
        printed = measures._replace(significance="paper", parents=UNBOUNDED)
        found[name + PRINTED] = _without_truth(partial(_paper, policy=name, measures=printed, own=True))
    found[PLAIN] = _without_truth(partial(_learned, measures=measures))
    for name, further in ((SIGNIFICANCE, Significance), (VISITS, ExpectedVisits)):
        found[name] = _without_truth(partial(_learned, measures=measures, table=table, further=further))
    return found


def reusable(measures: Measures = USUAL, table: SemanticTable | None = None) -> dict[str, Heir]:
    """Return the policies that can start with the state of an earlier crawl, or with None."""
    found: dict[str, Heir] = {
        name: partial(_paper, policy=name, measures=measures) for name in get_args(PaperPolicy)
    }
    return found | {LEARNED: partial(_learned, measures=measures, table=table)}


def _learned(task: Task, state: Any = None, *, measures: Measures, **given: Any) -> Crawler:
    bounds: dict[str, Any] = {"rescored": measures.rescored, "parents": measures.parents}
    return LearnedCrawler(task, measures.explore, state=state, **bounds, **given)


def _paper(
    task: Task, state: Any = None, *, policy: PaperPolicy, measures: Measures, own: bool = False
) -> Crawler:
    """Make a policy of the paper; as printed it has candidates of its ``own``."""
    of_counts = measures.parents, measures.t, measures.significance
    settings: dict[str, Any] = {"weights": measures.weights, "rescored": measures.rescored}
    return PaperCrawler(task, policy, *of_counts, state=state, own=own, **settings)
