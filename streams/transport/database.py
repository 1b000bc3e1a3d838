"""A data directory's RocksDB: the log's partitions and every table, in one database with column families.

One process writes, others read beside it. A batch is written whole or not at all, and batches keep their order.
Nothing waits for the disk, so a power failure may cost the last ones: what remains is the write-ahead log up to
some batch, the same for all column families, since RocksDB syncs the log before it flushes any of them.

A table's partition is a column family. The log is in the default one:

========= ================================= ==========================================
first     the rest of the key               value
========= ================================= ==========================================
``t``     topic name                        the topic's meta data
``r``     topic, partition, offset          a record
``e``     topic, partition                  the next offset
``s``     topic, partition                  the first kept offset
``c``     topic, partition, group           the group's committed offset
``k``     topic, partition, record key      the offset of the key's record, in a compacted topic
``v``                                       the format of all this, and of the tables beside it
========= ================================= ==========================================

Numbers in keys are big-endian, so that RocksDB's order is the order of offsets.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import msgspec
import rocksdict
from rocksdict import ColumnFamily, Options, Rdict, ReadOptions, WriteBatch

from scentline.models.errors import ScentlineError, StorageError

FORMAT = b"9"  #: The value of ``v``. Raise it with a change of what older data mean, in the log or in a table.

_HEADER = Struct(">dII")
_NONE = 0xFFFFFFFF

_MEGABYTE = 1024 * 1024
_DEFAULT = "default"
_SIZES = ("rocksdb.estimate-num-keys", "rocksdb.total-sst-files-size", "rocksdb.size-all-mem-tables")
#: The block cache of all column families that the process has open; small, since decoded rows are cached beside
#: it, and files by the system.
_CACHE = rocksdict.Cache(8 * _MEGABYTE)

pack_offset = Struct(">Q").pack
place = Struct(">II").pack  #: Packs a topic's number and a partition, for every key about it.

Place = tuple[str, int]  #: A partition of a topic.
Record = tuple[bytes | None, bytes | None]  #: Key and value.


class Entry(NamedTuple):
    """One record as read; ``timestamp`` is in seconds, a ``value`` of None deletes the key."""

    offset: int
    timestamp: float
    key: bytes | None
    value: bytes | None


class TopicMeta(msgspec.Struct, frozen=True):
    """A topic's meta data: ``number`` is its name in keys, ``retention`` is in seconds.

    ``most`` is the number of records kept of a partition, None if time alone decides.
    """

    number: int
    partitions: int
    retention: float | None = None
    compacted: bool = False
    most: int | None = None


def unpack_offset(data: bytes) -> int:
    """Return the number that the last eight bytes hold."""
    return int.from_bytes(data[-8:])


def encode_record(timestamp: float, key: bytes | None, value: bytes | None) -> bytes:
    """Return a record's bytes."""
    header = _HEADER.pack(timestamp, _NONE if key is None else len(key), _NONE if value is None else len(value))
    return b"".join((header, key or b"", value or b""))


def decode_record(offset: int, data: bytes) -> Entry:
    """Return the record that the bytes hold."""
    timestamp, key_size, value_size = _HEADER.unpack_from(data)
    start = _HEADER.size
    key = None
    if key_size != _NONE:
        key = data[start : start + key_size]
        start += key_size
    return Entry(offset, timestamp, key, None if value_size == _NONE else data[start:])


class JournalInUseError(ScentlineError):
    """Another process writes to the journal."""


class JournalMissingError(ScentlineError):
    """There is no journal to read."""


