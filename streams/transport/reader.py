"""What reads a log directly, without Faust and without a consumer group, needs of a transport."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from streams.transport.layout import Entry


class LogReader(Protocol):
    """A log whose partitions are read by offset; a journal is one."""

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""

    def read(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        """Return kept records from ``offset`` on, up to ``limit``; empty when none is kept."""

    def end(self, topic: str, partition: int) -> int:
        """Return the offset that the next record will have."""

    async def wait(self, positions: Mapping[tuple[str, int], int]) -> None:
        """Return once any of the partitions has come to an end past its position here."""
