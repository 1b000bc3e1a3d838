"""Faust's producer over a journal: a message is in the log when `send` returns."""

import itertools
import time
from collections.abc import Awaitable
from typing import Any

from faust.transport.producer import Producer as FaustProducer
from faust.types import TP, RecordMetadata
from mode.utils.futures import done_future

from streams.topics import partition_of
from streams.transport.on_journal import OnJournal


class Producer(OnJournal, FaustProducer):
    """Appends to the journal; a message is in it when `send` returns."""

    def __post_init__(self) -> None:
        self._turns = itertools.count()

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: float | None,
        headers: Any,
        *,
        transactional_id: str | None = None,
    ) -> Awaitable[RecordMetadata]:
        """Append the message; return its place, as a future that is done."""
        place = await self.send_and_wait(topic, key, value, partition, timestamp, headers)
        sent: Awaitable[RecordMetadata] = done_future(place)
        return sent

    async def send_and_wait(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: float | None,
        headers: Any,
        *,
        transactional_id: str | None = None,
    ) -> RecordMetadata:
        """Append the message; return its place. Headers are not kept."""
        if partition is None:
            partition = self._partition(topic, key)
        at = timestamp or time.time()
        offset = self._journal.append(topic, partition, key, value, at)
        return RecordMetadata(
            topic=topic,
            partition=partition,
            topic_partition=TP(topic, partition),
            offset=offset,
            timestamp=at,
            timestamp_type=0,
        )

    async def flush(self) -> None:
        """Send what waits in Faust's buffer."""
        await self.buffer.flush()

    def _partition(self, topic: str, key: bytes | None) -> int:
        partitions = self._journal.partitions(topic)
        return next(self._turns) % partitions if key is None else partition_of(key, partitions)

    def key_partition(self, topic: str, key: bytes) -> TP:
        """Return the partition of a key."""
        return TP(topic, self._partition(topic, key))
