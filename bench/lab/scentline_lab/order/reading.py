"""The web that orderings are compared on: pages by number, their links and, of an archive, their words."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from scentline.agents.observe.logfile import LogFile
from scentline.models.ordering import Crawled, pagerank
from scentline.models.page import Page
from scentline.models.url import canonical
from scentline.models.words import words
from scentline.streams.settings import Settings
from scentline_lab.experiment import Progress
from scentline_lab.reading import GraphError, each_page, read_graph

K = TypeVar("K", bound=Hashable)
Ints = npt.NDArray[np.int64]
Curve = npt.NDArray[np.float64]
#: The importance metrics.
IB, IR = "backlinks", "PageRank"
#: Distinct words that are counted of a page.
MAX_WORDS = 5000
# The default start is one of so many pages with the most links to them, from them, or the shortest names.
_STARTS = 16


@dataclass(frozen=True)
class Graph:
    """Pages 0 .. n - 1 by their URLs or numbers, and the links between them, each once and none to oneself."""

    matrix: csr_array  #: A 1 in row i, column j where page i links to page j.
    names: tuple[str, ...] = ()

    @classmethod
    def of_edges(cls, sources: Ints, targets: Ints, pages: int, names: tuple[str, ...] = ()) -> "Graph":
        """Return the graph of ``pages`` pages without repeated links and those to oneself."""
        other = sources != targets
        ones = np.ones(int(other.sum()))
        found = csr_array((ones, (sources[other], targets[other])), shape=(pages, pages))
        found.sum_duplicates()
        found.data[:] = 1
        return cls(found, names)

    @classmethod
    def of_links(cls, links: Mapping[K, Iterable[K]]) -> "Graph":
        """Return the graph of the pages that have ``links``, in their order, and of the links between them."""
        number = {page: place for place, page in enumerate(links)}
        pairs = ((one, two) for one, all_two in links.items() for two in all_two if two in number)
        edges = np.fromiter((number[end] for pair in pairs for end in pair), np.int64).reshape(-1, 2)
        return cls.of_edges(edges[:, 0], edges[:, 1], len(number), tuple(map(str, number)))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def targets(self) -> Ints:
        """The targets of all links, page by page."""
        return np.asarray(self.matrix.indices)

    def links(self, page: int) -> list[int]:
        return [*map(int, self.targets[slice(*self.matrix.indptr[page : page + 2])])]

    @cached_property
    def backlinks(self) -> Ints:
        return np.bincount(self.targets, minlength=len(self)).astype(np.int64)

    def reachable(self, start: int) -> Ints:
        """Return the pages that links lead to from ``start``, itself among them, in ascending order."""
        found = breadth_first_order(self.matrix, start, return_predecessors=False)
        return np.sort(found).astype(np.int64)

    def within(self, pages: Ints) -> "Graph":
        names = tuple(self.names[page] for page in pages.tolist()) if self.names else ()
        return Graph(self.matrix[pages][:, pages], names)


class Text(NamedTuple):
    """A page's title, words of its text with their counts, and ``anchors`` by target URL."""

    title: tuple[str, ...]
    words: Mapping[str, int]
    anchors: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Web:
    """Pages by number, those of ``graph``; ``texts`` is empty where only links are known."""

    graph: Graph
    texts: Sequence[Text] = ()
    start: int = 0

    def __len__(self) -> int:
        return len(self.graph)

    def part(self, pages: Ints, start: int) -> "Web":
        """Return the web of some of the pages, in ascending order, and the links between them."""
        texts = [self.texts[page] for page in pages.tolist()] if self.texts else ()
        return Web(self.graph.within(pages), texts, int(np.searchsorted(pages, start)))

    def name(self, page: int) -> str:
        return self.graph.names[page]

    def fetch(self, page: int) -> Crawled[int]:
        targets = self.graph.links(page)
        if not self.texts:
            return Crawled(page, targets)
        text = self.texts[page]
        anchors = [text.anchors[self.name(target)] for target in targets]
        return Crawled(page, targets, anchors, text.title, text.words)

    @cached_property
    def importance(self) -> Mapping[str, Curve]:
        """The importance of every page by metric."""
        return {IB: self.graph.backlinks.astype(np.float64), IR: pagerank(self.graph.matrix)}


def read_archive(path: Path, settings: Settings, processes: int, progress: Progress) -> Web:
    """Read an archive's pages, numbered in the order of their URLs. Raises `ArchiveError` or `GraphError`."""

    def text(page: Page) -> tuple[str, Text] | None:
        counts = dict(islice(Counter(words(page.text)).items(), MAX_WORDS))
        anchors = {link.url: link.anchor for link in page.links}
        return (page.url, Text(tuple(words(page.title)), counts, anchors)) if page.indexable else None

    texts = dict(sorted(each_page([path], text, settings, processes, progress)))
    graph = Graph.of_links({name: found.anchors for name, found in texts.items()})
    if not len(graph.targets):
        raise GraphError(f"{path}: no page of the archive links to another one of it")
    return Web(graph, list(texts.values()))


def _read_links(path: Path) -> Graph:
    found = read_graph(path)
    numbers, pages = np.unique(found.links, return_inverse=True)
    sources, targets = pages.reshape(found.links.shape).T
    names = tuple(found.urls.get(number, str(number)) for number in numbers.tolist())
    return Graph.of_edges(sources, targets, len(numbers), names)


def read_web(
    path: Path, start: str | None, within: str | None, settings: Settings, processes: int, progress: Progress
) -> Web:
    """Read the pages beginning with ``within`` that can be reached from ``start`` (Cho 1998, section 6).

    Raises `GraphError` or `ArchiveError` for a file that is neither links nor an archive, or has no such part.
    """
    with LogFile(str(path)) as file:
        archived = next(iter(file), (0, b""))[1].startswith(b"WARC/")
    web = read_archive(path, settings, processes, progress) if archived else Web(_read_links(path))
    if within is not None:
        pages = [page for page, name in enumerate(web.graph.names) if name.startswith(within)]
        if not pages:
            raise GraphError(f"{path}: no page has a URL that begins with {within}; expected at least one")
        web = web.part(np.array(pages, np.int64), pages[0])
    names = web.graph.names
    given = [names.index(name) for name in (start, canonical(start or "")) if name and name in names]
    if start is not None and not given:
        raise GraphError(f"{path}: there is no page {start} to start from; expected one of the file's pages")
    chosen = given[0] if given else _best_start(web.graph)
    return web.part(web.graph.reachable(chosen), chosen)


def _best_start(graph: Graph) -> int:
    """Return the candidate that reaches most pages, of equal ones the most linked."""
    lengths = np.array([len(name) for name in graph.names])
    ranked = (-graph.backlinks, -np.diff(graph.matrix.indptr), lengths)
    found: set[int] = {page for key in ranked for page in np.argsort(key, kind="stable")[:_STARTS].tolist()}
    return max(sorted(found), key=lambda page: (len(graph.reachable(page)), graph.backlinks[page]))
