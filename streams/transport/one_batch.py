"""The group commit on the embedded log: one batch of the one database that has the log and every table.

After a crash the emissions, the rows, the mark row and the offset that the inbox goes on from are there, or
none of them is. So a table needs no changelog: it is never behind the log, nor ahead of it.
"""

from collections.abc import Callable, Iterator
from typing import Any

import faust
from faust.stores.base import SerializedStore
from faust.types import TP
from rocksdict import WriteBatch

from scentline.streams.inbox import Group, Shard
from scentline.streams.transport.database import TablePartition
from scentline.streams.transport.journal import Journal


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
        """Return None: there is no changelog."""
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
        """Return the partition: a journal has one writer."""
        found: TablePartition = self._table.data.partitions()[partition]
        return found

    def release(self, partition: int) -> None:
        """Do nothing, as `claim`."""

    async def commit(self, shard: Shard[Any], group: Group, check: Callable[[], None]) -> None:
        """Write all that the group comes to."""
        batch = WriteBatch(raw_mode=True)
        store: Any = shard.store
        store.stage(batch, group.rows)
        if group.absorbed >= 0:
            place = (self._topic, shard.partition)
            self._journal.stage_commit(batch, self._group, {place: group.absorbed + 1})
        self._journal.append_all(group.emissions, self._clock(), batch)
