"""The revisits command: how fresh each policy keeps the copies of simulated webs."""

import math
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from pathlib import Path
from statistics import mean
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scentline.agents.cli.output import print_table
from scentline.models.revisit.queue import DueQueue
from scentline.models.revisit.rate import NOTHING, Group, History, Trust, rate, steps
from scentline_lab.experiment import Cut, Output, Progress, spread
from scentline_lab.pictures import draw_freshness

#: Times in seconds, ascending.
Times: TypeAlias = npt.NDArray[np.float64]

DAY = 86_400.0
#: Visits a page and day, and the part of the changes with a signal.
VISITS, RECALL = 0.1, 0.5
_HOSTS, _PREFIXES, _PATTERNS = 20, 4, 3
#: The shares of pages by how they change.
PARTS = {"poisson": 0.6, "periodic": 0.1, "bursts": 0.1, "never": 0.2}
# Rates are lognormal: the median, and the log standard deviations of hosts, prefixes, patterns and pages.
_MEDIAN = 0.1 / DAY
_SPREAD = (1.0, 0.7, 0.7, 0.7)
# Mean number of changes in a burst, and mean seconds between two of them.
_BURST, _WITHIN = 5, 0.02 * DAY
# The exponent of the requests by rank (Zipf).
_ZIPF = 0.8
#: False signals for each change, mean delay of a signal in seconds, and false signals a second of any page.
FALSE, _DELAY, NOISE = 0.1, 0.02 * DAY, 0.002 / DAY


@dataclass(frozen=True)
class Page:
    """A page: its groups, the largest first, changes a second, and share of the requests."""

    host: str
    groups: tuple[str, ...]
    rate: float
    importance: float
    changes: Times
    signals: Times


Web: TypeAlias = Sequence[Page]


def make_web(pages: int, seconds: float, seed: int) -> list[Page]:
    """Return pages and their changes in so many seconds."""
    rng = np.random.default_rng(seed)
    ranks = rng.permutation(pages) + 1
    importance = ranks**-_ZIPF / (ranks**-_ZIPF).sum()
    kinds = rng.choice(list(PARTS), pages, p=list(PARTS.values()))
    levels = [rng.normal(0, spread, (_HOSTS, _PREFIXES, _PATTERNS)) for spread in _SPREAD[:3]]
    found = []
    for number in range(pages):
        host, prefix, pattern = rng.integers((_HOSTS, _PREFIXES, _PATTERNS)).tolist()
        log = levels[0][host, 0, 0] + levels[1][host, prefix, 0] + levels[2][host, prefix, pattern]
        never = kinds[number] == "never"
        rate = 0.0 if never else _MEDIAN * float(np.exp(log + rng.normal(0, _SPREAD[3])))
        changes = _changes(rng, kinds[number], rate, seconds)
        name, folder = f"h{host}.test", f"http://h{host}.test/{prefix}/"
        groups = "", name, folder, f"{folder}{pattern}-#"
        true = changes[rng.random(len(changes)) < RECALL]
        true = true + rng.exponential(_DELAY, len(true))
        signals = np.sort(np.concatenate([true, arrivals(rng, FALSE * rate + NOISE, seconds)]))
        found.append(Page(name, groups, rate, float(importance[number]), changes, signals))
    return found


def _changes(rng: np.random.Generator, kind: str, rate: float, seconds: float) -> Times:
    if kind == "never":
        return np.zeros(0)
    if kind == "periodic":
        return np.arange(rng.random() / rate, seconds, 1 / rate)
    if kind == "poisson":
        return arrivals(rng, rate, seconds)
    starts = arrivals(rng, rate / _BURST, seconds)
    sizes = rng.geometric(1 / _BURST, len(starts))
    gaps = np.concatenate([rng.exponential(_WITHIN, size).cumsum() for size in sizes] or [np.zeros(0)])
    times = np.sort(np.repeat(starts, sizes) + gaps)
    return times[times < seconds]


def arrivals(rng: np.random.Generator, rate: float, seconds: float) -> Times:
    """Return the arrivals of a Poisson process."""
    return np.sort(rng.uniform(0, seconds, rng.poisson(rate * seconds)))


