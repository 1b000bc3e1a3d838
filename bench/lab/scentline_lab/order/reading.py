"""The web that orderings are compared on: a graph and, of an archive, the words of its pages."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from scentline.agents.observe.logfile import LogFile
from scentline.agents.offline.archive import Archive
from scentline.models.ordering.estimate import Crawled
from scentline.models.ordering.rank import pagerank
from scentline.models.url import canonical
from scentline.models.words import words
from scentline.streams.crawl_settings import JudgeSettings
from scentline.streams.settings import Settings
from scentline_lab.experiment import spread
from scentline_lab.order.graph import Graph, Ints
from scentline_lab.progress import Progress
from scentline_lab.reading import Body, GraphError, bodies, chunks, indexable
from scentline_lab.reading import read_graph as read_links

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class Values(Protocol[K_contra]):
    """Has a number for each page."""

    def value(self, page: K_contra) -> float:
        """Return the value of a page, known or not."""


class Estimate(Protocol[K]):
    """I'(P), an importance as far as the crawled pages tell it (Cho 1998, section 2).

    Each page is crawled once. All memory is bounded: what does not fit is forgotten, the least first.
    """

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Take in a crawled page; return the pages whose value that changed."""

    def sweep(self) -> bool:
        """Do what is only worth doing now and then; return whether any value may have changed."""

    def value(self, page: K) -> float:
        """Return the estimate for a page, crawled or not."""


#: The importance metrics that are worked out of links alone.
IB, IR, IF = "backlinks", "PageRank", "forward links"


class Text(NamedTuple):
    """What a page says: title, words of its text with their numbers, and ``anchors`` by the URL linked to."""

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
    def importance(self) -> Mapping[str, npt.NDArray[np.float64]]:
        """The importance of every page, by the name of the metric."""
        return {
            IB: self.graph.backlinks.astype(np.float64),
            IR: pagerank(self.graph.matrix),
            IF: self.graph.forward_links.astype(np.float64),
        }


#: Distinct words that are counted of a page.
MAX_WORDS = 5000


def _texts(settings: JudgeSettings, found: Iterable[Body]) -> list[tuple[str, Text]]:
    """Return what pages say, by URL."""
    texts = []
    for page in indexable(found, settings):
        counts = dict(islice(Counter(words(page.text)).items(), MAX_WORDS))
        anchors = {link.url: link.anchor for link in page.links}
        texts.append((page.url, Text(tuple(words(page.title)), counts, anchors)))
    return texts


def read_archive(path: Path, settings: Settings, processes: int, progress: Progress) -> Web:
    """Read an archive's pages, numbered in the order of their URLs. Raises `ArchiveError` or `GraphError`."""
    texts: dict[str, Text] = {}
    with Archive([path]) as archive:
        progress.phase("read the pages", len(archive))
        parts = chunks(bodies(archive, settings.fetch.max_bytes, progress))
        for chunk in spread(partial(_texts, settings.judge), parts, processes):
            texts.update(chunk)
    names = sorted(texts)
    number = {name: place for place, name in enumerate(names)}
    edges = [
        (number[name], number[target]) for name in names for target in texts[name].anchors if target in number
    ]
    if not edges:
        raise GraphError(f"{path}: no page of the archive links to another one of it")
    sources, targets = np.array(edges, np.int64).T
    graph = Graph.of_edges(sources, targets, len(names), tuple(names))
    return Web(graph, [texts[name] for name in names])


def _read_graph(path: Path) -> Graph:
    """Read a file of links; the pages are those that some link concerns, by URL where the file has them."""
    found = read_links(path)
    numbers, pages = np.unique(found.links, return_inverse=True)
    sources, targets = pages.reshape(found.links.shape).T
    names = tuple(found.urls.get(number, str(number)) for number in numbers.tolist())
    return Graph.of_edges(sources, targets, len(numbers), names)


# The default start is one of so many pages with the most links to them, from them, or the shortest names.
_STARTS = 16


def read_web(
    path: Path, start: str | None, within: str | None, settings: Settings, processes: int, progress: Progress
) -> Web:
    """Read a file of links or an archive, and leave out what can't be reached (Cho 1998, section 6).

    The web is the pages whose URL begins with ``within`` that can be reached from ``start``, a URL or, in a
    file of numbers, a number; None leaves the choice to the file. Raises `GraphError` or
    `ArchiveError` for what is neither, or has no such part.
    """
    with LogFile(str(path)) as file:
        first = next(iter(file), (0, b""))[1]
    if first.startswith(b"WARC/"):
        web = read_archive(path, settings, processes, progress)
    else:
        progress.phase("read the links", 1)
        web = Web(_read_graph(path))
        progress.advance()
    if within is not None:
        pages = [page for page, name in enumerate(web.graph.names) if name.startswith(within)]
        if not pages:
            raise GraphError(f"{path}: no page has a URL that begins with {within}; expected at least one")
        web = web.part(np.array(pages, np.int64), pages[0])
    names = web.graph.names
    given = [
        names.index(name) for name in (start, canonical(start or "")) if name is not None and name in names
    ]
    if start is not None and not given:
        raise GraphError(f"{path}: there is no page {start} to start from; expected one of the file's pages")
    chosen = given[0] if given else _best_start(web.graph)
    return web.part(web.graph.reachable(chosen), chosen)


def _best_start(graph: Graph) -> int:
    """Return the page that most can be reached from, among those that may be a home page; the most linked."""
    lengths = np.array([len(name) for name in graph.names])
    ranked = (-graph.backlinks, -graph.forward_links, lengths)
    candidates = {
        int(page) for counts in ranked for page in np.argsort(counts, kind="stable")[:_STARTS].tolist()
    }
    return max(sorted(candidates), key=lambda page: (len(graph.reachable(page)), graph.backlinks[page]))
