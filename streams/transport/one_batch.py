"""The bus of an embedded log, and its group commit: one batch of the database that has log and tables.

After a crash the emissions, the rows, the mark row and the offset that the inbox goes on from are there, or
none of them is. So a table needs no changelog, and Faust needs not know of it: it is never behind the log, nor
ahead of it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import faust
from rocksdict import WriteBatch

from scentline.streams.inbox import Group, Message, Shard
from scentline.streams.transport.database import TablePartition
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry, Record


class OneBatch:
    """Commits the groups of a table whose inbox, ``topic``, is read by the consumer group ``group``.

    ``clock`` gives the time of day in seconds.
    """

    def __init__(
        self, journal: Journal, group: str, table: str, topic: str, clock: Callable[[], float]
    ) -> None:
        self._journal = journal
        self._group = group
        self._table = table
        self._topic = topic
        self._clock = clock

    async def claim(self, partition: int) -> TablePartition:
        return self._journal.table(self._table)[partition]

    def release(self, partition: int) -> None:
        """Do nothing: a journal has one writer."""

    async def commit(self, shard: Shard[Any], group: Group, check: Callable[[], None]) -> None:
        batch = WriteBatch(raw_mode=True)
        store: Any = shard.store
        store.stage(batch, group.rows)
        if group.absorbed >= 0:
            place = (self._topic, shard.partition)
            self._journal.stage_commit(batch, self._group, {place: group.absorbed + 1})
        self._journal.append_all(group.emissions, self._clock(), batch)


class JournalBus:
    """The bus of a journal in this process; ``clock`` gives the time of day in seconds.

    All roles share one ``app``, whose messages never leave the process. Who opened the journal closes it.
    """

    def __init__(
        self, journal: Journal, clock: Callable[[], float] = time.time, app: faust.App | None = None
    ) -> None:
        self.journal = journal
        self.partitions, self.wait = journal.partitions, journal.wait
        self._clock = clock
        self._app = app

    def app(self, role: str) -> faust.App:
        assert self._app is not None, "only who runs roles has an app"
        return self._app

    def lost_seconds(self) -> float:
        return 0.0

    async def send_all(self, entries: Sequence[Message]) -> None:
        self.journal.append_all(entries, self._clock())

    async def take_over(self, topic: str, partition: int) -> None:
        """Do nothing: a journal has one writer."""

    def release(self, topic: str, partition: int) -> None:
        """Do nothing: nothing is under way in a journal."""

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        return self.journal.append_batch(topic, partition, records, self._clock())

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        return self.journal.read(topic, partition, offset, limit)

    async def ends(self, topic: str) -> Mapping[int, int]:
        return {number: self.journal.end(topic, number) for number in range(self.partitions(topic))}

    def committer(self, app: faust.App, table: str, topic: str) -> OneBatch:
        return OneBatch(self.journal, app.conf.id, table, topic, self._clock)
