"""The web that orderings are compared on: a graph, and of archives the words of its pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.ordering.graph import Graph, Ints, pagerank
from models.ordering.rank import Crawled

#: The importance metrics that are worked out of links alone.
IB, IR, IF = "backlinks", "PageRank", "forward links"


class Text(NamedTuple):
    """What an archive's page says: title, how often each word is in its text, and the words of its links.

    ``anchors`` are by the URL that a link leads to.
    """

    title: tuple[str, ...]
    words: Mapping[str, int]
    anchors: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Web:
    """Pages by number, those of ``graph``; ``texts`` is empty where only links are known.

    Every page can be reached from ``start``.
    """

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
        """Return the URL of a page, its number in a file that has none."""
        return self.graph.names[page]

    @property
    def has_urls(self) -> bool:
        """Whether pages are known by their URLs."""
        return "://" in self.graph.names[0]

    def fetch(self, page: int) -> Crawled[int]:
        """Return a page as a crawler sees it."""
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
