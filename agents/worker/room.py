"""How far those who take in what pages come to may fall behind before no kept page is judged anew."""

import asyncio
import math
import time
from collections.abc import Mapping
from typing import Any

from scentline.agents.judge.rejudge import Room
from scentline.agents.worker.roles import Part
from scentline.streams.logging import EventLog
from scentline.streams.settings import Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import SIGHTINGS
from scentline.streams.transport.publisher import Log, LogReader

#: Messages that may wait for the frontier in the same process, and seconds between two looks at them.
BACKLOG = 50
WAIT_SECONDS = 0.02
#: Seconds between two words about why kept pages wait.
TELL_SECONDS = 30.0

log = EventLog("judge")


async def unabsorbed(reader: LogReader, inbox: Stateful[Any]) -> int:
    """Return the messages of an inbox, all partitions of which are here, that are not absorbed yet."""
    ends = await reader.ends(inbox.topic.name)
    marks = {partition: shard.mark.offset + 1 for partition, shard in inbox.shards.items()}
    return sum(end - marks.get(partition, 0) for partition, end in ends.items())


def room(settings: Settings, connected: Log, parts: Mapping[str, Part[Any]]) -> Room:
    """Return what waits until the frontier has room; on the embedded log it is one of the ``parts`` here."""
    if settings.on_kafka:
        return _room_on_kafka(settings, connected)

    async def here() -> None:
        inbox = parts["frontier"].inbox
        assert inbox is not None
        while await unabsorbed(connected.reader, inbox) > BACKLOG:
            await asyncio.sleep(WAIT_SECONDS)

    return here


def _room_on_kafka(settings: Settings, connected: Log) -> Room:
    # Imported when it is used: the embedded log has no use for a Kafka client.
    from scentline.agents.crawl.downstream import LOOK_SECONDS, REJUDGED, Downstream

    told = -math.inf

    def tell(why: str) -> None:
        nonlocal told
        if time.monotonic() >= told + TELL_SECONDS:
            told = time.monotonic()
            log.info("kept pages wait", reason=why)

    downstream = Downstream(settings, connected.publisher.partitions(SIGHTINGS.name), tell, REJUDGED)

    async def there() -> None:
        while await downstream.backlog() > downstream.most:
            await asyncio.sleep(LOOK_SECONDS)

    return there
