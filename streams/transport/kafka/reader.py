"""Reading topics of Kafka by offset, in no consumer group: for broadcasts, and for the operator's commands.

Where a topic stands is told by the offset that is fetched next, not by the records that came: compaction, and
the markers of others' transactions, take offsets without a record.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from scentline.streams.settings import Settings
from scentline.streams.transport.kafka.connection import KafkaError, aiokafka_arguments, persist
from scentline.streams.transport.kafka.fetcher import Feed, Fetcher, Reading
from scentline.streams.transport.layout import Entry
from scentline.streams.transport.waiting import Place

#: Records that `KafkaReader.records` asks for at a time.
RECORDS_AT_ONCE = 1_000


class KafkaReader:
    """Reads the topics that there were when it was started. Use it from one event loop.

    A partition has one reader at a time that fetches its records in their order. Topics come and go by the
    crawl's own names; only feeds and requests have the broker's (`streams.settings.Settings.named`).
    """

    def __init__(self, settings: Settings, fetcher: Fetcher) -> None:
        self._arguments = aiokafka_arguments(settings)
        self._named = settings.named
        self._fetcher = fetcher
        self._reading = fetcher.reading()
        #: What is waited for, and read ahead.
        self._followed: set[Place] = set()
        self._locks: defaultdict[Place, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._counts: dict[str, int] = {}
        self._asking: AIOKafkaConsumer

    async def start(self) -> None:
        """Connect, and see which topics there are."""
        self._asking = AIOKafkaConsumer(
            **self._arguments, client_id="scentline-reader", enable_auto_commit=False
        )
        try:
            await self._asking.start()
            await asyncio.sleep(0)  # what the client has begun can't be ended before it has had a turn
            cluster = await self._asking._client.fetch_all_metadata()
            self._counts = {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in cluster.topics()}
        except BaseException:
            await self._asking.stop()
            raise

    async def stop(self) -> None:
        """Disconnect."""
        await self._asking.stop()

    # reading

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        """Return records from ``offset`` on, up to ``limit``; empty when none is kept from there to the end."""
        place = (self._named(topic), partition)
        async with self._locks[place]:
            found = await self._fetch(self._reading, place, offset, limit)
            feed = self._reading.get(place)
            if place not in self._followed and feed is not None and not feed.entries:
                self._reading.leave([place])
            return found

    async def records(self, topic: str, partition: int, start: int, end: int) -> list[Entry]:
        """Return all that is kept of a partition from offset ``start`` to before ``end``."""
        kept: list[Entry] = []
        place = (self._named(topic), partition)
        with self._fetcher.reading_once() as reading:
            while start < end and (found := await self._fetch(reading, place, start, RECORDS_AT_ONCE)):
                kept += (entry for entry in found if entry.offset < end)
                start = found[-1].offset + 1
        return kept

    async def _fetch(self, reading: Reading, place: Place, offset: int, limit: int) -> Sequence[Entry]:
        feed = reading.get(place)
        if feed is None or not feed.stands_at(offset):
            feed = reading.go(place, offset)
        while not feed.entries and not 0 <= feed.end <= feed.position:
            await reading.idle()
            feed = await self._within(reading, feed)
        return feed.take(limit)

    async def _within(self, reading: Reading, feed: Feed) -> Feed:
        """Return a feed from the first record that is kept on, where there is none at the one given."""
        if not feed.out_of_range:
            return feed
        starts = await self._ask(f"asking for the start of {feed.place}", "beginning_offsets", [feed.place])
        return reading.go(feed.place, starts[feed.place])

    async def wait(self, positions: Mapping[Place, int]) -> Mapping[Place, int]:
        """Return once any of the partitions has come to an end past its position here, with all their ends."""
        reading = self._reading
        self._followed.update((self._named(topic), partition) for topic, partition in positions)
        while True:
            ends = {}
            for (topic, partition), position in positions.items():
                place = (self._named(topic), partition)
                feed = await self._within(reading, reading.get(place) or reading.go(place, position))
                ends[topic, partition] = max(feed.end, feed.position)
            if any(end > positions[place] for place, end in ends.items()):
                return ends
            await reading.idle()

    # places

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic. Raises `KafkaError`."""
        name = self._named(topic)
        count = self._counts.get(name)
        if count is None:
            raise KafkaError(f"Kafka: there is no topic {name}; expected those of scentline topics create")
        return count

    async def ends(self, topic: str) -> Mapping[int, int]:
        """Return the offset that comes next in each partition."""
        name = self._named(topic)
        places = [(name, partition) for partition in range(self.partitions(topic))]
        found = await self._ask(f"asking for the ends of {name}", "end_offsets", places)
        return {partition: found[name, partition] for name, partition in places}

    async def _ask(self, what: str, question: str, places: Sequence[Place]) -> Mapping[Place, int]:
        named = [TopicPartition(*place) for place in places]
        found: dict[Any, int] = await persist(
            self._asking._client, what, lambda: getattr(self._asking, question)(named)
        )
        return {tuple(place): offset for place, offset in found.items()}
