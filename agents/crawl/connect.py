"""Connecting to the log that the settings name."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import faust

from agents.crawl.journal import open_journal
from streams.app import create_app
from streams.settings import Settings
from streams.transport.journal import Journal
from streams.transport.log import Log
from streams.transport.publisher import JournalPublisher


class EmbeddedLog:
    """A journal in this process; all roles share one app, whose messages never leave the process.

    Who made the ``journal`` closes it.
    """

    def __init__(self, settings: Settings, journal: Journal) -> None:
        self.journal = self.reader = journal
        self.publisher = JournalPublisher(journal, time.time)
        self._app = create_app(settings)

    def app(self, role: str) -> faust.App:
        """Return the app of all roles."""
        return self._app


def on_kafka(settings: Settings) -> bool:
    """Return whether the crawl is on Kafka, not on the embedded log."""
    return settings.broker.startswith("kafka:")


@asynccontextmanager
async def connect(settings: Settings) -> AsyncIterator[Log]:
    """Connect to the log; raises what `open_journal` does, and `KafkaError` for brokers that can't be used."""
    if on_kafka(settings):
        # Imported when it is used: a crawl on the embedded log has no use for a Kafka client.
        from streams.transport.kafka.log import connected

        async with connected(settings) as log:
            yield log
        return
    with open_journal(settings) as journal:
        yield EmbeddedLog(settings, journal)
