"""Hubs that get links by chance, at rates that are known, and what a schedule of visits makes of them."""

import math
from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from models.news.revisits import Revisits


class Outcome(NamedTuple):
    """How many visits found how many links, and the seconds that a link waited on average."""

    visits: int
    links: int
    wait: float


def simulate(revisits: Revisits, rates: Mapping[str, float], start: float, end: float, rng: Random) -> Outcome:
    """Visit the hubs of ``revisits`` when they are due, from ``start`` to ``end``.

    Each gets links as a Poisson process of its rate in links a second, more than 0; those of before ``start``
    are none.
    """
    coming = {hub: start + rng.expovariate(rate) for hub, rate in rates.items()}
    visits = links = 0
    wait = 0.0
    while (now := revisits.next_due) is not None and now < end:
        hub = revisits.due(now)[0]
        found = 0
        while coming[hub] <= now:
            wait += now - coming[hub]
            found += 1
            coming[hub] += rng.expovariate(rates[hub])
        revisits.visited(hub, found, now)
        visits, links = visits + 1, links + found
    return Outcome(visits, links, wait / links if links else 0.0)


class Expected(NamedTuple):
    """The seconds that a link waits on average, by how the same number of visits is shared out."""

    equal: float
    square_root: float


def expected(rates: Mapping[str, float], budget: float) -> Expected:
    """Return what schedules that know the rates, and have no bounds, come to (`models.news.revisits`).

    >>> expected({"busy": 9.0, "quiet": 1.0}, budget=1.0)
    Expected(equal=1.0, square_root=0.8)
    """
    roots = sum(math.sqrt(rate) for rate in rates.values())
    return Expected(len(rates) / budget / 2, roots**2 / budget / 2 / sum(rates.values()))
