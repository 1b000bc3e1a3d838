"""What agents need of a transport: the log they are connected to, and how they publish."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import faust

from scentline.models.errors import ScentlineError
from scentline.streams.inbox import Committer
from scentline.streams.transport.journal import Journal, Record
from scentline.streams.transport.one_batch import OneBatch
from scentline.streams.transport.partition import Entry


class FencedError(ScentlineError):
    """A partition was claimed by another writer since: this one may not write there any more."""

    explains_itself = False


class Publisher(Protocol):
    """The way from an agent to the log."""

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""

    async def send_all(self, entries: Sequence[tuple[str, int, bytes | None, bytes | None]]) -> None:
        """Send messages (topic, partition, key, value); return when the log has them."""

    async def take_over(self, topic: str, partition: int) -> None:
        """Become a writer of a partition's batches: after its first batch, no earlier writer's is appended."""

    def release(self, topic: str, partition: int) -> None:
        """Give up what was taken over; what is under way there ends with `FencedError`."""

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records, all or none; return the first offset. Raises `FencedError` after a later claim."""

    def committer(self, app: faust.App, table: str, topic: str) -> Committer:
        """Make a Faust table, and what commits the groups of the stateful agent whose inbox is ``topic``."""


class JournalPublisher:
    """Publishes to a journal of this process; ``clock`` gives the time of day in seconds."""

    def __init__(self, journal: Journal, clock: Callable[[], float]) -> None:
        self._journal = journal
        self._clock = clock

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""
        return self._journal.partitions(topic)

    async def send_all(self, entries: Sequence[tuple[str, int, bytes | None, bytes | None]]) -> None:
        """Append the messages, all or none."""
        self._journal.append_all(entries, self._clock())

    async def take_over(self, topic: str, partition: int) -> None:
        """Do nothing: a journal has one writer."""

    def release(self, topic: str, partition: int) -> None:
        """Do nothing: nothing is under way in a journal."""

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append the records, all or none."""
        return self._journal.append_batch(topic, partition, records, self._clock())

    def committer(self, app: faust.App, table: str, topic: str) -> Committer:
        """Return what writes a group as one batch."""
        return OneBatch(self._journal, app, table, topic, self._clock)


class LogReader(Protocol):
    """A log whose partitions are read by offset; a journal is one, at once, and so is Kafka."""

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        """Return records from ``offset`` on, up to ``limit``; empty when none is kept from there to the end."""

    async def ends(self, topic: str) -> Mapping[int, int]:
        """Return the offset that the next record of each partition will have."""

    async def wait(self, positions: Mapping[tuple[str, int], int]) -> Mapping[tuple[str, int], int]:
        """Return the known ends once any of the partitions, all of one topic, ends past its position here."""


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

    def lost_seconds(self) -> float:
        """Return for how long it has not answered, 0 where it does; from any thread."""
