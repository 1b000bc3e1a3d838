"""Attempts: which messages are being taken in at the moment, in a file that outlives the process.

Where a process is killed, or dies in somebody's C code, the message that did it comes again, to the next
process. So each message is noted here before it is touched, and struck out afterwards. What a process finds
noted at its start was taken in when the one before ended: by that it counts the deaths of a message, and after
some of them it is buried (`Runtime.deadly`).

The file is mapped into memory: a note costs no system call, and the kernel keeps it whatever becomes of the
process. After a power failure it may be old, which does no harm.
"""

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

#: The file's name in the data directory.
ATTEMPTS_FILE = "attempts"
#: Messages that one process takes in at a time, at most: further ones are not noted.
SLOTS = 2048

_EMPTY, _TAKEN, _SUSPECT = 0, 1, 2
# State, deaths, topic (as CRC-32), partition, offset.
_SLOT = struct.Struct("<BBxxIIxxxxQ")
_MOST_DEATHS = 255


class Place(NamedTuple):
    """Where a message stands.

    >>> str(Place("pages", 0, 17))
    'pages/0@17'
    """

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}"


_Noted = tuple[int, int, int]


class Attempts:
    """The messages being taken in, and how many processes ended while they were.

    Without a ``path`` nothing is kept. A file that can't be read as one of these is begun anew: what it held
    are at most the suspicions of the past.
    """

    def __init__(self, path: Path | None = None, slots: int = SLOTS) -> None:
        self._path = path
        size = slots * _SLOT.size
        self._notes: mmap.mmap = mmap.mmap(-1, size) if path is None else _mapped(path, size)
        self._suspects: dict[_Noted, int] = {}
        self._free: list[int] = []
        for slot in reversed(range(slots)):
            self._find(slot)

    def _find(self, slot: int) -> None:
        """Take up what the process before left in a slot."""
        state, deaths, *place = _SLOT.unpack_from(self._notes, slot * _SLOT.size)
        if state not in (_TAKEN, _SUSPECT):
            self._free.append(slot)
            return
        deaths = min(deaths + (state == _TAKEN), _MOST_DEATHS)
        topic, partition, offset = place
        self._suspects[topic, partition, offset] = slot
        self._write(slot, _SUSPECT, deaths, (topic, partition, offset))

    def deaths(self, place: Place) -> int:
        """Return how many processes ended while the message was taken in."""
        slot = self._suspects.get(_noted(place)) if self._suspects else None
        return 0 if slot is None else int(_SLOT.unpack_from(self._notes, slot * _SLOT.size)[1])

    @contextmanager
    def taking(self, place: Place) -> Iterator[None]:
        """Note that the message is being taken in, for as long as the block lasts.

        An error that leaves the block is none of the message's, and nothing is held against it, unless it is
        for want of memory.
        """
        noted, deaths = _noted(place), self.deaths(place)
        slot = self._suspects.get(noted) if deaths else self._free.pop() if self._free else None
        if slot is None:
            yield
            return
        self._write(slot, _TAKEN, deaths, noted)
        struck = True
        try:
            yield
        except MemoryError:
            struck = False
            raise
        finally:
            if struck:
                self._suspects.pop(noted, None)
                self._write(slot, _EMPTY, 0, (0, 0, 0))
                self._free.append(slot)

    def close(self) -> None:
        """Unmap the file."""
        self._notes.close()

    def _write(self, slot: int, state: int, deaths: int, noted: _Noted) -> None:
        _SLOT.pack_into(self._notes, slot * _SLOT.size, state, deaths, *noted)


def _noted(place: Place) -> _Noted:
    return crc32(place.topic.encode()), place.partition, place.offset


def _mapped(path: Path, size: int) -> mmap.mmap:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(file).st_size != size:
            os.ftruncate(file, 0)
            # Written and not only made long: a disk that is full says so here, and not by a signal later.
            os.pwrite(file, bytes(size), 0)
        return mmap.mmap(file, size)
    finally:
        os.close(file)
