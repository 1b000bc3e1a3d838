"""The judged pages as they stand now: which predicates each satisfies, why it was chosen, and its words.

The index follows the topic `outcomes` by the rules of `agents.operate.inspect.record.judged_of`. A row's number
is the place of the outcome that holds, so that what the topic no longer keeps is a range of rows.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec

from scentline.agents.harvest.agent import Counted, read_as
from scentline.agents.window.index.search import Search, runs
from scentline.agents.window.index.store import Store, Tail
from scentline.models.url import host, identifier
from scentline.models.verdict import Verdict
from scentline.streams.logging import printable
from scentline.streams.records import Finite, Natural, RecordError
from scentline.streams.topics import OUTCOMES
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

SCHEMA = """
CREATE TABLE pages (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, page BLOB NOT NULL);
CREATE INDEX pages_by_key ON pages (key);
CREATE TABLE hits (
    predicate TEXT, time REAL, page INTEGER, PRIMARY KEY (predicate, time, page)
) WITHOUT ROWID;
CREATE TABLE hit_counts (predicate TEXT PRIMARY KEY, hits INTEGER NOT NULL);
CREATE TABLE host_hits (
    host TEXT, predicate TEXT, hits INTEGER NOT NULL, PRIMARY KEY (host, predicate)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE page_words USING fts5 (
    titles, urls, holds, content = '', columnsize = 0, tokenize = 'ascii'
);
"""
#: Stands in the tables for every page that satisfies any predicate.
ANY = ""
#: Characters kept of a title, and those of a URL whose words are searched.
TITLE, URL = 300, 500
#: Records of one batch, and the bytes from which on no more are read for it.
RECORDS, BYTES = 150, 750_000
#: Rows that are deleted as one batch.
DELETED = 500
#: Partitions that a topic may have: rows are numbered by offset and partition.
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

    @property
    def listed(self) -> tuple[str, ...]:
        """The predicates under which it is listed, `ANY` among them."""
        return (ANY, *self.holds) if self.holds else ()


_MOST_ROW = (1 << 63) - 1
_decoder = msgspec.json.Decoder(ShownOutcome)
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(IndexedPage).decode


class PageIndex:
    """The pages of a crawl, read from its journal step by step."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._tail = Tail(journal, OUTCOMES.name)

    # following

    def step(self) -> bool:
        """Read some outcomes, or drop some that are no longer kept; return whether there is more."""
        if (records := self._tail.next(RECORDS, BYTES)) is None:
            return self._tail.drop(self._drop)
        outcomes = list(outcomes_of(records.partition, records.entries))
        with self._store.batch() as db:
            before = self.of({outcome.url for _, outcome in outcomes})
            now = dict(before)
            for row, outcome in outcomes:
                apply(now, row, outcome)
            _write(db, before, now)
        self._tail.note(records)
        return True

    def left(self) -> int:
        """Return how many outcomes have not been read."""
        return self._tail.left()

    def has_read(self, row: int) -> bool:
        """Tell whether the outcome of a row was read."""
        offset, partition = divmod(row, PARTITIONS)
        return offset < self._tail.position(partition)

    def _drop(self, partition: int, start: int) -> bool:
        pages = self._pages(
            "SELECT page FROM pages WHERE id < ? AND id % ? = ? ORDER BY id LIMIT ?",
            (start * PARTITIONS, PARTITIONS, partition, DELETED),
        )
        with self._store.batch() as db:
            _write(db, {page.url: page for page in pages}, {})
        return bool(pages)

    # looking up

    def page(self, url: str) -> IndexedPage | None:
        """Return the page of a canonical URL, None where none was judged."""
        return self.of({url}).get(url)

    def count(self, predicate: str = ANY) -> int:
        """Return how many pages satisfy a predicate now, or any."""
        found = self._store.db.execute(
            "SELECT hits FROM hit_counts WHERE predicate = ?", (predicate,)
        ).fetchone()
        return found[0] if found else 0

    def hits_of(self, host: str) -> dict[str, int]:
        """Return how many pages of a host satisfy each predicate now, of those that any does."""
        found = self._store.db.execute(
            "SELECT predicate, hits FROM host_hits WHERE host = ? AND predicate != ? AND hits", (host, ANY)
        )
        return dict(found)

    def newest(self, predicate: str = ANY, after: Place | None = None, most: int = 50) -> list[IndexedPage]:
        """Return pages that satisfy a predicate, or any, the newest first, behind a place in that list."""
        return self._pages(
            "SELECT pages.page FROM hits JOIN pages ON id = hits.page WHERE predicate = ? "
            "AND (time, hits.page) < (?, ?) ORDER BY time DESC, hits.page DESC LIMIT ?",
            (predicate, *(after or (float("inf"), 0)), most),
        )

    def search(
        self, search: Search, predicate: str | None = ANY, after: int | None = None, most: int = 50
    ) -> list[IndexedPage]:
        """Return pages whose titles and URLs have all that is searched, those that were judged last first.

        They satisfy the predicate, or any; with None they need not. ``after`` is the row behind which the list
        goes on.
        """
        if not search:
            return []
        match = f"{{titles urls}} : ({search.match})"
        if predicate is not None:
            match += f" AND holds : {_held(predicate)}"
        return self._pages(
            "SELECT page FROM page_words JOIN pages ON id = page_words.rowid WHERE page_words MATCH ? "
            "AND page_words.rowid < ? ORDER BY page_words.rowid DESC LIMIT ?",
            (match, _MOST_ROW if after is None else after, most),
        )

    def of(self, urls: Iterable[str]) -> dict[str, IndexedPage]:
        """Return pages by URL, those that are known."""
        keys = [key_of(url) for url in urls]
        found = self._pages(f"SELECT page FROM pages WHERE key IN ({', '.join('?' * len(keys))})", keys)  # noqa: S608
        return {page.url: page for page in found}

    def _pages(self, statement: str, values: Iterable[object]) -> list[IndexedPage]:
        return [_unpack(packed) for (packed,) in self._store.db.execute(statement, tuple(values))]


def _write(db: sqlite3.Connection, known: Mapping[str, IndexedPage], new: Mapping[str, IndexedPage]) -> None:
    before = [page for url, page in known.items() if new.get(url) is not page]
    now = [page for url, page in new.items() if known.get(url) is not page]
    hits, of_hosts = Counter[str](), Counter[tuple[str, str]]()
    for pages, change in ((before, -1), (now, 1)):
        for page in pages:
            for predicate in page.listed:
                hits[predicate] += change
                of_hosts[host(page.url), predicate] += change
    db.executemany("DELETE FROM pages WHERE id = ?", ((page.id,) for page in before))
    db.executemany("DELETE FROM hits WHERE predicate = ? AND time = ? AND page = ?", _hits(before))
    db.executemany(
        "INSERT INTO page_words (page_words, rowid, titles, urls, holds) VALUES ('delete', ?, ?, ?, ?)",
        map(_words, before),
    )
    rows = ((page.id, key_of(page.url), _pack(page)) for page in now)
    db.executemany("INSERT INTO pages VALUES (?, ?, ?)", rows)
    db.executemany("INSERT INTO hits VALUES (?, ?, ?)", _hits(now))
    db.executemany("INSERT INTO page_words (rowid, titles, urls, holds) VALUES (?, ?, ?, ?)", map(_words, now))
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


def _hits(pages: Iterable[IndexedPage]) -> Iterator[tuple[str, float, int]]:
    return ((predicate, page.time, page.id) for page in pages for predicate in page.listed)


def _words(page: IndexedPage) -> tuple[int, str, str, str]:
    title, url = (" ".join(runs(text)) for text in (page.title, page.url[:URL]))
    return page.id, title, url, " ".join(map(_held, page.listed))


def outcomes_of(partition: int, records: Iterable[Entry]) -> Iterator[tuple[int, ShownOutcome]]:
    """Yield the outcomes of a partition's records with their rows; what can't be read is left out."""
    for entry in records:
        with suppress(RecordError):
            for _, _, outcome in read_as(_decoder, entry.value or b"").facts:
                yield entry.offset * PARTITIONS + partition, outcome


def apply(pages: dict[str, IndexedPage], row: int, outcome: ShownOutcome) -> None:
    """Apply an outcome to pages by URL, by the rules of `agents.operate.inspect.record.judged_of`."""
    known = pages.get(outcome.url)
    if outcome.later:
        if known is not None and outcome.time == known.time:
            pages[outcome.url] = msgspec.structs.replace(known, verdict=outcome.verdict | known.verdict)
    elif known is None or (outcome.again is not msgspec.UNSET and outcome.time > known.time):
        pages[outcome.url] = IndexedPage(
            row, outcome.url, printable(outcome.title, TITLE), outcome.time, outcome.depth, outcome.predicate,
            outcome.policy, outcome.explored, outcome.probability, outcome.expected, outcome.verdict,
            None if outcome.left is msgspec.UNSET else printable(outcome.left, TITLE),
        )  # fmt: skip


def _held(predicate: str) -> str:
    return f"p{identifier(predicate).hex()}"


def key_of(url: str) -> int:
    """Return the key of a page; another page may have the same."""
    return int.from_bytes(identifier(url)[:8], signed=True)
