"""Publishing to Kafka: every message once and in order, and changelogs that have one writer at a time.

*The fence.* A worker that was frozen for longer than its session time-out has lost its partitions and does not
know it yet. No look at a clock or a generation number keeps it from writing, since it may be frozen again
between the look and the write. So the broker decides:

1. A new owner asks the transaction coordinator for the changelog partition's producer id (KIP-98,
   InitProducerId with a transactional id that names the partition). It gets the same id as every owner before,
   with an epoch that is higher by one. Transactions are not used.
2. It appends one record with this epoch, the *claim*, at offset c. From then on the partition's leader refuses
   every batch of a lower epoch (INVALID_PRODUCER_EPOCH), whenever it was made and however late it arrives; this
   state is part of the log, so that a new leader refuses it too.
3. It reads the records before c that its table does not have yet, and only then absorbs messages.

Batches of an earlier owner are therefore either before c, where the new owner reads them and their mark row,
or nowhere. The old owner learns of it at its next batch (`FencedError`), writes nothing to its table and
acknowledges nothing. It may have sent emissions before; the new owner repeats them, with the same origins.

A broker forgets a producer that wrote nothing for a day (``producer.id.expiration.ms``), the coordinator after
a week: a worker frozen for a day beside an owner that wrote nothing all day would not be refused. What it asks
before it sends (`streams.transport.kafka.consumer.Consumer.in_session`) finds it out in that case.
"""

import asyncio
import os
import socket
import time
from collections.abc import Iterator, Sequence

import faust
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.errors import ConcurrentTransactions, NodeNotReadyError, NoError, for_code
from aiokafka.errors import KafkaError as ClientError
from aiokafka.protocol.transaction import InitProducerIdRequest

from scentline.streams.inbox import Committer
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Record
from scentline.streams.transport.kafka.connection import KafkaError, aiokafka_arguments, persist
from scentline.streams.transport.kafka.four_steps import four_steps
from scentline.streams.transport.kafka.lane import BATCH_BYTES, RECORD_BYTES, Lane, Wire, Writer
from scentline.streams.transport.kafka.reader import KafkaReader
from scentline.streams.transport.layout import Entry
from scentline.streams.transport.publisher import FencedError
from scentline.streams.transport.waiting import Place

#: The key of a claim; its value names the claimant.
CLAIM = b"\x00claim"

Message = tuple[str, int, bytes | None, bytes | None]


class KafkaPublisher:
    """Publishes to Kafka. All that this process runs may share one; use it from one event loop."""

    def __init__(self, settings: Settings, reader: KafkaReader) -> None:
        self._settings = settings
        self._reader = reader
        self._lanes: dict[Place, Lane] = {}
        self._claimed: dict[Place, Lane] = {}
        self._name = f"{socket.gethostname()}-{os.getpid()}".encode()
        self._client: AIOKafkaClient
        self._writer: Writer

    async def start(self) -> None:
        """Connect. The reader must have been started."""
        self._client = AIOKafkaClient(**aiokafka_arguments(self._settings), client_id="scentline-publisher")
        try:
            await self._client.bootstrap()
            self._wire = Wire(self._client)
            self._writer = await self._writer_of(None)
        except BaseException:
            await self._client.close()
            raise

    async def stop(self) -> None:
        """Disconnect; what is not delivered is given up."""
        for lane in (*self._lanes.values(), *self._claimed.values()):
            lane.close(KafkaError("Kafka: the publisher was stopped"))
        await self._client.close()

    def partitions(self, topic: str) -> int:
        """Return the number of partitions that a topic had at the start. Raises `KafkaError`."""
        return self._reader.partitions(topic)

    async def send_all(self, entries: Sequence[Message]) -> None:
        """Send messages, those of a partition in as few batches as hold them; return when all are there."""
        by_place: dict[Place, list[Record]] = {}
        for topic, partition, key, value in entries:
            by_place.setdefault((topic, partition), []).append((key, value))
        await asyncio.gather(
            *(self._lane(place).append(part) for place, found in by_place.items() for part in _parts(found))
        )

    def _lane(self, place: Place) -> Lane:
        lane = self._lanes.get(place)
        if lane is None:
            topic, partition = place
            lane = self._lanes[place] = Lane(self._wire, self._settings.named(topic), partition, self._writer)
        return lane

    # changelogs

    async def claim(self, topic: str, partition: int, known: int) -> Sequence[Entry]:
        """Become the one writer of a partition's batches; return the records after offset ``known``.

        Raises `FencedError` where another writer claims it at the same time.
        """
        lane = await self._next_lane(topic, partition)
        at = await lane.append([(CLAIM, self._name)])
        self.release(topic, partition)
        self._claimed[topic, partition] = lane
        found = [] if at <= known + 1 else await self._reader.records(topic, partition, known + 1, at)
        return [*found, Entry(at, time.time(), CLAIM, self._name)]

    async def take_over(self, topic: str, partition: int) -> None:
        """Become a writer of a partition's batches: the first of them has the effect of a claim.

        For a topic that people read: a claim would be a record among theirs.
        """
        lane = await self._next_lane(topic, partition)
        self.release(topic, partition)
        self._claimed[topic, partition] = lane

    async def _next_lane(self, topic: str, partition: int) -> Lane:
        name = self._settings.named(topic)
        return Lane(self._wire, name, partition, await self._writer_of(f"{name}/{partition}"))

    def release(self, topic: str, partition: int) -> None:
        """Write no more to a partition that was claimed or taken over.

        What is under way there ends with `FencedError`.
        """
        lane = self._claimed.pop((topic, partition), None)
        if lane is not None:
            lane.close(FencedError(f"writing to {topic}/{partition}: it was given up"))

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records as one batch to a partition that was claimed or taken over.

        Returned is the first one's offset. Raises `FencedError` where it was neither, or another writer has
        claimed it or taken it over since, and `KafkaError`.
        """
        lane = self._claimed.get((topic, partition))
        if lane is None:
            raise FencedError(f"writing to {topic}/{partition}: it was not claimed")
        return await lane.append(records)

    def committer(self, app: faust.App, table: str, topic: str) -> Committer:
        """Return what commits groups in four steps."""
        return four_steps(self, app, table, self.partitions(topic), self._settings.named)

    async def _writer_of(self, transactional_id: str | None) -> Writer:
        """Return an id of this writer's own, or else the one of all claimants, with the next epoch."""
        client = self._client

        async def ask() -> Writer:
            node, group = client.get_random_node(), ConnectionGroup.DEFAULT
            if transactional_id is not None:
                node = await client.coordinator_lookup(CoordinationType.TRANSACTION, transactional_id)
                group = ConnectionGroup.COORDINATION
            response = await client.send(node, InitProducerIdRequest(transactional_id, 60_000), group=group)
            error = for_code(response.error_code)
            if error is ConcurrentTransactions:
                raise NodeNotReadyError  # another claim is under way: ask again
            if error is not NoError:
                raise error
            return Writer(response.producer_id, response.producer_epoch)

        what = f"claiming {transactional_id}" if transactional_id else "asking for a producer id"
        try:
            return await persist(client, what, ask)
        except ClientError as error:
            raise KafkaError(f"{what}: {type(error).__name__}: {error}") from error


def _parts(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Cut records into what fits in a batch each; a record that does not has one of its own."""
    start = size = 0
    for number, (key, value) in enumerate(records):
        bytes_ = len(key or b"") + len(value or b"") + RECORD_BYTES
        if number > start and size + bytes_ > BATCH_BYTES:
            yield records[start:number]
            start, size = number, 0
        size += bytes_
    yield records[start:]
