"""Connecting to the log that the settings name, and back-pressure from readers that fall behind."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from scentline.agents.operate.replacement import check_nothing_pending
from scentline.streams.runtime import Bus
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import TABLES, TOPICS
from scentline.streams.transport.journal import Journal


def open_journal(settings: Settings) -> Journal:
    """Open the data directory's journal for writing, and create missing topics and tables.

    Raises `ConfigurationError` where the settings name another log or number of partitions, or forgetting a
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
    """Connect to the log; raises what `open_journal` does, and `KafkaError` for unusable brokers."""
    # Imported here: neither log needs the other's client, and what only reads a journal needs no Faust.
    if settings.on_kafka:
        from scentline.streams.transport.kafka.bus import KafkaBus

        async with KafkaBus(settings) as bus:
            yield bus
        return
    from scentline.streams.transport.embedded import JournalBus, create_app

    with open_journal(settings) as journal:
        yield JournalBus(journal, time.time, create_app(settings))


# back-pressure

#: Waits until the messages' reader has room for more.
Room: TypeAlias = Callable[[], Awaitable[None]]

#: Seconds between two checks of the lag: in this process, and on Kafka while it is too much.
WAIT_SECONDS, LOOK_SECONDS = 0.02, 0.5
#: The roles downstream of a log line, in order.
ROLES = ("browse", "frontier", "learn")
#: The roles downstream of verdicts on kept pages.
REJUDGED = ("frontier", "learn")


async def room_for(inbox: Stateful[Any], most: int) -> None:
    """Wait until at most ``most`` messages of an inbox are unabsorbed; it must own all partitions."""
    while await inbox.unabsorbed() > most:
        await asyncio.sleep(WAIT_SECONDS)


class Downstream:
    """Back-pressure on Kafka: the lag of the one of ``roles`` that is furthest behind.

    The brokers are queried only when batches of ``batch`` messages since could raise it above
    `streams.backlog`. ``tell`` is called with the reason for waiting.
    """

    def __init__(
        self, settings: Settings, batch: int, tell: Callable[[str], None], roles: Sequence[str] = ROLES
    ) -> None:
        self._settings = settings
        self._roles = roles
        self._batch = batch
        self._tell = tell
        self._most = settings.streams.backlog
        self._waiting = self._most + 1

    async def room(self) -> None:
        """Wait until there is room for one batch, which may then be sent; an unknown lag is too much."""
        while self._waiting > self._most:
            self._waiting, why = await asyncio.to_thread(self._look)
            if self._waiting > self._most:
                self._tell(why)
                await asyncio.sleep(LOOK_SECONDS)
        self._waiting += self._batch

    def _look(self) -> tuple[int, str]:
        # Imported here: the embedded log needs no Kafka client.
        from scentline.agents.operate.topics import lags
        from scentline.streams.transport.kafka.connection import KafkaError

        found: dict[tuple[str, str], int] = {}
        try:
            for each in lags(self._settings, self._roles):
                found[each.group, each.topic] = found.get((each.group, each.topic), 0) + each.lag
        except KafkaError as error:
            return self._most + 1, f"waiting because the lag is unknown: {error}"
        (group, topic), waiting = max(found.items(), key=lambda item: item[1])
        return waiting, f"waiting for {group}: {waiting} messages of {topic} are not absorbed yet"
