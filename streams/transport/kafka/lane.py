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

from streams.transport.journal import Record
from streams.transport.kafka.connection import GATHER_SECONDS, REQUEST_SECONDS, KafkaError, persist
from streams.transport.publisher import FencedError

#: Bytes up to which batches share a request.
SHARED_BYTES = 16 * 1024 * 1024

Answer = asyncio.Future[int]
#: Bytes up to which what waits goes out as one batch; below the least limit that brokers have.
BATCH_BYTES = 900_000
#: Bytes of a batch beyond which a broker breaks the connection (socket.request.max.bytes), less a margin.
MOST_BYTES = 100 * 1024 * 1024 - 100_000
#: Bytes that a record takes at most beside its key and value.
RECORD_BYTES = 32
_SEQUENCES = 2**31


class Wire:
    """Sends record batches to the leaders of their partitions, all replicas in sync to have them."""

    def __init__(self, client: AIOKafkaClient) -> None:
        self.client = client
        self._waiting: dict[TopicPartition, tuple[bytes, Answer]] = {}
        self._sent = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    async def produce(self, place: TopicPartition, batch: bytes) -> int:
        """Send a batch, the only one under way to its partition; return its first record's offset.

        Raises the error of the broker, or of the connection.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_at(self._sent + GATHER_SECONDS, self._flush)
        answer: Answer = loop.create_future()
        self._waiting[place] = (batch, answer)
        return await answer

    def _flush(self) -> None:
        shares: dict[int, dict[TopicPartition, tuple[bytes, Answer]]] = {}
        sizes: dict[int, int] = {}
        for place, (batch, answer) in self._waiting.items():
            leader = self.client.cluster.leader_for_partition(place)
            if leader is None or leader == -1:
                _settle(answer, LeaderNotAvailableError())
                continue
            if sizes.get(leader, 0) + len(batch) > SHARED_BYTES and leader in shares:
                self._send(leader, shares.pop(leader))
                sizes[leader] = 0
            shares.setdefault(leader, {})[place] = (batch, answer)
            sizes[leader] = sizes.get(leader, 0) + len(batch)
        self._waiting = {}
        self._sent = asyncio.get_running_loop().time()
        for leader, share in shares.items():
            self._send(leader, share)

    def _send(self, leader: int, share: dict[TopicPartition, tuple[bytes, Answer]]) -> None:
        task = asyncio.create_task(self._request(leader, share))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _request(self, leader: int, share: dict[TopicPartition, tuple[bytes, Answer]]) -> None:
        topics: dict[str, list[tuple[int, bytes]]] = {}
        for place, (batch, _) in share.items():
            topics.setdefault(place.topic, []).append((place.partition, batch))
        request = ProduceRequest(None, -1, int(REQUEST_SECONDS * 1000), list(topics.items()))
        try:
            response = await self.client.send(leader, request)
        except Exception as error:
            for _, answer in share.values():
                _settle(answer, error)
            return
        for topic, partitions in response.topics:
            for partition, code, offset, *_ in partitions:
                _, answer = share[TopicPartition(topic, partition)]
                failure = for_code(code)
                _settle(answer, offset if failure is NoError else failure())


def _settle(answer: Answer, outcome: int | Exception) -> None:
    if answer.done():
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)


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
        self._wire = wire
        self._place = TopicPartition(topic, partition)
        self._writer = writer
        self._sequence = 0
        self._waiting: deque[_Job] = deque()
        self._under_way: Sequence[_Job] = ()
        self._work: asyncio.Task[None] | None = None
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
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._deliver_all(), name=f"lane to {self._place}")
        return done

    def close(self, reason: Exception) -> None:
        """Take nothing more, and give up what is not delivered; whoever waits for it gets ``reason``."""
        self._failure = reason
        if self._work is not None:
            self._work.cancel()
        self._fail((*self._under_way, *self._waiting), reason)

    async def _deliver_all(self) -> None:
        while self._waiting:
            jobs = self._under_way = self._next()
            try:
                offset = await self._deliver(jobs)
            except Exception as error:
                self._failure = self._explained(error, jobs)
                # A refused batch took no number, and those after it may hang on it.
                return self._fail((*jobs, *self._waiting), self._failure)
            for job in jobs:
                if not job.done.done():
                    job.done.set_result(offset)
                offset += len(job.records)
        return None

    async def _deliver(self, jobs: Sequence[_Job]) -> int:
        if sum(job.size for job in jobs) > MOST_BYTES:
            raise RecordListTooLargeError
        batch = self._batch(jobs)
        offset = await persist(
            self._wire.client, f"writing to {self._name}", lambda: self._wire.produce(self._place, batch)
        )
        self._sequence = (self._sequence + sum(len(job.records) for job in jobs)) % _SEQUENCES
        return offset

    def _next(self) -> list[_Job]:
        """Take what fits in one batch, one job at least."""
        jobs = [self._waiting.popleft()]
        size = jobs[0].size
        while self._waiting and size + self._waiting[0].size <= BATCH_BYTES:
            jobs.append(self._waiting.popleft())
            size += jobs[-1].size
        return jobs

    def _batch(self, jobs: Sequence[_Job]) -> bytes:
        builder = DefaultRecordBatchBuilder(
            2, 0, 0, self._writer.producer_id, self._writer.epoch, self._sequence, _SEQUENCES - 1
        )
        number = 0
        for job in jobs:
            for key, value in job.records:
                builder.append(number, None, key, value, [])
                number += 1
        return bytes(builder.build())

    def _fail(self, jobs: Sequence[_Job], failure: Exception) -> None:
        self._waiting.clear()
        for job in jobs:
            if not job.done.done():
                job.done.set_exception(failure)

    def _explained(self, error: Exception, jobs: Sequence[_Job]) -> Exception:
        if isinstance(error, (InvalidProducerEpoch, ProducerFenced)):
            return FencedError(f"writing to {self._name}: another writer has claimed it since")
        if isinstance(error, (MessageSizeTooLargeError, RecordListTooLargeError)):
            size = sum(job.size for job in jobs)
            return KafkaError(
                f"writing to {self._name}: a batch of {size:,} bytes is more than the broker takes; expected "
                f"at most the topic's max.message.bytes, and {MOST_BYTES:,}"
            )
        return KafkaError(f"writing to {self._name}: {type(error).__name__}: {error}")

    @property
    def _name(self) -> str:
        return f"{self._place.topic}/{self._place.partition}"
