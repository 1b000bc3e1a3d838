"""The policies that are compared: each chooses the next page to visit, and learns from what visits find."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from heapq import heapify, heapreplace
from typing import TypeAlias

from scentline.models.revisit.queue import DueQueue
from scentline.models.revisit.rate import NOTHING, Group, History, Trust, rate, steps
from scentline_lab.revisits.web import DAY, FALSE, NOISE, Page, Policy


class Name(StrEnum):
    """The policies' names, in the order of the tables."""

    UNIFORM = "uniform"
    PROPORTIONAL = "proportional"
    NUTCH = "Nutch"
    STORMCRAWLER = "StormCrawler"
    OPTIMUM = "optimum"
    LEARNED = "learned"
    OPTIMUM_SIGNALS = "optimum with signals"
    LEARNED_SIGNALS = "learned with signals"


Web: TypeAlias = Sequence[Page]

#: Visits to a host between two looks at how far its signals are to be trusted.
_LOOK = 8


class Evenly:
    """Visits first what was due first, each page after an interval of its own; signals don't count."""

    def __init__(self, intervals: Sequence[float]) -> None:
        self._intervals = list(intervals)
        pages = len(intervals)
        self._due = [((page + 0.5) / pages * each, page) for page, each in enumerate(intervals)]
        heapify(self._due)

    def choose(self, now: float) -> int:
        return self._due[0][1]

    def visited(self, page: int, now: float, changed: bool) -> None:
        due, _ = self._due[0]
        heapreplace(self._due, (self.again(page, due, now, changed), page))

    def again(self, page: int, due: float, now: float, changed: bool) -> float:
        """Return when a page is due that was due, was visited now, and had changed or not."""
        return due + self._intervals[page]

    def signal(self, page: int, now: float) -> None:
        pass


class Nutch(Evenly):
    """The adaptive interval of Apache Nutch, with the values of its nutch-default.xml.

    Each visit makes the interval longer by 0.4 of it, or shorter by 0.2 where the page had changed. The next
    visit is brought forward by 0.2 of the time since the last change that was found, and the interval is no
    shorter than that time (org.apache.nutch.crawl.AdaptiveFetchSchedule, setFetchSchedule).
    """

    INC, DEC, SYNC = 0.4, 0.2, 0.2
    LEAST, MOST = 60.0, 365 * DAY

    def __init__(self, pages: int, interval: float) -> None:
        self._modified = [0.0] * pages
        super().__init__([interval] * pages)

    def again(self, page: int, due: float, now: float, changed: bool) -> float:
        if changed:
            self._modified[page] = now
        since = now - self._modified[page]
        interval = max(self._intervals[page] * (1 - self.DEC if changed else 1 + self.INC), since)
        self._intervals[page] = interval = min(max(interval, self.LEAST), self.MOST)
        return now - since * self.SYNC + interval


class StormCrawler(Evenly):
    """The adaptive interval of Apache StormCrawler, with its defaults: an hour at least, two weeks at most.
    Each visit makes the interval longer by half, or halves what of it is above the shortest where the page had
    changed (org.apache.stormcrawler.persistence.AdaptiveScheduler, schedule).
    """

    RATE, LEAST, MOST = 0.5, DAY / 24, 14 * DAY

    def __init__(self, pages: int, interval: float) -> None:
        super().__init__([interval] * pages)

    def again(self, page: int, due: float, now: float, changed: bool) -> float:
        interval = self._intervals[page]
        shorter, longer = (1 - self.RATE) * interval + self.RATE * self.LEAST, interval * (1 + self.RATE)
        self._intervals[page] = interval = shorter if changed else min(longer, self.MOST)
        return now + interval


