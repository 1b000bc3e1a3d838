"""The partitions of an embedded log: their layout in RocksDB's default column family, retention, and waiting.

========= ================================= ==========================================
first     the rest of the key               value
========= ================================= ==========================================
``t``     topic name                        the topic's meta data
``r``     topic, partition, offset          a record
``e``     topic, partition                  the next offset
``s``     topic, partition                  the first kept offset
``c``     topic, partition, group           the group's committed offset
``k``     topic, partition, record key      the offset of the key's record, in a compacted topic
``v``                                       the format of all this, and of the tables beside it
========= ================================= ==========================================

Numbers in keys are big-endian, so that RocksDB's order is the order of offsets.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, NamedTuple

import msgspec
from rocksdict import ReadOptions, WriteBatch

FORMAT = b"8"  #: What ``v`` holds. Whoever changes what older data mean, in the log or in a table, raises it.

_PLACE = Struct(">II")
_OFFSET = Struct(">Q")
_HEADER = Struct(">dII")
_NONE = 0xFFFFFFFF

pack_offset = _OFFSET.pack

Place = tuple[str, int]  #: A partition of a topic.
Record = tuple[bytes | None, bytes | None]  #: Key and value.


class Entry(NamedTuple):
    """One record as it was read; ``timestamp`` is in seconds, a ``value`` of None says the key is deleted."""

    offset: int
    timestamp: float
    key: bytes | None
    value: bytes | None


class TopicMeta(msgspec.Struct, frozen=True):
    """What a journal knows of a topic: ``number`` is its name in keys, ``retention`` is in seconds.

    ``most`` are the records kept of a partition, None where time alone decides.
    """

    number: int
    partitions: int
    retention: float | None = None
    compacted: bool = False
    most: int | None = None


def place(number: int, partition: int) -> bytes:
    """Return the bytes that stand for a partition of a topic in every key about it."""
    return _PLACE.pack(number, partition)


def following(prefix: bytes) -> bytes:
    """Return the smallest key that is greater than every key with ``prefix``.

    >>> following(b"a1"), list(following(bytes([1, 255])))
    (b'a2', [2, 0])
    """
    return (int.from_bytes(prefix) + 1).to_bytes(len(prefix))


def unpack_offset(data: bytes) -> int:
    """Return the number that the last eight bytes hold."""
    return int.from_bytes(data[-8:])


def encode_record(timestamp: float, key: bytes | None, value: bytes | None) -> bytes:
    """Return a record's bytes."""
    header = _HEADER.pack(timestamp, _NONE if key is None else len(key), _NONE if value is None else len(value))
    return b"".join((header, key or b"", value or b""))


def decode_record(offset: int, data: bytes) -> Entry:
    """Return the record that the bytes hold."""
    timestamp, key_size, value_size = _HEADER.unpack_from(data)
    start = _HEADER.size
    key = None
    if key_size != _NONE:
        key = data[start : start + key_size]
        start += key_size
    return Entry(offset, timestamp, key, None if value_size == _NONE else data[start:])


def timestamp_of(data: bytes) -> float:
    """Return a record's timestamp without reading the rest of it."""
    timestamp: float = _HEADER.unpack_from(data)[0]
    return timestamp


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
        """Drop records from the front, too old or too many, but none that a group has yet to commit."""
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
    """The time by which records age: the start's plus what passed since, though a clock be set ahead."""

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._steady = wall, steady
        self._ahead = wall() - steady()

    def __call__(self) -> float:
        """Return the time in seconds since the epoch."""
        return min(self._wall(), self._steady() + self._ahead)


class Waiters:
    """The futures that wait for appends, by (topic, partition)."""

    def __init__(self) -> None:
        self._waiting: dict[Place, set[asyncio.Future[None]]] = {}

    async def join(self, future: "asyncio.Future[None]", places: Iterable[Place]) -> None:
        """Return when ``future`` is done: by the next `wake` of any of the partitions, or by its owner."""
        named = list(places)
        for name in named:
            self._waiting.setdefault(name, set()).add(future)
        try:
            await future
        finally:
            for name in named:
                waiting = self._waiting.get(name, set())
                waiting.discard(future)
                if not waiting:
                    self._waiting.pop(name, None)

    def wake(self, name: Place) -> None:
        """Wake whoever waits for the partition."""
        for future in self._waiting.pop(name, ()):
            finish(future)


def finish(future: "asyncio.Future[None]") -> None:
    """Complete the future, unless it is done."""
    if not future.done():
        future.set_result(None)
