"""How a group is committed on Kafka; on the embedded log one batch does (`streams.transport.journal`).

There are four steps, with a changelog of one writer and a RocksDB of the worker's own: at a group's end

(a) the emissions are sent, and the log has them;
(b) the changed rows and the mark row are appended to the changelog as one record batch, whole or not at all;
(c) the same rows and the changelog offset are written to RocksDB as one batch;
(d) the inbox messages are acknowledged (`streams.inbox.commit`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from faust.stores.rocksdb import Store as FaustStore
from rocksdict import WriteBatch

from scentline.streams.inbox import Group, LostShardError, Shard, Store
from scentline.streams.runtime import Bus, FencedError
from scentline.streams.settings import ConfigurationError
from scentline.streams.topics import changelog_of
from scentline.streams.transport.database import Entry, TablePartition

#: Options of Faust's RocksDB store: small buffers, since a worker holds several partitions open.
OPTIONS: dict[str, Any] = {
    "driver": "rocksdict",
    "write_buffer_size": 16 * 1024 * 1024,
    "block_cache_size": 64 * 1024 * 1024,
}
#: Records of a changelog that wait to be written to the table while it is recovered.
RECOVERY_RECORDS = 131_072
#: The key that marks the forgetting of a user, in every partition of every changelog: until it is gone,
#: no worker starts. An embedded log has a file instead (`agents.operate.replacement`).
FORGETTING = b"\x00forgetting"


class ChangelogWriter(Bus, Protocol):
    """A bus that may write changelogs; each partition has one writer at a time."""

    async def claim(self, topic: str, partition: int, known: int) -> Sequence[Entry]:
        """Become the only writer of a partition's batches; return the records after offset ``known``.

        Later batches of an earlier claimant are refused; its earlier ones are among the records.
        """


class Recovered(TablePartition):
    """One partition of a table in a database of its own, with the changelog offset of its rows."""

    def changelog_offset(self) -> int:
        """Return the offset of the last changelog record in the rows, -1 if there is none."""
        return int(self.get(FaustStore.offset_key) or -1)

    def write_at(self, changelog_offset: int, rows: Mapping[bytes, bytes | None]) -> None:
        """Write rows (None deletes) and their changelog offset, all or nothing."""
        batch = WriteBatch(raw_mode=True)
        self.stage(batch, rows)
        batch.put(FaustStore.offset_key, str(changelog_offset).encode())
        self.write(batch)


def check_not_forgetting(store: Store, what: str) -> None:
    """Raise `ConfigurationError` if a partition of a table holds the mark; ``what`` is what it blocks."""
    if store.get(FORGETTING) is not None:
        raise ConfigurationError(
            f"{what}: forget-user is running on this broker, or was interrupted; run the same command again "
            "first"
        )


@dataclass
class FourSteps:
    """Commits a table's groups by its changelog; ``partition`` returns one on this worker's disk."""

    publisher: ChangelogWriter
    table: str
    partition: Callable[[int], Recovered]

    def __post_init__(self) -> None:
        self._changelog = changelog_of(self.table)

    async def claim(self, partition: int) -> Recovered:
        """Become the only writer of a partition's changelog, and add to the table what others wrote before."""
        store = self.partition(partition)
        entries = await self.publisher.claim(self._changelog, partition, store.changelog_offset())
        if entries:
            rows = {entry.key: entry.value for entry in entries if entry.key is not None}
            store.write_at(entries[-1].offset, rows)
        check_not_forgetting(store, f"table {self.table}")
        return store

    def release(self, partition: int) -> None:
        self.publisher.release(self._changelog, partition)

    async def commit(self, shard: Shard[Any], group: Group, check: Callable[[], None]) -> None:
        """Do steps (a) to (c). Raises `LostShardError` if the changelog has another writer."""
        if group.emissions:
            await self.publisher.send_all(group.emissions)
            check()
        rows = list(group.rows.items())
        try:
            base = await self.publisher.append_batch(self._changelog, shard.partition, rows)
        except FencedError as error:
            raise LostShardError(str(error)) from error
        check()
        store: Any = shard.store
        store.write_at(base + len(rows) - 1, group.rows)
