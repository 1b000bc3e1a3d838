"""The embedded log: topics, partitions of records and tables of rows in one RocksDB, written by one process.

Records, the next offset, and all written with them are one batch (`streams.transport.database`): a process
killed at any moment leaves every partition without gaps and every batch whole.

A *compacted* topic keeps the newest record of each key, also one without a value, which deletes the key: the
batch that appends a record deletes the one before.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec
from rocksdict import WriteBatch

from scentline.models.errors import ScentlineError
from scentline.streams.inbox import Group, Shard
from scentline.streams.transport.database import (
    FORMAT,
    Entry,
    Partition,
    Place,
    Record,
    TablePartition,
    TopicMeta,
    open_reader,
    open_writer,
    pack_offset,
    unpack_offset,
)

READ_BYTES = 8 * 1024 * 1024

#: Seconds between two looks at a journal that another process writes, while records are awaited.
FOLLOW_SECONDS = 0.2


class JournalFormatError(ScentlineError):
    """The journal has another format than this version of the program reads."""


class TableMissingError(ScentlineError, FileNotFoundError):
    """There is no table to read."""


class UnknownTopicError(ScentlineError, LookupError):
    """A topic or partition that the journal does not have."""


class Journal:
    """Topics and tables, both in partitions, in a directory. Use it from one thread."""

    _open: ClassVar[dict[tuple[Path, bool], "Journal"]] = {}

    def __init__(self, path: Path, read_only: bool, tables: Mapping[str, int]) -> None:
        self.path = path
        self.read_only = read_only
        self._users = 0
        self._topics: dict[str, TopicMeta] = {}
        self._logs: dict[Place, Partition] = {}
        self._waiting: dict[Place, set[asyncio.Future[None]]] = {}  # futures of appends
        with ExitStack() as resources:
            if read_only:
                self._db = open_reader(path, resources.enter_context(tempfile.TemporaryDirectory()))
            else:
                self._db = open_writer(path, _columns(tables))
            resources.callback(self._db.close)
            self._check_format()
            self._load()
            self._resources = resources.pop_all()

    # opening and closing

    @classmethod
    def open(
        cls, path: Path, *, read_only: bool = False, tables: Mapping[str, int] = MappingProxyType({})
    ) -> "Journal":
        """Return the journal in ``path``, made with ``tables`` if missing; pair each `open` with a `close`.

        A process that opens a directory twice gets the same object. With ``read_only``, the journal of a
        running crawl can be read, and `refresh` follows its writer. Raises `JournalInUseError`,
        `JournalMissingError` and `JournalFormatError`.
        """
        resolved = path.resolve()
        journal = cls._open.get((resolved, False)) or cls._open.get((resolved, read_only))
        if journal is None:
            journal = cls._open[resolved, read_only] = cls(resolved, read_only, tables)
        journal._users += 1
        return journal

    def close(self) -> None:
        """Undo one `open`; the last one closes the database."""
        self._users -= 1
        if self._users == 0:
            del Journal._open[self.path, self.read_only]
            self._resources.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> None:
        """Catch up with the writer; do nothing if this process is the writer."""
        if self.read_only:
            self._db.catch_up()
            self._load()

    def _check_format(self) -> None:
        found = self._db.get(b"v")
        if found is None and next(self._db.items(), None) is None:
            if not self.read_only:
                self._db.put(b"v", FORMAT)
        elif found != FORMAT:
            raise JournalFormatError(
                f"data {self.path.parent}: another version of scentline wrote it, in format "
                f"{(found or b'0').decode(errors='replace')}, and this one reads format {FORMAT.decode()}; "
                "begin anew in another directory (--data). What was learned can be taken along: "
                "'scentline state export' with the version that wrote it, then 'scentline state import'"
            )

    def _load(self) -> None:
        for key, value in self._db.items(from_key=b"t"):
            if not key.startswith(b"t"):
                break
            self._know(key[1:].decode(), msgspec.msgpack.decode(value, type=TopicMeta))
        for log in self._logs.values():
            log.load()

    def _know(self, name: str, meta: TopicMeta) -> None:
        self._topics[name] = meta
        for partition in range(meta.partitions):
            log = self._logs.get((name, partition))
            if log is None:
                self._logs[name, partition] = Partition(self._db, meta, partition)
            else:
                log.meta = meta

    # topics

    def create_topic(
        self,
        name: str,
        partitions: int,
        *,
        retention: float | None,
        compacted: bool,
        most: int | None = None,
    ) -> None:
        """Make a topic, or change what it keeps. Raises `ValueError` for another number of partitions.

        ``retention`` (seconds, None for ever) and ``most`` (records of a partition) do not apply to a compacted
        topic.
        """
        known = self._topics.get(name)
        if partitions < 1 or (known is not None and known.partitions != partitions):
            has = "at least 1" if known is None else f"{known.partitions}: repartitioning is not supported"
            raise ValueError(f"creating topic {name}: {partitions} partitions; expected {has}")
        number = known.number if known else 1 + max((t.number for t in self._topics.values()), default=0)
        meta = TopicMeta(number, partitions, retention, compacted, most)
        if meta != known:
            self._db.put(b"t" + name.encode(), msgspec.msgpack.encode(meta))
            self._know(name, meta)

    def topics(self) -> Mapping[str, TopicMeta]:
        """Return every topic."""
        return MappingProxyType(self._topics)

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic. Raises `UnknownTopicError`."""
        meta = self._topics.get(topic)
        if meta is None:
            names = ", ".join(sorted(self._topics)) or "none"
            raise UnknownTopicError(f"journal in {self.path}: no topic {topic}; expected one of: {names}")
        return meta.partitions

    def _log(self, topic: str, partition: int) -> Partition:
        log = self._logs.get((topic, partition))
        if log is None:
            count = self.partitions(topic)
            raise UnknownTopicError(f"topic {topic}: no partition {partition}; expected 0 to {count - 1}")
        return log

    # tables

    def create_table(self, name: str, partitions: int) -> None:
        """Make the missing partitions of a table."""
        for column in _columns({name: partitions}):
            if column not in self._db.columns:
                self._db.make_column(column)

    def table(self, name: str) -> dict[int, TablePartition]:
        """Return the partitions of a table, while the journal is open. Raises `TableMissingError`."""
        found = (column.rpartition("/") for column in self._db.columns)
        parts = {int(n): self._db.columns[f"{name}/{n}"] for table, _, n in found if table == name}
        if not parts:
            raise TableMissingError(f"reading the table {name}: not in {self.path}; expected a crawl's data")
        return dict(sorted(parts.items()))

    # writing

    def append(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, timestamp: float
    ) -> int:
        """Append a record; return its offset."""
        return self.append_batch(topic, partition, ((key, value),), timestamp)

    def append_batch(self, topic: str, partition: int, records: Sequence[Record], timestamp: float) -> int:
        """Append records as one batch, whole or not at all; return the first one's offset."""
        base = self._log(topic, partition).end
        self.append_all([(topic, partition, key, value) for key, value in records], timestamp)
        return base

    def append_all(
        self,
        entries: Iterable[tuple[str, int, bytes | None, bytes | None]],
        timestamp: float,
        batch: WriteBatch | None = None,
    ) -> None:
        """Append records, and ``batch``, whole or not at all; raises `ValueError` if a key is missing."""
        batch = WriteBatch(raw_mode=True) if batch is None else batch
        ends: dict[Place, int] = {}
        newest: dict[bytes, bytes] = {}
        for topic, partition, key, value in entries:
            name = (topic, partition)
            log = self._logs.get(name) or self._log(topic, partition)
            end = ends.get(name, log.end)
            self._stage(batch, log, Entry(end, timestamp, key, value), newest)
            ends[name] = end + 1
        for name, end in ends.items():
            batch.put(b"e" + self._logs[name].place, pack_offset(end))
        self._db.write(batch)
        for name, end in ends.items():
            self._logs[name].end = end
            for future in self._waiting.pop(name, ()):
                finish(future)

    def _stage(self, batch: WriteBatch, log: Partition, entry: Entry, newest: dict[bytes, bytes]) -> None:
        """Add a record to a batch; ``newest`` has the packed offsets of its newest records by key."""
        batch.put(*log.encoded(entry))
        if log.meta.compacted:
            if entry.key is None:
                raise ValueError(f"appending to a compacted topic at {entry.offset}: no key; expected one")
            index = log.newest(entry.key)
            before = newest.get(index) or self._db.get(index)
            if before is not None:
                batch.delete(log.records + before)
            newest[index] = pack_offset(entry.offset)
            batch.put(index, newest[index])

    def sync(self) -> None:
        """Return when the disk has everything written, which nothing else waits for."""
        self._db.sync()

    def place(self, topic: str, partition: int, entries: Iterable[Entry]) -> None:
        """Write records with their offsets and times from another log; see `go_on_at`."""
        log = self._log(topic, partition)
        batch = WriteBatch(raw_mode=True)
        newest: dict[bytes, bytes] = {}
        for entry in entries:
            self._stage(batch, log, entry, newest)
        self._db.write(batch)

    def go_on_at(self, topic: str, partition: int, end: int) -> None:
        """Set the next record's offset to ``end``, which lies after all that `place` wrote."""
        log = self._log(topic, partition)
        self._db.put(b"e" + log.place, pack_offset(end))
        log.end = end

    # reading

    def read(
        self, topic: str, partition: int, offset: int, limit: int, max_bytes: int = READ_BYTES
    ) -> list[Entry]:
        """Return kept records from ``offset`` on, within both bounds; empty if none is kept up to `end`."""
        return self._log(topic, partition).read(offset, limit, max_bytes)

    def start(self, topic: str, partition: int) -> int:
        """Return the first kept offset; the end when nothing is kept."""
        return self._log(topic, partition).start

    def end(self, topic: str, partition: int) -> int:
        """Return the offset that the next record will have."""
        return self._log(topic, partition).end

    def beyond(self, positions: Mapping[Any, int], among: Iterable[Place]) -> list[Place]:
        """Return the partitions that end past their positions; those without one are left out."""
        return [name for name in among if name in positions and self._logs[name].end > positions[name]]

    async def wait(self, positions: Mapping[Place, int]) -> Mapping[Place, int]:
        """Wait until one of the partitions ends past its position; return their ends."""
        while not any(self._log(*name).end > position for name, position in positions.items()):
            if self.read_only:
                await asyncio.sleep(FOLLOW_SECONDS)
                self.refresh()
            else:
                await self.join(asyncio.get_running_loop().create_future(), positions)
        return {name: self._log(*name).end for name in positions}

    async def join(self, future: "asyncio.Future[None]", places: Iterable[Place]) -> None:
        """Return when ``future`` is done: by the next append to any of the partitions, or by its owner."""
        named = list(places)
        for name in named:
            self._waiting.setdefault(name, set()).add(future)
        try:
            await future
        finally:
            for name in named:
                waiting = self._waiting.get(name, set())
                waiting.discard(future)
                if not waiting:
                    self._waiting.pop(name, None)

    # consumer groups

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        """Return a group's committed offset, None before its first `commit`."""
        raw = self._db.get(b"c" + self._log(topic, partition).place + group.encode())
        return None if raw is None else unpack_offset(raw)

    def commit(self, group: str, offsets: Mapping[Place, int]) -> None:
        """Commit a group's offsets, all or none."""
        batch = WriteBatch(raw_mode=True)
        self.stage_commit(batch, group, offsets)
        self._db.write(batch)

    def stage_commit(self, batch: WriteBatch, group: str, offsets: Mapping[Place, int]) -> None:
        """Add a group's committed offsets to a batch."""
        for name, offset in offsets.items():
            batch.put(b"c" + self._log(*name).place + group.encode(), pack_offset(offset))

    @property
    def written(self) -> int:
        """A number that grows with every write seen here (`refresh`)."""
        return self._db.written

    # cleaning

    def drop_expired(self, now: float) -> None:
        """Drop the records that their topics no longer keep."""
        for log in self._logs.values():
            log.drop_expired(now)


