"""Retention: a topic's records older than its time, or too many, are dropped, from the front."""

import time
from collections.abc import Callable
from typing import Any

from rocksdict import WriteBatch

from streams.transport.layout import pack_offset, timestamp_of, unpack_offset
from streams.transport.partition import Partition


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


def drop_expired(db: Any, log: Partition, now: float) -> None:
    """Drop the partition's records that its topic does not keep any more.

    What a consumer group has not committed yet stays, however old. Timestamps are taken to grow with offsets.
    """
    if log.meta.retention is None or log.meta.compacted:
        return
    stop = min(log.end, _lowest_committed(db, log))
    start = _first_since(log, now - log.meta.retention, stop)
    if log.meta.most is not None:
        start = max(start, min(log.end - log.meta.most, stop))
    if start > log.start:
        batch = WriteBatch(raw_mode=True)
        batch.delete_range(log.key(log.start), log.key(start))
        batch.put(b"s" + log.place, pack_offset(start))
        db.write(batch)
        log.start = start


def _first_since(log: Partition, time: float, stop: int) -> int:
    """Return the first offset before ``stop`` whose record is not older than ``time``, else ``stop``."""
    low, high = log.start, stop
    while low < high:
        # most calls find nothing to drop: look at the first record before halving
        middle = low if low == log.start else (low + high) // 2
        _, data = next(iter(log.scan(middle)), (b"", None))
        if data is not None and timestamp_of(data) < time:
            low = middle + 1
        else:
            high = middle
    return low


def _lowest_committed(db: Any, log: Partition) -> int:
    prefix = b"c" + log.place
    lowest = log.end
    for key, value in db.items(from_key=prefix):
        if not key.startswith(prefix):
            break
        lowest = min(lowest, unpack_offset(value))
    return lowest