class Gaining:
    """Visits the page of the greatest gain; `look` says what is known of a page."""

    def __init__(self, web: Web, *, heeds: bool) -> None:
        self._web, self._heeds = web, heeds
        self._queue = DueQueue(len(web))
        self._visited, self._signals = [0.0] * len(web), [0] * len(web)

    def begin(self) -> None:
        """Put all pages into the queue; all were visited at the beginning."""
        for page in range(len(self._web)):
            self.put(page)

    def choose(self, now: float) -> int:
        found = self._queue.best(now, lambda host: True)
        return int(found[0]) if found is not None else 0

    def visited(self, page: int, now: float, changed: bool) -> None:
        self._visited[page], self._signals[page] = now, 0
        self.put(page)

    def put(self, page: int) -> None:
        """Put a page in the queue by what is known of it."""
        known = self._web[page]
        change, recall, step = self.look(page)
        aged = self._signals[page] * step
        self._queue.put(str(page), known.host, known.importance, change, self._visited[page], aged, recall)

    def look(self, page: int) -> tuple[float, float, float]:
        """Return a page's rate, the part of its changes that is announced, and the step of a signal."""
        raise NotImplementedError

    def signal(self, page: int, now: float) -> None:
        if self._heeds:
            self._signals[page] += 1
            self.put(page)


class Knowing(Gaining):
    """The optimum: it knows the rates, and how true the signals are that it heeds, not when pages change."""

    def __init__(self, web: Web, recall: float) -> None:
        super().__init__(web, heeds=recall > 0)
        self._recall = recall
        self.begin()

    def look(self, page: int) -> tuple[float, float, float]:
        change, recall = self._web[page].rate, self._recall
        if not recall or not change:
            return change, 0.0, 0.0
        false = FALSE * change + NOISE
        return change, recall, math.log((recall * change + false) / false) / ((1 - recall) * change)


class Learning(Gaining):
    """What a crawl does: rates and how true signals are follow from its visits."""

    def __init__(self, web: Web, *, heeds: bool) -> None:
        super().__init__(web, heeds=heeds)
        self._histories = [History() for _ in web]
        self._groups: defaultdict[str, Group] = defaultdict(Group)
        self._trusts: defaultdict[str, Trust] = defaultdict(Trust)
        self._believed: dict[str, tuple[float, float]] = {}
        self._looks = 0
        self.begin()

    def visited(self, page: int, now: float, changed: bool) -> None:
        known, signals = self._web[page], self._signals[page]
        interval = now - self._visited[page]
        if self._heeds:
            trust = self._trusts[known.host]
            trust.seen(interval, signals, changed, self._histories[page])
            self._looks += 1
            if known.host not in self._believed or not self._looks % _LOOK:
                self._believed[known.host] = trust.recall, trust.false
        for name in known.groups:
            self._groups[name].seen(interval, changed, signals)
        self._histories[page].seen(interval, changed, signals)
        super().visited(page, now, changed)

    def look(self, page: int) -> tuple[float, float, float]:
        known = self._web[page]
        recall, false = self._believed.get(known.host, (0.0, 1.0))
        prior = NOTHING
        for group in (self._groups[name] for name in known.groups if name in self._groups):
            prior = group.prior(prior, recall, false)
        change = rate(self._histories[page], prior, recall, false)
        if not self._signals[page] or not recall:
            return change, recall, 0.0
        return change, recall, steps(self._trusts[known.host], (1 - recall) * change)


def policies(web: Web, visits: float, recall: float) -> Mapping[str, Callable[[], Policy]]:
    """Return what makes each policy, for so many visits a second."""
    interval = len(web) / visits
    changes = sum(page.rate for page in web)
    shares = [changes / visits / page.rate if page.rate else math.inf for page in web]
    return {
        Name.UNIFORM: lambda: Evenly([interval] * len(web)),
        Name.PROPORTIONAL: lambda: Evenly(shares),
        Name.NUTCH: lambda: Nutch(len(web), interval),
        Name.STORMCRAWLER: lambda: StormCrawler(len(web), interval),
        Name.OPTIMUM: lambda: Knowing(web, 0.0),
        Name.LEARNED: lambda: Learning(web, heeds=False),
        Name.OPTIMUM_SIGNALS: lambda: Knowing(web, recall),
        Name.LEARNED_SIGNALS: lambda: Learning(web, heeds=True),
    }
