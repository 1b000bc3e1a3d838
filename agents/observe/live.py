"""A log that is still written to: its whole lines as they come, through truncation and renaming.

They are taken without holding up anything else.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from scentline.agents.observe.logfile import LogFile, LogFileError, identifying
from scentline.models.accesslog.entry import MAX_LINE

T = TypeVar("T")
NumberedLine = tuple[int, bytes]

#: Lines that may wait to be taken before the reader waits.
WAITING = 5_000


async def arriving(items: Iterable[T]) -> AsyncIterator[list[T]]:
    """Yield what is there of ``items``, again and again until their end; an error of theirs is raised last.

    They come from a thread of their own, which may wait for the next one as long as it likes and does not keep
    the program from ending.
    """
    arrivals = _Arrivals[T]()
    threading.Thread(target=arrivals.read, args=(items,), name="live log", daemon=True).start()
    while chunk := await arrivals.take():
        yield chunk


async def opened_live(source: str) -> LogFile:
    """Return a log once its first lines have come, which may take as long as `arriving` may wait."""
    ((found,),) = [chunk async for chunk in arriving(LogFile(each) for each in (source,))]
    return found


class _Arrivals(Generic[T]):
    """Lines, or other items, between the thread that reads them and the task that takes them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._room = threading.Semaphore(WAITING)
        self._waiting: deque[T] = deque()
        self._ending: list[Exception | None] = []

    def read(self, items: Iterable[T]) -> None:
        """Read items to their end, each when there is room for it; an error of theirs is an end."""
        error: Exception | None = None
        try:
            for item in items:
                self._room.acquire()
                self._waiting.append(item)
                self._tell()
        except Exception as caught:
            error = caught
        self._ending.append(error)
        self._tell()

    def _tell(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def take(self) -> list[T]:
        """Wait for items, and take what is there; nothing at their end, where an error of theirs is raised."""
        while not self._waiting and not self._ending:
            await self._arrived.wait()
            self._arrived.clear()
        chunk = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if chunk:
            self._room.release(len(chunk))
        elif self._ending[0] is not None:
            raise self._ending[0]
        return chunk


#: Bytes read at once.
_CHUNK = 1_048_576


class Tail:
    """Reads a plain file from its start, as far as it is written, and continues whenever `read` is called.

    The file stays open when it is renamed. A line counts when its end is there; one of more than 8,192 bytes
    comes as its first 8,193. ``first`` is the line that identifies the log, None until it is there. Raises
    `LogFileError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first: bytes | None = None
        self._first_at = 0
        self._line = 0
        self._position = 0
        self._rest = b""
        self._cut = False
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise LogFileError(f"log {path} can't be opened: {error.strerror}") from error
        self._place = _place(os.fstat(self._file.fileno()))

    def read(self) -> list[NumberedLine] | None:
        """Return the whole lines that are there and were not returned before; None once it was truncated.

        At most about a megabyte at once: an empty list says that there is no more for now.
        """
        lines: list[NumberedLine] = []
        try:
            while not lines and (data := self._file.read(_CHUNK)):
                # Looked at after the read: what came of a file that was truncated before it is not used.
                if self._truncated():
                    return None
                lines = self._whole_lines(data)
            return None if not lines and self._truncated() else lines
        except OSError as error:
            raise LogFileError(
                f"log {self.path} is broken after line {self._line}: {error.strerror}"
            ) from error

    def last(self) -> list[NumberedLine]:
        """Return the line without an end at the file's end, if there is one: nobody writes to it any more."""
        rest, self._rest = self._rest, b""
        return [(self._line + 1, rest)] if rest and not self._cut else []

    @property
    def moved(self) -> bool:
        """Whether another file, or none, is found under the path now."""
        try:
            return _place(self.path.stat()) != self._place
        except OSError:
            return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _whole_lines(self, data: bytes) -> list[NumberedLine]:
        start = self._position - len(self._rest)
        self._position += len(data)
        *ended, rest = (self._rest + data).split(b"\n")
        lines: list[NumberedLine] = []
        for text in ended:
            if self._cut:  # the end of a line whose beginning was returned
                self._cut = False
            else:
                line = text + b"\n" if len(text) <= MAX_LINE else text[: MAX_LINE + 1]
                self._add(lines, line, start)
            start += len(text) + 1
        if self._cut:
            rest = b""
        elif len(rest) > MAX_LINE + 1:
            self._add(lines, rest[: MAX_LINE + 1], start)
            self._cut, rest = True, b""
        self._rest = rest
        return lines

    def _add(self, lines: list[NumberedLine], line: bytes, start: int) -> None:
        self._line += 1
        lines.append((self._line, line))
        if self.first is None and identifying([line]) is not None:
            self.first, self._first_at = line, start

    def _truncated(self) -> bool:
        """Return whether the file is shorter than what was read, or begins with another line."""
        number = self._file.fileno()
        if os.fstat(number).st_size < self._position:
            return True
        return self.first is not None and os.pread(number, len(self.first), self._first_at) != self.first


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
