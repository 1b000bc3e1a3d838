"""The database of the index: a temporary one, made of the crawl's journal alone."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: KiB of the database that are held in memory; the rest lies in a file without a name.
_CACHE = 16_384


class Store:
    """The database, open: ``db`` is written in `batch` only, from one thread."""

    def __init__(self, schema: str) -> None:
        self.db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self.db.execute("PRAGMA journal_mode = MEMORY")
        self.db.execute(f"PRAGMA cache_size = -{_CACHE}")
        self.db.executescript(schema)

    @contextmanager
    def batch(self) -> Iterator[sqlite3.Connection]:
        """Give the database for changes that are there all or none."""
        self.db.execute("BEGIN")
        try:
            yield self.db
            self.db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.OperationalError):  # SQLite has undone some by itself
                self.db.execute("ROLLBACK")
            raise


class Records(NamedTuple):
    """Records of one partition in a row; ``end`` is the offset behind them."""

    partition: int
    entries: list[Entry]
    end: int


class Tail:
    """The part of a topic that was not read yet; records that are no longer kept are passed over."""

    def __init__(self, journal: Journal, topic: str) -> None:
        self._journal = journal
        self._topic = topic
        self._read: dict[int, int] = {}
        self._dropped: dict[int, int] = {}

    def left(self) -> int:
        """Return how many offsets have not been read."""
        return sum(max(0, self._end(each) - self.position(each)) for each in self._partitions())

    def next(self, records: int, size: int) -> Records | None:
        """Return so many records of a partition that has more, of about ``size`` bytes; None where none has."""
        for partition in self._partitions():
            at, end = self.position(partition), self._end(partition)
            if at < end:
                found = self._journal.read(self._topic, partition, at, records, size)
                return Records(partition, found, found[-1].offset + 1 if found else end)
        return None

    def note(self, read: Records) -> None:
        """Note that records were read."""
        self._read[read.partition] = read.end

    def drop(self, drop: Callable[[int, int], bool]) -> bool:
        """Drop some rows of what is no longer kept; return whether there may be more of them.

        ``drop`` takes a partition and the first offset that is kept, and returns whether it found any.
        """
        for partition in self._partitions():
            start = self._journal.start(self._topic, partition)
            if self._dropped.get(partition, 0) != start:
                if drop(partition, start):
                    return True
                self._dropped[partition] = start
        return False

    def position(self, partition: int) -> int:
        """Return the offset that is read next."""
        return max(self._read.get(partition, 0), self._journal.start(self._topic, partition))

    def _end(self, partition: int) -> int:
        return self._journal.end(self._topic, partition)

    def _partitions(self) -> range:
        there = self._topic in self._journal.topics()
        return range(self._journal.partitions(self._topic) if there else 0)
