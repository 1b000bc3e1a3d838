"""The dead letters that are kept, by what they are of and why: nothing of what they hold."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from scentline.agents.window.index.store import Store, Tail, Told
from scentline.streams.logging import printable
from scentline.streams.records import DeadLetter, Decoder, RecordError
from scentline.streams.topics import DEAD_LETTERS
from scentline.streams.transport.journal import Journal

SCHEMA = """
CREATE TABLE letters (
    id INTEGER PRIMARY KEY, topic TEXT NOT NULL, partition INTEGER NOT NULL, place INTEGER NOT NULL,
    why TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL, time REAL NOT NULL,
    UNIQUE (topic, partition, place, reason)
);
CREATE INDEX letters_by_kind ON letters (topic, why, kind, time, partition, place);
"""
#: Records that are taken in as one batch, and the bytes from which on no more are read for it.
_RECORDS, _BYTES = 500, 1_000_000
#: Characters kept of a reason.
_REASON = 200
_NUMBERS = re.compile(r"[0-9]+")
_decode = Decoder[DeadLetter](DeadLetter)


class Letters(NamedTuple):
    """Dead letters of a topic that are alike: so many, and time, place and reason of the last of them."""

    topic: str
    why: str
    letters: int
    time: float
    place: str
    reason: str


class LetterIndex:
    """The dead letters of a crawl, read from its journal step by step."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self._tail = Tail(store, journal, "letters", DEAD_LETTERS.name)

    def step(self) -> bool:
        """Take in some letters; return whether there were any."""
        told = self._tail.next(_RECORDS, _BYTES)
        if told is None:
            return False
        with self._store.batch() as db:
            db.execute("DELETE FROM letters WHERE id < ?", (told.start,))
            db.executemany("INSERT OR REPLACE INTO letters VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _rows(told))
            self._tail.note(told)
        return True

    def alike(self, offset: int = 0, most: int = 50) -> list[Letters]:
        """Return the letters, those that are alike together, where most are first; ``offset`` are passed over.

        Of a letter that a restart repeated the last counts.
        """
        found = self._store.db.execute(
            "SELECT topic, why, count(*), max(time), partition, place, reason FROM letters "
            "GROUP BY topic, why, kind ORDER BY count(*) DESC, topic, why, kind LIMIT ? OFFSET ?",
            (most, offset),
        )
        return [
            Letters(topic, why, letters, time, f"{topic}/{partition}@{place}", reason)
            for topic, why, letters, time, partition, place, reason in found
        ]

    def count(self) -> int:
        """Return how many letters are kept."""
        return int(self._store.db.execute("SELECT count(*) FROM letters").fetchone()[0])


def _rows(told: Told) -> Iterator[tuple[object, ...]]:
    for entry in told.records:
        try:
            letter = _decode(entry.value or b"")
        except RecordError as error:
            yield (
                entry.offset, DEAD_LETTERS.name, told.partition, entry.offset, "unreadable",
                *_told(str(error)), entry.timestamp,
            )  # fmt: skip
            continue
        yield (
            entry.offset, printable(letter.topic, _REASON), letter.partition, letter.offset, letter.why,
            *_told(letter.reason), letter.time,
        )  # fmt: skip


def _told(reason: str) -> tuple[str, str]:
    """Return what letters are alike by, and a reason as it is shown."""
    shown = printable(reason, _REASON)
    return _NUMBERS.sub("0", shown), shown