def crawl(web: Web, policy: "Evenly | Gaining", rate: float, visits: int, parts: int) -> Times:
    """Return the freshness in each of ``parts`` of a crawl of so many visits, ``rate`` a second.

    It is the mean, over time and weighed by importance, of whether a page is as at its last visit.
    """
    length, fresh = visits / rate / parts, np.zeros(parts)

    def next_change(page: Page, now: float) -> float:
        place = int(np.searchsorted(page.changes, now, side="right"))
        return float(page.changes[place]) if place < len(page.changes) else np.inf

    def credit(page: Page, since: float, until: float) -> None:
        for part in range(int(since / length), min(int(until / length) + 1, parts)):
            low, high = max(since, part * length), min(until, (part + 1) * length)
            fresh[part] += max(0.0, high - low) * page.importance

    last, ends = [0.0] * len(web), [next_change(page, 0.0) for page in web]
    signals = deque(sorted((time, number) for number, page in enumerate(web) for time in page.signals.tolist()))
    for visit in range(visits):
        now = (visit + 1) / rate
        while signals and signals[0][0] <= now:
            time, number = signals.popleft()
            policy.signal(number, time)
        number = policy.choose(now)
        credit(web[number], last[number], min(ends[number], now))
        policy.visited(number, now, ends[number] <= now)
        last[number], ends[number] = now, next_change(web[number], now)
    for page, since, end in zip(web, last, ends, strict=True):
        credit(page, since, min(end, visits / rate))
    return fresh / length


#: Visits between two estimates of how far a host's signals are to be trusted.
_LOOK = 8


class Evenly:
    """Visits the page due first, each after its own interval in seconds; signals don't count."""

    def __init__(self, intervals: Sequence[float]) -> None:
        self._intervals, pages = list(intervals), len(intervals)
        self._due = [((page + 0.5) / pages * each, page) for page, each in enumerate(intervals)]
        heapify(self._due)

    def choose(self, now: float) -> int:
        return self._due[0][1]

    def visited(self, page: int, now: float, changed: bool) -> None:
        heapreplace(self._due, (self.again(page, self._due[0][0], now, changed), page))

    def again(self, page: int, due: float, now: float, changed: bool) -> float:
        """Return when a page is due again that was ``due`` and is visited now."""
        return due + self._intervals[page]

    def signal(self, page: int, now: float) -> None:
        pass


class Nutch(Evenly):
    """The adaptive interval of Apache Nutch (AdaptiveFetchSchedule.setFetchSchedule, nutch-default.xml).

    A visit lengthens the interval by 0.4, or shortens it by 0.2 after a change. It is no shorter than the time
    since the last change that was found; the next visit comes 0.2 of that time earlier.
    """

    INC, DEC, SYNC = 0.4, 0.2, 0.2
    LEAST, MOST = 60.0, 365 * DAY

    def __init__(self, intervals: Sequence[float]) -> None:
        self._modified = [0.0] * len(intervals)
        super().__init__(intervals)

    def again(self, page: int, due: float, now: float, changed: bool) -> float:
        if changed:
            self._modified[page] = now
        since = now - self._modified[page]
        interval = max(self._intervals[page] * (1 - self.DEC if changed else 1 + self.INC), since)
        self._intervals[page] = interval = min(max(interval, self.LEAST), self.MOST)
        return now - since * self.SYNC + interval


class StormCrawler(Evenly):
    """The adaptive interval of Apache StormCrawler (AdaptiveScheduler.schedule) with its defaults.

    A visit lengthens the interval by half, or after a change halves what of it is above the shortest.
    """

    RATE, LEAST, MOST = 0.5, DAY / 24, 14 * DAY

    def again(self, page: int, due: float, now: float, changed: bool) -> float:
        interval = self._intervals[page]
        shorter, longer = (1 - self.RATE) * interval + self.RATE * self.LEAST, interval * (1 + self.RATE)
        self._intervals[page] = interval = shorter if changed else min(longer, self.MOST)
        return now + interval


class Gaining:
    """Visits the page of the greatest gain; all were visited at the beginning."""

    def __init__(self, web: Web, *, heeds: bool) -> None:
        self._web, self._heeds = web, heeds
        self._queue = DueQueue(len(web))
        self._visited, self._signals = [0.0] * len(web), [0] * len(web)
        for page in range(len(web)):
            self.put(page)

    def choose(self, now: float) -> int:
        found = self._queue.best(now, lambda host: True)
        return int(found[0]) if found is not None else 0

    def visited(self, page: int, now: float, changed: bool) -> None:
        self._visited[page], self._signals[page] = now, 0
        self.put(page)

    def put(self, page: int) -> None:
        known = self._web[page]
        change, recall, step = self.look(page)
        aged = self._signals[page] * step
        self._queue.put(str(page), known.host, known.importance, change, self._visited[page], aged, recall)

    def look(self, page: int) -> tuple[float, float, float]:
        """Return a page's rate of change, the announced part of its changes, and the step of a signal."""
        raise NotImplementedError

    def signal(self, page: int, now: float) -> None:
        if self._heeds:
            self._signals[page] += 1
            self.put(page)


