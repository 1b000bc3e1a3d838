"""What the fetch agent counts: outcomes, bytes, seconds, and how long politeness had it wait."""

from agents.fetch.client import Client
from agents.fetch.result import OUTCOMES, Fetched, Result, outcome_of
from streams.metrics.catalogue import (
    FETCH_SECONDS,
    FETCH_SLOTS,
    FETCHED,
    FETCHED_BYTES,
    FETCHING,
    TAKEN,
    WAIT_SECONDS,
    WAITS,
)
from streams.metrics.lag import unacknowledged
from streams.metrics.reading import Reading
from streams.metrics.registry import Outcomes
from streams.runtime import Runtime
from streams.topics import FETCHES

#: What came of an order that the frontier had taken back before its turn came.
EXPIRED = "expired"


class FetchMetrics:
    """Counts the orders of one fetch agent, at most ``slots`` of which are carried out at a time."""

    def __init__(self, runtime: Runtime, client: Client, slots: int) -> None:
        metrics = runtime.metrics
        self._client = client
        self._slots = slots
        self._under_way = 0
        self._outcomes = Outcomes(metrics, FETCHED, (*OUTCOMES, EXPIRED))
        self._bytes = metrics.counter(FETCHED_BYTES)
        self._seconds = metrics.histogram(FETCH_SECONDS)
        self._taken = metrics.counter(TAKEN).labels(FETCHES.name)
        runtime.watch(self.measure)
        runtime.watch_lag(FETCHES, unacknowledged(runtime.app, FETCHES.name))

    def begun(self) -> None:
        """Count an order that is being carried out."""
        self._under_way += 1

    def ended(self) -> None:
        """Count it no more."""
        self._under_way -= 1

    def acknowledged(self) -> None:
        """Count an order whose answer is in the log."""
        self._taken.inc()

    def expired(self) -> None:
        """Count an order that came too late."""
        self._outcomes.count(EXPIRED)

    def answered(self, result: Result) -> None:
        """Count what came of an order."""
        self._outcomes.count(outcome_of(result))
        if isinstance(result, Fetched):
            self._bytes.inc(len(result.body))
        if result.elapsed:
            self._seconds.observe(result.elapsed)

    def measure(self, reading: Reading) -> None:
        """Tell what is under way, and how often and how long orders waited."""
        reading.add(FETCHING, self._under_way)
        reading.add(FETCH_SLOTS, self._slots)
        reading.add(WAITS, self._client.servers.waits)
        reading.add(WAIT_SECONDS, self._client.servers.waited)
