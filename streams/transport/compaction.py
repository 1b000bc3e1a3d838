"""Compaction: a compacted topic keeps the newest record of each key.

An index in the same database holds the offset of each key's newest record among those looked at. Looking at
a record deletes the one that it replaces and moves the index, so the work grows with what was appended and
never with what is kept, and can stop and go on anywhere. A tombstone is looked at like any record; it goes
`TOMBSTONE_SECONDS` later, so that a reader who is behind still learns that the key is deleted. A partition's
last record always stays, so that a reader who waits for it comes to an end.
"""

from itertools import islice
from struct import Struct
from typing import Any

from rocksdict import WriteBatch

from streams.transport.layout import decode_record, pack_offset, unpack_offset
from streams.transport.partition import Partition

#: A partition is looked at once this many records wait: keys that change often then cost one index entry.
COMPACT_AFTER = 1000

#: How long a tombstone outlives what it deletes.
TOMBSTONE_SECONDS = 3600.0

_TOMBSTONE = Struct(">d")


def compact(db: Any, log: Partition, now: float, budget: int) -> int:
    """Look at up to ``budget`` records of the partition; return how many were looked at."""
    if not log.meta.compacted:
        return 0
    looked = _drop_tombstones(db, log, now, budget)
    if log.end - log.cleaned >= COMPACT_AFTER and looked < budget:
        looked += _drop_replaced(db, log, budget - looked)
    if looked:
        _advance_start(db, log)
    return looked


def _drop_replaced(db: Any, log: Partition, budget: int) -> int:
    batch = WriteBatch(raw_mode=True)
    newest: dict[bytes, int] = {}
    looked, cleaned = 0, log.end
    for place, data in islice(log.scan(log.cleaned), budget):
        offset, timestamp, key, value = decode_record(unpack_offset(place), data)
        looked, cleaned = looked + 1, offset + 1
        if key is None:
            continue  # from before the topic was a compacted one
        replaced = newest[key] if key in newest else _indexed(db, log, key)
        if replaced is not None:
            batch.delete(log.key(replaced))
        if value is None:
            batch.put(b"x" + log.place + pack_offset(offset), _TOMBSTONE.pack(timestamp) + key)
        newest[key] = offset
    for key, offset in newest.items():
        batch.put(_index_key(log, key), pack_offset(offset))
    batch.put(b"d" + log.place, pack_offset(cleaned))
    db.write(batch)
    log.cleaned = cleaned
    return looked


def _drop_tombstones(db: Any, log: Partition, now: float, budget: int) -> int:
    batch = WriteBatch(raw_mode=True)
    prefix = b"x" + log.place
    looked = 0
    for place, data in islice(db.items(from_key=prefix), budget):
        if not place.startswith(prefix):
            break
        (timestamp,) = _TOMBSTONE.unpack_from(data)
        key, offset = data[_TOMBSTONE.size :], unpack_offset(place)
        if timestamp > now - TOMBSTONE_SECONDS or offset == log.end - 1:
            break
        if _indexed(db, log, key) == offset:
            batch.delete(log.key(offset))
            batch.delete(_index_key(log, key))
        batch.delete(place)
        looked += 1
    if looked:
        db.write(batch)
    return looked


def _advance_start(db: Any, log: Partition) -> None:
    first = next(iter(log.scan(log.start)), None)
    start = log.end if first is None else unpack_offset(first[0])
    if start != log.start:
        db.put(b"s" + log.place, pack_offset(start))
        log.start = start


def _index_key(log: Partition, key: bytes) -> bytes:
    return b"k" + log.place + key


def _indexed(db: Any, log: Partition, key: bytes) -> int | None:
    raw = db.get(_index_key(log, key))
    return None if raw is None else unpack_offset(raw)
