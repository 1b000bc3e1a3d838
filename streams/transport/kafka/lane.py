"""A lane: one writer's way to one partition, in which every record arrives once and in order.

The writer has a producer id and an epoch, its batches a sequence number (KIP-98, idempotent producer). One
batch is under way at a time, and it is sent again, the same bytes, until the partition's leader says that it
has it; a leader that had it before recognises the number. So a connection may break, or a broker die, at any
moment. Whoever waits for a record may stop waiting: the batch goes on, since a number must not be used twice.

Batches that go to the same broker share one request, those of a moment: a broker takes up one at a time. The
first goes at once, and what comes soon after a request waits for more (`GATHER_SECONDS`).
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    InvalidProducerEpoch,
    LeaderNotAvailableError,
    MessageSizeTooLargeError,
    NoError,
    ProducerFenced,
    RecordListTooLargeError,
    for_code,
)
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import TopicPartition

from scentline.streams.transport.journal import Record
from scentline.streams.transport.kafka.connection import GATHER_SECONDS, REQUEST_SECONDS, KafkaError, persist
from scentline.streams.transport.publisher import FencedError

#: Bytes up to which batches share a request.
SHARED_BYTES = 16 * 1024 * 1024

#: Bytes up to which what waits goes out as one batch; below the least limit that brokers have.
BATCH_BYTES = 900_000
#: Bytes of a batch beyond which a broker breaks the connection (socket.request.max.bytes), less a margin.
MOST_BYTES = 100 * 1024 * 1024 - 100_000
#: Bytes that a record takes at most beside its key and value.
RECORD_BYTES = 32
_SEQUENCES = 2**31


class Wire:
    """Sends the batches of lanes to the leaders of their partitions, all replicas in sync to have them."""

    def __init__(self, client: AIOKafkaClient) -> None:
        self.client = client
        self._asking: dict[Lane, None] = {}
        self._sent = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, lane: "Lane") -> None:
        """Have a lane's batch, the only one under way to its partition, sent with the next request."""
        if not self._asking:
            asyncio.get_running_loop().call_at(self._sent + GATHER_SECONDS, self._flush)
        self._asking[lane] = None

    def _flush(self) -> None:
        asking, self._asking = self._asking, {}
        self._sent = asyncio.get_running_loop().time()
        shares: dict[int, Share] = {}
        sizes: dict[int, int] = {}
        for lane in asking:
            batch = lane.batch()
            leader = self.client.cluster.leader_for_partition(lane.place)
            if batch is None:
                continue
            if leader is None or leader == -1:
                lane.failed(LeaderNotAvailableError())
                continue
            share = shares.setdefault(leader, {})
            # Who claims a partition may write to it beside an earlier claimant.
            if share and (lane.place in share or sizes[leader] + len(batch) > SHARED_BYTES):
                self._send(leader, share)
                share = shares[leader] = {}
                sizes[leader] = 0
            share[lane.place] = (batch, lane)
            sizes[leader] = sizes.get(leader, 0) + len(batch)
        for leader, share in shares.items():
            self._send(leader, share)

    def _send(self, leader: int, share: "Share") -> None:
        task = asyncio.create_task(self._request(leader, share))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _request(self, leader: int, share: "Share") -> None:
        topics: dict[str, list[tuple[int, bytes]]] = {}
        for place, (batch, _) in share.items():
            topics.setdefault(place.topic, []).append((place.partition, batch))
        request = ProduceRequest(None, -1, int(REQUEST_SECONDS * 1000), list(topics.items()))
        try:
            response = await self.client.send(leader, request)
        except Exception as error:
            for _, lane in share.values():
                lane.failed(error)
            return
        for topic, partitions in response.topics:
            for partition, code, offset, *_ in partitions:
                _, lane = share[TopicPartition(topic, partition)]
                failure = for_code(code)
                if failure is NoError:
                    lane.landed(offset)
                else:
                    lane.failed(failure())


class Writer(NamedTuple):
    """Who writes: of two writers with the same id, a partition takes no batch of the one of lower epoch."""

    producer_id: int
    epoch: int


class _Job(NamedTuple):
    records: Sequence[Record]
    size: int
    done: "asyncio.Future[int]"


