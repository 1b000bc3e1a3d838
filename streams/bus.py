"""The bus: the log that agents are connected to, and how every worker hears what all of them must know."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import faust

from scentline.models.errors import ScentlineError
from scentline.streams.attempts import Place
from scentline.streams.inbox import Committer, Message
from scentline.streams.metrics.catalogue import LAG
from scentline.streams.metrics.registry import Reading
from scentline.streams.transport.partition import Entry, Record

STEP_RECORDS = 500  #: Records applied before other tasks get their turn.


class FencedError(ScentlineError):
    """A partition was claimed by another writer since: this one may not write there any more."""

    explains_itself = False


class Bus(Protocol):
    """A log with every topic made, connected to: the embedded one, or Kafka."""

    def app(self, role: str) -> faust.App:
        """Return the Faust app that a role runs in; several roles may share one."""

    def lost_seconds(self) -> float:
        """Return for how long it has not answered, 0 where it does; from any thread."""

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""

    async def send_all(self, entries: Sequence[Message]) -> None:
        """Send messages (topic, partition, key, value); return when the log has them."""

    async def take_over(self, topic: str, partition: int) -> None:
        """Become a writer of a partition's batches: after its first batch, no earlier writer's is appended."""

    def release(self, topic: str, partition: int) -> None:
        """Give up what was taken over; what is under way there ends with `FencedError`."""

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records, all or none; return the first offset. Raises `FencedError` after a later claim."""

    def committer(self, app: faust.App, table: str, topic: str) -> Committer:
        """Make the table, and what commits the groups, of the stateful agent whose inbox is ``topic``."""

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        """Return records from ``offset`` on, up to ``limit``; empty when none is kept from there to the end."""

    async def ends(self, topic: str) -> Mapping[int, int]:
        """Return the offset that the next record of each partition will have."""

    async def wait(self, positions: Mapping[tuple[str, int], int]) -> Mapping[tuple[str, int], int]:
        """Return the known ends once any of the partitions, all of one topic, ends past its position here."""


def raised(place: Place, error: Exception) -> None:
    """Quarantine nothing."""
    raise error


class Broadcast:
    """Applies every record of a topic from its start, then each new one; those of one key in their order.

    ``apply`` gets key and value, None for a deleted key. Its error goes to ``quarantine`` with the record's
    place, and the next record follows unless that raises. An error while following goes to ``fail``, and ends
    it.
    """

    def __init__(
        self,
        bus: Bus,
        topic: str,
        apply: Callable[[bytes | None, bytes | None], None],
        fail: Callable[[BaseException], None],
        quarantine: Callable[[Place, Exception], object] = raised,
    ) -> None:
        self._bus = bus
        self._topic = topic
        self._apply = apply
        self._fail = fail
        self._quarantine = quarantine
        self._positions: dict[int, int] = {}
        self._ends: Mapping[int, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return when everything that was in the topic at the call is applied; an error there is raised."""
        ends = self._ends = await self._bus.ends(self._topic)
        self._positions = dict.fromkeys(ends, 0)
        while not self.reached(ends):
            await self._step()
        self._task = asyncio.create_task(self._follow(), name=f"broadcast of {self._topic}")

    def reached(self, ends: Mapping[int, int]) -> bool:
        """Return whether everything before these offsets, by partition, is applied."""
        return all(self._positions[partition] >= end for partition, end in ends.items())

    def behind(self) -> int:
        """Return how many records are known of and not applied yet, those that compaction took counted in."""
        return sum(max(0, end - self._positions[partition]) for partition, end in self._ends.items())

    async def measure(self, reading: Reading) -> None:
        """Tell how many messages wait for this worker."""
        reading.add(LAG, self.behind(), self._topic)

    async def stop(self) -> None:
        """Stop following."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _follow(self) -> None:
        try:
            while True:
                places = {(self._topic, partition): at for partition, at in self._positions.items()}
                ends = await self._bus.wait(places)
                self._ends = {partition: end for (_, partition), end in ends.items()}
                await self._step()
        except Exception as error:
            self._fail(error)

    async def _step(self) -> None:
        for partition, end in self._ends.items():
            position = self._positions[partition]
            if position >= end:
                continue
            entries = await self._bus.fetch(self._topic, partition, position, STEP_RECORDS)
            for entry in entries:
                try:
                    self._apply(entry.key, entry.value)
                except Exception as error:
                    self._quarantine(Place(self._topic, partition, entry.offset), error)
            self._positions[partition] = entries[-1].offset + 1 if entries else end
            await asyncio.sleep(0)
