"""How a group is committed on Kafka; on the embedded log one batch does (`streams.transport.journal`).

There are four steps, with a changelog of one writer and a RocksDB of the worker's own: at a group's end

(a) the emissions are sent, and the log has them;
(b) the changed rows and the mark row are appended to the changelog as one record batch, whole or not at all;
(c) the same rows and the changelog offset are written to RocksDB as one batch;
(d) the inbox messages are acknowledged (`streams.inbox.commit`).
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from rocksdict import WriteBatch

from scentline.streams.inbox import Group, LostShardError, Shard, Store
from scentline.streams.runtime import Bus, FencedError
from scentline.streams.settings import ConfigurationError
from scentline.streams.topics import changelog_of
from scentline.streams.transport.database import Entry, TablePartition, open_writer

#: The key of the changelog offset of a database's rows.
_OFFSET: Final = b"\x00offset"
#: The key that marks the forgetting of a user, in every partition of every changelog: until it is gone,
#: no worker starts. An embedded log has a file instead (`agents.operate.replacement`).
FORGETTING = b"\x00forgetting"


class ChangelogWriter(Bus, Protocol):
    """A bus that may write changelogs; each partition has one writer at a time."""

    async def claim(self, topic: str, partition: int) -> int:
        """Become the only writer of a partition's batches; return the offset of the record that says so.

        Later batches of an earlier claimant are refused; its earlier ones are before that offset.
        """

    def records(self, topic: str, partition: int, start: int, end: int) -> AsyncIterator[Sequence[Entry]]:
        """Yield the kept records of a partition from offset ``start`` to before ``end``, some at a time."""


class Recovered(TablePartition):
    """One partition of a table in a database of its own, with the changelog offset of its rows."""

    def changelog_offset(self) -> int:
        """Return the offset of the last changelog record in the rows, -1 if there is none."""
        return int(self.get(_OFFSET) or -1)

    def write_at(self, changelog_offset: int, rows: Mapping[bytes, bytes | None]) -> None:
        """Write rows (None deletes) and their changelog offset, all or nothing."""
        batch = WriteBatch(raw_mode=True)
        self.stage(batch, rows)
        batch.put(_OFFSET, str(changelog_offset).encode())
        self.write(batch)


def check_not_forgetting(store: Store, what: str) -> None:
    """Raise `ConfigurationError` if a partition of a table holds the mark; ``what`` is what it blocks."""
    if store.get(FORGETTING) is not None:
        raise ConfigurationError(
            f"{what}: forget-user is running on this broker, or was interrupted; run the same command again "
            "first"
        )


class FourSteps:
    """Commits a table's groups by its changelog; each partition has a database of its own in ``directory``.

    A database stays open when its partition goes to another worker: it may come back, and then needs only what
    was written since.
    """

    def __init__(self, publisher: ChangelogWriter, table: str, directory: Path) -> None:
        self._publisher = publisher
        self._table = table
        self._changelog = changelog_of(table)
        self._directory = directory
        self._stores: dict[int, Recovered] = {}
        self._claiming: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    def close(self) -> None:
        """Close all databases; what a full disk did not take is in the changelogs."""
        while self._stores:
            with suppress(Exception):  # RocksDB's errors have no type
                self._stores.popitem()[1].close()

    async def claim(self, partition: int) -> Recovered:
        """Become the only writer of a partition's changelog, and add to the table what others wrote before."""
        async with self._claiming[partition]:
            store = self._stores.get(partition)
            if store is None:
                path = self._directory / f"{self._table}-{partition}.db"
                store = self._stores[partition] = Recovered(open_writer(path).log.db)
            end = await self._publisher.claim(self._changelog, partition)
            while (known := store.changelog_offset()) < end:
                async for found in self._publisher.records(self._changelog, partition, known + 1, end + 1):
                    rows = {entry.key: entry.value for entry in found if entry.key is not None}
                    store.write_at(found[-1].offset, rows)
            check_not_forgetting(store, f"table {self._table}")
            return store

    def release(self, partition: int) -> None:
        self._publisher.release(self._changelog, partition)

    async def commit(self, shard: Shard[Any], group: Group, check: Callable[[], None]) -> None:
        """Do steps (a) to (c). Raises `LostShardError` if the changelog has another writer."""
        if group.emissions:
            await self._publisher.send_all(group.emissions)
            check()
        rows = list(group.rows.items())
        try:
            base = await self._publisher.append_batch(self._changelog, shard.partition, rows)
        except FencedError as error:
            raise LostShardError(str(error)) from error
        check()
        store: Any = shard.store
        store.write_at(base + len(rows) - 1, group.rows)
