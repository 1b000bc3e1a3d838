"""Pairs of a user's accesses: a user's latest accesses, the pairs among them, and a whole log at once.

A window has one user's latest accesses, bounded and in time order, even if log lines come late or repeat. Two
accesses are *d* steps apart when *d* - 1 others of the same user lie between them. The pairs within ``reach``
steps make up temporal locality (Aggarwal 2004, section 3.1) and co-visits. A late log line moves the accesses
around it apart, and what was counted for these is taken back.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from scentline.models.policy.factors import rank
from scentline.models.url import identifier


class Visit(msgspec.Struct, array_like=True, frozen=True, order=True, gc=False):
    """One access of a user: ``time`` in seconds since the epoch (finite), canonical ``url``.

    Visits are ordered by time and, within one instant, by URL.
    """

    time: float
    url: str


def insert(window: list[Visit], visit: Visit, limit: int) -> int | None:
    """Insert ``visit`` into the ordered ``window`` and return its place there.

    None means a repeated line: the window holds a visit of the same time and URL. Beyond ``limit`` (at least
    1) the oldest visit leaves. A visit older than a full window is not kept, but counts as new (place -1): to
    miss a late page would be worse than to count it twice. Hence the window always has the ``limit`` latest
    distinct visits, in whatever order they came. O(log n) comparisons.
    """
    place = bisect_left(window, visit)
    if place < len(window) and window[place] == visit:
        return None
    window.insert(place, visit)
    excess = len(window) - limit
    if excess > 0:
        del window[:excess]
        place -= excess
    return max(place, -1)


#: Most steps between co-visits, and the unit of their weight: 1 / distance is whole in sixths.
COVISITED = 3
SIXTHS = 6


class Pair(NamedTuple):
    """A change of the counts of two pages: ``times`` access pairs within the region, co-visits in sixths."""

    url: str
    other: str
    times: int
    sixths: int


def sixths(distance: int) -> int:
    """Return the weight of a co-visit at ``distance`` steps, 1 / distance, in sixths; 0 beyond three.

    >>> [sixths(distance) for distance in (1, 2, 3, 4)]
    [6, 3, 2, 0]
    """
    return SIXTHS // distance if distance <= COVISITED else 0


def changes(window: Sequence[Visit], place: int, reach: int) -> Iterator[Pair]:
    """Yield the changes of pairs by the new ``window[place]``: its own, and those it moved one step apart.

    A pair is yielded once, for both of its pages; two accesses of one page are no pair. At most 2 ``reach`` own
    pairs and ``reach`` (``reach`` + 1) / 2 moved ones.
    """
    if len(window) == 1:  # most users of most logs
        return
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
    """Insert a visit into a user's ``window`` of ``limit`` visits; return changes of pairs, None if repeated.

    The referring page is a co-visit at one step, wherever the user was in between.
    """
    place = insert(window, visit, limit)
    if place is None:
        return None
    found = list(changes(window, place, reach)) if place >= 0 else []
    if referrer is not None and referrer != visit.url:
        found.append(Pair(visit.url, referrer, 0, SIXTHS))
    return found


class Step(NamedTuple):
    """One access of a log: user, canonical URL, seconds since the epoch, referring page."""

    user: str
    url: str
    time: float
    referrer: str | None = None


class Trace:
    """Statistics of the pages of a log, by canonical URL.

    ``accesses``: how often a page was visited. ``visitors``: the first by name of its distinct users, at most
    ``users``. ``together``: for each page the others within ``reach`` steps of the same user, as (access
    pairs within the region, sixths of co-visits); at most ``others``, of lowest rank
    (`models.policy.factors`). ``keepers`` is the inverse: the pages that keep a page. A user's pairs
    are those within the last ``window`` accesses.
    """

    def __init__(
        self, steps: Iterable[Step], *, reach: int = 5, users: int = 32, others: int = 64, window: int = 64
    ) -> None:
        self.accesses: dict[str, int] = {}
        self.together: dict[str, dict[str, tuple[int, int]]] = {}
        visitors: dict[str, set[str]] = defaultdict(set)
        windows: dict[str, list[Visit]] = defaultdict(list)
        for step in steps:
            visit = Visit(step.time, step.url)
            pairs = arrive(windows[step.user], visit, step.referrer, limit=window, reach=reach)
            if pairs is None:
                continue
            self.accesses[step.url] = self.accesses.get(step.url, 0) + 1
            visitors[step.url].add(step.user)
            for pair in pairs:
                self._add(pair)
        self._bound(others)
        self.keepers: dict[str, dict[str, tuple[int, int]]] = {}
        for url, cells in self.together.items():
            for other, cell in cells.items():
                self.keepers.setdefault(other, {})[url] = cell
        self.visitors = {url: tuple(sorted(names)[:users]) for url, names in visitors.items()}

    def _add(self, pair: Pair) -> None:
        for one, two in ((pair.url, pair.other), (pair.other, pair.url)):
            cells = self.together.setdefault(one, {})
            times, sixths = cells.get(two, (0, 0))
            cells[two] = (times + pair.times, sixths + pair.sixths)

    def _bound(self, others: int) -> None:
        names = {url: identifier(url) for url in self.together}
        for url, cells in self.together.items():
            if len(cells) > others:
                page = names[url]
                nearest = sorted(cells, key=lambda other: rank(names[other], page))[:others]
                self.together[url] = {other: cells[other] for other in nearest}
