"""Replacing one pseudonym by another in everything that a data directory's database holds."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from rocksdict import WriteBatch

from agents.operate.privacy.plan import Replacement
from streams.transport.database import Database, TablePartition, open_writer

#: Entries written at once.
_BATCH = 1_000


def rewrite(data: Path, replacement: Replacement) -> int:
    """Replace the pseudonym in the log and in every table; return how many entries held it.

    Both have the same length and stand in keys and values as they are, so that no record needs to be decoded.
    What was replaced already is not found again: after a crash it can be done once more.
    """
    with closing(open_writer(data / "journal")) as db:
        return _replace(db.log, replacement) + sum(_replace(part, replacement) for part in tables(db))


def purge(data: Path) -> None:
    """Write the database anew, without what was replaced or deleted in it.

    It is opened once more, since RocksDB notes the first and last key of each file it had until then.
    """
    with closing(open_writer(data / "journal")) as db:
        db.compact()
    open_writer(data / "journal").close()


def delete(data: Path, keys: Iterable[bytes]) -> None:
    """Delete entries of the log."""
    with closing(open_writer(data / "journal")) as db:
        batch = WriteBatch(raw_mode=True)
        for key in keys:
            batch.delete(key)
        db.write(batch)


def tables(db: Database) -> Iterable[TablePartition]:
    """Return the partitions of all tables."""
    return db.columns.values()


def _replace(part: TablePartition, replacement: Replacement) -> int:
    replaced = 0
    for entries in _batches(entry for entry in part.scan(b"") if replacement.concerns(*entry)):
        batch = WriteBatch(raw_mode=True)
        for entry in entries:
            part.stage(batch, dict(replacement.of(*entry)))
        part.write(batch)
        replaced += len(entries)
    return replaced


def _batches(entries: Iterator[tuple[bytes, bytes]]) -> Iterator[list[tuple[bytes, bytes]]]:
    found: list[tuple[bytes, bytes]] = []
    for entry in entries:
        found.append(entry)
        if len(found) == _BATCH:
            yield found
            found = []
    if found:
        yield found
