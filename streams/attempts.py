"""What becomes of a message that can't be absorbed: attempts, quarantine, dead letters.

A message that kills its process, perhaps in a library's C code, comes again to the next one. So a process notes
each message in a file before it absorbs it, and strikes the note out afterwards. A note found at the start
names a message that was in hand when the last process ended; after several such deaths the message is buried
(`Runtime.deadly`). The file is mapped into memory: a note costs no system call, and survives the process. After
a power failure it may be stale, which is harmless.

An error raised while a message or a fact is absorbed is a failure of that item, not of the process: the item
goes to the dead letters, and the work goes on. This is safe if a half-done change can be rolled back. It is not
if the machine fails: every later item would fail too, and be lost.
"""

import mmap
import os
import struct
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from scentline.models.records import DeadLetter, RecordError, UnknownFactsError, UnknownVersionError, encode
from scentline.streams.inbox import Outbox
from scentline.streams.topics import DEAD_LETTERS

ATTEMPTS_FILE = "attempts"  #: The file's name in the data directory.
SLOTS = 2048  #: Messages in hand that a process notes at most; further ones go unnoted.

_EMPTY, _TAKEN, _SUSPECT = 0, 1, 2
# State, deaths, topic (as CRC-32), partition, offset.
_SLOT = struct.Struct("<BBxxIIxxxxQ")
_MOST_DEATHS = 255


class Place(NamedTuple):
    """Where a message stands, as text "topic/partition@offset"."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}"


_Noted = tuple[int, int, int]


class Attempts:
    """The messages in hand, and how many processes ended with them.

    Without a ``path`` nothing is kept. An unreadable file is replaced: at most past suspicions are lost.
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
        """Read the note that the last process left in a slot."""
        state, deaths, *place = _SLOT.unpack_from(self._notes, slot * _SLOT.size)
        if state not in (_TAKEN, _SUSPECT):
            self._free.append(slot)
            return
        deaths = min(deaths + (state == _TAKEN), _MOST_DEATHS)
        topic, partition, offset = place
        self._suspects[topic, partition, offset] = slot
        self.write(slot, _SUSPECT, deaths, (topic, partition, offset))

    def deaths(self, place: Place) -> int:
        """Return how many processes ended with the message in hand."""
        slot = self._suspects.get(_noted(place)) if self._suspects else None
        return 0 if slot is None else int(_SLOT.unpack_from(self._notes, slot * _SLOT.size)[1])

    def taking(self, place: Place) -> AbstractContextManager[None]:
        """Note that the message is in hand during the block; only a MemoryError leaves the note."""
        noted, deaths = _noted(place), self.deaths(place)
        slot = self._suspects[noted] if deaths else self._free.pop() if self._free else None
        return nullcontext() if slot is None else _Taking(self, slot, deaths, noted)

    def suspect(self, place: Place, deaths: int) -> None:
        """Note the deaths of a message that was put off and comes again."""
        if deaths and self._free:
            noted, slot = _noted(place), self._free.pop()
            self._suspects[noted] = slot
            self.write(slot, _SUSPECT, deaths, noted)

    def write(self, slot: int, state: int, deaths: int, noted: _Noted) -> None:
        """Write a note."""
        _SLOT.pack_into(self._notes, slot * _SLOT.size, state, deaths, *noted)

    def strike(self, slot: int, noted: _Noted) -> None:
        """Strike a note out."""
        self._suspects.pop(noted, None)
        self.write(slot, _EMPTY, 0, (0, 0, 0))
        self._free.append(slot)

    def close(self) -> None:
        """Unmap the file."""
        self._notes.close()


class _Taking(NamedTuple):
    """A block in which a message is in hand."""

    attempts: Attempts
    slot: int
    deaths: int
    noted: _Noted

    def __enter__(self) -> None:
        self.attempts.write(self.slot, _TAKEN, self.deaths, self.noted)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, MemoryError):
            self.attempts.strike(self.slot, self.noted)


def _noted(place: Place) -> _Noted:
    return crc32(place.topic.encode()), place.partition, place.offset


def _mapped(path: Path, size: int) -> mmap.mmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(file).st_size != size:
            os.ftruncate(file, 0)
            # Written, not only extended: a full disk raises here, and sends no signal later.
            os.pwrite(file, bytes(size), 0)
        return mmap.mmap(file, size)
    finally:
        os.close(file)


#: Why a message is buried: it is not a record, its version or a kind of its facts is unknown here, it is not a
#: log line, a judge of categories failed on its page, the page took too long or too much, or absorbing it
#: raised or ended its process (`streams.attempts`).
Why = Literal["unreadable", "version", "kind", "line", "judge", "page", "quarantine"]

LETTER_BYTES = 1000  #: Bytes of an unreadable message that are kept.


def bury(
    outbox: Outbox,
    place: Place,
    value: bytes,
    reason: str,
    why: Why,
    time: float,
    origin: tuple[int, int] | None = None,
) -> None:
    """Gather a dead letter. Its place identifies it, so repetition does no harm."""
    letter = DeadLetter(
        topic=place.topic, partition=place.partition, offset=place.offset, reason=reason,
        value=value[:LETTER_BYTES], time=time, why=why, origin=origin,
    )  # fmt: skip
    outbox.send(DEAD_LETTERS.name, 0, None, encode(letter))


def why(error: RecordError) -> Why:
    """Return why a message that can't be read is buried."""
    if isinstance(error, UnknownFactsError):
        return "unreadable" if error.damaged else "kind"
    return "version" if isinstance(error, UnknownVersionError) else "unreadable"
