"""Pairs of accesses of one user that lie near each other, and how they change when an access comes in.

Two accesses are *d* steps apart when *d* - 1 others of the same user lie between them. The pairs within
``reach`` steps are what temporal locality (Aggarwal 2004, section 3.1) and co-visits are made of. Log lines
may come late: an access put in between others moves them apart, and what was counted is taken back.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from models.crowd.window import Visit, insert

#: Steps up to which two visits count as a co-visit, and what a step is worth: whole sixths of 1 / distance.
COVISITED = 3
SIXTHS = 6


class Pair(NamedTuple):
    """A change of what two pages have in common: ``times`` accesses within the region, co-visits in sixths."""

    url: str
    other: str
    times: int
    sixths: int


def sixths(distance: int) -> int:
    """Return what a co-visit ``distance`` steps away is worth, 1 / distance, in sixths; 0 beyond three.

    >>> [sixths(distance) for distance in (1, 2, 3, 4)]
    [6, 3, 2, 0]
    """
    return SIXTHS // distance if distance <= COVISITED else 0


def changes(window: Sequence[Visit], place: int, reach: int) -> Iterator[Pair]:
    """Yield how pairs changed when ``window[place]`` came in: its own, and those it moved one step apart.

    A pair is yielded once, for both of its pages; an access has none with another of the same page. At most
    2 ``reach`` own pairs and ``reach`` (``reach`` + 1) / 2 moved ones.

    >>> visits = [Visit(time, url) for time, url in ((1.0, "a"), (2.0, "b"), (3.0, "c"))]
    >>> [tuple(pair) for pair in changes(visits, 2, 1)]
    [('c', 'b', 1, 6)]
    >>> [tuple(pair) for pair in changes(visits, 1, 1)]
    [('b', 'a', 1, 6), ('b', 'c', 1, 6), ('a', 'c', -1, -6)]
    """
    url = window[place].url
    last = min(len(window) - 1, place + reach)
    first = max(0, place - reach)
    for other in (*range(place - 1, first - 1, -1), *range(place + 1, last + 1)):
        if window[other].url != url:
            yield Pair(url, window[other].url, 1, sixths(abs(other - place)))
    for before in range(place - 1, first - 1, -1):
        for after in range(place + 1, min(last, before + reach + 1) + 1):
            if window[before].url == window[after].url:
                continue
            near = after - before
            times = -1 if near > reach else 0
            worth = (sixths(near) if near <= reach else 0) - sixths(near - 1)
            if times or worth:
                yield Pair(window[before].url, window[after].url, times, worth)


def arrive(
    window: list[Visit], visit: Visit, referrer: str | None, *, limit: int, reach: int
) -> list[Pair] | None:
    """Put a visit into a user's ``window`` of ``limit`` visits; return how pairs changed, None if it was there.

    The page that the visit was reached from is a co-visit at one step, wherever the user had been meanwhile.

    >>> window = [Visit(1.0, "a")]
    >>> [tuple(pair) for pair in arrive(window, Visit(2.0, "b"), "a", limit=8, reach=5) or ()]
    [('b', 'a', 1, 6), ('b', 'a', 0, 6)]
    >>> arrive(window, Visit(2.0, "b"), None, limit=8, reach=5) is None
    True
    """
    place = insert(window, visit, limit)
    if place is None:
        return None
    found = list(changes(window, place, reach)) if place >= 0 else []
    if referrer is not None and referrer != visit.url:
        found.append(Pair(visit.url, referrer, 0, SIXTHS))
    return found
