"""The database of the index: made of the crawl's journal alone, and made anew wherever it does not fit that.

How far each topic was read stands in the same database as what came of it, and is written with it: a process
killed at any moment goes on exactly there. The journal may have another past than the one that was read, as
after a failure of power or where an older copy took its place: so of the last record read a checksum is kept.
"""

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from scentline.streams.logging import EventLog
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

DIRECTORY, FILE = "window", "index.sqlite"
#: Raised by whoever changes what rows mean while the tables stay as they are.
FORMAT = 1
#: KiB of the database that are held in memory.
_CACHE = 16_384
#: The table of the identity of the crawl that it is made of, and that of how far parts of the index have read.
_BASE = """
CREATE TABLE crawl (identity TEXT NOT NULL);
CREATE TABLE positions (
    part TEXT, topic TEXT, partition INTEGER, offset INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (part, topic, partition)
) WITHOUT ROWID;
"""

log = EventLog("window")


class Store:
    """The database, open: ``db`` is written in `batch` only, from one thread.

    It is a temporary one, in a file or in memory as SQLite sees fit, where another window has that of the
    directory, or this one may not write there.
    """

    def __init__(self, data: Path, journal: Journal, schema: str) -> None:
        self._path = data / DIRECTORY / FILE
        self._identity = _identity(journal)
        self._schema = _BASE + schema
        self._version = zlib.crc32(f"{FORMAT} {self._schema}".encode()) & 0x7FFFFFFF
        self._lasting = True
        self.db = self._opened()
        if not self._fits(journal):
            self.begin_anew()

    def begin_anew(self, *, lasting: bool = True) -> None:
        """Make it anew, empty; as a temporary one where it is not to be a lasting one."""
        self.db.close()
        self._lasting &= lasting
        if self._lasting:
            for end in ("", "-wal", "-shm"):
                self._path.with_name(f"{self._path.name}{end}").unlink(missing_ok=True)
        self.db = self._opened()
        with self.batch() as db:
            for statement in filter(None, map(str.strip, self._schema.split(";"))):
                db.execute(statement)
            db.execute("INSERT INTO crawl VALUES (?)", (self._identity,))
            db.execute(f"PRAGMA user_version = {self._version}")

    def _opened(self) -> sqlite3.Connection:
        try:
            if self._lasting:
                return _lasting(self._path)
        except (OSError, sqlite3.OperationalError) as error:  # it may not be written, or is in use
            log.warning("the index is not kept", path=self._path, reason=str(error))
            self._lasting = False
        return _connected("")

    def _fits(self, journal: Journal) -> bool:
        """Tell whether it has these tables, and was made of what the journal holds."""
        try:
            (version,) = self.db.execute("PRAGMA user_version").fetchone()
            if version != self._version:
                return False
            (identity,) = self.db.execute("SELECT identity FROM crawl").fetchone()
            read = self.db.execute("SELECT topic, partition, offset, last FROM positions").fetchall()
        except (sqlite3.DatabaseError, TypeError):
            return False
        return identity == self._identity and all(_has(journal, *position) for position in read)

    @contextmanager
    def batch(self) -> Iterator[sqlite3.Connection]:
        """Give the database for changes that are there all or none."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
            self.db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.OperationalError):  # SQLite has undone some by itself
                self.db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close it."""
        self.db.close()


class Told(NamedTuple):
    """Records of one partition in a row, behind which ``end`` is next, and the first offset that is kept."""

    partition: int
    records: list[Entry]
    start: int
    end: int


class Tail:
    """What a part of the index has not read of a topic yet.

    Records that their topic does not keep any more are passed over.
    """

    def __init__(self, store: Store, journal: Journal, part: str, topic: str) -> None:
        self._store = store
        self._journal = journal
        self._part = part
        self._topic = topic
        self._dropped: dict[int, int] = {}

    def position(self, partition: int) -> int:
        """Return the offset that is read next."""
        found = self._store.db.execute(
            "SELECT offset FROM positions WHERE part = ? AND topic = ? AND partition = ?",
            (self._part, self._topic, partition),
        ).fetchone()
        return max(found[0] if found else 0, self._journal.start(self._topic, partition))

    def left(self) -> int:
        """Return how many offsets have not been read."""
        return sum(
            max(0, self._journal.end(self._topic, partition) - self.position(partition))
            for partition in self._partitions()
        )

    def next(self, records: int, size: int) -> Told | None:
        """Return so many records of a partition that has more, of about ``size`` bytes; None where none has."""
        for partition in self._partitions():
            at, end = self.position(partition), self._journal.end(self._topic, partition)
            if at < end:
                found = self._journal.read(self._topic, partition, at, records, size)
                start = self._journal.start(self._topic, partition)
                return Told(partition, found, start, found[-1].offset + 1 if found else end)
        return None

    def note(self, told: Told) -> None:
        """Note, in the batch that has what came of it, that records were read."""
        last = _checksum(told.records[-1]) if told.records else 0
        self._store.db.execute(
            "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?, ?)",
            (self._part, self._topic, told.partition, told.end, last),
        )

    def drop(self, drop: Callable[[int, int], bool]) -> bool:
        """Have some rows dropped of what is not kept any more; return whether there may be more of them.

        ``drop`` is given a partition and the first offset that is kept, and returns whether it found any.
        """
        for partition in self._partitions():
            start = self._journal.start(self._topic, partition)
            if self._dropped.get(partition, 0) != start:
                if drop(partition, start):
                    return True
                self._dropped[partition] = start
        return False

    def _partitions(self) -> range:
        there = self._topic in self._journal.topics()
        return range(self._journal.partitions(self._topic) if there else 0)


def _lasting(path: Path) -> sqlite3.Connection:
    """Open the database in a file, its owner's alone; what stands there and is none is removed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for _ in range(2):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        try:
            return _connected(str(path))
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            path.unlink()
    raise sqlite3.OperationalError("no database could be made")


def _connected(path: str) -> sqlite3.Connection:
    """Open a database as its only user; without a path a temporary one, which goes with the connection."""
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA cache_size = -{_CACHE}")
        db.execute("BEGIN IMMEDIATE")  # takes the lock, for as long as it is open
        db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def _identity(journal: Journal) -> str:
    """Return what tells a journal from any other; it stays with its copies."""
    return (journal.path / "IDENTITY").read_text(encoding="ascii", errors="replace").strip()


def _has(journal: Journal, topic: str, partition: int, offset: int, last: int) -> bool:
    """Tell whether the record before ``offset`` is the one that was read, as far as the journal has it."""
    if topic not in journal.topics() or partition >= journal.partitions(topic):
        return False
    if offset > journal.end(topic, partition):
        return False
    found = journal.read(topic, partition, max(0, offset - 1), 1) if last else []
    return not found or found[0].offset != offset - 1 or _checksum(found[0]) == last


def _checksum(entry: Entry) -> int:
    return zlib.crc32(entry.value or b"", zlib.crc32(str(entry.timestamp).encode())) or 1
