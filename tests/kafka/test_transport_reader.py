"""Reading topics of Kafka by offset: nothing is missed, and no hole in a topic is waited for."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from deploy.kafka.broker import Broker
from scentline.streams.broadcast import STEP_RECORDS, Broadcast
from scentline.streams.settings import Settings
from scentline.streams.topics import INTERESTS, PREDICATES, declared
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.connection import addresses, aiokafka_arguments
from scentline.streams.transport.kafka.log import KafkaLog, connected
from tests.patience import PATIENCE

PARTITIONS = 3
TOPIC = INTERESTS.name


def run(broker: str, work: Callable[[KafkaLog], Awaitable[None]]) -> None:
    settings = Settings(broker=broker, data=Path("unused"))
    with Admin(settings) as admin:
        admin.create(declared(PARTITIONS), 1)

    async def running() -> None:
        async with asyncio.timeout(PATIENCE), connected(settings) as log:
            await work(log)

    asyncio.run(running())


def fail(error: BaseException) -> None:
    raise AssertionError("no error was expected") from error


class Known(dict[bytes | None, bytes]):
    """What a broadcast has told."""

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        if value is None:
            self.pop(key, None)
        else:
            self[key] = value

    async def until(self, expected: dict[bytes, bytes]) -> None:
        async with asyncio.timeout(PATIENCE):
            while dict(self) != expected:
                await asyncio.sleep(0.01)


async def put(log: KafkaLog, numbers: range) -> None:
    keys = [(n % PARTITIONS, b"%d" % n) for n in numbers]
    await log.publisher.send_all([(TOPIC, partition, key, b"v") for partition, key in keys])


async def end_with_a_marker(broker: str) -> None:
    """Write records and end the transaction they are in: its marker has an offset and is no record."""
    settings = Settings(broker=broker, data=Path("unused"))
    producer = AIOKafkaProducer(**aiokafka_arguments(settings), transactional_id="another's")
    await producer.start()
    async with producer.transaction():
        for partition in range(PARTITIONS):
            await producer.send(TOPIC, b"t", key=b"t%d" % partition, partition=partition)
    await producer.stop()


def test_all_of_a_topic_is_known_when_a_broadcast_has_started_and_what_comes_later_soon(
    empty_kafka: str,
) -> None:
    async def work(log: KafkaLog) -> None:
        count = 2 * PARTITIONS * STEP_RECORDS + 1
        await put(log, range(count))
        known = Known()
        broadcast = Broadcast(log.reader, TOPIC, known.apply, fail)
        await broadcast.start()
        assert len(known) == count
        assert broadcast.reached(await log.reader.ends(TOPIC))
        await log.publisher.send_all([(TOPIC, n % PARTITIONS, b"%d" % n, None) for n in range(count - 1)])
        await put(log, range(count, count + 1))
        await known.until({b"%d" % n: b"v" for n in (count - 1, count)})
        assert broadcast.behind() == 0
        await broadcast.stop()

    run(empty_kafka, work)


def test_an_empty_topic_is_known_at_once(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        broadcast = Broadcast(log.reader, PREDICATES.name, Known().apply, fail)
        await broadcast.start()
        assert await log.reader.ends(PREDICATES.name) == {0: 0}
        await broadcast.stop()

    run(empty_kafka, work)


async def ends_of(log: KafkaLog, end: int) -> dict[int, int]:
    """Return the ends of all partitions once they are so: a broker writes a marker after it has answered."""
    expected = dict.fromkeys(range(PARTITIONS), end)
    async with asyncio.timeout(PATIENCE):
        while await log.reader.ends(TOPIC) != expected:
            await asyncio.sleep(0.01)
    return expected


def test_offsets_without_a_record_are_passed_over(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        await put(log, range(PARTITIONS))
        await end_with_a_marker(empty_kafka)
        ends = await ends_of(log, 3)  # a record, one of a transaction, and its marker
        known = Known()
        broadcast = Broadcast(log.reader, TOPIC, known.apply, fail)
        await broadcast.start()
        assert broadcast.reached(ends)
        assert len(known) == 2 * PARTITIONS
        await put(log, range(PARTITIONS, 2 * PARTITIONS))
        await end_with_a_marker(empty_kafka)
        later = await ends_of(log, 6)
        async with asyncio.timeout(PATIENCE):
            while not broadcast.reached(later):
                await asyncio.sleep(0.01)
        assert len(known) == 3 * PARTITIONS
        await broadcast.stop()

    run(empty_kafka, work)


def test_compacted_offsets_are_passed_over(empty_kafka: str) -> None:
    def compact_soon() -> None:
        servers = addresses(empty_kafka)
        with KafkaAdminClient(bootstrap_servers=servers) as admin:
            topic = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100"}
            admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC, topic)])
            cleaner = {"log.cleaner.backoff.ms": "100"}
            admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", cleaner)])

    async def work(log: KafkaLog) -> None:
        await asyncio.to_thread(compact_soon)
        async with asyncio.timeout(PATIENCE):
            written = 0
            while True:
                # a record that is written closes the segment before it, if that is old enough
                await log.publisher.send_all([(TOPIC, 0, b"k", b"%d" % written)])
                written += 1
                kept = await log.reader.records(TOPIC, 0, 0, written)
                if len(kept) < written:
                    break
                await asyncio.sleep(0.1)
        known = Known()
        broadcast = Broadcast(log.reader, TOPIC, known.apply, fail)
        await broadcast.start()
        assert dict(known) == {b"k": b"%d" % (written - 1)}
        await broadcast.stop()

    run(empty_kafka, work)


def test_it_reads_from_any_offset_up_to_a_limit(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        await put(log, range(10 * PARTITIONS))
        reader = log.reader
        assert [entry.offset for entry in await reader.fetch(TOPIC, 1, 0, 4)] == [0, 1, 2, 3]
        assert [entry.offset for entry in await reader.fetch(TOPIC, 1, 4, 4)] == [4, 5, 6, 7]
        assert [entry.key for entry in await reader.fetch(TOPIC, 2, 9, 4)] == [b"29"]
        assert [entry.offset for entry in await reader.fetch(TOPIC, 1, 2, 1)] == [2]
        assert not await reader.fetch(TOPIC, 1, 10, 4)
        assert await reader.ends(TOPIC) == dict.fromkeys(range(PARTITIONS), 10)

    run(empty_kafka, work)


def test_it_reads_from_the_first_that_is_kept(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        await log.publisher.send_all([("accesses", 0, None, b"%d" % n) for n in range(10)])
        with KafkaAdminClient(bootstrap_servers=addresses(empty_kafka)) as admin:
            admin.delete_records({TopicPartition("accesses", 0): 7})
        assert [entry.value for entry in await log.reader.fetch("accesses", 0, 0, 9)] == [b"7", b"8", b"9"]

    run(empty_kafka, work)


def test_a_broadcast_goes_on_when_the_broker_is_back(broker: Broker, empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        await put(log, range(3))
        known = Known()
        broadcast = Broadcast(log.reader, TOPIC, known.apply, fail)
        await broadcast.start()
        broker.kill()
        await asyncio.to_thread(broker.start)
        await put(log, range(3, 6))
        await known.until({b"%d" % n: b"v" for n in range(6)})
        await broadcast.stop()

    run(empty_kafka, work)


def test_an_error_while_following_is_given_to_whoever_answers_for_it(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

        def apply(key: bytes | None, value: bytes | None) -> None:
            raise ValueError(f"cannot apply {key!r}")

        broadcast = Broadcast(log.reader, TOPIC, apply, failed.set_result)
        await broadcast.start()
        await put(log, range(1))
        with pytest.raises(ValueError, match="cannot apply b'0'"):
            raise await failed
        await broadcast.stop()

    run(empty_kafka, work)
