"""The judged pages as they stand now: which predicates each satisfies, why it was chosen, and its words.

It follows the topic `outcomes` and holds of each page what `agents.operate.inspect.record.judged_of` would say.
A row's number is the place of the outcome that holds, so that what its topic does not keep any more is a range.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import msgspec

from scentline.agents.harvest.agent import Counted, read_as
from scentline.agents.window.index.search import Asked, runs
from scentline.agents.window.index.store import Store, Tail
from scentline.agents.window.index.store import Told as Records
from scentline.models.url import host, identifier
from scentline.models.verdict import Verdict
from scentline.streams.logging import printable
from scentline.streams.records import Finite, Natural, RecordError
from scentline.streams.topics import OUTCOMES
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

SCHEMA = """
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, key INTEGER NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, time REAL NOT NULL,
    depth INTEGER NOT NULL, predicate INTEGER NOT NULL, policy INTEGER NOT NULL, explored INTEGER NOT NULL,
    probability REAL NOT NULL, expected REAL, verdict BLOB NOT NULL, gone TEXT
);
CREATE INDEX pages_by_key ON pages (key);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL);
CREATE TABLE hits (
    predicate INTEGER, time REAL, page INTEGER, PRIMARY KEY (predicate, time, page)
) WITHOUT ROWID;
CREATE TABLE hit_counts (predicate INTEGER PRIMARY KEY, hits INTEGER NOT NULL);
CREATE TABLE host_hits (
    host TEXT, predicate INTEGER, hits INTEGER NOT NULL, PRIMARY KEY (host, predicate)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE page_words USING fts5 (
    titles, urls, holds, content = '', columnsize = 0, tokenize = 'ascii'
);
"""
#: Stands in `hits` for every page that satisfies any predicate.
ANY = 0
#: Characters kept of a title, and those of a URL whose words are looked up.
TITLE, URL = 300, 500
#: Records that are taken in as one batch, and the bytes from which on no more are read for it.
RECORDS, BYTES = 150, 750_000
#: Rows that are deleted as one batch.
DELETED = 500
#: Partitions that a topic may have: rows are by their offsets, in the order in which pages were judged.
PARTITIONS = 1 << 12


class Place(NamedTuple):
    """Where a list of pages, newest first, goes on: behind the page with this time and row."""

    time: float
    id: int


class ShownOutcome(Counted):
    """What is shown of an outcome."""

    predicate: str
    probability: Finite
    expected: Finite | None
    depth: Natural
    left: str | msgspec.UnsetType = msgspec.UNSET


class IndexedPage(msgspec.Struct):
    """A judged page as it stands now, with fields of its `Outcome`; ``left`` is None where it is there.

    ``id`` is its row, until there is another outcome of it that holds.
    """

    id: int
    url: str
    title: str
    time: float
    depth: int
    predicate: str
    policy: str
    explored: bool
    probability: float
    expected: float | None
    verdict: Verdict
    left: str | None = None

    @property
    def place(self) -> Place:
        """Where it stands in a list of pages by time."""
        return Place(self.time, self.id)

    @property
    def holds(self) -> tuple[str, ...]:
        """The predicates that it satisfies now."""
        return () if self.left is not None else tuple(name for name, hit in self.verdict.items() if hit)


_MOST_ROW = (1 << 63) - 1
_decoder = msgspec.json.Decoder(ShownOutcome)
_verdict = msgspec.msgpack.Decoder(dict[int, bool])
_pack = msgspec.msgpack.Encoder().encode
_COLUMNS = "id, url, title, time, depth, predicate, policy, explored, probability, expected, verdict, gone"


class PageIndex:
    """The pages of a crawl, read from its journal step by step."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._tail = Tail(store, journal, "pages", OUTCOMES.name)
        self._names = _Names(store)

    # taking in

    def step(self) -> bool:
        """Take in some outcomes, or drop some that are not kept any more; return whether there is more."""
        if (told := self._tail.next(RECORDS, BYTES)) is not None:
            self._take_in(told)
            return True
        return self._tail.drop(self._drop)

    def left(self) -> int:
        """Return how many outcomes have not been taken in."""
        return self._tail.left()

    def position(self, partition: int) -> int:
        """Return the offset of the outcome that is taken in next."""
        return self._tail.position(partition)

    def _take_in(self, told: Records) -> None:
        outcomes = list(outcomes_of(told.partition, told.records))
        with self._names.noted(), self._store.batch() as db:
            batch = _Batch(db, self._names, self.of({outcome.url for _, outcome in outcomes}))
            for row, outcome in outcomes:
                batch.take(row, outcome)
            batch.write()
            self._tail.note(told)

    def _drop(self, partition: int, start: int) -> bool:
        found = self._store.db.execute(
            f"SELECT {_COLUMNS} FROM pages WHERE id < ? AND id % ? = ? ORDER BY id LIMIT ?",  # noqa: S608
            (start * PARTITIONS, PARTITIONS, partition, DELETED),
        )
        pages = [self._page(row) for row in found]
        with self._store.batch() as db:
            _Batch(db, self._names, {page.url: page for page in pages}).drop()
        return bool(pages)

    # looking up

    def page(self, url: str) -> IndexedPage | None:
        """Return the page of a canonical URL, None where none was judged."""
        return self.of({url}).get(url)

    def count(self, predicate: str = "") -> int:
        """Return how many pages satisfy a predicate now, or any."""
        found = self._store.db.execute(
            "SELECT hits FROM hit_counts WHERE predicate = ?", (self._names.known(predicate),)
        ).fetchone()
        return found[0] if found else 0

    def hits_of(self, host: str) -> dict[str, int]:
        """Return how many pages of a host satisfy each predicate now, of those that any does."""
        found = self._store.db.execute(
            "SELECT predicate, hits FROM host_hits WHERE host = ? AND predicate != ? AND hits", (host, ANY)
        )
        return {self._names.name(predicate): hits for predicate, hits in found}

    def newest(self, predicate: str = "", after: Place | None = None, most: int = 50) -> list[IndexedPage]:
        """Return pages that satisfy a predicate, or any, the newest first, behind a place in that list."""
        time, row = after or (float("inf"), 0)
        found = self._store.db.execute(
            f"SELECT {_COLUMNS} FROM pages WHERE id IN (SELECT page FROM hits WHERE predicate = ? "  # noqa: S608
            "AND (time, page) < (?, ?) ORDER BY time DESC, page DESC LIMIT ?) ORDER BY time DESC, id DESC",
            (self._names.known(predicate), time, row, most),
        )
        return [self._page(row) for row in found]

    def search(
        self, asked: Asked, predicate: str | None = "", after: int | None = None, most: int = 50
    ) -> list[IndexedPage]:
        """Return pages whose titles and URLs have all that is asked, those that were judged last first.

        They satisfy the predicate, or any; with None they need not. ``after`` is the row behind which the list
        goes on.
        """
        if not asked:
            return []
        match = f"{{titles urls}} : ({asked.match})"
        if predicate is not None:
            match += f" AND holds : {_held(self._names.known(predicate))}"
        found = self._store.db.execute(
            f"SELECT {_COLUMNS} FROM page_words JOIN pages ON id = page_words.rowid WHERE page_words MATCH ? "  # noqa: S608
            "AND page_words.rowid < ? ORDER BY page_words.rowid DESC LIMIT ?",
            (match, _MOST_ROW if after is None else after, most),
        )
        return [self._page(row) for row in found]

    def of(self, urls: Iterable[str]) -> dict[str, IndexedPage]:
        """Return pages by URL, those that are known."""
        keys = [key_of(url) for url in urls]
        marks = ", ".join("?" * len(keys))
        found = self._store.db.execute(f"SELECT {_COLUMNS} FROM pages WHERE key IN ({marks})", keys)  # noqa: S608
        pages = (self._page(row) for row in found)
        return {page.url: page for page in pages}

    def _page(self, row: Sequence[Any]) -> IndexedPage:
        number, url, title, time, depth, predicate, policy, explored, probability, expected, verdict, gone = row
        name = self._names.name
        return IndexedPage(
            number, url, title, time, depth, name(predicate), name(policy), bool(explored), probability,
            expected, {name(each): holds for each, holds in _verdict.decode(verdict).items()}, gone,
        )  # fmt: skip


class _Batch:
    """The changes that some outcomes make to the pages that they are of."""

    def __init__(self, db: sqlite3.Connection, names: "_Names", known: Mapping[str, IndexedPage]) -> None:
        self._db = db
        self._names = names
        self._before = known
        self._now = dict(known)

    def take(self, row: int, outcome: ShownOutcome) -> None:
        """Take in an outcome."""
        take(self._now, row, outcome)

    def drop(self) -> None:
        """Leave nothing of the pages."""
        self._now.clear()
        self.write()

    def write(self) -> None:
        """Write what has changed."""
        before = [page for url, page in self._before.items() if self._now.get(url) is not page]
        now = [page for url, page in self._now.items() if self._before.get(url) is not page]
        db, hits, of_hosts = self._db, Counter[int](), Counter[tuple[str, int]]()
        for pages, change in ((before, -1), (now, 1)):
            for page in pages:
                for number in self._held(page):
                    hits[number] += change
                    of_hosts[host(page.url), number] += change
        db.executemany("DELETE FROM pages WHERE id = ?", ((page.id,) for page in before))
        db.executemany("DELETE FROM hits WHERE predicate = ? AND time = ? AND page = ?", self._hits(before))
        db.executemany(
            "INSERT INTO page_words (page_words, rowid, titles, urls, holds) VALUES ('delete', ?, ?, ?, ?)",
            map(self._words, before),
        )
        db.executemany(f"INSERT INTO pages VALUES ({', '.join('?' * 13)})", map(self._row, now))  # noqa: S608
        db.executemany("INSERT INTO hits VALUES (?, ?, ?)", self._hits(now))
        db.executemany(
            "INSERT INTO page_words (rowid, titles, urls, holds) VALUES (?, ?, ?, ?)", map(self._words, now)
        )
        db.executemany(
            "INSERT INTO hit_counts VALUES (?, ?) "
            "ON CONFLICT (predicate) DO UPDATE SET hits = hits + excluded.hits",
            hits.items(),
        )
        db.executemany(
            "INSERT INTO host_hits VALUES (?, ?, ?) "
            "ON CONFLICT (host, predicate) DO UPDATE SET hits = hits + excluded.hits",
            ((*place, change) for place, change in of_hosts.items()),
        )

    def _held(self, page: IndexedPage) -> list[int]:
        holds = page.holds
        return [ANY, *map(self._names.number, holds)] if holds else []

    def _hits(self, pages: Iterable[IndexedPage]) -> Iterator[tuple[int, float, int]]:
        return ((number, page.time, page.id) for page in pages for number in self._held(page))

    def _words(self, page: IndexedPage) -> tuple[int, str, str, str]:
        title, url = (" ".join(runs(text)) for text in (page.title, page.url[:URL]))
        return page.id, title, url, " ".join(map(_held, self._held(page)))

    def _row(self, page: IndexedPage) -> tuple[object, ...]:
        number = self._names.number
        return (
            page.id, key_of(page.url), page.url, page.title, page.time, page.depth, number(page.predicate),
            number(page.policy), page.explored, page.probability, page.expected,
            _pack({number(name): holds for name, holds in page.verdict.items()}), page.left,
        )  # fmt: skip


class _Names:
    """Numbers that stand for names of predicates and policies, of which a crawl has few."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers: dict[str, int] = {}
        self._read()

    def _read(self) -> None:
        found = self._store.db.execute("SELECT name, id FROM names")
        self._numbers = dict(found)
        self._by_number = {number: name for name, number in self._numbers.items()}

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Go round a batch that gives numbers: where it is undone, so are they."""
        try:
            yield
        except BaseException:
            self._read()
            raise

    def number(self, name: str) -> int:
        """Return the number of a name, a new one within a batch."""
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self._numbers) + 1
            self._by_number[found] = name
            self._store.db.execute("INSERT INTO names VALUES (?, ?)", (found, name))
        return found

    def name(self, number: int) -> str:
        """Return the name that a number stands for."""
        return self._by_number[number]

    def known(self, predicate: str) -> int:
        """Return the number of a predicate, `ANY` where none is named; of an unknown one -1."""
        return self._numbers.get(predicate, -1) if predicate else ANY


