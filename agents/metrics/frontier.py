"""What is told of the frontier: the orders it gives, and where its candidates are."""

from collections import Counter
from collections.abc import Callable

from agents.frontier.candidates import Candidates
from agents.frontier.rows import TotalsRow
from streams.metrics.catalogue import (
    FOUND,
    HOSTS,
    HOSTS_WAITING,
    IN_FLIGHT,
    LARGEST_OWNER,
    LEASES_LOST,
    ORDERS,
    QUEUE_LIMIT,
    QUEUED,
    RETRYING,
    UNSCORED,
)
from streams.metrics.reading import Reading
from streams.metrics.registry import ByPredicate
from streams.runtime import Runtime


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
