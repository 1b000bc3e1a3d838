"""Feeding a log into a data directory while no crawl runs there."""

import asyncio
import time

from agents.crawl.feeder import feed
from agents.crawl.journal import open_journal
from agents.observation.observer import Observer
from agents.observation.pseudonym import KEY_FILE, user_key
from streams.settings import Settings
from streams.transport.publisher import JournalPublisher


def feed_alone(settings: Settings, source: str) -> Observer:
    """Feed a log; return the observer with its counts.

    Raises `JournalInUseError` while a crawl runs on the directory.
    """
    with open_journal(settings) as journal:
        observer = Observer(settings.observe, user_key(settings.observe, settings.data / KEY_FILE))
        publisher = JournalPublisher(journal, time.time)
        asyncio.run(feed(source, observer, publisher, backlog=lambda: 0))
        return observer
