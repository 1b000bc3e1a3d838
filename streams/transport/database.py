"""Opening a journal's RocksDB: for writing, by one process, or for reading beside it."""

from pathlib import Path
from typing import Any

from rocksdict import AccessType, BlockBasedOptions, Cache, DBCompressionType, Options, Rdict

_MEGABYTE = 1024 * 1024


class JournalInUseError(Exception):
    """Another process writes to the journal."""


class JournalMissingError(Exception):
    """There is no journal to read."""


def open_writer(path: Path) -> Any:
    """Open or create the database for writing.

    Raises `JournalInUseError` when another process holds it.
    """
    path.mkdir(parents=True, exist_ok=True)
    try:
        return Rdict(str(path), _options())
    except Exception as error:
        if "lock" in str(error).lower():
            raise JournalInUseError(
                f"opening the journal in {path}: another process writes to it; "
                "stop that one first, or choose another data directory"
            ) from error
        raise


def open_reader(path: Path, scratch: str) -> Any:
    """Open the database for reading beside a writer; ``scratch`` is an empty directory for RocksDB's own log.

    Raises `JournalMissingError` when nothing was ever written there.
    """
    if not (path / "CURRENT").exists():
        raise JournalMissingError(
            f"reading the journal in {path}: nothing there; expected the data directory of a crawl"
        )
    options = _options()
    options.set_max_open_files(-1)  # what the writer deletes must stay readable here
    return Rdict(str(path), options, access_type=AccessType.secondary(scratch))


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
