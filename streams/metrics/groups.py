"""What is measured of the groups in which a stateful agent commits (`streams.inbox`)."""

import time

from streams.inbox import Group
from streams.metrics.catalogue import GROUP_MESSAGES, GROUP_ROWS, GROUP_SECONDS, GROUPS_LOST, TAKEN
from streams.metrics.registry import Metrics


class GroupMeter:
    """Measures the groups of one table, whose inbox is ``topic``."""

    def __init__(self, metrics: Metrics, table: str, topic: str) -> None:
        self._messages = metrics.histogram(GROUP_MESSAGES).labels(table)
        self._rows = metrics.histogram(GROUP_ROWS).labels(table)
        self._seconds = metrics.histogram(GROUP_SECONDS).labels(table)
        self._lost = metrics.counter(GROUPS_LOST).labels(table)
        self._taken = metrics.counter(TAKEN).labels(topic)

    def landed(self, group: Group) -> None:
        """Count a group that is safe now."""
        self._seconds.observe(time.perf_counter() - group.closed)
        self._messages.observe(len(group.messages))
        self._rows.observe(len(group.rows))
        self._taken.inc(len(group.messages))

    def lost(self) -> None:
        """Count a group that was given up."""
        self._lost.inc()
