"""Link graphs from files: pairs of numbers, or numbered URLs and pairs of numbers."""

import gzip
import zlib
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from scentline.models.errors import ScentlineError
from scentline.models.url import canonical

#: Pages of a graph at most: their numbers index an array.
MOST_PAGES = 20_000_000


class GraphError(ScentlineError):
    """A graph that can't be read; the text names the file and what was expected."""


class Graph(NamedTuple):
    """Links as rows of source and target, each once, and the pages' canonical URLs where they are known."""

    links: NDArray[np.int64]
    urls: dict[int, str]


def read_graph(path: Path) -> Graph:
    """Read a graph, gzip where the name ends in ``.gz``. Raises `GraphError`.

    Lines are "source target"; or, as in the Hollins data, first "pages links ...", then that many lines of
    "number URL", then the links. Links of a page whose URL can't be crawled are left out.
    """
    try:
        with _opened(path) as file:
            return _graph(file)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise GraphError(
            f"graph {path}: expected lines of two numbers, source and target, after numbered URLs if there are "
            f"any: {error}"
        ) from error


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="ascii", errors="replace")
    return path.open(encoding="ascii", errors="replace")


def _graph(lines: Iterator[str]) -> Graph:
    first = next(lines, "")
    head = first.split()
    named = int(head[0]) if len(head) > 2 else 0
    urls = dict(_urls(islice(lines, named)))
    if named:
        first = next(lines, "")
    if not first:
        raise ValueError("there are no links")
    links = np.loadtxt(chain([first], lines), dtype=np.int64, ndmin=2, usecols=(0, 1))
    if links.min() < 0 or links.max() >= MOST_PAGES:
        raise ValueError(f"page numbers {links.min()} to {links.max()}, expected 0 to {MOST_PAGES - 1}")
    links = np.unique(links, axis=0)
    if named:
        links = links[np.isin(links, np.fromiter(urls, dtype=np.int64)).all(axis=1)]
    return Graph(links, urls)


def _urls(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    for line in lines:
        number, url = line.split(maxsplit=1)
        known_as = canonical(url.strip())
        if known_as is not None:
            yield int(number), known_as
