"""One partition of a journal's topic: where it starts and ends, its records, and how long they are kept."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from rocksdict import ReadOptions, WriteBatch

from scentline.streams.transport.layout import (
    Entry,
    TopicMeta,
    decode_record,
    following,
    pack_offset,
    place,
    timestamp_of,
    unpack_offset,
)


class Partition:
    """What is known in memory of one partition: ``start`` is the first kept offset, ``end`` the next one."""

    __slots__ = ("_db", "_scan", "end", "meta", "place", "records", "start")

    def __init__(self, db: Any, meta: TopicMeta, partition: int) -> None:
        self._db = db
        self.meta = meta
        self.place = place(meta.number, partition)
        self.records = b"r" + self.place
        self._scan = ReadOptions()
        self._scan.set_iterate_upper_bound(following(self.records))
        self.load()

    def load(self) -> None:
        """Read the offsets as the database has them."""
        self.end = self._offset(b"e")
        self.start = self._offset(b"s")

    def _offset(self, kind: bytes) -> int:
        raw = self._db.get(kind + self.place)
        return 0 if raw is None else unpack_offset(raw)

    def key(self, offset: int) -> bytes:
        """Return the key of the record at ``offset``."""
        return self.records + pack_offset(offset)

    def newest(self, key: bytes) -> bytes:
        """Return the key under which the offset of a record key's newest record stands."""
        return b"k" + self.place + key

    def scan(self, offset: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield key and bytes of the kept records from ``offset`` on."""
        pairs: Iterator[tuple[bytes, bytes]] = self._db.items(
            from_key=self.key(max(offset, self.start)), read_opt=self._scan
        )
        return pairs

    def read(self, offset: int, limit: int, max_bytes: int) -> list[Entry]:
        """Return kept records from ``offset`` on: up to ``limit``, none once ``max_bytes`` are reached."""
        if offset >= self.end or limit <= 0:
            return []
        found: list[Entry] = []
        last = self.end - 1
        size = 0
        for key, data in self.scan(offset):
            entry = decode_record(unpack_offset(key), data)
            found.append(entry)
            size += len(data)
            if len(found) == limit or size >= max_bytes or entry.offset == last:
                break
        return found

    def drop_expired(self, now: float) -> None:
        """Drop the records that the topic does not keep any more: those too old, or too many, from the front.

        What a consumer group has not committed yet stays, however old. Timestamps are taken to grow with
        offsets.
        """
        if self.meta.retention is None or self.meta.compacted:
            return
        stop = min(self.end, self._lowest_committed())
        start = self._first_since(now - self.meta.retention, stop)
        if self.meta.most is not None:
            start = max(start, min(self.end - self.meta.most, stop))
        if start > self.start:
            batch = WriteBatch(raw_mode=True)
            batch.delete_range(self.key(self.start), self.key(start))
            batch.put(b"s" + self.place, pack_offset(start))
            self._db.write(batch)
            self.start = start

    def _first_since(self, time: float, stop: int) -> int:
        """Return the first offset before ``stop`` whose record is not older than ``time``, else ``stop``."""
        low, high = self.start, stop
        while low < high:
            # most calls find nothing to drop: look at the first record before halving
            middle = low if low == self.start else (low + high) // 2
            _, data = next(iter(self.scan(middle)), (b"", None))
            if data is not None and timestamp_of(data) < time:
                low = middle + 1
            else:
                high = middle
        return low

    def _lowest_committed(self) -> int:
        prefix = b"c" + self.place
        lowest = self.end
        for key, value in self._db.items(from_key=prefix):
            if not key.startswith(prefix):
                break
            lowest = min(lowest, unpack_offset(value))
        return lowest


class Clock:
    """The time of day by which records grow old: that of the start, and what has passed since.

    Never more than the time of day. A clock that is set forward while a crawl runs would have everything be too
    old at once.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()

    def __call__(self) -> float:
        """Return the time in seconds since the epoch."""
        return min(self._wall(), self._steady() + self._ahead)
