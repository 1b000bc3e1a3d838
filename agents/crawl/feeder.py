"""Feeding logs into a crawl: line by line, no faster than they are taken in."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path

from agents.observe.live import live_lines, opened_live
from agents.observe.logfile import LogFile, fingerprint
from agents.observe.observer import Observer
from agents.observe.packing import Batch, packs
from agents.observe.positions import Positions
from streams.logging import EventLog
from streams.records import encode
from streams.topics import ACCESSES, DEAD_LETTERS
from streams.transport.publisher import Publisher

#: Packs of accesses that may wait for the browse agent before the feeder waits for it.
BACKLOG = 20
WAIT_SECONDS = 0.02

Lines = Iterable[tuple[int, bytes]]
#: Returns how many messages wait for whoever takes them in.
Backlog = Callable[[], Awaitable[int]]

log = EventLog("observe")


class Feeder:
    """Sends the accesses of logs to the browse agent and their malformed lines to the dead letters.

    ``backlog`` returns how many messages wait to be absorbed, and ``most`` may; ``progress`` is shown now and
    then what part of the log was read, None where that is not known. A log is known by its fingerprint. How far
    it was fed goes to `log-positions` in one batch with what its lines came to, so that each line is sent once,
    whatever happens. A log that was fed before is read from its start all the same: what is made of a line may
    depend on those before it.
    """

    def __init__(
        self,
        observer: Observer,
        publisher: Publisher,
        positions: Positions,
        backlog: Backlog,
        progress: Callable[[float | None], None],
        most: int = BACKLOG,
    ) -> None:
        self.observer = observer
        self.positions = positions
        self._publisher = publisher
        self._backlog = backlog
        self._most = most
        self._progress = progress

    async def feed(self, source: str) -> None:
        """Feed a log to its end; "-" is standard input.

        Raises `LogFileError` where the log can't be read (to its end), `LogFormatError` for an unknown format.
        """
        live = source == "-"
        with await opened_live(source) if live else LogFile(source) as lines:
            if lines.first is None:
                log.warning("the log is empty", log=Path(source).name)
                return
            observer = self.observer.another()
            observer.recognise(lines.sample)
            name = fingerprint(lines.first)
            async for chunk in live_lines(lines) if live else _all_lines(lines):
                async for _ in self.send(observer, chunk, name, lines.name):
                    self._progress(lines.consumed / lines.size if lines.size else None)

    async def send(self, observer: Observer, lines: Lines, name: str, called: str) -> AsyncIterator[Batch]:
        """Observe lines of the log with the fingerprint ``name``, send what they came to, yield each batch."""
        partitions = self._publisher.partitions(ACCESSES.name)
        sent = self.positions.line(name)
        for batch in packs(observer, lines, partitions, name, name=called, after=sent):
            while await self._backlog() > self._most:
                await asyncio.sleep(WAIT_SECONDS)
            messages = messages_of(batch) + self.positions.passed(name, batch.whole)
            if messages:
                await self._publisher.send_all(messages)
            yield batch
            await asyncio.sleep(0)


async def _all_lines(lines: LogFile) -> AsyncIterator[Lines]:
    """Yield the lines of a file, which never keep a reader waiting, as one chunk."""
    yield lines


def messages_of(batch: Batch) -> list[tuple[str, int, bytes | None, bytes | None]]:
    """Return a batch of observed lines as messages."""
    messages: list[tuple[str, int, bytes | None, bytes | None]] = [
        (ACCESSES.name, partition, None, encode(pack)) for partition, pack in batch.packs.items()
    ]
    messages += [(DEAD_LETTERS.name, 0, None, encode(letter)) for letter in batch.letters]
    return messages


async def nothing_waits() -> int:
    """Return the backlog where nobody takes the accesses in before a crawl runs."""
    return 0
