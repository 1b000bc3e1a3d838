"""The bus of an embedded log, and its group commit: one batch of the database that has log and tables.

After a crash the emissions, the rows, the mark row and the offset that the inbox goes on from are there, or
none of them is. So a table needs no changelog: it is never behind the log, nor ahead of it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import faust
from faust.stores.base import SerializedStore
from faust.types import TP
from rocksdict import WriteBatch

from scentline.streams.inbox import Group, Shard
from scentline.streams.outbox import Message
from scentline.streams.transport.database import TablePartition
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry, Record


class Store(SerializedStore[Any, Any]):
    """The store of a Faust table: a column family of the journal a partition. Only `OneBatch` writes rows."""

    def partitions(self) -> dict[int, TablePartition]:
        """Return the partitions of the table."""
        journal: Journal = (self.options or {})["journal"]
        return journal.table(self.table_name)

    def _get(self, key: bytes) -> bytes | None:
        found = (part.get(key) for part in self.partitions().values())
        return next((value for value in found if value is not None), None)

    def _contains(self, key: bytes) -> bool:
        return self._get(key) is not None

    def _iteritems(self) -> Iterator[tuple[bytes, bytes]]:
        for part in self.partitions().values():
            yield from part.scan(b"")

    def _iterkeys(self) -> Iterator[bytes]:
        return (key for key, _ in self._iteritems())

    def _itervalues(self) -> Iterator[bytes | None]:
        return (value for _, value in self._iteritems())

    def _size(self) -> int:
        return sum(1 for _ in self._iteritems())

    def _set(self, key: bytes, value: bytes | None) -> None:
        raise TypeError(f"table {self.table_name}: rows are written in groups")

    def _del(self, key: bytes) -> None:
        self._set(key, None)

    def _clear(self) -> None:
        self._set(b"", None)

    def persisted_offset(self, tp: TP) -> int | None:
        return None

    def reset_state(self) -> None:
        """Do nothing: Faust asks for it where a table is to be recovered anew."""

    async def backup_partition(self, *_: Any, **__: Any) -> None:
        """Do nothing: a data directory is copied whole."""

    def restore_backup(self, *_: Any, **__: Any) -> None:
        """Do nothing, as `backup_partition`."""


class OneBatch:
    """Commits the groups of a table whose inbox is ``topic``; ``clock`` gives the time of day in seconds."""

    def __init__(
        self, journal: Journal, app: faust.App, table: str, topic: str, clock: Callable[[], float]
    ) -> None:
        self._journal = journal
        self._topic = topic
        self._group = app.conf.id
        self._clock = clock
        self._table: Any = app.Table(
            table,
            partitions=journal.partitions(topic),
            key_type=bytes,
            value_type=bytes,
            options={"journal": journal},
        )

    async def claim(self, partition: int) -> TablePartition:
        found: TablePartition = self._table.data.partitions()[partition]
        return found

    def release(self, partition: int) -> None:
        """Do nothing, as `claim`."""

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
        return OneBatch(self.journal, app, table, topic, self._clock)
