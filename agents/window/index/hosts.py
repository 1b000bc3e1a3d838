"""All hosts of a crawl by part of their names and in several orders, and why fetches of them brought no page.

They are read from the frontier's table, round after round while hosts are viewed. Lists are as of the last
whole round, or as far as the first round has come. Only hosts whose rows changed are written.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple
from zlib import crc32

import msgspec

from scentline.agents.frontier.keys import HOST_PREFIX
from scentline.agents.frontier.rows import HostRow
from scentline.agents.window.index.pages import ANY, PageIndex
from scentline.agents.window.index.store import Store
from scentline.models.frontier.causes import Cause
from scentline.streams.transport.database import TableMissingError, TablePartition
from scentline.streams.transport.journal import Journal

SCHEMA = """
CREATE TABLE hosts (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, row INTEGER NOT NULL, pages INTEGER NOT NULL,
    hits INTEGER NOT NULL, failures INTEGER NOT NULL, seconds REAL NOT NULL
);
CREATE INDEX hosts_by_pages ON hosts (pages, name);
CREATE INDEX hosts_by_hits ON hosts (hits, name);
CREATE INDEX hosts_by_failures ON hosts (failures, name);
CREATE INDEX hosts_by_seconds ON hosts (seconds, name);
CREATE VIRTUAL TABLE host_names USING fts5 (name, content = '', columnsize = 0, tokenize = 'trigram');
CREATE TABLE host_causes (
    host INTEGER, cause TEXT, count INTEGER NOT NULL, PRIMARY KEY (host, cause)
) WITHOUT ROWID;
CREATE INDEX host_causes_by_count ON host_causes (cause, count, host);
CREATE TABLE causes (
    cause TEXT PRIMARY KEY, count INTEGER NOT NULL, hosts INTEGER NOT NULL, time REAL NOT NULL, host INTEGER
);
CREATE TABLE host_rounds (begun REAL NOT NULL);
"""
#: Seconds for which rounds go on after a view.
LOOKED_SECONDS = 30.0
#: Hosts that are read at a time.
HOSTS = 100
#: By which figures hosts are sorted.
ORDERS = ("name", "pages", "hits", "failures", "seconds")
#: Letters that are looked up at least: for fewer, hosts are gone through in their order.
_LEAST_PART = 3
#: Hosts found that are sorted at most: where there are more, all are gone through until a page is full.
_MOST_FOUND = 5_000
#: The seconds of a host that never answered.
_NEVER = -1.0
_MOST = (1 << 63) - 1
_KNOWN = "SELECT name, row, hits FROM hosts WHERE name IN"
_HITS = f"SELECT host, hits FROM host_hits WHERE predicate = '{ANY}' AND host IN"  # noqa: S608
_decode = msgspec.msgpack.Decoder(HostRow).decode


class Progress(NamedTuple):
    """How many hosts are known, when the last whole round began, and how many hosts this one has read."""

    hosts: int
    as_of: float | None
    read: int


class CauseTotal(NamedTuple):
    """A cause: of how many fetches, on how many hosts, when it came last, and on which host."""

    cause: str
    fetches: int
    hosts: int
    time: float
    host: str


class HostIndex:
    """The hosts of a crawl, read from the frontier's table step by step."""

    def __init__(
        self, store: Store, journal: Journal, pages: PageIndex, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._journal = journal
        self._pages = pages
        self._clock = clock
        self._until = float("-inf")
        self._round: _Round | None = None
        self._read: tuple[int, bool] | None = None
        self._matched: tuple[tuple[str, int], int | None] = ("", 0), None
        self._hosts = int(store.db.execute("SELECT count(*) FROM hosts").fetchone()[0])

    # reading

    def look(self) -> None:
        """Go on with rounds for a while."""
        self._until = self._clock() + LOOKED_SECONDS

    def step(self) -> bool:
        """Read some hosts; return whether there is more to do: not without a viewer or a change."""
        if self._clock() >= self._until or (self._round is None and not self._begin()):
            return False
        assert self._round is not None
        rows = self._round.next()
        if rows:
            self._take_in(rows)
        else:
            self._end(self._round)
        return True

    def _begin(self) -> bool:
        try:
            parts = self._journal.table("frontier")
        except TableMissingError:
            return False
        state = self._journal.written, self._pages.left() == 0  # their hits are counted with the pages
        if state == self._read:
            return False
        self._read = state
        self._round = _Round(parts, self._clock())
        return True

    def _end(self, read: "_Round") -> None:
        self._round = None
        if read.hosts != self._hosts:
            raise sqlite3.IntegrityError(f"{self._hosts} hosts are known, and the crawl has {read.hosts}")
        with self._store.batch() as db:
            db.execute("DELETE FROM host_rounds")
            db.execute("INSERT INTO host_rounds VALUES (?)", (read.begun,))

    def _take_in(self, rows: Mapping[str, bytes]) -> None:
        known = {name: before for name, *before in self._known(_KNOWN, rows)}
        hits: dict[str, int] = dict(self._known(_HITS, rows))
        with self._store.batch() as db:
            for name, raw in rows.items():
                now = [crc32(raw), hits.get(name, 0)]
                if known.get(name) != now:
                    self._write(db, name in known, name, now[0], _decode(raw), now[1])
        self._hosts += len(rows.keys() - known.keys())

    def _known(self, statement: str, names: Iterable[str]) -> sqlite3.Cursor:
        values = tuple(names)
        return self._store.db.execute(f"{statement} ({', '.join('?' * len(values))})", values)

    def _write(
        self, db: sqlite3.Connection, known: bool, name: str, row: int, host: HostRow, hits: int
    ) -> None:
        failures = sum(cause.count for cause in host.causes.values())
        seconds = _NEVER if host.waits.mean is None else host.waits.mean
        ((number,),) = db.execute(
            "INSERT INTO hosts (name, row, pages, hits, failures, seconds) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET row = excluded.row, pages = excluded.pages, "
            "hits = excluded.hits, failures = excluded.failures, seconds = excluded.seconds RETURNING id",
            (name, row, host.judged, hits, failures, seconds),
        ).fetchall()
        if not known:
            db.execute("INSERT INTO host_names (rowid, name) VALUES (?, ?)", (number, name))
        self._write_causes(db, number, host.causes)

    def _write_causes(self, db: sqlite3.Connection, host: int, causes: Mapping[str, Cause]) -> None:
        before = dict(db.execute("SELECT cause, count FROM host_causes WHERE host = ?", (host,)))
        for name, cause in causes.items():
            if before.get(name) == cause.count:
                continue
            db.execute("INSERT OR REPLACE INTO host_causes VALUES (?, ?, ?)", (host, name, cause.count))
            db.execute(
                "INSERT INTO causes VALUES (?, ?, ?, ?, ?) ON CONFLICT (cause) DO UPDATE SET "
                "count = count + excluded.count, hosts = hosts + excluded.hosts, "
                "host = iif(excluded.time >= time, excluded.host, host), time = max(time, excluded.time)",
                (name, cause.count - before.get(name, 0), name not in before, cause.time, host),
            )

    # looking up

    def progress(self) -> Progress:
        """Return how far the hosts were read."""
        found = self._store.db.execute("SELECT begun FROM host_rounds").fetchone()
        return Progress(self._hosts, found and found[0], 0 if self._round is None else self._round.hosts)

    def names(
        self,
        part: str = "",
        by: str = "name",
        *,
        descending: bool = False,
        beyond: str | None = None,
        back: bool = False,
        most: int = 50,
    ) -> list[str]:
        """Return hosts whose names have a part, in one of `ORDERS`, those of equal figures by name.

        They are those behind the host ``beyond`` in that order, or those before it with ``back``.
        """
        assert by in ORDERS
        downwards = descending != back
        source, asked, values = self._found(part)
        if beyond is not None:
            asked += f" AND ({by}, name) {'<' if downwards else '>'} (?, ?)"
            values += [self._figure(beyond, by), beyond]
        way = "DESC" if downwards else "ASC"
        found = self._store.db.execute(
            f"SELECT name FROM {source} WHERE {asked} ORDER BY {by} {way}, name {way} LIMIT ?",  # noqa: S608
            (*values, most),
        )
        names = [name for (name,) in found]
        return names[::-1] if back else names

    def _figure(self, name: str, by: str) -> object:
        found = self._store.db.execute(f"SELECT {by} FROM hosts WHERE name = ?", (name,)).fetchone()  # noqa: S608
        return found and found[0]

    def count(self, part: str = "") -> int | None:
        """Return how many hosts have a part in their names, None where they are too many to be counted."""
        if not part:
            return self._hosts
        if not part.isascii() or "\0" in part:
            return 0
        return self._matching(part)

    def _found(self, part: str) -> tuple[str, str, list[object]]:
        """Return where to look for hosts whose names have a part, what they have to fulfil, and its values."""
        if not part:
            return "hosts", "1", []
        if not part.isascii() or "\0" in part:
            return "hosts", "0", []  # no name has it
        if self._matching(part) is None:
            return "hosts", "instr(name, ?)", [part.lower()]
        # Few, which are sorted: no index has them in their order.
        few = "id IN (SELECT rowid FROM host_names WHERE host_names MATCH ?)"
        return "hosts NOT INDEXED", few, [_phrase(part)]

    def _matching(self, part: str) -> int | None:
        """Return how many hosts have a part in their names, None where they are many, or the part is short."""
        if len(part) < _LEAST_PART:
            return None
        if self._matched[0] == (part, self._hosts):  # as in the view before
            return self._matched[1]
        found = self._store.db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM host_names WHERE host_names MATCH ? LIMIT ?)",
            (_phrase(part), _MOST_FOUND + 1),
        )
        count = int(found.fetchone()[0])
        self._matched = (part, self._hosts), None if count > _MOST_FOUND else count
        return self._matched[1]

    # why fetches brought no page

    def causes(self) -> list[CauseTotal]:
        """Return every cause, the one that came most often first."""
        found = self._store.db.execute(
            "SELECT cause, count, causes.hosts, time, name FROM causes LEFT JOIN hosts ON id = host "
            "ORDER BY count DESC, cause"
        )
        return [CauseTotal(*row) for row in found]

    def hosts_of(self, cause: str, beyond: str | None = None, most: int = 50) -> list[str]:
        """Return the hosts of a cause, those where it came most often first, behind one of them where given."""
        start = (_MOST, _MOST)
        if beyond is not None:
            start = self._store.db.execute(
                "SELECT count, host FROM host_causes JOIN hosts ON id = host WHERE cause = ? AND name = ?",
                (cause, beyond),
            ).fetchone() or (0, 0)
        found = self._store.db.execute(
            "SELECT name FROM (SELECT count, host FROM host_causes WHERE cause = ? AND (count, host) < (?, ?) "
            "ORDER BY count DESC, host DESC LIMIT ?) JOIN hosts ON id = host ORDER BY count DESC, host DESC",
            (cause, *start, most),
        )
        return [name for (name,) in found]


class _Round:
    """A pass through the hosts of all partitions; it has come past so many ``hosts``."""

    def __init__(self, parts: Mapping[int, TablePartition], begun: float) -> None:
        self.begun = begun
        self.hosts = 0
        self._parts = list(parts.values())
        self._after: bytes | None = None

    def next(self) -> dict[str, bytes]:
        """Return the rows of the next hosts, none at the end."""
        while self._parts:
            found = list(islice(self._parts[0].scan(HOST_PREFIX, self._after), HOSTS))
            if found:
                self._after = found[-1][0]
                self.hosts += len(found)
                return {key[len(HOST_PREFIX) :].decode(): raw for key, raw in found}
            self._after = None
            self._parts.pop(0)
        return {}


def _phrase(part: str) -> str:
    return '"' + part.replace('"', '""') + '"'
