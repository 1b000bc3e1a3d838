"""Publishing to Kafka: every message once and in order, and changelogs that have one writer at a time.

*A lane* is one writer's path to one partition. The writer has a producer id and an epoch, its batches have
sequence numbers (KIP-98, idempotent producer). One batch is in flight at a time. The same bytes are sent again
until the leader acknowledges them; a leader that has them already knows the number. So a connection may break,
or a broker die, at any moment. A caller may stop waiting, but the batch goes on: no number may be used twice.
Batches to one broker share a request: the first goes at once, later ones wait for more (`GATHER_SECONDS`).

*The fence.* A worker that was frozen for longer than its session time-out has lost its partitions and does not
know it yet. No check of a clock or a generation number keeps it from writing, since it may freeze again between
the check and the write. So the broker decides:

1. A new owner requests the changelog partition's producer id from the transaction coordinator (KIP-98,
   InitProducerId with a transactional id that names the partition). It gets the id of all earlier owners, with
   the next epoch. Transactions are not used.
2. It appends one record with this epoch, the *claim*, at offset c. From then on the leader, and any later one,
   refuses every batch of a lower epoch (INVALID_PRODUCER_EPOCH), however late it arrives.
3. It reads the records before c that its table does not have yet, and only then absorbs messages.

So batches of an earlier owner are before c, where the new owner reads them and their mark row, or nowhere. The
old owner finds out at its next batch (`FencedError`), writes nothing to its table and acknowledges nothing. It
may have sent emissions before; the new owner repeats them, with the same origins.

After a day of silence a broker forgets a producer (``producer.id.expiration.ms``). A worker frozen for that
long finds out before it sends (`streams.transport.kafka.consumer.Consumer.in_session`).
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import TopicPartition

from scentline.streams.runtime import FencedError
from scentline.streams.transport.database import Record
from scentline.streams.transport.kafka.connection import GATHER_SECONDS, REQUEST_SECONDS, KafkaError, persist

SHARED_BYTES = 16 * 1024 * 1024  #: Bytes up to which batches share a request.
#: Bytes up to which waiting records form one batch; below the smallest limit of brokers.
BATCH_BYTES = 900_000
#: Bytes of a batch beyond which a broker breaks the connection (socket.request.max.bytes), less a margin.
MOST_BYTES = 100 * 1024 * 1024 - 100_000
#: Bytes that a record takes at most beside its key and value, and the number of sequence numbers.
RECORD_BYTES, _SEQUENCES = 32, 2**31


class Wire:
    """Sends the batches of lanes to their leaders, to be acknowledged by all in-sync replicas."""

    def __init__(self, client: AIOKafkaClient) -> None:
        self.client = client
        self._asking: dict[Lane, None] = {}
        self._sent = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, lane: "Lane") -> None:
        """Send a lane's batch, its only one in flight, with the next request."""
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
                lane.failed(errors.LeaderNotAvailableError())
                continue
            share = shares.setdefault(leader, {})
            # A claimant may write to a partition beside an earlier one.
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
                failure = errors.for_code(code)
                if failure is errors.NoError:
                    lane.landed(offset)
                else:
                    lane.failed(failure())


class Writer(NamedTuple):
    """Of two writers with the same id, a partition refuses the one with the lower epoch."""

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
        """Append records after all earlier ones, as `Bus.append_batch` does."""
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
        """Refuse further records, and fail those that are not delivered with ``reason``."""
        if self._repeating is not None:
            self._repeating.cancel()
        self._again = None
        self._fail(reason)

    def batch(self) -> bytes | None:
        """Return the batch in flight, the same bytes, or the next one; the lane fails if that is too large."""
        if not self._under_way and self._waiting:
            jobs = self._under_way = self._next()
            if sum(job.size for job in jobs) > MOST_BYTES:
                self._fail(self._explained(errors.RecordListTooLargeError()))
            else:
                self._batch = self._built(jobs)
        return self._batch if self._under_way else None

    def landed(self, offset: int) -> None:
        """Note that the broker has the batch in flight, its first record at ``offset``."""
        if self._again is not None:
            again, self._again = self._again, None
            again.set_result(offset)
        elif self._under_way:
            self._done(offset)

    def failed(self, error: Exception) -> None:
        """Note that the batch was not sent; it is retried while the error may pass."""
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
            # A refused batch used no number, and later ones may depend on it.
            self._fail(self._explained(refused))
        else:
            self._done(offset)

    def _next(self) -> list[_Job]:
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
        for number, (key, value) in enumerate(record for job in jobs for record in job.records):
            builder.append(number, None, key, value, [])
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
        if isinstance(error, (errors.InvalidProducerEpoch, errors.ProducerFenced)):
            return FencedError(f"writing to {self._name}: another writer has claimed it since")
        if isinstance(error, (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)):
            size = sum(job.size for job in self._under_way)
            return KafkaError(
                f"writing to {self._name}: a batch of {size:,} bytes is more than the broker takes; expected "
                f"at most the topic's max.message.bytes, and {MOST_BYTES:,}"
            )
        return KafkaError(f"writing to {self._name}: {type(error).__name__}: {error}")

    @property
    def _name(self) -> str:
        return f"{self.place.topic}/{self.place.partition}"


#: What one request carries: a batch and its lane for each partition.
Share = dict[TopicPartition, tuple[bytes, Lane]]


def parts(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Split records into batches; a record that does not fit gets one of its own."""
    start = size = 0
    for number, (key, value) in enumerate(records):
        bytes_ = len(key or b"") + len(value or b"") + RECORD_BYTES
        if number > start and size + bytes_ > BATCH_BYTES:
            yield records[start:number]
            start, size = number, 0
        size += bytes_
    yield records[start:]
