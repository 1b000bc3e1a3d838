"""How a journal lies in RocksDB's default column family: its keys, and a record's bytes.

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

from struct import Struct
from typing import NamedTuple

import msgspec

#: What ``v`` holds. Whoever changes what older data mean, in the log or in a table, raises it.
FORMAT = b"6"

_PLACE = Struct(">II")
_OFFSET = Struct(">Q")
_HEADER = Struct(">dII")
_NONE = 0xFFFFFFFF

pack_offset = _OFFSET.pack


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
    """Return a record's bytes.

    >>> decode_record(7, encode_record(1.5, b"k", None))
    Entry(offset=7, timestamp=1.5, key=b'k', value=None)
    """
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
