"""What is waited for on Kafka: the roles that take in, one after the other, what lines or pages come to."""

import asyncio
import time
from collections.abc import Callable, Sequence

from scentline.agents.operate.topics.lag import lags
from scentline.streams.settings import Settings
from scentline.streams.transport.kafka.connection import KafkaError

#: The roles, in the order in which what a line comes to reaches them.
ROLES = ("browse", "frontier", "learn")
#: Those that what a predicate says of kept pages reaches.
REJUDGED = ("frontier", "learn")
#: Seconds between two looks at what waits for them, while it is too much.
LOOK_SECONDS = 0.5


class Downstream:
    """How many messages wait for the one of ``roles`` that is furthest behind.

    The brokers are asked only when the messages that were sent since the last answer could make it more than
    ``most``: a batch is ``batch`` messages at most. ``tell`` is told what is waited for. What can't be seen, as
    while a broker is down, counts as too much.
    """

    def __init__(
        self,
        settings: Settings,
        batch: int,
        tell: Callable[[str], None],
        roles: Sequence[str] = ROLES,
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
        found: dict[tuple[str, str], int] = {}
        try:
            for each in lags(self._settings, self._roles):
                found[each.group, each.topic] = found.get((each.group, each.topic), 0) + each.lag
        except KafkaError as error:
            return self.most + 1, f"waiting because the lag is unknown: {error}"
        (group, topic), waiting = max(found.items(), key=lambda item: item[1])
        return waiting, f"waiting for {group}: {waiting} messages of {topic} are not absorbed yet"
