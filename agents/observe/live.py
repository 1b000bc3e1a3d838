"""Lines of a log that is still being written to: taken as they come, without holding up anything else."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable

from agents.observe.logfile import LogFile

NumberedLine = tuple[int, bytes]

#: Lines that may wait to be taken before the reader waits.
WAITING = 5_000


async def live_lines(lines: Iterable[NumberedLine]) -> AsyncIterator[list[NumberedLine]]:
    """Yield what is there of ``lines``, again and again until their end; an error of theirs is raised last.

    They are read in a thread of their own, which may wait for the next line as long as it likes and does not
    keep the program from ending.
    """
    arrivals = _Arrivals()
    threading.Thread(target=arrivals.read, args=(lines,), name="live log", daemon=True).start()
    while chunk := await arrivals.take():
        yield chunk


async def opened_live(source: str) -> LogFile:
    """Return a log once its first lines have come, which may take as long as `live_lines` may wait."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    found: list[LogFile | Exception] = []

    def read() -> None:
        try:
            found.append(LogFile(source))
        except Exception as error:
            found.append(error)
        if not loop.is_closed():
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=read, name="live log's start", daemon=True).start()
    await done.wait()
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


class _Arrivals:
    """Lines between the thread that reads them and the task that takes them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._room = threading.Semaphore(WAITING)
        self._waiting: deque[NumberedLine] = deque()
        self._ending: list[Exception | None] = []

    def read(self, lines: Iterable[NumberedLine]) -> None:
        """Read lines to their end, each when there is room for it; an error of theirs is an end."""
        error: Exception | None = None
        try:
            for line in lines:
                self._room.acquire()
                self._waiting.append(line)
                self._tell()
        except Exception as caught:
            error = caught
        self._ending.append(error)
        self._tell()

    def _tell(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def take(self) -> list[NumberedLine]:
        """Wait for lines, and take what is there; nothing at their end, where an error of theirs is raised."""
        while not self._waiting and not self._ending:
            await self._arrived.wait()
            self._arrived.clear()
        chunk = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if chunk:
            self._room.release(len(chunk))
        elif self._ending[0] is not None:
            raise self._ending[0]
        return chunk
