"""What is told of the frontier: the orders it gives, and where its candidates are."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from agents.frontier.candidates import Candidates
from agents.frontier.rows import TotalsRow
from streams.metrics.catalogue import (
    FOUND,
    HOSTS,
    HOSTS_WAITING,
    HUBS,
    IN_FLIGHT,
    LARGEST_OWNER,
    LEASES_LOST,
    NEW_NEWS,
    NEWS_DELAY,
    ORDERS,
    QUEUE_LIMIT,
    QUEUED,
    REQUESTS,
    RETRYING,
    REVISITS,
    UNSCORED,
)
from streams.metrics.reading import Reading
from streams.metrics.registry import ByPredicate, Outcomes
from streams.runtime import Runtime

#: What comes of a revisit (`streams.records.Revisited`), or of its lease.
OUTCOMES = ("changed", "unchanged", "early", "moved", "retry", "failed", "lost")


class FrontierMetrics:
    """Counts orders, and reads the candidates and totals of one frontier agent."""

    def __init__(self, runtime: Runtime, candidates: Candidates, totals: Callable[[], TotalsRow]) -> None:
        metrics = runtime.metrics
        self._label = metrics.predicate
        self._clock = runtime.clock
        self._candidates = candidates
        self._totals = totals
        self._orders = {by: ByPredicate(metrics, ORDERS, by) for by in ("policy", "chance", "instant")}
        self._leases_lost = metrics.counter(LEASES_LOST)
        runtime.watch(self.measure)

    def known(self, predicate: str) -> None:
        """Have a predicate in the figures before anything is ordered for it."""
        for orders in self._orders.values():
            orders.count(predicate, 0)

    def ordered(self, predicate: str, by: str) -> None:
        """Count an order: by "policy", "chance" or "instant"."""
        self._orders[by].count(predicate)

    def lease_lost(self) -> None:
        """Count an order that was not answered in time."""
        self._leases_lost.inc()

    def measure(self, reading: Reading) -> None:
        """Tell where URLs, candidates and hosts are."""
        self._measure_urls(reading)
        candidates = self._candidates
        flights = candidates.flights.values()
        flying = Counter(flight.predicate for flight in flights if not flight.revisit)
        for name, queue in candidates.queues.items():
            label = self._label(name)
            reading.add(QUEUED, len(queue), label)
            reading.add(HOSTS, len(queue.hosts()), label)
            reading.add(IN_FLIGHT, flying.pop(name, 0), label)
        for name, number in flying.items():  # of predicates that were removed
            reading.add(IN_FLIGHT, number, self._label(name))
        reading.add(QUEUE_LIMIT, candidates.settings.queue)
        reading.add(RETRYING, candidates.retries.urls)
        reading.add(UNSCORED, candidates.priorities.unscored)
        reading.add(HOSTS_WAITING, candidates.clocks.waiting(self._clock()))
        reading.add(LARGEST_OWNER, candidates.fairness.shares.largest)

    def _measure_urls(self, reading: Reading) -> None:
        totals = self._totals()
        ended = {
            "judged": totals.judged,
            "gone": totals.gone,
            "refused": totals.refused,
            "moved": totals.moved,
            "given_up": totals.given_up,
            "trapped": totals.trapped,
        }
        for state, number in ended.items():
            reading.add(FOUND, number, state)
        reading.add(FOUND, totals.discovered - sum(ended.values()), "open")
        reading.add(REQUESTS, totals.requests)


class Figures(Protocol):
    """What is read at a scrape."""

    @property
    def hubs(self) -> int:
        """How many hubs are revisited."""

    @property
    def waiting(self) -> int:
        """How many new links to news wait."""


class InstantMetrics:
    """Counts the revisits of one frontier agent; all is 0 while no ``figures`` are given."""

    def __init__(self, runtime: Runtime) -> None:
        self.figures: Figures | None = None
        self._revisits = Outcomes(runtime.metrics, REVISITS, OUTCOMES)
        self._delay = runtime.metrics.histogram(NEWS_DELAY)
        runtime.watch(self.measure)

    def revisited(self, outcome: str) -> None:
        """Count a revisit by what came of it."""
        self._revisits.count(outcome)

    def fetched(self, delay: float) -> None:
        """Count a new link to news that was fetched ``delay`` seconds after its publication."""
        self._delay.observe(delay)

    def measure(self, reading: Reading) -> None:
        """Tell of hubs and of what waits."""
        reading.add(HUBS, 0 if self.figures is None else self.figures.hubs)
        reading.add(NEW_NEWS, 0 if self.figures is None else self.figures.waiting)
