"""Fetching a site breadth-first, to see where its links lead to new pages and where to known ones."""

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from scentline.models.depth.growth import Growth
from scentline.models.ordering.rank import pagerank
from scentline_lab.order.graph import Graph

_Page = TypeVar("_Page", bound=Hashable)


class Fetched(NamedTuple, Generic[_Page]):
    """A site that was fetched: what its links led to, and the level of each page."""

    growth: Growth
    levels: dict[_Page, int]


def breadth_first(
    start: _Page,
    links: Callable[[_Page], Collection[_Page] | None],
    copy: Callable[[_Page], bool] = lambda _: False,
) -> Fetched[_Page]:
    """Fetch all that can be reached from the start page, and count its links.

    ``links`` has the distinct link targets of a page within the site, None where there is no page. ``copy`` is
    asked of each page in turn, and tells whether it is like one that it was asked of before. The link to what
    is no page, or a copy, led back.

    >>> growth, levels = breadth_first("a", {"a": "bc", "b": "ad", "c": "ab"}.get)
    >>> growth.pages, growth.new, growth.seen, levels
    ([1, 2], [2, 0], [0, 4], {'a': 0, 'b': 1, 'c': 1})
    """
    growth, levels = Growth(), dict[_Page, int]()
    seen = {start}
    level, reached = 0, [start]
    while reached:
        further: list[_Page] = []
        for page in reached:
            targets = links(page)
            if targets is None or copy(page):
                growth.led_back(level)
                continue
            new = [target for target in targets if target not in seen]
            seen.update(new)
            further += new
            growth.fetched(level, len(new), len(targets) - len(new))
            levels[page] = level
        level, reached = level + 1, further
    return Fetched(growth, levels)


def ranks_by_level(
    levels: Mapping[_Page, int], links: Callable[[_Page], Collection[_Page] | None]
) -> list[float]:
    """Return the share of the site's PageRank that the pages of each level have.

    Baeza-Yates and Castillo 2004, section 5, ask how much of it the first levels capture. Theirs is that of a
    sample of the web, this one that of the pages fetched by the links between them.

    >>> web = {"a": "bc", "b": "ad", "c": "ab"}.get
    >>> [round(share, 3) for share in ranks_by_level(breadth_first("a", web).levels, web)]
    [0.437, 0.563]
    """
    numbers = {page: number for number, page in enumerate(levels)}
    ends = (
        end
        for page, number in numbers.items()
        for target in links(page) or ()
        if target in numbers
        for end in (number, numbers[target])
    )
    if not numbers:
        return []
    edges = np.fromiter(ends, np.int64).reshape(-1, 2)
    ranks = pagerank(Graph.of_edges(edges[:, 0], edges[:, 1], len(numbers)).matrix)
    shares: list[float] = (np.bincount(list(levels.values()), ranks) / ranks.sum()).tolist()
    return shares