def outcomes_of(partition: int, records: Iterable[Entry]) -> Iterator[tuple[int, ShownOutcome]]:
    """Yield the outcomes of a partition's records with their rows; what can't be read is left out."""
    for entry in records:
        with suppress(RecordError):
            for _, _, outcome in read_as(_decoder, entry.value or b"").facts:
                yield entry.offset * PARTITIONS + partition, outcome


def take(pages: dict[str, IndexedPage], row: int, outcome: ShownOutcome) -> None:
    """Take an outcome into pages by URL, by the rules of `agents.operate.inspect.record.judged_of`."""
    known = pages.get(outcome.url)
    if outcome.later:
        if known is not None and outcome.time == known.time:
            pages[outcome.url] = msgspec.structs.replace(known, verdict=outcome.verdict | known.verdict)
    elif known is None or (outcome.again is not msgspec.UNSET and outcome.time > known.time):
        pages[outcome.url] = _page_of(row, outcome)


def _page_of(row: int, outcome: ShownOutcome) -> IndexedPage:
    return IndexedPage(
        row, outcome.url, printable(outcome.title, TITLE), outcome.time, outcome.depth, outcome.predicate,
        outcome.policy, outcome.explored, outcome.probability, outcome.expected, outcome.verdict,
        None if outcome.left is msgspec.UNSET else printable(outcome.left, TITLE),
    )  # fmt: skip


def _held(predicate: int) -> str:
    """Return the word of pages that satisfy a predicate; no page has that of an unknown one."""
    return f"p{predicate}" if predicate >= ANY else "none"


def key_of(url: str) -> int:
    """Return what a page is looked up by; another one may have the same."""
    return int.from_bytes(identifier(url)[:8], signed=True)
