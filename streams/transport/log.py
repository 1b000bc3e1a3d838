"""The log that a process is connected to: where its messages go, and what its agents run on."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import faust

from streams.transport.layout import Entry
from streams.transport.publisher import Publisher


class LogReader(Protocol):
    """A log whose partitions are read by offset; a journal is one, at once, and so is Kafka."""

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        """Return records from ``offset`` on, up to ``limit``; empty when none is kept from there to the end."""

    async def ends(self, topic: str) -> Mapping[int, int]:
        """Return the offset that the next record of each partition will have."""

    async def wait(self, positions: Mapping[tuple[str, int], int]) -> Mapping[tuple[str, int], int]:
        """Return once any of the partitions, all of one topic, has come to an end past its position here.

        Returned are their ends, as far as they are known.
        """


class Log(Protocol):
    """A log with every topic made, connected to: the embedded one, or Kafka."""

    @property
    def publisher(self) -> Publisher:
        """What sends messages to it."""

    @property
    def reader(self) -> LogReader:
        """What reads it directly, in no consumer group."""

    def app(self, role: str) -> faust.App:
        """Return the Faust app that a role runs in; several roles may share one."""