class Lane:
    """Appends records to a partition as ``writer``."""

    def __init__(self, wire: Wire, topic: str, partition: int, writer: Writer) -> None:
        self.place = TopicPartition(topic, partition)
        self._wire = wire
        self._writer = writer
        self._sequence = 0
        self._waiting: deque[_Job] = deque()
        self._under_way: Sequence[_Job] = ()
        self._batch = b""
        self._again: asyncio.Future[int] | None = None
        self._repeating: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    def append(self, records: Sequence[Record]) -> "asyncio.Future[int]":
        """Append records, whole or not at all, after all that was given before; the first one's offset.

        Raises `FencedError` once another writer has claimed the partition, and `KafkaError`.
        """
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        size = sum(len(key or b"") + len(value or b"") + RECORD_BYTES for key, value in records)
        if self._failure is not None:
            done.set_exception(self._failure)
            return done
        self._waiting.append(_Job(records, size, done))
        if not self._under_way:
            self._wire.ask(self)
        return done

    def close(self, reason: Exception) -> None:
        """Take nothing more, and give up what is not delivered; whoever waits for it gets ``reason``."""
        if self._repeating is not None:
            self._repeating.cancel()
        self._again = None
        self._fail(reason)

    def batch(self) -> bytes | None:
        """Return what was under way, the same bytes, or else what waits; None where there is nothing.

        A lane that can't send what waits fails.
        """
        if not self._under_way and self._waiting:
            jobs = self._under_way = self._next()
            if sum(job.size for job in jobs) > MOST_BYTES:
                self._fail(self._explained(RecordListTooLargeError()))
            else:
                self._batch = self._built(jobs)
        return self._batch if self._under_way else None

    def landed(self, offset: int) -> None:
        """Take in that the broker has what is under way, its first record at ``offset``."""
        if self._again is not None:
            again, self._again = self._again, None
            again.set_result(offset)
        elif self._under_way:
            self._done(offset)

    def failed(self, error: Exception) -> None:
        """Take in that what was to be sent was not: it is sent again, as long as the error may pass."""
        if self._again is not None:
            again, self._again = self._again, None
            again.set_exception(error)
        elif self._failure is None:
            self._repeating = asyncio.create_task(self._repeat(error), name=f"lane to {self._name}")

    def _done(self, offset: int) -> None:
        jobs, self._under_way, self._batch = self._under_way, (), b""
        self._sequence = (self._sequence + sum(len(job.records) for job in jobs)) % _SEQUENCES
        for job in jobs:
            if not job.done.done():
                job.done.set_result(offset)
            offset += len(job.records)
        if self._waiting:
            self._wire.ask(self)

    async def _repeat(self, error: Exception) -> None:
        earlier = [error]

        async def attempt() -> int:
            if earlier:
                raise earlier.pop()
            self._again = asyncio.get_running_loop().create_future()
            self._wire.ask(self)
            return await self._again

        try:
            offset = await persist(self._wire.client, f"writing to {self._name}", attempt)
        except Exception as refused:
            # A refused batch took no number, and those after it may hang on it.
            self._fail(self._explained(refused))
        else:
            self._done(offset)

    def _next(self) -> list[_Job]:
        """Take what fits in one batch, one job at least."""
        jobs = [self._waiting.popleft()]
        size = jobs[0].size
        while self._waiting and size + self._waiting[0].size <= BATCH_BYTES:
            jobs.append(self._waiting.popleft())
            size += jobs[-1].size
        return jobs

    def _built(self, jobs: Sequence[_Job]) -> bytes:
        builder = DefaultRecordBatchBuilder(
            2, 0, 0, self._writer.producer_id, self._writer.epoch, self._sequence, _SEQUENCES - 1
        )
        number = 0
        for job in jobs:
            for key, value in job.records:
                builder.append(number, None, key, value, [])
                number += 1
        return bytes(builder.build())

    def _fail(self, failure: Exception) -> None:
        self._failure = failure
        jobs = (*self._under_way, *self._waiting)
        self._under_way, self._batch = (), b""
        self._waiting.clear()
        for job in jobs:
            if not job.done.done():
                job.done.set_exception(failure)

    def _explained(self, error: Exception) -> Exception:
        if isinstance(error, (InvalidProducerEpoch, ProducerFenced)):
            return FencedError(f"writing to {self._name}: another writer has claimed it since")
        if isinstance(error, (MessageSizeTooLargeError, RecordListTooLargeError)):
            size = sum(job.size for job in self._under_way)
            return KafkaError(
                f"writing to {self._name}: a batch of {size:,} bytes is more than the broker takes; expected "
                f"at most the topic's max.message.bytes, and {MOST_BYTES:,}"
            )
        return KafkaError(f"writing to {self._name}: {type(error).__name__}: {error}")

    @property
    def _name(self) -> str:
        return f"{self.place.topic}/{self.place.partition}"


#: What one request carries: of each partition a batch, and the lane that it is of.
Share = dict[TopicPartition, tuple[bytes, Lane]]
