"""Replacing one pseudonym by another in everything that a data directory's databases hold."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rocksdict import Options, Rdict, WriteBatch

from agents.privacy.plan import Replacement
from streams.transport.database import Database, open_writer, storage_error

#: Entries written at once.
_BATCH = 1_000


def rewrite(data: Path, replacement: Replacement) -> int:
    """Replace the pseudonym in the journal and in every table; return how many entries held it.

    Both have the same length and stand in keys and values as they are, so that no record needs to be decoded.
    What was replaced already is not found again: after a crash it can be done once more.
    """
    replaced = _replace(_journal(data), replacement)
    for path in tables(data):
        replaced += _replace(_table(path), replacement)
    return replaced


def purge(data: Path) -> None:
    """Write every database anew, without what was replaced or deleted in it.

    Each is opened once more, since RocksDB notes the first and last key of each file it had until then.
    """
    _compact(_journal(data))
    _journal(data).close()
    for path in tables(data):
        _compact(_table(path))
        _table(path).close()


def delete(data: Path, keys: Iterable[bytes]) -> None:
    """Delete entries of the journal."""
    db = _journal(data)
    try:
        batch = WriteBatch(raw_mode=True)
        for key in keys:
            batch.delete(key)
        db.write(batch)
    finally:
        db.close()


def tables(data: Path) -> list[Path]:
    """Return the databases of the tables."""
    return sorted((data / "v1" / "tables").glob("*.db"))


def _journal(data: Path) -> Database:
    return open_writer(data / "journal")


def _table(path: Path) -> Database:
    try:
        return Database(Rdict(str(path), Options(raw_mode=True)), path)
    except Exception as error:
        raise storage_error("opening the table in", path, error) from error


def _compact(db: Database) -> None:
    try:
        db.compact()
    finally:
        db.close()


def _replace(db: Database, replacement: Replacement) -> int:
    replaced = 0
    try:
        for entries in _batches(entry for entry in db.items() if replacement.concerns(*entry)):
            batch = WriteBatch(raw_mode=True)
            for entry in entries:
                for key, value in replacement.of(*entry):
                    if value is None:
                        batch.delete(key)
                    else:
                        batch.put(key, value)
            db.write(batch)
            replaced += len(entries)
    finally:
        db.close()
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
