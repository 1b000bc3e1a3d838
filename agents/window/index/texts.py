"""The words of kept pages: read while somebody searches in texts, file by file, the newest first.

A row's number is the place of its copy, so that what a dropped file held is a range, and later copies come
first.
"""

import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from os import fsencode
from pathlib import Path
from typing import NamedTuple

from scentline.agents.judge.keep.store import DIRECTORY, Copy, entries_in, files, kept_in
from scentline.agents.window.index.pages import key_of
from scentline.agents.window.index.search import Asked, runs
from scentline.agents.window.index.store import Store
from scentline.agents.window.kept.process import CopyReader
from scentline.agents.window.kept.text import Text, Wanted

SCHEMA = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY, key INTEGER NOT NULL, url TEXT NOT NULL, judged REAL NOT NULL, text BLOB NOT NULL
);
CREATE INDEX texts_by_key ON texts (key);
CREATE TABLE text_files (file INTEGER PRIMARY KEY, entries INTEGER NOT NULL);
CREATE VIRTUAL TABLE text_words USING fts5 (words, content = '', columnsize = 0, tokenize = 'ascii');
"""
#: Seconds for which copies are read after somebody has searched in texts.
SEARCHED_SECONDS = 30.0
#: Characters of a text that are looked up, and of an excerpt; those of it before what is found.
MOST, EXCERPT, BEFORE = 50_000, 240, 60
#: Entries of visits that are passed over at once, and rows that are deleted.
ENTRIES, DELETED = 500, 20
#: Offsets in a file are below this.
_OFFSETS = 1 << 40
_MOST_ROW = (1 << 63) - 1


class FoundText(NamedTuple):
    """A copy that has what is searched: ``id`` is its place in the list, ``parts`` are those of an excerpt."""

    id: int
    url: str
    parts: tuple[str, ...]


class TextIndex:
    """The words of the pages kept in a data directory; each copy is read by a process of its own."""

    def __init__(self, store: Store, data: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._directory = data / DIRECTORY
        self._clock = clock
        self._reader = CopyReader()
        self._until = float("-inf")

    # taking in

    def step(self) -> bool:
        """Read a copy, or drop some that are kept no more; return whether there is more to do."""
        if self._clock() > self._until:
            return False
        there = {_number(path): path for path in files(self._directory)}
        known: dict[int, int] = dict(self._store.db.execute("SELECT file, entries FROM text_files"))
        for gone in sorted(known.keys() - there.keys()):
            self._drop(gone)
            return True
        for number in sorted(there, reverse=True):
            if entries_in(there[number]) > known.get(number, 0):
                self._read(number, there[number], known.get(number, 0))
                return True
        return False

    def _read(self, number: int, path: Path, start: int) -> None:
        """Take in the next copy of a file, if it is read by now, and pass over visits before it."""
        entries = kept_in(path, start, ENTRIES)
        visits = next((place for place, copy in enumerate(entries) if copy is not None), len(entries))
        copy = entries[visits] if visits < len(entries) else None
        answer = None
        if copy is not None:
            answer = self._reader.answer(Wanted("", fsencode(path), copy.offset, copy.length))
            if answer is None:
                return
        with self._store.batch() as db:
            if copy is not None and isinstance(answer, Text):
                self._take_in(number * _OFFSETS + copy.offset, copy, answer)
            end = start + visits + (copy is not None)
            db.execute("INSERT OR REPLACE INTO text_files VALUES (?, ?)", (number, end))

    def _take_in(self, row: int, copy: Copy, told: Text) -> None:
        key, db = key_of(told.url), self._store.db
        known = db.execute(
            "SELECT id, judged, text FROM texts WHERE key = ? AND url = ?", (key, told.url)
        ).fetchall()
        if any(judged > copy.judged for _, judged, _ in known):
            return
        self._delete((each, text) for each, _, text in known)
        text = " \n".join("".join(parts) for parts in told.paragraphs)[:MOST]
        packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 6)
        db.execute("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", (row, key, told.url, copy.judged, packed))
        db.execute("INSERT INTO text_words (rowid, words) VALUES (?, ?)", (row, " ".join(runs(text))))

    def _drop(self, number: int) -> None:
        """Drop some of what a file held that is kept no more."""
        with self._store.batch() as db:
            found = db.execute(
                "SELECT id, text FROM texts WHERE id >= ? AND id < ? LIMIT ?",
                (number * _OFFSETS, (number + 1) * _OFFSETS, DELETED),
            ).fetchall()
            self._delete(found)
            if len(found) < DELETED:
                db.execute("DELETE FROM text_files WHERE file = ?", (number,))

    def _delete(self, rows: Iterable[tuple[int, bytes]]) -> None:
        for row, packed in rows:
            words = " ".join(runs(_unpacked(packed)))
            self._store.db.execute(
                "INSERT INTO text_words (text_words, rowid, words) VALUES ('delete', ?, ?)", (row, words)
            )
            self._store.db.execute("DELETE FROM texts WHERE id = ?", (row,))

    # looking up

    def look(self) -> tuple[int, int]:
        """Have copies read for a while; return how many have been, and of how many."""
        self._until = self._clock() + SEARCHED_SECONDS
        (read,) = self._store.db.execute("SELECT coalesce(sum(entries), 0) FROM text_files").fetchone()
        return read, max(read, sum(entries_in(path) for path in files(self._directory)))

    def search(self, asked: Asked, after: int | None = None, most: int = 50) -> list[FoundText]:
        """Return copies whose text has all that is asked, those that were kept last first."""
        if not asked:
            return []
        found = self._store.db.execute(
            "SELECT texts.id, url, text FROM text_words JOIN texts ON texts.id = text_words.rowid "
            "WHERE text_words MATCH ? AND text_words.rowid < ? ORDER BY text_words.rowid DESC LIMIT ?",
            (asked.match, _MOST_ROW if after is None else after, most),
        )
        return [FoundText(row, url, excerpt_of(asked, _unpacked(packed))) for row, url, packed in found]

    def close(self) -> None:
        """End the process that reads."""
        self._reader.close()


def excerpt_of(asked: Asked, text: str) -> tuple[str, ...]:
    """Return the part of a text that has the first of what is asked, in parts."""
    at = min(_places(asked, text), default=0)
    start = max(0, at - BEFORE)
    if start:
        start = text.find(" ", start, at) + 1 or start
    line = " ".join(text[start : start + EXCERPT].split())
    return asked.parts(f"{'…' if start else ''}{line}{'…' if start + EXCERPT < len(text) else ''}")


def _places(asked: Asked, text: str) -> Iterator[int]:
    """Yield where the phrases that are asked for stand first, as far as they are written as they were asked."""
    for phrase in asked.phrases:
        between = r"[\W_]+".join(map(re.escape, phrase.words))
        end = "" if phrase.begun else r"(?![^\W_])"
        found = re.search(rf"(?<![^\W_]){between}{end}", text, re.IGNORECASE)
        if found is not None:
            yield found.start()


def _unpacked(packed: bytes) -> str:
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")


def _number(path: Path) -> int:
    return int(path.name.partition(".")[0])
