"""Feeding a log into a data directory while no crawl runs there."""

import asyncio
import sys
import time
from typing import TextIO

from agents.crawl.directory import make_directory
from agents.crawl.feeder import feed
from agents.crawl.journal import open_journal
from agents.observation.logfile import LogFile
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

    def __call__(self, source: LogFile) -> None:
        """Write a line if it is time."""
        now = time.monotonic()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            part = f", {source.consumed / source.size:.0%} of the log" if source.size else ""
            self._out.write(f"{self._observer.lines} lines read{part}\n")
            self._out.flush()


def feed_alone(settings: Settings, source: str) -> Observer:
    """Feed a log; return the observer with its counts.

    Raises `JournalInUseError` while a crawl runs on the directory.
    """
    make_directory(settings.data)
    with open_journal(settings) as journal:
        observer = Observer(settings.observe, user_key(settings.observe, settings.data / KEY_FILE))
        publisher = JournalPublisher(journal, time.time)
        asyncio.run(feed(source, observer, publisher, lambda: 0, _Progress(sys.stderr, observer)))
        return observer
