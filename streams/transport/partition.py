"""One partition of a journal's topic: where it starts and ends, and the scan over its records."""

from collections.abc import Iterator
from typing import Any

from rocksdict import ReadOptions

from streams.transport.layout import (
    Entry,
    TopicMeta,
    decode_record,
    following,
    pack_offset,
    place,
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
