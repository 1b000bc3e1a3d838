"""Feeding logs into a data directory while no crawl runs there."""

import asyncio
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from agents.crawl.directory import make_directory
from agents.crawl.feeder import Feeder
from agents.crawl.following import Following, check_followed
from agents.crawl.journal import open_journal
from agents.observation.observer import Observer
from agents.observation.pseudonym import KEY_FILE, user_key
from streams.settings import Settings
from streams.transport.publisher import JournalPublisher

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
        now = time.monotonic()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            read = f", {part:.0%} of the log" if part is not None else ""
            self._out.write(f"{self._observer.lines} lines read{read}\n")
            self._out.flush()


def feed_alone(settings: Settings, sources: Sequence[str], follow: bool = False) -> tuple[Observer, bool]:
    """Feed logs, or follow them until SIGINT or SIGTERM; return the observer with its counts, and whether
    it was such a signal that ended it.

    Raises `JournalInUseError` while a crawl runs on the directory.
    """
    if follow:
        check_followed(sources)
    make_directory(settings.data)
    with open_journal(settings) as journal:
        observer = Observer(settings.observe, user_key(settings.observe, settings.data / KEY_FILE))
        publisher = JournalPublisher(journal, time.time)
        feeder = Feeder(observer, publisher, journal, lambda: 0, _Progress(sys.stderr, observer))
        return observer, asyncio.run(_follow(feeder, sources) if follow else _feed(feeder, sources))


async def _feed(feeder: Feeder, sources: Sequence[str]) -> bool:
    for source in sources:
        await feeder.feed(source)
    return False


async def _follow(feeder: Feeder, sources: Sequence[str]) -> bool:
    work = asyncio.ensure_future(Following(feeder, sources).run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    with suppress(asyncio.CancelledError):
        await work
    return True
