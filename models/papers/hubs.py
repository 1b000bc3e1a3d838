"""Hubs: pages that lead to news (Wang 2007, sections 4.2 and 5.1), and when to revisit each of them.

A link waits half of the interval I between two visits on average. With rates r of new links, the links of all
hubs wait the sum of r I / 2 per second, at a cost of the sum of 1 / I visits. For a given number of visits a
second the wait is least at I = sqrt(price / r), with one price for all hubs (by Lagrange). Visits in proportion
to the links, I = price / r, would make them wait as long as equal intervals do (Cho and Garcia-Molina,
Effective page refresh policies, TODS 2003). The rate r is learned from visits.
"""

import math
from collections.abc import Collection, Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from heapq import nsmallest
from typing import Literal, NamedTuple

import msgspec

from scentline.models.url import host, owner

#: Most referrers kept of a page.
REFERRERS = 16


def remember(referrers: dict[str, int], referrer: str, url: str) -> None:
    """Count a click on ``url`` from a page, of which at most `REFERRERS` are kept.

    One more replaces one that is less likely a hub: pages of the same owner come before others, and URLs
    without a query before those with one, such as search results. Of equals the first stay.

    >>> referrers = {f"http://search.test/?q={number}": 1 for number in range(REFERRERS)}
    >>> for page in ("http://a.org/new", "http://search.test/?q=a"):
    ...     remember(referrers, page, "http://a.org/1")
    >>> len(referrers), "http://a.org/new" in referrers, "http://search.test/?q=a" in referrers
    (16, True, False)
    """

    def likely(page: str) -> tuple[bool, bool]:
        return owner(host(page)) == owner(host(url)), "?" not in page

    if referrer not in referrers and len(referrers) >= REFERRERS:
        least = min(reversed(referrers), key=likely)
        if likely(referrer) <= likely(least):
            return
        del referrers[least]
    referrers[referrer] = referrers.get(referrer, 0) + 1


class Hub(NamedTuple):
    """A page that leads to news, with its numbers of news pages, of clicks on these, and of all pages."""

    url: str
    news: int
    clicks: int
    pages: int


class Outlinks:
    """The pages that each page leads to: by a click, from its referrer, or by a link.

    Each page keeps its last ``targets``, all pages together ``pairs`` of source and target: beyond these the
    sources with the fewest targets are forgotten, until a tenth is free. At most 100 MB beside the URLs.
    """

    def __init__(self, *, targets: int = 2_000, pairs: int = 500_000) -> None:
        if not 1 <= targets <= pairs:
            raise ValueError(
                f"outlinks: {targets} targets of {pairs} pairs, expected 1 at least, within the pairs"
            )
        self._targets: dict[str, dict[str, int]] = {}
        self._bound, self._limit = targets, pairs
        self._pairs = 0

    def __len__(self) -> int:
        return self._pairs

    def add(self, source: str, target: str, clicks: int = 0) -> None:
        """Record that ``source`` leads to ``target``, another page, by a number of clicks."""
        if source == target:
            return
        targets = self._targets.setdefault(source, {})
        before = targets.pop(target, None)  # so that it becomes the one seen last
        targets[target] = (before or 0) + clicks
        if before is not None:
            return
        if len(targets) > self._bound:
            del targets[next(iter(targets))]
            return
        self._pairs += 1
        if self._pairs > self._limit:
            self._forget()

    def hubs(self, news: Container[str], count: int, by: Literal["links", "clicks"] = "links") -> list[Hub]:
        """Return the ``count`` pages that lead to the most news pages, or by the most clicks, the best first.

        A page that leads to a single one is no hub: it may be the result of one user's search.
        """
        found = (self._hub(source, targets, news) for source, targets in self._targets.items())
        first, second = ("news", "clicks") if by == "links" else ("clicks", "news")
        return nsmallest(
            count,
            (hub for hub in found if hub.news > 1),
            key=lambda hub: (-getattr(hub, first), -getattr(hub, second), hub.url),
        )

    def reached(self, sources: Container[str], news: Container[str]) -> int:
        """Return the number of distinct news pages that the ``sources`` lead to."""
        return len(
            {
                target
                for source, targets in self._targets.items()
                if source in sources
                for target in targets
                if target in news
            }
        )

    @staticmethod
    def _hub(source: str, targets: dict[str, int], news: Container[str]) -> Hub:
        clicks = [times for target, times in targets.items() if target in news]
        return Hub(source, len(clicks), sum(clicks), len(targets))

    def _forget(self) -> None:
        wanted = self._limit - self._limit // 10
        for source in sorted(self._targets, key=lambda source: (len(self._targets[source]), source)):
            if self._pairs <= wanted:
                return
            self._pairs -= len(self._targets.pop(source))


