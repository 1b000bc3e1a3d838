"""A partition of a Faust table on RocksDB, written in whole groups and read by key or by prefix."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faust.stores.rocksdb import Store as FaustStore
from rocksdict import AccessType, Options, Rdict, WriteBatch

from models.errors import ScentlineError
from streams.transport.database import storage_error

#: What Faust's RocksDB store is told: small buffers, since a worker holds several partitions open.
OPTIONS: dict[str, Any] = {
    "driver": "rocksdict",
    "write_buffer_size": 16 * 1024 * 1024,
    "block_cache_size": 64 * 1024 * 1024,
}


_SIZES = ("rocksdb.estimate-num-keys", "rocksdb.total-sst-files-size", "rocksdb.size-all-mem-tables")


class TableMissingError(ScentlineError, FileNotFoundError):
    """There is no table to read."""


class TablePartition:
    """One partition's database; rows and the changelog offset they stand at are written together."""

    def __init__(self, db: Rdict) -> None:
        self._db = db

    def get(self, key: bytes) -> bytes | None:
        """Return a row's bytes; raises `StorageError` where the disk does not give them."""
        try:
            value: bytes | None = self._db.get(key)
        except Exception as error:
            raise storage_error("reading", Path(self._db.path()), error) from error
        return value

    def changelog_offset(self) -> int:
        """Return the offset of the last changelog record that the rows stand at, -1 where there is none."""
        return int(self._db.get(FaustStore.offset_key) or -1)

    def write(self, rows: Mapping[bytes, bytes | None], changelog_offset: int) -> None:
        """Write rows (None deletes) and the changelog offset they stand at, all or nothing.

        Raises `StorageError` where the disk does not take them.
        """
        batch = WriteBatch(raw_mode=True)
        for key, value in rows.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        batch.put(FaustStore.offset_key, str(changelog_offset).encode())
        try:
            self._db.write(batch)
        except Exception as error:
            raise storage_error("writing to", Path(self._db.path()), error) from error

    def size(self) -> tuple[int, int]:
        """Return the rows, as RocksDB estimates them, and the bytes of its files and buffers."""
        rows, files, buffers = (self._db.property_int_value(name) or 0 for name in _SIZES)
        return rows, files + buffers

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Yield rows whose key starts with ``prefix``, in key order, those after key ``after`` only."""
        for key, value in self._db.items(from_key=after or prefix):
            if not key.startswith(prefix):
                return
            if key != after:
                yield key, value


@contextmanager
def writing(data: Path, table: str, partition: int) -> Iterator[TablePartition]:
    """Open or make a partition of a table under the data directory of a crawl that does not run."""
    directory = _directory(data)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    db = Rdict(str(directory / f"{table}-{partition}.db"), Options(raw_mode=True))
    try:
        yield TablePartition(db)
    finally:
        db.close()


def open_read_only(data: Path, table: str) -> dict[int, TablePartition]:
    """Open every partition of a table under the data directory for reading, beside a running writer.

    Raises `TableMissingError` when there is no such table.
    """
    directory = _directory(data)
    # A partition that a crawl is making at the moment has no CURRENT yet.
    paths = sorted(path.parent for path in directory.glob(f"{table}-*.db/CURRENT"))
    if not paths:
        raise TableMissingError(f"reading the table {table}: nothing in {directory}; expected a crawl's data")
    return {
        int(path.stem.rpartition("-")[2]): TablePartition(
            Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        )
        for path in paths
    }


def _directory(data: Path) -> Path:
    """Return where Faust keeps the tables of the app's first version."""
    return data / "v1" / "tables"