class Knowing(Gaining):
    """The optimum: it knows the rates and how true signals are, not when pages change."""

    def __init__(self, web: Web, recall: float) -> None:
        self._recall = recall
        super().__init__(web, heeds=recall > 0)

    def look(self, page: int) -> tuple[float, float, float]:
        change, recall = self._web[page].rate, self._recall
        if not recall or not change:
            return change, 0.0, 0.0
        false = FALSE * change + NOISE
        return change, recall, math.log((recall * change + false) / false) / ((1 - recall) * change)


class Learning(Gaining):
    """What a crawl does: it learns the rates and how true signals are from its visits."""

    def __init__(self, web: Web, *, heeds: bool) -> None:
        self._histories = [History() for _ in web]
        self._groups, self._trusts = defaultdict[str, Group](Group), defaultdict[str, Trust](Trust)
        self._believed: dict[str, tuple[float, float]] = {}
        self._looks = 0
        super().__init__(web, heeds=heeds)

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


def _even(web: Web, visits: float) -> list[float]:
    return [len(web) / visits] * len(web)


def _proportional(web: Web, visits: float) -> list[float]:
    changes = sum(page.rate for page in web)
    return [changes / visits / page.rate if page.rate else math.inf for page in web]


#: What makes each policy, for so many visits a second.
POLICIES: dict[str, Callable[[Web, float], Evenly | Gaining]] = {
    "uniform": lambda web, visits: Evenly(_even(web, visits)),
    "proportional": lambda web, visits: Evenly(_proportional(web, visits)),
    "Nutch": lambda web, visits: Nutch(_even(web, visits)),
    "StormCrawler": lambda web, visits: StormCrawler(_even(web, visits)),
    "optimum": lambda web, _: Knowing(web, 0.0),
    "learned": lambda web, _: Learning(web, heeds=False),
    "optimum with signals": lambda web, _: Knowing(web, RECALL),
    "learned with signals": lambda web, _: Learning(web, heeds=True),
}

#: Mean visits a page before and while the freshness is measured; each is a part of the curve.
LEARNING, MEASURED = 20, 10


class Figures(NamedTuple):
    """A policy's freshness once it has learned: the mean, least and most of all webs, and the curve."""

    policy: str
    freshness: float
    least: float
    most: float
    curve: tuple[float, ...]


def show(pages: int, seeds: int, processes: int, out: Path | None) -> None:
    """Crawl every web by every policy, write everything into ``out``, and print."""
    output = Output(out, "revisits", ("freshness.csv", "curves.csv", "freshness.png")).prepare()
    found = run(pages, seeds, processes)
    output.write("freshness", ("policy", "freshness", "least", "most"), (each[:4] for each in found))
    points = zip(*(each.curve for each in found), strict=True)
    rows = ((part + 0.5, *point) for part, point in enumerate(points))
    output.write("curves", ("visits_a_page", *POLICIES), rows)
    output.draw("freshness.png", draw_freshness, {each.policy: each.curve for each in found}, LEARNING)
    told = ((each.policy, f"{each.freshness:.3f}", f"{each.least:.3f} to {each.most:.3f}") for each in found)
    print_table(("policy", "freshness", "webs"), told)
    output.finish()


def run(pages: int, seeds: int, processes: int) -> list[Figures]:
    """Crawl each of so many webs by every policy."""

    def crawled(job: tuple[str, int]) -> tuple[tuple[str, int], list[float]]:
        visits, a_second = pages * (LEARNING + MEASURED), pages * VISITS / DAY
        web = make_web(pages, visits / a_second, job[1])
        policy = POLICIES[job[0]](web, a_second)
        return job, crawl(web, policy, a_second, visits, LEARNING + MEASURED).tolist()

    jobs = [(policy, seed) for seed in range(1, seeds + 1) for policy in POLICIES]
    curves: dict[tuple[str, int], Sequence[float]] = {}
    with Cut() as cut:
        curves.update(spread(crawled, jobs, processes, Progress(), "crawl"))
    cut.end("Interrupted: nothing was written.")
    found = []
    for policy in POLICIES:
        own = [curves[job] for job in jobs if job[0] == policy]
        late = [mean(curve[LEARNING:]) for curve in own]
        whole = tuple(map(mean, zip(*own, strict=True)))
        found.append(Figures(policy, mean(late), min(late), max(late), whole))
    return found
