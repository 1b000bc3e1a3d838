"""Fetching a site breadth-first, to see where its links lead to new pages and where to known ones."""

from collections.abc import Callable, Collection, Hashable
from typing import TypeVar

from models.depth.growth import Growth

_Page = TypeVar("_Page", bound=Hashable)


def breadth_first(
    start: _Page,
    links: Callable[[_Page], Collection[_Page] | None],
    copy: Callable[[_Page], bool] = lambda _: False,
) -> Growth:
    """Fetch all that can be reached from the start page, and count its links.

    ``links`` has the distinct link targets of a page within the site, None where there is no page. ``copy`` is
    asked of each page in turn, and tells whether it is like one that it was asked of before. The link to what
    is no page, or a copy, led back.

    >>> growth = breadth_first("a", {"a": "bc", "b": "ad", "c": "ab"}.get)
    >>> growth.pages, growth.new, growth.seen
    ([1, 2], [2, 0], [0, 4])
    """
    growth = Growth()
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
        level, reached = level + 1, further
    return growth
