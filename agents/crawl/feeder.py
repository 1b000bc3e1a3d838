"""Feeding a log into a crawl that runs: line by line, no faster than it is taken in."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from agents.observation.live import live_lines
from agents.observation.logfile import LogFile, fingerprint
from agents.observation.observer import Observer
from agents.observation.packing import Batch, packs
from streams.logging import EventLog
from streams.records import encode
from streams.topics import ACCESSES, DEAD_LETTERS
from streams.transport.journal import Journal
from streams.transport.publisher import Publisher

#: Packs of accesses that may wait for the browse agent before the feeder waits for it.
BACKLOG = 20
WAIT_SECONDS = 0.02

log = EventLog("observe")


async def feed(
    source: str,
    observer: Observer,
    publisher: Publisher,
    backlog: Callable[[], int],
    progress: Callable[[LogFile], None],
) -> None:
    """Send a log's accesses to the browse agent and its malformed lines to the dead letters.

    ``backlog`` returns the packs that wait to be absorbed; ``progress`` is shown the log now and then. A log
    that was fed before, as far as it was, is recognised by its fingerprint and line numbers: its lines are not
    counted again.
    Raises `LogFileError` where the log can't be read (to its end), `LogFormatError` for an unknown format.
    """
    with LogFile(source) as lines:
        if not lines.sample:
            log.warning("the log is empty", log=Path(source).name)
            return
        observer.recognise(lines.sample)
        name = fingerprint(lines.sample[0])
        partitions = publisher.partitions(ACCESSES.name)
        async for chunk in live_lines(lines) if source == "-" else all_lines(lines):
            for batch in packs(observer, chunk, partitions, name, name=lines.name):
                while backlog() > BACKLOG:
                    await asyncio.sleep(WAIT_SECONDS)
                await publisher.send_all(messages_of(batch))
                progress(lines)
                await asyncio.sleep(0)


async def all_lines(lines: LogFile) -> AsyncIterator[Iterable[tuple[int, bytes]]]:
    """Yield the lines of a file, which never keep a reader waiting, as one chunk."""
    yield lines


def messages_of(batch: Batch) -> list[tuple[str, int, bytes | None, bytes | None]]:
    """Return a batch of observed lines as messages."""
    messages: list[tuple[str, int, bytes | None, bytes | None]] = [
        (ACCESSES.name, partition, None, encode(pack)) for partition, pack in batch.packs.items()
    ]
    messages += [(DEAD_LETTERS.name, 0, None, encode(letter)) for letter in batch.letters]
    return messages


def backlog_of(journal: Journal, absorbed: Callable[[int], int]) -> int:
    """Return the packs of accesses that are in the journal and not absorbed yet."""
    partitions = range(journal.partitions(ACCESSES.name))
    return sum(journal.end(ACCESSES.name, partition) - absorbed(partition) for partition in partitions)
