"""Opening a journal's RocksDB: for writing, by one process, or for reading beside it."""

from pathlib import Path
from typing import Any

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    BottommostLevelCompaction,
    Cache,
    CompactOptions,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
)

from models.errors import ScentlineError

_MEGABYTE = 1024 * 1024


class JournalInUseError(ScentlineError):
    """Another process writes to the journal."""


class JournalMissingError(ScentlineError):
    """There is no journal to read."""


class StorageError(ScentlineError):
    """The disk does not take what is written, or what it holds is damaged; the text says which and where."""


class Database:
    """A RocksDB whose failures to write are `StorageError`; ``path`` is where it lies."""

    def __init__(self, db: Any, path: Path) -> None:
        self._db = db
        self._path = path
        self._failed = False
        # Read as often as a page has words: without a step in between.
        self.get = db.get
        self.items = db.items

    def write(self, batch: WriteBatch) -> None:
        """Write a batch, whole or not at all."""
        try:
            self._db.write(batch)
        except Exception as error:
            self._failed = True
            raise storage_error("writing to", self._path, error) from error

    def put(self, key: bytes, value: bytes) -> None:
        """Write one entry."""
        batch = WriteBatch(raw_mode=True)
        batch.put(key, value)
        self.write(batch)

    def try_catch_up_with_primary(self) -> None:
        """See what the writer wrote since."""
        self._db.try_catch_up_with_primary()

    def compact(self) -> None:
        """Write all that it holds anew, so that nothing is left of what was deleted or replaced."""
        options: Any = CompactOptions()
        options.set_bottommost_level_compaction(BottommostLevelCompaction.force())
        try:
            self._db.flush()
            self._db.compact_range(None, None, compact_opt=options)
        except Exception as error:
            self._failed = True
            raise storage_error("writing to", self._path, error) from error

    def close(self) -> None:
        """Close it; one that failed to write has said so, and fails once more."""
        try:
            self._db.close()
        except Exception as error:
            if not self._failed:
                raise storage_error("closing", self._path, error) from error


def storage_error(doing: str, path: Path, error: Exception) -> StorageError:
    """Return what to raise where RocksDB raised ``error`` (it has no kinds of errors, only texts)."""
    return StorageError(f"{doing} {path}: {error}")


def open_writer(path: Path) -> Database:
    """Open or create the database for writing.

    Raises `JournalInUseError` when another process holds it, `StorageError` where it can't be opened.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Database(Rdict(str(path), _options()), path)
    except Exception as error:
        # RocksDB tells of its lock in so many ways; where the lock file can't even be made, it is the disk.
        if "lock" in str(error).lower() and "permi" not in str(error).lower():
            raise JournalInUseError(
                f"opening the journal in {path}: another process writes to it; "
                "stop that one first, or choose another data directory"
            ) from error
        raise storage_error("opening the journal in", path, error) from error


def open_reader(path: Path, scratch: str) -> Database:
    """Open the database for reading beside a writer; ``scratch`` is an empty directory for RocksDB's own log.

    Raises `JournalMissingError` when nothing was ever written there, `StorageError` for what is damaged.
    """
    if not (path / "CURRENT").exists():
        raise JournalMissingError(
            f"reading the journal in {path}: nothing there; expected the data directory of a crawl"
        )
    options = _options()
    options.set_max_open_files(-1)  # what the writer deletes must stay readable here
    try:
        return Database(Rdict(str(path), options, access_type=AccessType.secondary(scratch)), path)
    except Exception as error:
        raise storage_error("reading the journal in", path, error) from error


def _options() -> Options:
    blocks = BlockBasedOptions()
    blocks.set_bloom_filter(10, False)
    blocks.set_block_cache(Cache(32 * _MEGABYTE))
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(32 * _MEGABYTE)
    options.set_max_total_wal_size(128 * _MEGABYTE)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(_MEGABYTE)
    # deleted records are skipped one by one until their file is compacted: have that done early
    options.add_compact_on_deletion_collector_factory(1000, 500, 0.5)
    return options
