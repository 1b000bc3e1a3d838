"""A web as a graph: pages by number, the links of each, and how a crawl walked it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Graph:
    """Pages 0 .. n - 1; page i links to ``targets[ends[i]:ends[i + 1]]``, which are distinct and not i.

    ``names`` are the pages' URLs, empty where only numbers are known.

    >>> graph = Graph.of_edges(np.array([0, 0, 0, 1, 2]), np.array([1, 1, 0, 2, 0]), 4)
    >>> graph.links(0), len(graph), graph.backlinks.tolist(), graph.reachable(1).tolist()
    ([1], 4, [1, 1, 1, 0], [0, 1, 2])
    """

    ends: Ints
    targets: Ints
    names: tuple[str, ...] = ()

    @classmethod
    def of_edges(cls, sources: Ints, targets: Ints, pages: int, names: tuple[str, ...] = ()) -> "Graph":
        """Return the graph of ``pages`` pages; repeated links and those to oneself are left out."""
        other = sources != targets
        ones = np.ones(int(other.sum()), np.int8)
        found = csr_array((ones, (sources[other], targets[other])), shape=(pages, pages))
        found.sum_duplicates()
        return cls(found.indptr.astype(np.int64), found.indices.astype(np.int64), names)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def links(self, page: int) -> list[int]:
        return [int(target) for target in self.targets[self.ends[page] : self.ends[page + 1]].tolist()]

    @cached_property
    def forward_links(self) -> Ints:
        return np.diff(self.ends)

    @cached_property
    def backlinks(self) -> Ints:
        return np.bincount(self.targets, minlength=len(self)).astype(np.int64)

    @cached_property
    def matrix(self) -> csr_array:
        """A 1 in row i, column j where page i links to page j."""
        return csr_array((np.ones(len(self.targets)), self.targets, self.ends), shape=(len(self), len(self)))

    def reachable(self, start: int) -> Ints:
        """Return the pages that links lead to from ``start``, itself among them, in ascending order."""
        found = breadth_first_order(self.matrix, start, return_predecessors=False)
        return np.sort(found).astype(np.int64)

    def within(self, pages: Ints) -> "Graph":
        """Return the graph of some pages, in ascending order, and the links between them."""
        number = np.full(len(self), -1, np.int64)
        number[pages] = np.arange(len(pages))
        sources, targets = np.repeat(number, self.forward_links), number[self.targets]
        inside = (sources >= 0) & (targets >= 0)
        names = tuple(self.names[page] for page in pages.tolist()) if self.names else ()
        return Graph.of_edges(sources[inside], targets[inside], len(pages), names)


class Walk(NamedTuple):
    """Of the first pages of a crawl: their mean ``depth`` in links from the start, the median ``wait``. The
    wait of a page is the number of pages crawled from the one that it was found on to it. A crawler that goes
    deep into a cluster has a short wait (Cho 1998, Figure 3); breadth-first has the longest.
    """

    depth: float
    wait: float


def walk(graph: Graph, order: Ints, counts: Sequence[int]) -> list[Walk]:
    """Return the walk of the first n pages of ``order``, for each n of ``counts``; the first is the start."""
    crawled, parents = breadth_first_order(graph.matrix, int(order[0]))
    depths = np.zeros(len(graph), np.int64)
    for page in crawled[1:].tolist():  # each after the page that it is found on
        depths[page] = depths[parents[page]] + 1
    depth = depths[order]
    place = np.empty(len(graph), np.int64)
    place[order] = np.arange(len(order))
    found = np.full(len(graph), len(order), np.int64)
    np.minimum.at(found, graph.targets, np.repeat(place, graph.forward_links))
    waits = np.arange(1, len(order)) - found[order[1:]]
    return [Walk(float(depth[:n].mean()), float(np.median(waits[: max(1, n - 1)]))) for n in counts]
