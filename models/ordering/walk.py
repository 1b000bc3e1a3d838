"""How a crawl walked: how deep it went, and how soon it followed what it had just found."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import breadth_first_order

from models.ordering.graph import Graph, Ints


class Walk(NamedTuple):
    """Of the first pages of a crawl: their mean ``depth`` in links from the start, the median ``wait``.

    The wait of a page is the number of pages crawled from the one that it was found on to it. A crawler that
    goes deep into a cluster has a short wait (Cho 1998, Figure 3); breadth-first has the longest.
    """

    depth: float
    wait: float


def walk(graph: Graph, order: Ints, counts: Sequence[int]) -> list[Walk]:
    """Return the walk of the first n pages of ``order``, for each n of ``counts``; the first is the start.

    >>> graph = Graph.of_edges(np.array([0, 0, 1]), np.array([1, 2, 3]), 4)
    >>> walk(graph, np.array([0, 1, 3, 2]), [3, 4])
    [Walk(depth=1.0, wait=1.0), Walk(depth=1.0, wait=1.0)]
    """
    depth = depths(graph, int(order[0]))[order]
    place = np.empty(len(graph), np.int64)
    place[order] = np.arange(len(order))
    found = np.full(len(graph), len(order), np.int64)
    np.minimum.at(found, graph.targets, np.repeat(place, graph.forward_links))
    waits = np.arange(1, len(order)) - found[order[1:]]
    return [Walk(float(depth[:n].mean()), float(np.median(waits[: max(1, n - 1)]))) for n in counts]


def depths(graph: Graph, start: int) -> Ints:
    """Return the number of links from ``start`` to each page; all have to be reachable.

    >>> depths(Graph.of_edges(np.array([0, 1]), np.array([1, 2]), 3), 0).tolist()
    [0, 1, 2]
    """
    order, parents = breadth_first_order(graph.matrix, start)
    found = np.zeros(len(graph), np.int64)
    for page in order[1:].tolist():  # each after the page that it is found on
        found[page] = found[parents[page]] + 1
    return found
