"""The policies that can be compared, by name."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

from scentline.models.interest.ratio import Denominator
from scentline.models.semantic.table import SemanticTable
from scentline_lab.simulation.baselines.best_first import BestFirst
from scentline_lab.simulation.baselines.informed import Hindsight, Informed
from scentline_lab.simulation.baselines.link_classifier import LinkClassifier
from scentline_lab.simulation.baselines.opic import Opic
from scentline_lab.simulation.baselines.shark_search import SharkSearch
from scentline_lab.simulation.baselines.simple import Backlink, BreadthFirst, Chance, Oracle, PageRank
from scentline_lab.simulation.baselines.tag_paths import TagPaths
from scentline_lab.simulation.crawler import Crawler, Task
from scentline_lab.simulation.further import ExpectedVisits, Significance
from scentline_lab.simulation.learned import LearnedCrawler
from scentline_lab.simulation.paper import UNBOUNDED, PaperCrawler, PaperPolicy


class Truth(NamedTuple):
    """What no crawl knows, for the policies that mark its limits.

    ``hits`` are the URLs of the pages that satisfy the predicate; ``hindsight`` is on the whole archive.
    """

    hits: Collection[str]
    hindsight: Hindsight


#: Makes a crawler for a task.
Maker: TypeAlias = Callable[[Task, Truth], Crawler]
#: Makes a crawler that starts with the state of an earlier one.
Heir: TypeAlias = Callable[[Task, Any], Crawler]

ORACLE = "oracle"
INFORMED = "informed"
#: Those that know what no crawl knows; they are out of contest.
LIMITS = frozenset({INFORMED, ORACLE})
#: The crawl's default, and the same without word meanings.
LEARNED = "learned"
PLAIN = "learned-plain"
#: The learned policy with inputs that it was tried with.
SIGNIFICANCE, VISITS = "learned+significance", "learned+visits"
#: What is put behind the name of one of the paper's policies: as the paper has it, to the letter.
PRINTED = "-printed"


#: What the names of the policies of which the crawl's window says how many pages are in flight begin with.
LEARNING = (LEARNED, *get_args(PaperPolicy))


class Measures(NamedTuple):
    """What the policies are held to, as the settings of the same names hold the crawl's."""

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
    """Return the policies that are compared where none is named, from chance to the oracle.

    ``table`` has the word vectors of the learned one, which has no word meanings where there is none.
    """
    found: dict[str, Maker] = {
        "random": lambda task, truth: Chance(task),
        "breadth-first": lambda task, truth: BreadthFirst(task),
        "backlink": lambda task, truth: Backlink(task),
        "pagerank": lambda task, truth: PageRank(task),
        "opic": lambda task, truth: Opic(task),
        "tag-paths": lambda task, truth: TagPaths(task),
        "shark-search": lambda task, truth: SharkSearch(task),
        "best-first": lambda task, truth: BestFirst(task),
        "link-classifier": lambda task, truth: LinkClassifier(task),
    }
    heirs = reusable(measures, table)
    for name in (*get_args(PaperPolicy), LEARNED):
        found[name] = _anew(heirs[name])
    found[INFORMED] = lambda task, truth: Informed(truth.hindsight.expected(truth.hits))
    found[ORACLE] = lambda task, truth: Oracle(truth.hits)
    return found


def named(measures: Measures = USUAL, table: SemanticTable | None = None) -> dict[str, Maker]:
    """Return all policies, those too that are compared only where they are named."""
    found = policies(measures, table)
    for name in get_args(PaperPolicy):
        found[name + PRINTED] = _printed(name, measures)
    found[PLAIN] = lambda task, truth: _learned(task, measures)
    found[SIGNIFICANCE] = lambda task, truth: _learned(task, measures, table=table, further=Significance)
    found[VISITS] = lambda task, truth: _learned(task, measures, table=table, further=ExpectedVisits)
    return found


def reusable(measures: Measures = USUAL, table: SemanticTable | None = None) -> dict[str, Heir]:
    """Return the policies that can start with what an earlier crawl has learned, or with None."""
    found: dict[str, Heir] = {name: _paper(name, measures) for name in get_args(PaperPolicy)}
    found[LEARNED] = lambda task, state: _learned(task, measures, table=table, state=state)
    return found


def _anew(heir: Heir) -> Maker:
    return lambda task, truth: heir(task, None)


def _learned(task: Task, measures: Measures, **given: Any) -> LearnedCrawler:
    return LearnedCrawler(task, measures.explore, rescored=measures.rescored, parents=measures.parents, **given)


def _paper(policy: PaperPolicy, measures: Measures) -> Heir:
    def make(task: Task, state: Any) -> Crawler:
        return PaperCrawler(
            task,
            policy,
            measures.parents,
            measures.t,
            measures.significance,
            weights=measures.weights,
            rescored=measures.rescored,
            state=state,
        )

    return make


def _printed(policy: PaperPolicy, measures: Measures) -> Maker:
    """Make a policy as printed: with the paper's denominators, candidates of its own, and no bounds."""
    return lambda task, truth: PaperCrawler(
        task,
        policy,
        UNBOUNDED,
        measures.t,
        "paper",
        weights=measures.weights,
        rescored=measures.rescored,
        own=True,
    )
