"""Connecting to the log that the settings name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents.crawl.journal import open_journal
from streams.settings import Settings
from streams.transport.embedded_log import EmbeddedLog
from streams.transport.log import Log


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
