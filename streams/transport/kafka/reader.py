"""Reading topics of Kafka by offset, in no consumer group: for broadcasts, and for the operator's commands.

Where a topic stands is told by the client's position, not by the records that came: compaction, and the markers
of others' transactions, take offsets without a record.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord, TopicPartition

from streams.settings import Settings
from streams.transport.kafka.connection import KafkaError, aiokafka_arguments, persist
from streams.transport.layout import Entry
from streams.transport.waiting import Place

#: Milliseconds for which one look for records waits.
POLL_MS = 500
#: Records that one look takes at most.
POLL_RECORDS = 5_000
#: Records that `KafkaReader.records` asks for at a time.
RECORDS_AT_ONCE = 1_000


class TopicReader:
    """Reads the partitions of a topic, each from any offset; ``consumer`` is its own, and in no group."""

    def __init__(self, consumer: AIOKafkaConsumer, topic: str, partitions: int) -> None:
        self._consumer = consumer
        self._places = {partition: TopicPartition(topic, partition) for partition in range(partitions)}
        self._offsets: dict[int, int] = {}
        self._ahead: dict[int, list[Entry]] = {}
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Connect."""
        await self._consumer.start()
        await asyncio.sleep(0)  # what the client has begun can't be ended before it has had a turn
        self._consumer.assign(list(self._places.values()))

    async def close(self) -> None:
        """Disconnect."""
        await self._consumer.stop()

    async def fetch(self, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        """Return records from ``offset`` on, up to ``limit``; empty when none is kept from there to the end."""
        async with self._lock:
            self._go(partition, offset)
            place = self._places[partition]
            while not self._ahead[partition]:
                self._keep(await self._consumer.getmany(place, timeout_ms=POLL_MS, max_records=limit))
                if not self._ahead[partition] and await self._at_end(place):
                    return ()
            found, self._ahead[partition] = self._ahead[partition][:limit], self._ahead[partition][limit:]
            self._offsets[partition] = found[-1].offset + 1
            return found

    async def wait(self, offsets: Mapping[int, int]) -> dict[int, int]:
        """Return once any of the partitions has come to an end past its offset here, with that end."""
        while True:
            async with self._lock:
                for partition, offset in offsets.items():
                    self._go(partition, offset)
                if not any(self._ahead[partition] for partition in offsets):
                    self._keep(await self._consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS))
                ends = {partition: await self._end(partition) for partition in offsets}
            if any(end > offsets[partition] for partition, end in ends.items()):
                return ends

    def _go(self, partition: int, offset: int) -> None:
        if self._offsets.get(partition) != offset:
            self._consumer.seek(self._places[partition], offset)
            self._offsets[partition] = offset
            self._ahead[partition] = []

    def _keep(self, found: Mapping[TopicPartition, Sequence[ConsumerRecord[bytes, bytes]]]) -> None:
        for place, records in found.items():
            self._ahead.setdefault(place.partition, []).extend(map(_entry, records))

    async def _end(self, partition: int) -> int:
        ahead = self._ahead[partition]
        if ahead:
            return ahead[-1].offset + 1
        position: int = await self._consumer.position(self._places[partition])
        return position

    async def _at_end(self, place: TopicPartition) -> bool:
        consumer = self._consumer
        found = await persist(
            consumer._client, f"asking for the end of {place}", lambda: consumer.end_offsets([place])
        )
        end: int = found[place]
        position: int = await consumer.position(place)
        return position >= end


def _entry(record: ConsumerRecord[bytes, bytes]) -> Entry:
    return Entry(record.offset, record.timestamp / 1000, record.key, record.value)


class KafkaReader:
    """Reads the topics that there were when it was started. Use it from one event loop.

    A topic has one reader at a time that waits for its records.
    """

    def __init__(self, settings: Settings) -> None:
        self._arguments = aiokafka_arguments(settings)
        self._counts: dict[str, int] = {}
        self._readers: dict[str, TopicReader] = {}
        self._asking: AIOKafkaConsumer

    async def start(self) -> None:
        """Connect, and see which topics there are."""
        self._asking = self._consumer()
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
        for reader in self._readers.values():
            await reader.close()
        await self._asking.stop()

    def _consumer(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            **self._arguments,
            client_id="scentline-reader",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=POLL_MS,
        )

    # reading

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        """Return records from ``offset`` on, up to ``limit``; empty when none is kept from there to the end."""
        return await (await self._reader(topic)).fetch(partition, offset, limit)

    async def records(self, topic: str, partition: int, start: int, end: int) -> list[Entry]:
        """Return all that is kept of a partition from offset ``start`` to before ``end``."""
        kept: list[Entry] = []
        reader = TopicReader(self._consumer(), topic, self.partitions(topic))
        await reader.open()
        try:
            while start < end and (found := await reader.fetch(partition, start, RECORDS_AT_ONCE)):
                kept += (entry for entry in found if entry.offset < end)
                start = found[-1].offset + 1
        finally:
            await reader.close()
        return kept

    async def wait(self, positions: Mapping[Place, int]) -> Mapping[Place, int]:
        """Return once any of the partitions, all of one topic, has come to an end past its position here."""
        [topic] = {topic for topic, _ in positions}
        offsets = {partition: position for (_, partition), position in positions.items()}
        ends = await (await self._reader(topic)).wait(offsets)
        return {(topic, partition): end for partition, end in ends.items()}

    async def _reader(self, topic: str) -> TopicReader:
        reader = self._readers.get(topic)
        if reader is None:
            reader = self._readers[topic] = TopicReader(self._consumer(), topic, self.partitions(topic))
            await reader.open()
        return reader

    # places

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic. Raises `KafkaError`."""
        count = self._counts.get(topic)
        if count is None:
            raise KafkaError(f"Kafka: there is no topic {topic}; expected those of scentline topics create")
        return count

    async def ends(self, topic: str) -> Mapping[int, int]:
        """Return the offset that comes next in each partition."""
        places = [TopicPartition(topic, partition) for partition in range(self.partitions(topic))]
        found = await self._ask(f"asking for the ends of {topic}", "end_offsets", places)
        return {place.partition: offset for place, offset in found.items()}

    async def _ask(self, what: str, question: str, places: Sequence[TopicPartition]) -> Any:
        return await persist(self._asking._client, what, lambda: getattr(self._asking, question)(places))
