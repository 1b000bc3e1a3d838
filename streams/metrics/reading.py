"""Gauges as they stand at one moment: added up over all who tell of them, then written as families.

The lag is the messages of a topic that have not been taken in, of the partitions that are held.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from scentline.streams.metrics.catalogue import LAG, PARTITIONS, Metric


class Reading:
    """What was read at one scrape; values of the same metric and labels add up.

    >>> from scentline.streams.metrics.catalogue import LAG
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


#: Seconds that the log may take to tell where a topic ends.
PATIENCE_SECONDS = 2.0

#: Returns the next offset that is wanted of each partition held.
Positions = Callable[[], Mapping[int, int]]
#: Returns the offset that comes next in each partition of a topic.
Ends = Callable[[str], Awaitable[Mapping[int, int]]]


async def read_lag(reading: Reading, topic: str, positions: Mapping[int, int], ends: Ends | None) -> None:
    """Tell how many partitions of a topic are held, and how many messages wait beyond the ``positions``.

    The log is asked for the ends: what was heard with the last messages is old where messages are not asked for
    because work piles up. A log that does not answer leaves the lag untold.
    """
    reading.add(PARTITIONS, len(positions), topic)
    if ends is None:
        return
    # Whatever a transport may raise: the other figures are still worth telling.
    with suppress(Exception):
        async with asyncio.timeout(PATIENCE_SECONDS):
            found = await ends(topic)
        waiting = (found[partition] - next_ for partition, next_ in positions.items())
        reading.add(LAG, sum(max(0, number) for number in waiting), topic)


def unacknowledged(app: Any, topic: str) -> Positions:
    """Return the positions of an agent without state: the first offsets that are not acknowledged.

    ``topic`` is as the broker names it (`streams.settings.Settings.named`).
    """

    def positions() -> Mapping[int, int]:
        held = [tp for tp in app.consumer.assignment() if tp.topic == topic]
        # Faust has no public name for how far it has committed.
        return {tp.partition: app.consumer._committed_offset.get(tp) or 0 for tp in held}

    return positions


def broadcast_lag(topic: str, behind: Callable[[], int]) -> Callable[[Reading], Awaitable[None]]:
    """Return what tells of a topic that every worker reads whole how many messages wait for this one."""

    async def read(reading: Reading) -> None:
        reading.add(LAG, behind(), topic)

    return read
