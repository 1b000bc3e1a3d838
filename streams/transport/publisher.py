"""What agents need of a transport to publish, and the embedded log's way of doing it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from models.errors import ScentlineError
from streams.transport.journal import Journal, Record
from streams.transport.layout import Entry


class FencedError(ScentlineError):
    """A partition was claimed by another writer since: this one may not write there any more."""

    explains_itself = False


class Publisher(Protocol):
    """The way from an agent to the log."""

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""

    async def send_all(self, entries: Sequence[tuple[str, int, bytes | None, bytes | None]]) -> None:
        """Send messages (topic, partition, key, value); return when the log has them."""

    async def claim(self, topic: str, partition: int, known: int) -> Sequence[Entry]:
        """Become the one writer of a partition's batches; return the records after offset ``known``.

        At its return no batch of an earlier claimant is appended any more, by whatever process, and what one
        has appended is among the records.
        """

    async def take_over(self, topic: str, partition: int) -> None:
        """Become a writer of a partition's batches without appending anything to it yet.

        From its first batch on no batch of an earlier writer is appended, by whatever process.
        """

    def release(self, topic: str, partition: int) -> None:
        """Give up a claim, or what was taken over; what is under way there ends with `FencedError`."""

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records (key, value) as one batch, whole or not at all; return the first one's offset.

        Raises `FencedError` where the partition was claimed or taken over by another writer since.
        """


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

    async def claim(self, topic: str, partition: int, known: int) -> Sequence[Entry]:
        """Return nothing: a journal has one writer, and tables are recovered to its end."""
        return ()

    async def take_over(self, topic: str, partition: int) -> None:
        """Do nothing: a journal has one writer."""

    def release(self, topic: str, partition: int) -> None:
        """Do nothing: nothing is under way in a journal."""

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append the records, all or none."""
        return self._journal.append_batch(topic, partition, records, self._clock())