@dataclass
class OneBatch:
    """Commits the groups of a table whose inbox, ``topic``, is read by the consumer group ``group``.

    Each is one batch of the database that holds log and tables: a crash leaves all of the emissions, the rows,
    the mark row and the inbox's committed offset, or none. So a table is never behind the log, nor ahead of it:
    it needs no changelog, and Faust need not know of it.
    """

    journal: Journal
    group: str
    table: str
    topic: str
    clock: Callable[[], float]  #: Gives the time of day in seconds.

    async def claim(self, partition: int) -> TablePartition:
        return self.journal.table(self.table)[partition]

    def release(self, partition: int) -> None:
        """Do nothing: a journal has one writer."""

    async def commit(self, shard: Shard[Any], group: Group, check: Callable[[], None]) -> None:
        batch = WriteBatch(raw_mode=True)
        store: Any = shard.store
        store.stage(batch, group.rows)
        if group.absorbed >= 0:
            place = (self.topic, shard.partition)
            self.journal.stage_commit(batch, self.group, {place: group.absorbed + 1})
        self.journal.append_all(group.emissions, self.clock(), batch)


def _columns(tables: Mapping[str, int]) -> list[str]:
    """Return the column families of tables, by their numbers of partitions."""
    return [f"{name}/{partition}" for name, partitions in tables.items() for partition in range(partitions)]


def finish(future: "asyncio.Future[None]") -> None:
    """Complete the future, unless it is done."""
    if not future.done():
        future.set_result(None)
