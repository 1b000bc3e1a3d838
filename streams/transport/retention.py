"""Retention: a topic's records older than its time are dropped, from the front."""

from typing import Any

from rocksdict import WriteBatch

from streams.transport.layout import pack_offset, timestamp_of, unpack_offset
from streams.transport.partition import Partition


def drop_expired(db: Any, log: Partition, now: float) -> int:
    """Drop the partition's records that are older than its topic keeps them; return how many offsets went.

    What a consumer group has not committed yet stays, however old. Timestamps are taken to grow with offsets.
    """
    if log.meta.retention is None or log.meta.compacted:
        return 0
    start = _first_since(log, now - log.meta.retention, min(log.end, _lowest_committed(db, log)))
    dropped = start - log.start
    if dropped > 0:
        batch = WriteBatch(raw_mode=True)
        batch.delete_range(log.key(log.start), log.key(start))
        batch.put(b"s" + log.place, pack_offset(start))
        db.write(batch)
        log.start = start
    return max(dropped, 0)


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
