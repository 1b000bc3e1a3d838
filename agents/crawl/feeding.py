"""Feeding logs into a data directory while no crawl runs there, or into Kafka beside any number of workers."""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from scentline.agents.crawl.connect import connect
from scentline.agents.crawl.directory import make_directory
from scentline.agents.crawl.feeder import BACKLOG, Backlog, Feeder, nothing_waits
from scentline.agents.crawl.following import Following, check_followed
from scentline.agents.observe.observer import Observer
from scentline.agents.observe.positions import read_positions
from scentline.agents.observe.pseudonym import KEY_FILE, user_key
from scentline.agents.signals import told_to_end
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES

#: Seconds between two lines of progress.
LINE_SECONDS = 5.0


class _Progress:
    """Writes how far a log was read, every few seconds."""

    def __init__(self, out: TextIO, observer: Observer) -> None:
        self._out = out
        self._observer = observer
        self._last = time.monotonic()

    def __call__(self, part: float | None) -> None:
        """Write a line if it is time."""
        self._write(f", {part:.0%} of the log" if part is not None else "")

    def waits(self, why: str) -> None:
        """Write what is waited for, if it is time."""
        self._write(f"; {why}")

    def _write(self, more: str) -> None:
        now = time.monotonic()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            self._out.write(f"{self._observer.lines} lines read{more}\n")
            self._out.flush()


def feed_alone(settings: Settings, sources: Sequence[str], follow: bool = False) -> tuple[Observer, bool]:
    """Feed logs, or follow them until Ctrl-C or SIGTERM; return the observer with its counts, and whether
    it was such a signal that ended it.

    Raises `JournalInUseError` while a crawl runs on the directory.
    """
    if follow:
        check_followed(sources)
    make_directory(settings.data)
    observer = Observer(settings.observe, user_key(settings.observe, settings.data / KEY_FILE))
    return observer, asyncio.run(_feed(settings, observer, sources, follow=follow))


async def _feed(settings: Settings, observer: Observer, sources: Sequence[str], *, follow: bool) -> bool:
    async with connect(settings) as log:
        positions = await read_positions(log.reader, observer.reading)
        progress = _Progress(sys.stderr, observer)
        backlog: Backlog = nothing_waits
        most = BACKLOG
        if settings.on_kafka:
            # Imported when it is used: feeding the embedded log has no use for a Kafka client.
            from scentline.agents.crawl.downstream import Downstream

            downstream = Downstream(settings, log.publisher.partitions(ACCESSES.name), progress.waits)
            backlog, most = downstream.backlog, downstream.most
        feeder = Feeder(observer, log.publisher, positions, backlog, progress, most)
        if follow:
            return await _follow(feeder, sources)
        for source in sources:
            await feeder.feed(source)
    return False


async def _follow(feeder: Feeder, sources: Sequence[str]) -> bool:
    work = asyncio.ensure_future(Following(feeder, sources).run())
    with told_to_end(work.cancel), suppress(asyncio.CancelledError):
        await work
    return True
