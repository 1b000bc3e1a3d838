"""Lines of a log that is still being written to: taken as they come, without holding up anything else."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable

NumberedLine = tuple[int, bytes]

#: Lines that may wait to be taken before the reader waits.
WAITING = 5_000


async def live_lines(lines: Iterable[NumberedLine]) -> AsyncIterator[list[NumberedLine]]:
    """Yield what is there of ``lines``, again and again until their end; an error of theirs is raised last.

    They are read in a thread of their own, which may wait for the next line as long as it likes and does not
    keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    room = threading.Semaphore(WAITING)
    waiting: deque[NumberedLine] = deque()
    ending: list[BaseException | None] = []

    def tell() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(arrived.set)

    def read() -> None:
        error: BaseException | None = None
        try:
            for line in lines:
                room.acquire()
                waiting.append(line)
                tell()
        except Exception as caught:
            error = caught
        ending.append(error)
        tell()

    threading.Thread(target=read, name="live log", daemon=True).start()
    while True:
        await arrived.wait()
        arrived.clear()
        ended = bool(ending)
        chunk = [waiting.popleft() for _ in range(len(waiting))]
        if chunk:
            room.release(len(chunk))
            yield chunk
        elif ended:
            break
        if ended:
            arrived.set()
    if ending[0] is not None:
        raise ending[0]
