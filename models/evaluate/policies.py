"""The policies that can be compared, by name."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, runtime_checkable

from models.evaluate.baselines.best_first import BestFirst
from models.evaluate.baselines.link_classifier import LinkClassifier
from models.evaluate.baselines.simple import Backlink, BreadthFirst, Chance, Oracle, PageRank
from models.evaluate.crawler import Crawler, Task
from models.evaluate.learned import LearnedCrawler
from models.evaluate.paper import PaperCrawler
from models.semantic.table import SemanticTable

#: Makes a crawler for a task; the URLs of the pages that satisfy the predicate are for the oracle alone.
Maker: TypeAlias = Callable[[Task, Collection[str]], Crawler]
#: Makes a crawler that starts with the state of an earlier one.
Heir: TypeAlias = Callable[[Task, Any], Crawler]

ORACLE = "oracle"
#: The learned policy with a table of word vectors, which takes a table.
SEMANTIC = "learned+semantic"
#: The learned policy with PageRank for an input; it is compared where it is asked for.
IMPORTANCE = "learned+importance"


@runtime_checkable
class Reusable(Protocol):
    """A crawler whose learning serves another crawl (Aggarwal 2004, section 4.1)."""

    def export_state(self) -> object:
        """Return what was learned, without pages and users' identities."""


#: From chance to the oracle; the paper's own and the learned one between.
POLICIES: Mapping[str, Maker] = MappingProxyType({
    "random": lambda task, hits: Chance(task),
    "breadth-first": lambda task, hits: BreadthFirst(task),
    "backlink": lambda task, hits: Backlink(task),
    "pagerank": lambda task, hits: PageRank(task),
    "best-first": lambda task, hits: BestFirst(task),
    "link-classifier": lambda task, hits: LinkClassifier(task),
    "linkage": lambda task, hits: PaperCrawler(task, "linkage"),
    "collaborative": lambda task, hits: PaperCrawler(task, "collaborative"),
    "combined": lambda task, hits: PaperCrawler(task, "combined"),
    "learned": lambda task, hits: LearnedCrawler(task),
    ORACLE: Oracle,
})  # fmt: skip


def with_semantic(table: SemanticTable) -> Mapping[str, Maker]:
    """Return the policies with the learned one a second time, with a table of word vectors, behind it."""
    found: dict[str, Maker] = {}
    for name, maker in POLICIES.items():
        found[name] = maker
        if name == "learned":
            found[SEMANTIC] = lambda task, hits: LearnedCrawler(task, table=table)
    return found


def with_importance(makers: Mapping[str, Maker]) -> Mapping[str, Maker]:
    """Return policies with the learned one once more, with importance, behind them."""
    return {**makers, IMPORTANCE: lambda task, hits: LearnedCrawler(task, importance=True)}


#: Those that can start with what an earlier crawl has learned.
REUSABLE: Mapping[str, Heir] = MappingProxyType({
    "linkage": lambda task, state: PaperCrawler(task, "linkage", state=state),
    "collaborative": lambda task, state: PaperCrawler(task, "collaborative", state=state),
    "combined": lambda task, state: PaperCrawler(task, "combined", state=state),
    "learned": lambda task, state: LearnedCrawler(task, state=state),
})  # fmt: skip
