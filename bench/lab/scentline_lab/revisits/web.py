"""A simulated web, whose pages change at known rates, with noisy signals, and a crawl that revisits them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

#: Moments in seconds, in ascending order.
Times: TypeAlias = npt.NDArray[np.float64]
#: How a page changes: at random; at even intervals; several times in a short while, then long not; never.
Kind: TypeAlias = Literal["poisson", "periodic", "bursts", "never"]

DAY = 86_400.0
_HOSTS, _PREFIXES, _PATTERNS = 20, 4, 3
#: The part of all pages that each kind has.
PARTS: dict[Kind, float] = {"poisson": 0.6, "periodic": 0.1, "bursts": 0.1, "never": 0.2}
# Rates are lognormal: the median, and the log standard deviations of hosts, prefixes, patterns and pages.
_MEDIAN = 0.1 / DAY
_SPREAD = (1.0, 0.7, 0.7, 0.7)
# Changes in a burst, in the mean, and the mean time between two of them.
_BURST, _WITHIN = 5, 0.02 * DAY
# Requests for the page of rank r are in proportion to r to the minus of this (Zipf).
_ZIPF = 0.8
#: False signals for each change of a page, the mean delay of a signal, and false signals a second of any page.
FALSE, _DELAY, NOISE = 0.1, 0.02 * DAY, 0.002 / DAY


@dataclass(frozen=True)
class Page:
    """A page: the groups of pages that it belongs to, the largest first, how often it changes in the mean, its
    share of the requests, and what happens.
    """

    host: str
    groups: tuple[str, ...]
    kind: Kind
    rate: float
    importance: float
    changes: Times
    signals: Times


def make_web(pages: int, seconds: float, recall: float, seed: int) -> list[Page]:
    """Return pages and what happens to them in so many seconds; ``recall`` of the changes show in the log."""
    rng = np.random.default_rng(seed)
    ranks = rng.permutation(pages) + 1
    importance = ranks**-_ZIPF / (ranks**-_ZIPF).sum()
    kinds = rng.choice(list(PARTS), pages, p=list(PARTS.values()))
    levels = [rng.normal(0, spread, (_HOSTS, _PREFIXES, _PATTERNS)) for spread in _SPREAD[:3]]
    found = []
    for number in range(pages):
        host, prefix, pattern = rng.integers((_HOSTS, _PREFIXES, _PATTERNS)).tolist()
        log = levels[0][host, 0, 0] + levels[1][host, prefix, 0] + levels[2][host, prefix, pattern]
        kind: Kind = kinds[number]
        rate = 0.0 if kind == "never" else _MEDIAN * float(np.exp(log + rng.normal(0, _SPREAD[3])))
        changes = _changes(rng, kind, rate, seconds)
        name, folder = f"h{host}.test", f"http://h{host}.test/{prefix}/"
        groups = "", name, folder, f"{folder}{pattern}-#"
        true = changes[rng.random(len(changes)) < recall]
        true = true + rng.exponential(_DELAY, len(true))
        signals = np.sort(np.concatenate([true, arrivals(rng, FALSE * rate + NOISE, seconds)]))
        found.append(Page(name, groups, kind, rate, float(importance[number]), changes, signals))
    return found


def _changes(rng: np.random.Generator, kind: Kind, rate: float, seconds: float) -> Times:
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


class Policy(Protocol):
    """Chooses which page to visit; pages are known by their number."""

    def choose(self, now: float) -> int:
        """Return the page to visit now."""

    def visited(self, page: int, now: float, changed: bool) -> None:
        """Learn what a visit found."""

    def signal(self, page: int, now: float) -> None:
        """Learn that a page may have changed."""


def crawl(web: Sequence[Page], policy: Policy, rate: float, visits: int, parts: int) -> Times:
    """Return the freshness in each of ``parts`` of a crawl of so many visits, ``rate`` a second. The freshness
    is the share of requests whose copy is right: the mean, over time and weighed by importance, of whether the
    page is as it was at its last visit. Copies are fresh at the beginning.
    """
    length = visits / rate / parts
    fresh = np.zeros(parts)
    last = [0.0] * len(web)
    ends = [_first(page.changes, 0.0) for page in web]
    signals = sorted((time, number) for number, page in enumerate(web) for time in page.signals.tolist())
    told = 0
    for visit in range(visits):
        now = (visit + 1) / rate
        while told < len(signals) and signals[told][0] <= now:
            policy.signal(signals[told][1], signals[told][0])
            told += 1
        number = policy.choose(now)
        page = web[number]
        _credit(fresh, length, last[number], min(ends[number], now), page.importance)
        policy.visited(number, now, ends[number] <= now)
        last[number], ends[number] = now, _first(page.changes, now)
    for page, since, end in zip(web, last, ends, strict=True):
        _credit(fresh, length, since, min(end, visits / rate), page.importance)
    return fresh / length


def _first(times: Times, now: float) -> float:
    """Return the first moment after now."""
    place = int(np.searchsorted(times, now, side="right"))
    return float(times[place]) if place < len(times) else np.inf


def _credit(fresh: Times, length: float, since: float, until: float, importance: float) -> None:
    """Add the time from ``since`` to ``until`` to the parts of the crawl that it lies in."""
    first, end = int(since / length), int(until / length)
    for part in range(first, min(end + 1, len(fresh))):
        low, high = max(since, part * length), min(until, (part + 1) * length)
        fresh[part] += max(0.0, high - low) * importance
