"""Forget one user in a data directory on which no crawl runs."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rocksdict import WriteBatch

from scentline.agents.observe.observer import Observer
from scentline.agents.operate.record import entries
from scentline.agents.operate.replacement import (
    Replacement,
    begin,
    bounds_of,
    choose,
    end,
    key_of,
    pending,
    pseudonym_of,
)
from scentline.agents.worker.connect import open_journal
from scentline.streams.settings import Settings
from scentline.streams.topics import PROXY_LOG
from scentline.streams.transport.database import Database, TablePartition, open_writer, pack_offset, place
from scentline.streams.transport.journal import Journal

#: Entries written at once.
_BATCH = 1_000


def lines_of(journal: Journal, observer: Observer, pseudonym: str, identity: str | None) -> Iterator[bytes]:
    """Yield the keys of a user's raw lines: under the pseudonym, or with ``identity``, if known, as client or
    user.

    An unreadable line is the user's if it contains the identity.
    """
    meta = journal.topics()[PROXY_LOG.name]
    for partition in range(meta.partitions):
        reader = observer.another()
        for entry in entries(journal, PROXY_LOG.name, partition):
            line = entry.value or b""
            found = reader.identities(line)
            named = identity is not None and (identity in found if found else identity.encode() in line)
            if named or (found and reader.pseudonym(found[0]) == pseudonym):
                yield b"r" + place(meta.number, partition) + pack_offset(entry.offset)


def rewrite(data: Path, replacement: Replacement) -> int:
    """Replace the pseudonym in the log and in every table; return how many entries held it.

    Both have the same length, so no record is decoded. A second call finds nothing.
    """
    with closing(open_writer(data / "journal")) as db:
        return _replace(db.log, replacement) + sum(_replace(part, replacement) for part in tables(db))


def purge(data: Path) -> None:
    """Rewrite the database without what was replaced or deleted in it.

    It is opened once more: until then RocksDB keeps the first and last key of each former file.
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
    replaced, found = 0, (entry for entry in part.scan(b"") if replacement.concerns(*entry))
    while batched := list(islice(found, _BATCH)):
        batch = WriteBatch(raw_mode=True)
        for entry in batched:
            part.stage(batch, dict(replacement.of(*entry)))
        part.write(batch)
        replaced += len(batched)
    return replaced


@dataclass(frozen=True)
class Forgotten:
    """How many entries of topics and tables held the pseudonym, and how many raw lines were deleted."""

    entries: int
    lines: int


def forget_user(settings: Settings, user: str, is_name: bool) -> Forgotten:
    """Replace a user's pseudonym everywhere by a random one that no key yields, and delete raw lines.

    ``user`` is the identity as the log has it or, unless ``is_name``, a pseudonym. An interrupted replacement
    is completed first. Raises `JournalInUseError`, `JournalMissingError`, `JournalFormatError`, and
    `ConfigurationError` where the pseudonym can't be computed.
    """
    data = settings.data
    # Refuse another version, or no crawl at all, before anything is replaced.
    Journal.open(data / "journal", read_only=True).close()
    old = pseudonym_of(settings, user, is_name)
    unfinished = pending(data)
    entries = _replaced(settings, unfinished) if unfinished is not None else 0
    with open_journal(settings) as journal:
        observer = Observer(settings.observe, key_of(settings) or b"")
        lines = list(lines_of(journal, observer, old, user if is_name else None))
        replacement = choose(old, bounds_of(old, settings, journal), settings.streams.partitions)
    delete(data, lines)
    begin(data, replacement)
    return Forgotten(entries + _replaced(settings, replacement), len(lines))


def _replaced(settings: Settings, replacement: Replacement) -> int:
    found = rewrite(settings.data, replacement)
    purge(settings.data)
    end(settings.data)
    return found