class Partition:
    """One partition's state in memory: ``start`` is the first kept offset, ``end`` the next one."""

    __slots__ = ("_db", "_scan", "end", "meta", "place", "records", "start")

    def __init__(self, db: Any, meta: TopicMeta, partition: int) -> None:
        self._db = db
        self.meta = meta
        self.place = place(meta.number, partition)
        self.records = b"r" + self.place
        self._scan = ReadOptions()
        after = int.from_bytes(self.records) + 1  # the smallest key greater than all of its records
        self._scan.set_iterate_upper_bound(after.to_bytes(len(self.records)))
        self.load()

    def load(self) -> None:
        """Read the offsets from the database."""
        self.end = self._offset(b"e")
        self.start = self._offset(b"s")

    def _offset(self, kind: bytes) -> int:
        raw = self._db.get(kind + self.place)
        return 0 if raw is None else unpack_offset(raw)

    def key(self, offset: int) -> bytes:
        """Return the key of the record at ``offset``."""
        return self.records + pack_offset(offset)

    def encoded(self, entry: Entry) -> tuple[bytes, bytes]:
        """Return a record's key and bytes."""
        return self.key(entry.offset), encode_record(*entry[1:])

    def newest(self, key: bytes) -> bytes:
        """Return the key that holds the offset of a record key's newest record."""
        return b"k" + self.place + key

    def scan(self, offset: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield key and bytes of the kept records from ``offset`` on."""
        pairs: Iterator[tuple[bytes, bytes]] = self._db.items(
            from_key=self.key(max(offset, self.start)), read_opt=self._scan
        )
        return pairs

    def read(self, offset: int, limit: int, max_bytes: int) -> list[Entry]:
        """Return kept records from ``offset`` on: up to ``limit``, none once ``max_bytes`` are reached."""
        if offset >= self.end or limit <= 0:
            return []
        found: list[Entry] = []
        size = 0
        for key, data in self.scan(offset):
            entry = decode_record(unpack_offset(key), data)
            found.append(entry)
            size += len(data)
            if len(found) == limit or size >= max_bytes or entry.offset == self.end - 1:
                break
        return found

    def drop_expired(self, now: float) -> None:
        """Drop records from the front, too old or too many, but none that a group has yet to commit."""
        if self.meta.retention is None or self.meta.compacted:
            return
        stop = min(self.end, self._lowest_committed())
        start = self._first_since(now - self.meta.retention, stop)
        if self.meta.most is not None:
            start = max(start, min(self.end - self.meta.most, stop))
        if start > self.start:
            batch = WriteBatch(raw_mode=True)
            batch.delete_range(self.key(self.start), self.key(start))
            batch.put(b"s" + self.place, pack_offset(start))
            self._db.write(batch)
            self.start = start

    def _first_since(self, time: float, stop: int) -> int:
        """Return the first offset before ``stop`` whose record is not older than ``time``, else ``stop``."""
        low, high = self.start, stop
        while low < high:
            # most calls find nothing to drop: look at the first record before halving
            middle = low if low == self.start else (low + high) // 2
            _, data = next(iter(self.scan(middle)), (b"", None))
            if data is not None and _HEADER.unpack_from(data)[0] < time:
                low = middle + 1
            else:
                high = middle
        return low

    def _lowest_committed(self) -> int:
        prefix = b"c" + self.place
        lowest = self.end
        for key, value in self._db.items(from_key=prefix):
            if not key.startswith(prefix):
                break
            lowest = min(lowest, unpack_offset(value))
        return lowest


class TablePartition:
    """One partition of a table: a column family, or without a ``handle`` a database of its own."""

    def __init__(self, db: Rdict, handle: ColumnFamily | None = None) -> None:
        self.db = db
        self._handle = handle

    def get(self, key: bytes) -> bytes | None:
        """Return a row's bytes; raises `StorageError` if the disk fails."""
        try:
            value: bytes | None = self.db.get(key)
        except Exception as error:
            raise storage_error("reading", Path(self.db.path()), error) from error
        return value

    def stage(self, batch: WriteBatch, rows: Mapping[bytes, bytes | None]) -> None:
        """Add rows (None deletes) to a batch."""
        for key, value in rows.items():
            if value is None:
                batch.delete(key, self._handle)
            else:
                batch.put(key, value, self._handle)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch, whole or not at all. Raises `StorageError` if the disk fails."""
        try:
            self.db.write(batch)
        except Exception as error:
            raise storage_error("writing to", Path(self.db.path()), error) from error

    def size(self) -> tuple[int, int]:
        """Return the rows, as RocksDB estimates them, and the bytes of its files and buffers."""
        rows, files, buffers = (self.db.property_int_value(name) or 0 for name in _SIZES)
        return rows, files + buffers

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Yield rows whose key starts with ``prefix``, in key order, those after key ``after`` only."""
        for key, value in self.db.items(from_key=after or prefix):
            if not key.startswith(prefix):
                return
            if key != after:
                yield key, value

    def close(self) -> None:
        """Release the column family: its database stays open while any is held."""
        self._handle = None
        self.db.close()


class Database:
    """A RocksDB at ``path``, in its default column family; failed writes raise `StorageError`."""

    def __init__(self, db: Rdict, path: Path, columns: Iterable[str] = ()) -> None:
        self._db = db
        self._path = path
        self._failed = False
        # Called for every word of a page: bound directly.
        self.get, self.items = db.get, db.items
        self.log = TablePartition(db)
        self.columns = {name: self._column(name) for name in columns}

    def _column(self, name: str) -> TablePartition:
        return TablePartition(self._db.get_column_family(name), self._db.get_column_family_handle(name))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._failed = True
            raise storage_error("writing to", self._path, error) from error

    def catch_up(self) -> None:
        """Show what the writer beside this reader has written, up to some batch.

        RocksDB reads the writer's manifest, then the write-ahead logs that it finds. A log that was flushed and
        deleted in between leaves a hole until the manifest is read again; this goes on until no file went.
        """
        files = None
        while files != (files := set(self._path.iterdir())):
            self._db.try_catch_up_with_primary()

    def make_column(self, name: str) -> None:
        """Make a column family."""
        with self._writing():
            self._db.create_column_family(name, _options())
        self.columns[name] = self._column(name)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch, whole or not at all."""
        with self._writing():
            self._db.write(batch)

    def put(self, key: bytes, value: bytes) -> None:
        """Write one entry."""
        with self._writing():
            self._db.put(key, value)

    def sync(self) -> None:
        """Return when the disk has everything written."""
        with self._writing():
            self._db.flush_wal(True)

    @property
    def written(self) -> int:
        """A number that grows with every write seen here."""
        return int(self._db.latest_sequence_number())

    def compact(self) -> None:
        """Rewrite everything, so that nothing is left of what was deleted or replaced."""
        options: Any = rocksdict.CompactOptions()
        options.set_bottommost_level_compaction(rocksdict.BottommostLevelCompaction.force())
        with self._writing():
            for db in (self._db, *(column.db for column in self.columns.values())):
                db.flush()
                db.compact_range(None, None, compact_opt=options)

    def close(self) -> None:
        """Close it; after a failed write, which raised, ignore that closing fails too."""
        try:
            for column in self.columns.values():
                column.close()
            self._db.close()
        except Exception as error:
            if not self._failed:
                raise storage_error("closing", self._path, error) from error


def storage_error(doing: str, path: Path, error: Exception) -> StorageError:
    """Return the error to raise for RocksDB's ``error``, which has no type, only a text."""
    return StorageError(f"{doing} {path}: {error}")


def open_writer(path: Path, columns: Iterable[str] = ()) -> Database:
    """Open or create the database for writing; raises `JournalInUseError` and `StorageError`."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _opened(path, rocksdict.AccessType.read_write(), columns)
    except Exception as error:
        # RocksDB words its lock errors in many ways; a lock file that can't even be made is the disk's.
        if "lock" in str(error).lower() and "permi" not in str(error).lower():
            raise JournalInUseError(
                f"opening the journal in {path}: another process writes to it; "
                "stop that one first, or choose another data directory"
            ) from error
        raise storage_error("opening the journal in", path, error) from error


def open_reader(path: Path, scratch: str) -> Database:
    """Open the database beside a writer; raises `JournalMissingError` and `StorageError`."""
    if not (path / "CURRENT").exists():
        raise JournalMissingError(
            f"reading the journal in {path}: nothing there; expected the data directory of a crawl"
        )
    try:
        reader = _opened(path, rocksdict.AccessType.secondary(scratch))
        reader.catch_up()
        return reader
    except Exception as error:
        raise storage_error("reading the journal in", path, error) from error


def _opened(path: Path, access: rocksdict.AccessType, columns: Iterable[str] = ()) -> Database:
    found = Rdict.list_cf(str(path)) if (path / "CURRENT").exists() else columns
    names = [name for name in found if name != _DEFAULT]
    options = _options()
    options.create_missing_column_families(True)
    # Opening reads the whole write-ahead log: a start after a crash, every command beside a crawl. It is in
    # memory, too, for all column families together. Twice as much would save 1 % of a page's CPU.
    options.set_max_total_wal_size(8 * _MEGABYTE)
    options.set_max_open_files(-1)  # files that a writer deletes must stay readable to others
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(_MEGABYTE)
    return Database(Rdict(str(path), options, {name: _options() for name in names}, access), path, names)


def _options() -> Options:
    """Return the options of a column family."""
    blocks = rocksdict.BlockBasedOptions()
    blocks.set_bloom_filter(10, False)
    blocks.set_block_cache(_CACHE)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(rocksdict.DBCompressionType.lz4())
    options.set_write_buffer_size(16 * _MEGABYTE)
    # Most requested rows are missing: filters spare their look-up, in memory as in files.
    options.set_memtable_prefix_bloom_ratio(0.01)
    options.set_memtable_whole_key_filtering(True)
    options.set_arena_block_size(_MEGABYTE // 4)  # each of a dozen column families takes one at once
    # deleted records are skipped one by one until their file is compacted: compact it early
    options.add_compact_on_deletion_collector_factory(1000, 500, 0.5)
    return options
