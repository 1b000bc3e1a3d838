"""How much waits: the messages of a topic that have not been taken in, of the partitions that are held."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from streams.metrics.catalogue import LAG, PARTITIONS
from streams.metrics.reading import Reading

#: Seconds that the log may take to tell where a topic ends.
PATIENCE_SECONDS = 2.0

#: Returns the next offset that is wanted of each partition held.
Positions = Callable[[], Mapping[int, int]]
#: Returns the offset that comes next in each partition of a topic.
Ends = Callable[[str], Awaitable[Mapping[int, int]]]


async def read_lag(reading: Reading, topic: str, positions: Mapping[int, int], ends: Ends | None) -> None:
    """Tell how many partitions of a topic are held, and how many messages wait beyond the ``positions``.

    The log is asked for the ends: what was heard with the last messages is old where messages are not asked for
    because work piles up. A log that does not answer leaves the lag untold.
    """
    reading.add(PARTITIONS, len(positions), topic)
    if ends is None:
        return
    # Whatever a transport may raise: the other figures are still worth telling.
    with suppress(Exception):
        async with asyncio.timeout(PATIENCE_SECONDS):
            found = await ends(topic)
        waiting = (found[partition] - next_ for partition, next_ in positions.items())
        reading.add(LAG, sum(max(0, number) for number in waiting), topic)


def unacknowledged(app: Any, topic: str) -> Positions:
    """Return the positions of an agent without state: the first offsets that are not acknowledged."""

    def positions() -> Mapping[int, int]:
        held = [tp for tp in app.consumer.assignment() if tp.topic == topic]
        # Faust has no public name for how far it has committed.
        return {tp.partition: app.consumer._committed_offset.get(tp) or 0 for tp in held}

    return positions


def broadcast_lag(topic: str, behind: Callable[[], int]) -> Callable[[Reading], Awaitable[None]]:
    """Return what tells of a topic that every worker reads whole how many messages wait for this one."""

    async def read(reading: Reading) -> None:
        reading.add(LAG, behind(), topic)

    return read