#: Buckets of the seconds from publication to fetch, up to a day.
DELAYS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 10_800.0, 43_200.0, 86_400.0)


class ArrivalRate(msgspec.Struct, array_like=True):
    """The rate of a Poisson process, from the number of arrivals between visits.

    With a Gamma prior of shape ``links`` and rate ``seconds``, and k arrivals in t seconds, the rate is Gamma
    distributed with shape ``links`` + k and rate ``seconds`` + t (Gelman et al., Bayesian Data Analysis, 2.6).
    Observations lose half their weight in each half-life; the prior keeps its weight, so that no page is ever
    given up.
    """

    links: float
    seconds: float
    seen_links: float = 0.0
    seen_seconds: float = 0.0

    @classmethod
    def expecting(cls, rate: float, weight: float = 1.0) -> "ArrivalRate":
        """Return a rate whose prior mean is ``rate`` links a second, with the weight of ``weight`` seen links.

        Raises ValueError unless both are more than 0.
        """
        if not (rate > 0 and weight > 0):
            raise ValueError(f"arrival rate: {rate} links a second, weight {weight}, expected more than 0")
        return cls(weight, weight / rate)

    @property
    def mean(self) -> float:
        """The expected rate, in links a second."""
        return (self.links + self.seen_links) / (self.seconds + self.seen_seconds)

    def observe(self, links: int, elapsed: float, half_life: float) -> None:
        """Count ``links`` new links, spread evenly over the last ``elapsed`` seconds, more than 0."""
        kept = 2.0 ** (-elapsed / half_life)
        weighed = (1 - kept) * half_life / math.log(2)
        self.seen_links = self.seen_links * kept + links * weighed / elapsed
        self.seen_seconds = self.seen_seconds * kept + weighed


DAY = 86_400.0
_HALVINGS = 60


