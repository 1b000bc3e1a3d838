"""Reading one topic of Kafka by offset.

Where it stands is told by the client's position, not by the records that came: compaction, and the markers of
others' transactions, take offsets without a record.
"""

import asyncio
from collections.abc import Mapping, Sequence

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord, TopicPartition

from streams.transport.kafka.retrying import persist
from streams.transport.layout import Entry

#: Milliseconds for which one look for records waits.
POLL_MS = 500
#: Records that one look takes at most.
POLL_RECORDS = 5_000


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
