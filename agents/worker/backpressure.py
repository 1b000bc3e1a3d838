"""Back-pressure: how far those who take in log lines or judged pages may fall behind before others wait."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from scentline.streams.runtime import Bus
from scentline.streams.settings import Settings
from scentline.streams.stateful import Stateful

#: Waits until whoever takes messages in has room for more.
Room = Callable[[], Awaitable[None]]

#: Seconds between two looks at how many wait.
WAIT_SECONDS = 0.02


async def unabsorbed(bus: Bus, inbox: Stateful[Any]) -> int:
    """Return the messages of an inbox, all partitions of which are here, that are not absorbed yet."""
    ends = await bus.ends(inbox.topic.name)
    marks = {partition: shard.mark.offset + 1 for partition, shard in inbox.shards.items()}
    return sum(end - marks.get(partition, 0) for partition, end in ends.items())


async def wait_for_room(backlog: Callable[[], Awaitable[int]], most: int) -> None:
    """Wait until at most so many messages wait, which ``backlog`` counts."""
    while await backlog() > most:
        await asyncio.sleep(WAIT_SECONDS)


#: The roles, in the order in which what a line comes to reaches them.
ROLES = ("browse", "frontier", "learn")
#: Those that what a predicate says of kept pages reaches.
REJUDGED = ("frontier", "learn")
#: Seconds between two looks at what waits for them, while it is too much.
LOOK_SECONDS = 0.5


def downstream(
    settings: Settings, batch: int, tell: Callable[[str], None], roles: Sequence[str] = ROLES
) -> Room:
    """Return what waits, on Kafka, until the ``roles`` have room for another ``batch`` of messages."""
    found = Downstream(settings, batch, tell, roles)
    return lambda: wait_for_room(found.backlog, found.most)


class Downstream:
    """Counts the messages that wait for the one of ``roles`` that is furthest behind; an unknown lag is too
    much.

    The brokers are asked only when batches of ``batch`` messages since could make it more than ``most``.
    ``tell`` is called with the reason for waiting.
    """

    def __init__(
        self, settings: Settings, batch: int, tell: Callable[[str], None], roles: Sequence[str]
    ) -> None:
        self.most = settings.streams.backlog
        self._settings = settings
        self._roles = roles
        self._batch = batch
        self._tell = tell
        self._waiting = self.most + 1
        self._next = 0.0

    async def backlog(self) -> int:
        """Return how many messages wait, those of the batch before included; one batch may be sent after it."""
        if self._waiting > self.most and time.monotonic() >= self._next:
            self._waiting, why = await asyncio.to_thread(self._look)
            self._next = time.monotonic() + LOOK_SECONDS
            if self._waiting > self.most:
                self._tell(why)
        waiting = self._waiting
        if waiting <= self.most:
            self._waiting += self._batch
        return waiting

    def _look(self) -> tuple[int, str]:
        # Imported where it is used: the embedded log has no use for a Kafka client.
        from scentline.agents.operate.topics import lags
        from scentline.streams.transport.kafka.connection import KafkaError

        found: dict[tuple[str, str], int] = {}
        try:
            for each in lags(self._settings, self._roles):
                found[each.group, each.topic] = found.get((each.group, each.topic), 0) + each.lag
        except KafkaError as error:
            return self.most + 1, f"waiting because the lag is unknown: {error}"
        (group, topic), waiting = max(found.items(), key=lambda item: item[1])
        return waiting, f"waiting for {group}: {waiting} messages of {topic} are not absorbed yet"
