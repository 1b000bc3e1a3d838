"""Counters by a label's values, each bound once: to look one up by its labels takes longer than to count."""

from collections.abc import Iterable

from prometheus_client import Counter

from streams.metrics.catalogue import Metric
from streams.metrics.registry import Metrics


class Outcomes:
    """A counter of one label whose values are known: all of them are there, at 0, from the start."""

    def __init__(self, metrics: Metrics, metric: Metric, values: Iterable[str]) -> None:
        counter = metrics.counter(metric)
        self._bound = {value: counter.labels(value) for value in values}

    def count(self, value: str) -> None:
        """Count one; KeyError for a value that was not named."""
        self._bound[value].inc()


class ByPredicate:
    """A counter whose first label is the predicate; ``rest`` are the values of its other labels."""

    def __init__(self, metrics: Metrics, metric: Metric, *rest: str) -> None:
        self._metrics = metrics
        self._counter = metrics.counter(metric)
        self._rest = rest
        self._bound: dict[str, Counter] = {}

    def count(self, predicate: str, number: int = 1) -> None:
        """Count ``number``, which may be 0: the predicate is in the figures then."""
        bound = self._bound.get(predicate)
        if bound is None:
            bound = self._counter.labels(self._metrics.predicate(predicate), *self._rest)
            self._bound[predicate] = bound
        bound.inc(number)
