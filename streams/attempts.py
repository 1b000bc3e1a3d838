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
from contextlib import AbstractContextManager, nullcontext
from functools import cache
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
        self.write(slot, _SUSPECT, deaths, (topic, partition, offset))

    def deaths(self, place: Place) -> int:
        """Return how many processes ended while the message was taken in."""
        slot = self._suspects.get(_noted(place)) if self._suspects else None
        return 0 if slot is None else int(_SLOT.unpack_from(self._notes, slot * _SLOT.size)[1])

    def taking(self, place: Place) -> AbstractContextManager[None]:
        """Note that the message is being taken in, for as long as the block lasts.

        An error that leaves the block is none of the message's, and nothing is held against it, unless it is
        for want of memory.
        """
        noted, deaths = _noted(place), self.deaths(place)
        slot = self._suspects[noted] if deaths else self._free.pop() if self._free else None
        return nullcontext() if slot is None else _Taking(self, slot, deaths, noted)

    def write(self, slot: int, state: int, deaths: int, noted: _Noted) -> None:
        """Write a note."""
        _SLOT.pack_into(self._notes, slot * _SLOT.size, state, deaths, *noted)

    def strike(self, slot: int, noted: _Noted) -> None:
        """Strike a note out."""
        self._suspects.pop(noted, None)
        _SLOT.pack_into(self._notes, slot * _SLOT.size, _EMPTY, 0, 0, 0, 0)
        self._free.append(slot)

    def close(self) -> None:
        """Unmap the file."""
        self._notes.close()


class _Taking:
    """A block in which a message is taken in."""

    __slots__ = ("_attempts", "_deaths", "_noted", "_slot")

    def __init__(self, attempts: Attempts, slot: int, deaths: int, noted: _Noted) -> None:
        self._attempts = attempts
        self._slot = slot
        self._deaths = deaths
        self._noted = noted

    def __enter__(self) -> None:
        self._attempts.write(self._slot, _TAKEN, self._deaths, self._noted)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, MemoryError):
            self._attempts.strike(self._slot, self._noted)


def _noted(place: Place) -> _Noted:
    return _number(place.topic), place.partition, place.offset


@cache
def _number(topic: str) -> int:
    return crc32(topic.encode())


def _mapped(path: Path, size: int) -> mmap.mmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(file).st_size != size:
            os.ftruncate(file, 0)
            # Written and not only made long: a disk that is full says so here, and not by a signal later.
            os.pwrite(file, bytes(size), 0)
        return mmap.mmap(file, size)
    finally:
        os.close(file)
