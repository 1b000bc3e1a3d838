"""What became of the predicates' matches, newest first: the topic `changes`, of which nothing comes twice."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from scentline.agents.operate.inspect.record import read_change
from scentline.agents.window.index.pages import PARTITIONS, TITLE, Place, key_of
from scentline.agents.window.index.store import Store, Tail, Told
from scentline.streams.logging import printable
from scentline.streams.published import Change
from scentline.streams.records import RecordError
from scentline.streams.topics import CHANGES
from scentline.streams.transport.journal import Journal

SCHEMA = """
CREATE TABLE changes (
    id INTEGER PRIMARY KEY, origin INTEGER UNIQUE NOT NULL, key INTEGER NOT NULL, predicate TEXT NOT NULL,
    kind TEXT NOT NULL, url TEXT NOT NULL, time REAL NOT NULL, before REAL, title TEXT NOT NULL,
    excerpt TEXT NOT NULL, reason TEXT NOT NULL, target TEXT NOT NULL
);
CREATE INDEX changes_by_time ON changes (time, id);
CREATE INDEX changes_by_predicate ON changes (predicate, time, id);
CREATE INDEX changes_by_key ON changes (key);
"""
#: Records that are taken in, or rows that are deleted, as one batch.
RECORDS, BYTES, DELETED = 500, 1_000_000, 1_000
_COLUMNS = "id, predicate, kind, url, time, before, title, excerpt, reason, target"
_LAST = (float("inf"), 0)


class ChangeIndex:
    """The changes of a crawl that visits pages again, read from its journal step by step."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._tail = Tail(store, journal, "changes", CHANGES.name)

    def step(self) -> bool:
        """Take in some changes, or drop some that are not kept any more; return whether there is more."""
        told = self._tail.next(RECORDS, BYTES)
        if told is None:
            return self._tail.drop(self._drop)
        with self._store.batch() as db:
            db.executemany(f"INSERT OR IGNORE INTO changes VALUES ({', '.join('?' * 12)})", _rows(told))  # noqa: S608
            self._tail.note(told)
        return True

    def _drop(self, partition: int, start: int) -> bool:
        with self._store.batch() as db:
            dropped = db.execute(
                "DELETE FROM changes WHERE id IN (SELECT id FROM changes WHERE id < ? AND id % ? = ? LIMIT ?)",
                (start * PARTITIONS, PARTITIONS, partition, DELETED),
            )
        return dropped.rowcount > 0

    def newest(
        self, predicate: str = "", after: Place | None = None, most: int = 50
    ) -> list[tuple[Place, Change]]:
        """Return changes of a predicate's matches, or any, the newest first, behind a place in that list."""
        which, named = ("predicate = ? AND", (predicate,)) if predicate else ("", ())
        found = self._store.db.execute(
            f"SELECT {_COLUMNS} FROM changes WHERE {which} (time, id) < (?, ?) "  # noqa: S608
            "ORDER BY time DESC, id DESC LIMIT ?",
            (*named, *(after or _LAST), most),
        )
        return [(Place(change.time, row), change) for row, change in _changes(found)]

    def excerpt(self, url: str, predicates: Iterable[str]) -> str:
        """Return the words for which a page last satisfied one of the predicates, as far as they are told."""
        found = self._store.db.execute(
            f"SELECT {_COLUMNS} FROM changes WHERE key = ? AND excerpt != '' "  # noqa: S608
            "ORDER BY time DESC, id DESC LIMIT 100",
            (key_of(url),),
        )
        wanted = frozenset(predicates)
        told = (change for _, change in _changes(found) if change.url == url and change.predicate in wanted)
        return next((change.excerpt for change in told), "")


def _rows(told: Told) -> Iterator[tuple[object, ...]]:
    """Yield the rows of changes; what can't be read is left out."""
    for entry in told.records:
        with suppress(RecordError):
            each = read_change(entry.value or b"")
            yield (
                entry.offset * PARTITIONS + told.partition, _origin(each), key_of(each.url), each.predicate,
                printable(each.kind, TITLE), each.url, each.time, each.before, printable(each.title, TITLE),
                printable(each.excerpt, TITLE), printable(each.reason, TITLE), each.target,
            )  # fmt: skip


def _changes(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, Change]]:
    for row, predicate, kind, url, time, before, title, excerpt, reason, target in rows:
        yield row, Change(
            predicate=predicate, kind=kind, url=url, time=time, before=before, title=title, excerpt=excerpt,
            reason=reason, target=target,
        )  # fmt: skip


def _origin(change: Change) -> int:
    """Return what stands for a change: those of equal origin, predicate and kind are one."""
    told = "\0".join((change.origin, change.predicate, change.kind))
    return int.from_bytes(blake2b(told.encode(errors="replace"), digest_size=8).digest(), signed=True)
