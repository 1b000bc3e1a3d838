"""A crawl of the simulated web: so many visits a second, chosen by a policy, and how fresh its copies are."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from scentline_lab.revisits.web import Page, Times


class Policy(Protocol):
    """Chooses which page to visit; pages are known by their number."""

    def choose(self, now: float) -> int:
        """Return the page to visit now."""

    def visited(self, page: int, now: float, changed: bool) -> None:
        """Take in what a visit found."""

    def signal(self, page: int, now: float) -> None:
        """Take in that a page may have changed."""


def crawl(web: Sequence[Page], policy: Policy, rate: float, visits: int, parts: int) -> Times:
    """Return the freshness in each of ``parts`` of a crawl of so many visits, ``rate`` a second.

    The freshness is the share of requests whose copy is right: the mean, over time and weighed by importance,
    of whether the page is as it was at its last visit. Copies are fresh at the beginning.
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
