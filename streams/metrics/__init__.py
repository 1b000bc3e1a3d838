"""The metrics and the health of one process, in one registry made where the process starts.

A process is healthy while its event loop turns, and ready while each role also holds its partitions with
recovered tables. A thread other than the loop's answers, so that a stuck loop is reported too.
"""

import asyncio
import platform
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from importlib.metadata import version
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)  # fmt: skip
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from scentline.streams.metrics import catalogue
from scentline.streams.metrics.catalogue import Metric
from scentline.streams.topics import APP_ID


class Reading:
    """What was read at one scrape; values of the same metric and labels add up."""

    def __init__(self) -> None:
        self._values: dict[Metric, dict[tuple[str, ...], float]] = {}

    def add(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a value to a metric, under the values of its labels in their order."""
        assert len(labels) == len(metric.labels), f"{metric.name}: labels {labels}, expected {metric.labels}"
        values = self._values.setdefault(metric, {})
        values[labels] = values.get(labels, 0.0) + value

    def families(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield each added metric with its values."""
        for metric, values in self._values.items():
            made = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = made(metric.name, metric.meaning, labels=metric.labels)
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family


BEAT_SECONDS = 1.0  #: Seconds between two beats of the loop.
ALL = "all"  #: The role of an app that runs all of them.


class Health:
    """Records the loop's beats, and runs the checks. ``clock`` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beat = clock()
        self._checks: list[Callable[[], list[str]]] = []

    def need(self, check: Callable[[], list[str]]) -> None:
        """Require ``check``, called from any thread, to return nothing as missing for readiness."""
        self._checks.append(check)

    def missing(self) -> list[str]:
        """Return all that is missing; nothing when the process is ready."""
        if not self._checks:
            return ["no role has started yet"]
        return [line for check in tuple(self._checks) for line in check()]

    def age(self) -> float:
        """Return the seconds since the loop last turned, or since the process began."""
        return self._clock() - self._beat

    async def beat(self, late: Callable[[float], object] = lambda _: None) -> None:
        """Record the loop's beats, for ever; report to ``late`` how many seconds late each was."""
        while True:
            self._beat = self._clock()
            await asyncio.sleep(BEAT_SECONDS)
            late(max(self._clock() - self._beat - BEAT_SECONDS, 0.0))


class Assignment:
    """Watches a Faust app, from any thread: `settled` while it holds its partitions, tables recovered."""

    def __init__(self, app: Any) -> None:
        self._app = app
        # Faust makes its parts, bound to the current event loop, at their first use. A probe's thread has
        # another loop, which never runs: the app would wait for ever for what is to run there.
        self._monitor = app.monitor
        self._role = app.conf.id.rpartition(APP_ID)[2].removeprefix("-") or ALL

    @property
    def settled(self) -> bool:
        """Whether the assignment, even an empty one, is complete and its tables are recovered."""
        app = self._app
        return bool(self._monitor.rebalance_end_latency) and not app.rebalancing and not app.should_stop

    def missing(self) -> list[str]:
        """Return what is missing before the role can work, as text; may be called from any thread."""
        if self.settled:
            return []
        why = "partitions are being assigned and their tables recovered"
        if self._app.should_stop:
            why = "is stopping"
        elif not self._app.rebalancing:
            why = "no partitions are assigned yet"
        return [f"{self._role}: {why}"]

    async def read(self, reading: Reading) -> None:
        """Report the role's readiness and rebalances."""
        latencies = self._monitor.rebalance_end_latency
        reading.add(catalogue.READY, self.settled, self._role)
        reading.add(catalogue.REBALANCES, self._app.rebalancing_count, self._role)
        if latencies:
            reading.add(catalogue.RECOVERY, latencies[-1], self._role)


#: Adds gauges to a reading; called in the event loop, at each scrape.
Source = Callable[[Reading], Awaitable[None]]

MOST_PREDICATES = 100  #: Predicates with a label of their own; later ones share `OTHER`.
OTHER = "other"
#: Seconds that a scrape waits for the event loop; without its answer it has no gauges.
PATIENCE_SECONDS = 5.0


class Metrics(Collector):
    """Counters and histograms, made at first use, and sources of gauges, read at each scrape.

    Sources run in the event loop, where nothing changes under them, while the scrape's thread waits, for
    ``patience_seconds`` at most.
    """

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        disable_created_metrics()  # a second series for each, with its creation time
        self.registry = CollectorRegistry()
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._predicates: set[str] = set()
        self._assignments: dict[str, Assignment] = {}
        self._patience_seconds = patience_seconds
        self._sources: list[Source] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self.registry.register(self)
        ProcessCollector(registry=self.registry)
        self._gauge(catalogue.BUILD).labels(version("scentline"), platform.python_version()).set(1)
        self.health = Health()
        self._gauge(catalogue.BEAT_AGE).set_function(self.health.age)

    def _gauge(self, metric: Metric) -> Gauge:
        return Gauge(metric.name, metric.meaning, metric.labels, registry=self.registry)

    def counter(self, metric: Metric) -> Counter:
        """Return the counter of a metric; to count often, bind its labels once."""
        found = self._counters.get(metric.name)
        if found is None:
            found = Counter(metric.name, metric.meaning, metric.labels, registry=self.registry)
            self._counters[metric.name] = found
        return found

    def histogram(self, metric: Metric) -> Histogram:
        """Return the histogram of a metric."""
        if metric.name not in self._histograms:
            self._histograms[metric.name] = Histogram(
                metric.name, metric.meaning, metric.labels, registry=self.registry, buckets=metric.buckets
            )
        return self._histograms[metric.name]

    def predicate(self, name: str) -> str:
        """Return the label of a predicate: its name, or `OTHER` once there are `MOST_PREDICATES` others."""
        if name not in self._predicates:
            if len(self._predicates) >= MOST_PREDICATES:
                return OTHER
            self._predicates.add(name)
        return name

    def watch(self, source: Source) -> None:
        """Read a source at each scrape."""
        self._sources.append(source)

    def assignment(self, app: Any) -> Assignment:
        """Return the assignment of a Faust app, exported and required for readiness."""
        assignment = self._assignments.get(app.conf.id)
        if assignment is None:
            assignment = self._assignments[app.conf.id] = Assignment(app)
            self.health.need(assignment.missing)
            self.watch(assignment.read)
        return assignment

    def need_log(self, lost_seconds: Callable[[], float]) -> None:
        """Require the log to answer for readiness, and export for how many seconds it has not."""

        def missing() -> list[str]:
            seconds = lost_seconds()
            return [f"broker: has not answered for {seconds:.0f} s"] if seconds else []

        self.health.need(missing)
        self._gauge(catalogue.BROKERS_LOST).set_function(lost_seconds)

    def attach(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Set the event loop in which the sources run; without one there are no gauges."""
        self._loop = loop

    def collect(self) -> Iterable[Family]:
        """Return what the sources add in the event loop; call it from any other thread."""
        if self._loop is None:
            return ()
        asked = asyncio.run_coroutine_threadsafe(self._read(), self._loop)
        try:
            return tuple(asked.result(self._patience_seconds).families())
        except TimeoutError:
            asked.cancel()
            return ()

    async def _read(self) -> Reading:
        reading = Reading()
        await asyncio.gather(*(source(reading) for source in self._sources))
        return reading


class Outcomes:
    """A counter of one label whose values are known: all are exported from the start, at 0."""

    def __init__(self, metrics: Metrics, metric: Metric, values: Iterable[str]) -> None:
        counter = metrics.counter(metric)
        self._bound = {value: counter.labels(value) for value in values}

    def count(self, value: str) -> None:
        """Count one; KeyError for an unknown value."""
        self._bound[value].inc()


class ByPredicate:
    """A counter whose first label is the predicate; ``rest`` are the values of its other labels."""

    def __init__(self, metrics: Metrics, metric: Metric, *rest: str) -> None:
        self._metrics = metrics
        self._counter = metrics.counter(metric)
        self._rest = rest
        self._bound: dict[str, Counter] = {}

    def count(self, predicate: str, number: int = 1) -> None:
        """Count ``number``; 0 exports the predicate's series."""
        bound = self._bound.get(predicate)
        if bound is None:
            label = self._metrics.predicate(predicate)
            bound = self._bound[predicate] = self._counter.labels(label, *self._rest)
        bound.inc(number)
