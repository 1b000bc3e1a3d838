"""A data directory's RocksDB: the log and every table, in one database with column families.

One process writes, others read beside it. A batch is there whole or not at all, and batches keep their order.
Nothing waits for the disk, so a power failure may cost the last ones: what remains is the write-ahead log up to
some batch, the same for all column families, for RocksDB syncs the log before it writes any of them to a file.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import rocksdict
from rocksdict import ColumnFamily, Options, Rdict, WriteBatch

from scentline.models.errors import ScentlineError, StorageError

_MEGABYTE = 1024 * 1024
_DEFAULT = "default"
_SIZES = ("rocksdb.estimate-num-keys", "rocksdb.total-sst-files-size", "rocksdb.size-all-mem-tables")
#: Blocks that were read, of every column family that the process has open: decoded rows are kept beside them,
#: and the system keeps files.
_CACHE = rocksdict.Cache(8 * _MEGABYTE)


class JournalInUseError(ScentlineError):
    """Another process writes to the journal."""


class JournalMissingError(ScentlineError):
    """There is no journal to read."""


class JournalFormatError(ScentlineError):
    """The journal has another format than this version of the program reads."""


class TableMissingError(ScentlineError, FileNotFoundError):
    """There is no table to read."""


class TablePartition:
    """One partition of a table: a column family, or without a ``handle`` a database of its own."""

    def __init__(self, db: Rdict, handle: ColumnFamily | None = None) -> None:
        self.db = db
        self._handle = handle

    def get(self, key: bytes) -> bytes | None:
        """Return a row's bytes; raises `StorageError` where the disk does not give them."""
        try:
            value: bytes | None = self.db.get(key)
        except Exception as error:
            raise storage_error("reading", Path(self.db.path()), error) from error
        return value

    def stage(self, batch: WriteBatch, rows: Mapping[bytes, bytes | None]) -> None:
        """Add rows (None deletes) to what a batch writes to the database."""
        for key, value in rows.items():
            if value is None:
                batch.delete(key, self._handle)
            else:
                batch.put(key, value, self._handle)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch, whole or not at all. Raises `StorageError` where the disk does not take it."""
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
        """Let go of the column family: its database stays open as long as anybody holds one."""
        self._handle = None
        self.db.close()


class Database:
    """A RocksDB at ``path``, in its default column family, whose failures to write are `StorageError`."""

    def __init__(self, db: Rdict, path: Path, columns: Iterable[str] = ()) -> None:
        self._db = db
        self._path = path
        self._failed = False
        # Read as often as a page has words: without a step in between.
        self.get = db.get
        self.items = db.items
        self.log = TablePartition(db)
        self.columns = {name: self._column(name) for name in columns}

    def _column(self, name: str) -> TablePartition:
        return TablePartition(self._db.get_column_family(name), self._db.get_column_family_handle(name))

    def make_column(self, name: str) -> None:
        """Make a column family."""
        try:
            self._db.create_column_family(name, _options())
        except Exception as error:
            raise self._failure(error) from error
        self.columns[name] = self._column(name)

    def write(self, batch: WriteBatch) -> None:
        """Write a batch, whole or not at all."""
        try:
            self._db.write(batch)
        except Exception as error:
            raise self._failure(error) from error

    def sync(self) -> None:
        """Return when the disk has all that was written."""
        try:
            self._db.flush_wal(True)
        except Exception as error:
            raise self._failure(error) from error

    def put(self, key: bytes, value: bytes) -> None:
        """Write one entry."""
        batch = WriteBatch(raw_mode=True)
        batch.put(key, value)
        self.write(batch)

    @property
    def written(self) -> int:
        """A number that grows with all that is written, as far as it is seen here."""
        return int(self._db.latest_sequence_number())

    def try_catch_up_with_primary(self) -> None:
        """See what the writer wrote since."""
        self._db.try_catch_up_with_primary()

    def compact(self) -> None:
        """Write all that it holds anew, so that nothing is left of what was deleted or replaced."""
        options: Any = rocksdict.CompactOptions()
        options.set_bottommost_level_compaction(rocksdict.BottommostLevelCompaction.force())
        try:
            for db in (self._db, *(column.db for column in self.columns.values())):
                db.flush()
                db.compact_range(None, None, compact_opt=options)
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> StorageError:
        self._failed = True
        return storage_error("writing to", self._path, error)

    def close(self) -> None:
        """Close it; one that failed to write has said so, and fails once more."""
        try:
            for column in self.columns.values():
                column.close()
            self._db.close()
        except Exception as error:
            if not self._failed:
                raise storage_error("closing", self._path, error) from error


def storage_error(doing: str, path: Path, error: Exception) -> StorageError:
    """Return what to raise where RocksDB raised ``error`` (it has no kinds of errors, only texts)."""
    return StorageError(f"{doing} {path}: {error}")


def open_writer(path: Path, columns: Iterable[str] = ()) -> Database:
    """Open or create the database for writing; raises `JournalInUseError` and `StorageError`."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _opened(path, rocksdict.AccessType.read_write(), columns)
    except Exception as error:
        # RocksDB tells of its lock in so many ways; where the lock file can't even be made, it is the disk.
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
        return _opened(path, rocksdict.AccessType.secondary(scratch))
    except Exception as error:
        raise storage_error("reading the journal in", path, error) from error


def _opened(path: Path, access: rocksdict.AccessType, columns: Iterable[str] = ()) -> Database:
    found = Rdict.list_cf(str(path)) if (path / "CURRENT").exists() else columns
    names = [name for name in found if name != _DEFAULT]
    options = _options()
    options.create_missing_column_families(True)
    # Who opens it reads the write-ahead log whole: a start after a crash, every command beside a crawl. What it
    # holds is in memory too, of all column families together. Twice as much would save 1 % of a page's CPU.
    options.set_max_total_wal_size(8 * _MEGABYTE)
    options.set_max_open_files(-1)  # what a writer deletes must stay readable to who reads beside it
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
    # Most rows that are asked for are not there: so no file is asked for them, nor what is not in one yet.
    options.set_memtable_prefix_bloom_ratio(0.01)
    options.set_memtable_whole_key_filtering(True)
    options.set_arena_block_size(_MEGABYTE // 4)  # each of a dozen column families takes one at once
    # deleted records are skipped one by one until their file is compacted: have that done early
    options.add_compact_on_deletion_collector_factory(1000, 500, 0.5)
    return options
