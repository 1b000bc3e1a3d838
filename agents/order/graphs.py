"""Files of links as graphs."""

from pathlib import Path

import numpy as np

from agents.offline.linkgraph import read_graph as read_links
from models.ordering.graph import Graph


def read_graph(path: Path) -> Graph:
    """Read a file of links; the pages are those that some link concerns.

    Their names are their URLs where the file has them, else their numbers. Raises
    `agents.offline.linkgraph.GraphError` for another file.
    """
    found = read_links(path)
    numbers, pages = np.unique(found.links, return_inverse=True)
    sources, targets = pages.reshape(found.links.shape).T
    names = tuple(found.urls.get(number, str(number)) for number in numbers.tolist())
    return Graph.of_edges(sources, targets, len(numbers), names)
