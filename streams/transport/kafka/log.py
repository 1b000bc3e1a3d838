"""Kafka, as a worker is connected to it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import faust

from streams.app import create_app
from streams.settings import Settings
from streams.topics import APP_ID, TABLES, TOPICS, changelog_of
from streams.transport.kafka.publisher import KafkaPublisher
from streams.transport.kafka.reader import KafkaReader
from streams.transport.kafka.waiting import wait_for_topics


class KafkaLog:
    """A broker's topics: each role has an app, and a consumer group, of its own."""

    def __init__(self, settings: Settings, reader: KafkaReader, publisher: KafkaPublisher) -> None:
        self.reader = reader
        self.publisher = publisher
        self._settings = settings
        self._apps: dict[str, faust.App] = {}

    def app(self, role: str) -> faust.App:
        """Return the app of a role."""
        found = self._apps.get(role)
        if found is None:
            found = self._apps[role] = create_app(self._settings, role)
        return found


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[KafkaLog]:
    """Connect to the broker of the settings; waits until it answers and has every topic of a crawl.

    Raises `streams.transport.kafka.connection.KafkaError`.
    """
    changelogs = (changelog_of(APP_ID, table) for table in TABLES)
    await wait_for_topics(settings, [*(topic.name for topic in TOPICS), *changelogs])
    async with AsyncExitStack() as resources:
        reader = KafkaReader(settings)
        await reader.start()
        resources.push_async_callback(reader.stop)
        publisher = KafkaPublisher(settings, reader)
        await publisher.start()
        resources.push_async_callback(publisher.stop)
        yield KafkaLog(settings, reader, publisher)
