"""Gauges as they stand at one moment: added up over all who tell of them, then written as families."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from streams.metrics.catalogue import Metric


class Reading:
    """What was read at one scrape; values of the same metric and labels add up.

    >>> from streams.metrics.catalogue import LAG
    >>> reading = Reading()
    >>> reading.add(LAG, 2, "pages")
    >>> reading.add(LAG, 3, "pages")
    >>> [sample.value for family in reading.families() for sample in family.samples]
    [5.0]
    """

    def __init__(self) -> None:
        self._values: dict[Metric, dict[tuple[str, ...], float]] = {}

    def add(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a value to a metric, under the values of its labels in their order."""
        assert len(labels) == len(metric.labels), f"{metric.name}: labels {labels}, expected {metric.labels}"
        values = self._values.setdefault(metric, {})
        values[labels] = values.get(labels, 0.0) + value

    def families(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield each metric that was told of, with its values."""
        for metric, values in self._values.items():
            made = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = made(metric.name, metric.meaning, labels=metric.labels)
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family
