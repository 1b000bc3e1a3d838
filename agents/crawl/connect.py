"""Connecting to the log that the settings name."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from scentline.agents.operate.replacement import check_nothing_pending
from scentline.streams.runtime import Bus
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.topics import TABLES, TOPICS
from scentline.streams.transport.embedded import JournalBus, create_app
from scentline.streams.transport.journal import Journal


def open_journal(settings: Settings) -> Journal:
    """Open the data directory's journal for writing and make the topics and tables that are missing.

    Raises `ConfigurationError` for the settings of another log or number of partitions, and where forgetting a
    user was interrupted.
    """
    check_nothing_pending(settings.data)
    embedded = f"embedded://{settings.data.absolute()}"
    if settings.broker != embedded:
        raise ConfigurationError(
            f"broker is {settings.broker}; expected {embedded}, the embedded log of the data directory"
        )
    partitions = settings.streams.partitions
    journal = Journal.open(settings.data / "journal", tables=dict.fromkeys(TABLES, partitions))
    try:
        _make_topics(journal, partitions)
    except ValueError as error:
        journal.close()
        raise ConfigurationError(f"streams.partitions: {error}") from error
    except BaseException:
        journal.close()
        raise
    return journal


def _make_topics(journal: Journal, partitions: int) -> None:
    for topic in TOPICS:
        journal.create_topic(
            topic.name,
            partitions if topic.shards else 1,
            retention=topic.retention,
            compacted=topic.compacted,
            most=topic.most,
        )
    for table in TABLES:
        journal.create_table(table, partitions)


@asynccontextmanager
async def connect(settings: Settings) -> AsyncIterator[Bus]:
    """Connect to the log; raises what `open_journal` does, and `KafkaError` for brokers that can't be used."""
    if settings.on_kafka:
        # Imported when it is used: a crawl on the embedded log has no use for a Kafka client.
        from scentline.streams.transport.kafka.bus import KafkaBus

        async with KafkaBus(settings) as bus:
            yield bus
        return
    with open_journal(settings) as journal:
        yield JournalBus(journal, time.time, create_app(settings))