class Revisits:
    """The hubs, the rate of each, and when it is due; times are in seconds and passed in.

    ``budget`` is the number of visits a second to all hubs. An interval is from ``shortest`` to ``longest``
    seconds; if even the longest exceeds the budget, it grows. Prices are recomputed after as many visits as
    there are hubs, and when hubs come or go.
    """

    def __init__(
        self, budget: float, *, shortest: float = 60.0, longest: float = DAY, half_life: float = 3 * DAY
    ) -> None:
        if not (budget > 0 and 0 < shortest <= longest and half_life > 0):
            raise ValueError(
                f"revisits: {budget} visits a second, {shortest} to {longest} seconds apart, half-life "
                f"{half_life}; expected more than 0, and the shortest interval no longer than the longest"
            )
        self._budget, self._shortest, self._longest = budget, shortest, longest
        self._half_life = half_life
        self._rates: dict[str, ArrivalRate] = {}
        self._visited: dict[str, float] = {}
        self._due: dict[str, float] = {}
        self._price: float | None = None
        self._left = 0

    def __len__(self) -> int:
        return len(self._rates)

    def add(self, hub: str, rate: float, now: float) -> None:
        """Add a hub with an expected ``rate`` of links a second; it is due at once.

        The expectation weighs as much as one seen link, or as a day without one if that is less.
        """
        if hub not in self._rates:
            self._rates[hub] = ArrivalRate.expecting(rate, min(1.0, rate * DAY))
            self._due[hub] = now
            self._price = None

    def keep(self, hubs: Collection[str]) -> None:
        """Forget every hub but these."""
        for hub in self._rates.keys() - set(hubs):
            del self._rates[hub], self._due[hub]
            self._visited.pop(hub, None)
            self._price = None

    def due(self, now: float) -> list[str]:
        """Return the hubs that are due, the longest total wait of their links first."""
        waiting = [(self._waited(hub, now), hub) for hub, due in self._due.items() if due <= now]
        return [hub for _, hub in sorted(waiting, key=lambda item: (-item[0], item[1]))]

    @property
    def next_due(self) -> float | None:
        """When the next hub is due; None without hubs."""
        return min(self._due.values(), default=None)

    @property
    def hubs(self) -> AbstractSet[str]:
        """All hubs."""
        return self._rates.keys()

    def spend(self, budget: float) -> None:
        """Set the number of visits a second, more than 0, for the intervals from now on."""
        self._budget, self._price = budget, None

    def know(self, learned: Mapping[str, tuple[ArrivalRate, float]]) -> None:
        """Restore hubs with the rate of each and the time of its last visit, 0 without one: then it is due."""
        if not learned.keys() <= self._rates.keys():
            self._price = None
        self._rates.update((hub, rate) for hub, (rate, _) in learned.items())
        for hub, (_, visited) in learned.items():
            self._due[hub] = 0.0
            if visited:
                self._visited[hub] = visited
                self._due[hub] = visited + self.interval(hub)
                self._left -= 1

    def postpone(self, hub: str, until: float) -> None:
        """Postpone a known hub: its visit is in flight or failed, or it may not be requested yet."""
        self._due[hub] = until

    def visited(self, hub: str, links: int, now: float) -> None:
        """Count a visit to a known hub that found ``links`` new ones; those of the first do not count."""
        if hub not in self._rates:
            return
        before = self._visited.get(hub)
        if before is not None and now > before:
            self._rates[hub].observe(links, now - before, self._half_life)
        self._visited[hub] = now
        self._due[hub] = now + self.interval(hub)
        self._left -= 1

    def interval(self, hub: str) -> float:
        """Return the current interval between visits to a hub, in seconds."""
        if self._price is None or self._left <= 0:
            rates = [rate.mean for rate in self._rates.values()]
            self._price = price(rates, self._budget, self._shortest, self._longest)
            self._left = len(rates)
        return _interval(self.rate(hub), self._price, self._shortest, self._bound())

    def rate(self, hub: str) -> float:
        """Return the expected links a second of a hub."""
        return self._rates[hub].mean

    def _waited(self, hub: str, now: float) -> float:
        """Return twice the expected total wait of a hub's new links; infinite before its first visit."""
        before = self._visited.get(hub)
        return math.inf if before is None else self.rate(hub) * (now - before) ** 2

    def _bound(self) -> float:
        return max(self._longest, len(self._rates) / self._budget)


def price(rates: Iterable[float], budget: float, shortest: float, longest: float) -> float:
    """Return the price at which visits to pages of these ``rates`` cost ``budget`` a second, or come nearest.

    The longest interval grows if it alone would cost more.
    """
    known = list(rates)
    longest = max(longest, len(known) / budget)
    low, high = math.log(shortest**2 * min(known)), math.log(longest**2 * max(known))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        cost = sum(1 / _interval(rate, math.exp(middle), shortest, longest) for rate in known)
        low, high = (middle, high) if cost > budget else (low, middle)
    return math.exp(high)


def _interval(rate: float, price: float, shortest: float, longest: float) -> float:
    return min(longest, max(shortest, math.sqrt(price / rate)))
