"""Visited pages by what another visit gains now: the greatest first, of hosts that are ready."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import compress

from scentline.models.revisit.rate import gain, limit, when

#: The ratio of a level to the one below: `DueQueue.best` is within this factor of the best.
RATIO = 1.1
_LOG = math.log(RATIO)
# Gains above it count as equal, and so do those below its inverse, which are on the lowest level.
_MOST = 1e300
_LOWEST = math.floor(-math.log(_MOST) / _LOG)
_HIGHEST = -_LOWEST
_ROUNDING = 1e-9
# The lowest level kept: at first one page in `_PART` reaches it, later it is `_DEPTH` levels below the lowest
# recent choice. It goes down by at least `_HALF` levels, half the gain.
_PART, _DEPTH, _HALF = 16, 4, 8
# Slack of choices before the lowest level goes up, and of heap entries before dead ones are removed.
_SLACK = 64


@dataclass(slots=True)
class _Page:
    """A page in the queue.

    ``since`` is the moment from which its age counts. ``level`` is the one it is known to have reached, None
    below the lowest. ``awaited`` is the level of its live heap entry, and ``entry`` that entry's number, 0
    without one.
    """

    url: str
    host: str
    importance: float
    rate: float
    since: float
    recall: float
    level: int | None = None
    awaited: int = _LOWEST
    entry: int = 0

    def gain(self, now: float) -> float:
        """Return what a visit gains."""
        return gain(self.importance, self.rate, now - self.since, self.recall)

    @property
    def gains(self) -> bool:
        """Whether a visit ever gains anything."""
        return self.importance > 0 and self.rate > 0


@dataclass(slots=True)
class _Lane:
    """The pages of a host by level, and the highest level that has any."""

    levels: dict[int, dict[str, _Page]] = field(default_factory=dict)
    top: int = _LOWEST


class DueQueue:
    """At most ``limit`` pages, each with a gain that grows with time (`models.revisit.rate`).

    Gains fall into *levels*, each `RATIO` times the one below. A heap has for each page the moment at which it
    reaches the next level, so passing time costs work only for pages that reach one. `best` takes a page from
    the highest level of any ready host: no ready page has a gain `RATIO` times as great. Pages below the lowest
    level wait until they reach it. It follows the choices: down when no ready page is above it, which examines
    all pages once, and up as visits get rarer.

    Above ``limit`` pages, the tenth that comes due last is evicted at once. ``evicted`` stays set until the
    caller, which keeps the pages elsewhere, resets it.
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"due queue: limit is {limit}, expected at least 1")
        self._limit = limit
        self._pages: dict[str, _Page] = {}
        self._hosts: Counter[str] = Counter()
        self._lanes: dict[str, _Lane] = {}
        #: Hosts by the highest level that any of their pages has reached, in order of arrival.
        self._tops: dict[int, dict[str, None]] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._entries = 0
        self._base: int | None = None
        self._chosen, self._least_chosen = 0, 0
        self.evicted = False

    def __len__(self) -> int:
        return len(self._pages)

    def __contains__(self, url: object) -> bool:
        return url in self._pages

    def put(
        self,
        url: str,
        host: str,
        importance: float,
        rate: float,
        since: float,
        aged: float = 0.0,
        recall: float = 0.0,
    ) -> None:
        """Insert or update a page: visited at ``since``, and aged by ``aged`` seconds for signals.

        ``recall`` is the share of its changes that signals announce, below 1. Raises ValueError for values
        that are not numbers, or another recall.
        """
        if not all(map(math.isfinite, (importance, rate, since))) or math.isnan(aged) or not 0 <= recall < 1:
            raise ValueError(
                f"due queue: {host} has importance {importance}, rate {rate}, since {since}, aged {aged}, "
                f"recall {recall}; expected numbers, and a recall below 1"
            )
        self.discard(url)
        page = self._pages[url] = _Page(url, host, importance, rate, since - aged, recall)
        self._hosts[host] += page.gains
        if self._base is not None:
            self._expect(page, self._base)
        if len(self._pages) > self._limit:
            self._evict()

    def discard(self, url: str) -> None:
        """Remove a page, if it is there."""
        page = self._pages.pop(url, None)
        if page is None:
            return
        self._leave(page)
        self._hosts[page.host] -= page.gains
        if not self._hosts[page.host]:
            del self._hosts[page.host]

    def best(self, now: float, ready: Callable[[str], bool], least: float = 0.0) -> tuple[str, float] | None:
        """Return the page of a ready host with the greatest gain now, and that gain; it stays in the queue.

        No page of a ready host gains `RATIO` times as much. None if none gains ``least``; pages that gain less
        than `RATIO` times ``least`` may not count. ``ready`` is called once a host, and must not change the
        queue.
        """
        asked: dict[str, bool] = {}

        def may(host: str) -> bool:
            if host not in asked:
                asked[host] = ready(host)
            return asked[host]

        bound = _level_above(least)
        self._wake(now)
        page = self._highest(may, bound)
        if page is None and (self._base is None or self._base > bound) and self._lower(now, may, bound):
            page = self._highest(may, bound)
        if page is None:
            return None
        self._follow(page)
        return page.url, page.gain(now)

    def next(self, now: float, least: float) -> float:
        """Return when to look again for a page that gains ``least``, as `best` counts it; infinity for never.

        It is ``now`` if there is one, and never later than when there will be one.
        """
        bound = _level_above(least)
        self._wake(now)
        if self._base is None or self._base > bound:
            self._rebase(now, bound)
        if any(level >= bound for level in self._tops):
            return now
        while self._heap and not self._live(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf

    # levels

    def _highest(self, may: Callable[[str], bool], bound: int) -> _Page | None:
        """Return a page from the highest level of any ready host, at least ``bound``."""
        for level in sorted(self._tops, reverse=True):
            if level < bound:
                return None
            for host in self._tops[level]:
                if may(host):
                    return next(iter(self._lanes[host].levels[level].values()))
        return None

    def _wake(self, now: float) -> None:
        """Move up the pages that have reached another level by ``now``."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            _, entry, url = heappop(heap)
            page = self._pages.get(url)
            if page is not None and page.entry == entry:
                self._climb(page, now)

    def _climb(self, page: _Page, now: float) -> None:
        """Put a page on the level that it has reached, unless that is below the lowest."""
        assert self._base is not None, "without levels nothing is waited for"
        level = max(page.awaited, _level(page.gain(now)))
        if page.level is None and level < self._base:
            self._expect(page, self._base)
            return
        self._leave(page)
        page.level = level
        lane = self._lanes.setdefault(page.host, _Lane())
        lane.levels.setdefault(level, {})[page.url] = page
        if level > lane.top:
            self._move(page.host, lane, level)
        self._expect(page, level + 1)

    def _leave(self, page: _Page) -> None:
        """Remove a page from its level."""
        if page.level is None:
            return
        lane = self._lanes[page.host]
        pages = lane.levels[page.level]
        del pages[page.url]
        if not pages:
            del lane.levels[page.level]
            if page.level == lane.top:
                self._move(page.host, lane, max(lane.levels, default=_LOWEST))
        page.level = None

    def _move(self, host: str, lane: _Lane, top: int) -> None:
        """Set the highest level of a host."""
        hosts = self._tops.get(lane.top)
        if hosts is not None:
            hosts.pop(host, None)
            if not hosts:
                del self._tops[lane.top]
        lane.top = top
        if lane.levels:
            self._tops.setdefault(top, {})[host] = None
        else:
            del self._lanes[host]

    def _expect(self, page: _Page, level: int) -> None:
        """Push the moment at which a page reaches a level, if ever."""
        # A rounding below it: a page whose limit is the level never reaches it in exact numbers.
        least = RATIO ** min(level, _HIGHEST) * (1 - 1e-9)
        age = when(page.importance, page.rate, least, page.recall)
        if age == math.inf or level >= _HIGHEST:
            page.entry = 0
            return
        self._entries += 1
        page.entry, page.awaited = self._entries, level
        heappush(self._heap, (page.since + age, page.entry, page.url))
        if len(self._heap) > 2 * len(self._pages) + _SLACK:
            self._heap = [item for item in self._heap if self._live(item)]
            heapify(self._heap)

    def _live(self, item: tuple[float, int, str]) -> bool:
        page = self._pages.get(item[2])
        return page is not None and page.entry == item[1]

    # the lowest level

    def _follow(self, page: _Page) -> None:
        """Move the lowest level up after the choices; pages on levels below it stay there."""
        assert page.level is not None and self._base is not None, "what is chosen has a level"
        self._least_chosen = min(self._least_chosen, page.level) if self._chosen else page.level
        self._chosen += 1
        if self._chosen > len(self._pages) + _SLACK:
            self._base = max(self._base, self._least_chosen - _DEPTH)
            self._chosen = 0

    def _lower(self, now: float, may: Callable[[str], bool], bound: int) -> bool:
        """Lower the lowest level, by at least half, to a page of a ready host; False if there is none."""
        if not any(may(host) for host in self._hosts):
            return False
        below = [page for page in self._pages.values() if page.level is None]
        gains = [page.gain(now) for page in below]
        wanted = max(compress(gains, [may(page.host) for page in below]), default=0.0)
        if _level(wanted) < max(bound, _LOWEST + 1):
            if bound > _LOWEST:
                self._rebase(now, bound)
            return False
        usual = sorted(gains, reverse=True)[len(gains) // _PART]
        base = min(_level(wanted), _level(usual))
        if self._base is not None:
            base = min(base, self._base - _HALF)
        self._rebase(now, max(bound, base))
        return True

    def _rebase(self, now: float, base: int) -> None:
        """Set the lowest level, and examine all pages that were below it."""
        self._base, self._chosen = base, 0
        for page in self._pages.values():
            if page.level is None:
                self._expect(page, base)
        self._wake(now)

    def _evict(self) -> None:
        """Remove the pages that come due last, down to nine tenths of the limit."""
        self.evicted = True
        if self._base is None:
            limits = sorted(limit(page.importance, page.rate) for page in self._pages.values() if page.gains)
            self._base = _level(limits[len(limits) // 2]) - _HALF if limits else 0
            for page in self._pages.values():
                self._expect(page, self._base)
        due = {url: time for time, entry, url in self._heap if self._live((time, entry, url))}

        def order(page: _Page) -> tuple[int, float]:
            if page.level is not None:
                return 0, -page.level
            return 1, due.get(page.url, math.inf)

        for page in sorted(self._pages.values(), key=order)[self._limit - self._limit // 10 :]:
            self.discard(page.url)


def _level(gain: float) -> int:
    """Return the highest level that a gain reaches."""
    return math.floor(math.log(min(gain, _MOST)) / _LOG) if gain > 1 / _MOST else _LOWEST


def _level_above(gain: float) -> int:
    """Return the lowest level at or above a gain."""
    return math.ceil(math.log(min(gain, _MOST)) / _LOG - _ROUNDING) if gain > 1 / _MOST else _LOWEST
