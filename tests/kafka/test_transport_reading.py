"""Reading Kafka: each reader has all that it reads, and no hole in a topic is waited for."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from deploy.kafka.broker import Broker
from scentline.streams.broadcast import STEP_RECORDS, Broadcast
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, INTERESTS, PAGES, PREDICATES
from scentline.streams.transport.kafka.connection import aiokafka_arguments
from scentline.streams.transport.kafka.fetcher import PARTITION_BYTES, Feed, Fetcher, Reading
from scentline.streams.transport.kafka.log import KafkaLog
from scentline.streams.transport.partition import Place
from tests.kafka.crawls import connect, drop, servers
from tests.patience import PATIENCE

PARTITIONS = 3
TOPIC = INTERESTS.name
HERE, THERE = (ACCESSES.name, 0), (PAGES.name, 1)


# a feed, and readers of one fetcher


def fetching(broker: str, work: Callable[[KafkaLog, Fetcher], Awaitable[None]]) -> None:
    async def with_fetcher(log: KafkaLog) -> None:
        fetcher = Fetcher(Settings(broker=broker, data=Path("unused")))
        await fetcher.start()
        await work(log, fetcher)
        await fetcher.stop()

    connect(broker, with_fetcher, partitions=PARTITIONS)


async def put(log: KafkaLog, place: Place, *values: bytes) -> None:
    await log.publisher.send_all([(*place, None, value) for value in values])


async def values(reading: Reading, place: Place, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        for entries in (await reading.take({place}, 1.0)).values():
            found += [entry.value for entry in entries]
    return found


def batch(first: int, offsets: list[int]) -> bytes:
    """Return a batch whose records lie at offsets; the first and the last say which it once had."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, 1, 0, 0, 1_000_000)
    for offset in offsets:
        builder.append(offset - first, 0, None, b"%d" % offset, [])
    built = builder.build()
    built[0:8] = first.to_bytes(8, "big")
    return bytes(built)


def nothing() -> None:
    """Do nothing."""


@given(st.sets(st.integers(0, 60)).map(sorted), st.integers(0, 60), st.lists(st.integers(1, 7)))
def test_a_feed_gives_what_is_kept_from_its_start_on_each_once(
    kept: list[int], start: int, limits: list[int]
) -> None:
    told: list[None] = []
    feed = Feed(HERE, start, lambda: told.append(None), nothing)
    taken = []
    for low in range(0, 61, 10):
        here = [offset for offset in kept if low <= offset < low + 10]
        if here and here[-1] >= feed.position:
            feed.take_in(batch(low, here), 61)
            assert feed.position == here[-1] + 1
            assert feed.stands_at(feed.start)
        if limits:
            taken += feed.take(limits.pop())
    taken += feed.take()
    assert [entry.offset for entry in taken] == [offset for offset in kept if offset >= start]
    assert feed.start == feed.position
    assert bool(told) == bool(taken)


def test_half_a_batch_is_left_to_come_again() -> None:
    feed = Feed(HERE, 0, nothing, nothing)
    whole = batch(0, [0, 1, 2])
    feed.take_in(whole + batch(3, [3, 4])[:-3], 5)
    assert (feed.position, [entry.offset for entry in feed.take()]) == (3, [0, 1, 2])


def test_a_batch_of_another_checksum_is_no_batch() -> None:
    spoilt = bytearray(batch(0, [0]))
    spoilt[-2] ^= 1
    with pytest.raises(Exception, match="invalid checksum"):
        Feed(HERE, 0, nothing, nothing).take_in(bytes(spoilt), 1)


def test_readers_each_have_all_from_where_they_go(empty_kafka: str) -> None:
    async def work(log: KafkaLog, fetcher: Fetcher) -> None:
        one, two = fetcher.reading(), fetcher.reading()
        for reading in (one, two):
            reading.go(HERE, 0)
        two.go(THERE, 0)
        await put(log, HERE, b"1", b"2")
        await put(log, THERE, b"3")
        assert await values(one, HERE, 2) == [b"1", b"2"]
        assert await values(two, HERE, 2) == [b"1", b"2"]
        assert await values(two, THERE, 1) == [b"3"]
        one.go(HERE, 1)
        two.leave([HERE])
        await put(log, HERE, b"4")
        assert await values(one, HERE, 2) == [b"2", b"4"]
        assert await two.take({HERE}, 0.2) == {}

        drop(empty_kafka, *HERE, 2)
        feed = one.go(HERE, 0)
        while not feed.out_of_range:
            await one.idle()
        one.go(HERE, 2)
        assert await values(one, HERE, 1) == [b"4"]
        assert [entry.value for entry in await log.reader.fetch(*HERE, 0, 9)] == [b"4"]

    fetching(empty_kafka, work)


def test_a_large_batch_comes_though_others_have_more_and_more(empty_kafka: str) -> None:
    large = b"x" * (2 * PARTITION_BYTES)

    async def work(log: KafkaLog, fetcher: Fetcher) -> None:
        reading = fetcher.reading()
        reading.go(HERE, 0)
        reading.go(THERE, 0)
        await put(log, THERE, large)
        busy = asyncio.create_task(_keep_putting(log))
        while THERE not in (found := await reading.take({HERE, THERE}, 1.0)):
            assert HERE in found or not found
        assert [entry.value for entry in found[THERE]] == [large]
        busy.cancel()

    async def _keep_putting(log: KafkaLog) -> None:
        while True:
            await put(log, HERE, b"y" * 1000)

    fetching(empty_kafka, work)


def test_what_is_not_taken_bounds_what_is_fetched_and_all_comes_part_by_part(empty_kafka: str) -> None:
    async def work(log: KafkaLog, fetcher: Fetcher) -> None:
        for _ in range(16):
            await put(log, HERE, b"x" * (PARTITION_BYTES // 4))
        reading = fetcher.reading()
        feed = reading.go(HERE, 0)
        while feed.wanting:
            await reading.idle()
        await asyncio.sleep(0.3)
        assert feed.position <= 9
        assert len(await values(reading, HERE, 16)) == 16
        await put(log, HERE, *(b"%d" % n + b"x" * (PARTITION_BYTES // 10) for n in range(40)))
        entries = await log.reader.records(*HERE, 16, 56)
        assert [entry.offset for entry in entries] == list(range(16, 56))

    fetching(empty_kafka, work)


# topics by offset, and broadcasts


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


async def put_keys(log: KafkaLog, numbers: range) -> None:
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


async def ends_of(log: KafkaLog, end: int) -> dict[int, int]:
    """Return the ends of all partitions once they are so: a broker writes a marker after it has answered."""
    expected = dict.fromkeys(range(PARTITIONS), end)
    async with asyncio.timeout(PATIENCE):
        while await log.reader.ends(TOPIC) != expected:
            await asyncio.sleep(0.01)
    return expected


def test_a_broadcast_knows_all_at_its_start_follows_and_passes_over_offsets_without_a_record(
    empty_kafka: str,
) -> None:
    async def work(log: KafkaLog) -> None:
        nothing = Broadcast(log.reader, PREDICATES.name, Known().apply, fail)
        await nothing.start()
        assert await log.reader.ends(PREDICATES.name) == {0: 0}
        await nothing.stop()

        await put_keys(log, range(PARTITIONS))
        await end_with_a_marker(empty_kafka)
        ends = await ends_of(log, 3)  # a record, one of a transaction, and its marker
        known = Known()
        broadcast = Broadcast(log.reader, TOPIC, known.apply, fail)
        await broadcast.start()
        assert broadcast.reached(ends)
        assert len(known) == 2 * PARTITIONS
        count = 2 * PARTITIONS * STEP_RECORDS + 1
        await put_keys(log, range(PARTITIONS, PARTITIONS * (count // PARTITIONS)))
        await end_with_a_marker(empty_kafka)
        later = await ends_of(log, count // PARTITIONS + 4)
        async with asyncio.timeout(PATIENCE):
            while not broadcast.reached(later):
                await asyncio.sleep(0.01)
        assert broadcast.behind() == 0
        keys = [key for key in known if key not in (b"5", b"t0")]
        await log.publisher.send_all([(TOPIC, _partition(key or b""), key, None) for key in keys])
        await known.until({b"5": b"v", b"t0": b"t"})
        await broadcast.stop()

    connect(empty_kafka, work, partitions=PARTITIONS)


def _partition(key: bytes) -> int:
    return int(key.removeprefix(b"t")) % PARTITIONS


def test_compacted_offsets_are_passed_over(empty_kafka: str) -> None:
    def compact_soon() -> None:
        with KafkaAdminClient(bootstrap_servers=servers(empty_kafka)) as admin:
            topic = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "100"}
            admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC, topic)])
            cleaner = {"log.cleaner.backoff.ms": "100"}
            admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", cleaner)])

    async def work(log: KafkaLog) -> None:
        await asyncio.to_thread(compact_soon)
        written = 0
        while True:
            # a record that is written closes the segment before it, if that is old enough
            await log.publisher.send_all([(TOPIC, 0, b"k", b"%d" % written)])
            written += 1
            if len(await log.reader.records(TOPIC, 0, 0, written)) < written:
                break
            await asyncio.sleep(0.1)
        known = Known()
        broadcast = Broadcast(log.reader, TOPIC, known.apply, fail)
        await broadcast.start()
        assert dict(known) == {b"k": b"%d" % (written - 1)}
        await broadcast.stop()

    connect(empty_kafka, work)


def test_it_reads_from_any_offset_up_to_a_limit(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        await put_keys(log, range(10 * PARTITIONS))
        fetch = log.reader.fetch
        for start, limit, expected in ((0, 4, range(4)), (4, 4, range(4, 8)), (2, 1, [2]), (10, 4, [])):
            assert [entry.offset for entry in await fetch(TOPIC, 1, start, limit)] == list(expected)
        assert [entry.key for entry in await fetch(TOPIC, 2, 9, 4)] == [b"29"]
        assert await log.reader.ends(TOPIC) == dict.fromkeys(range(PARTITIONS), 10)

    connect(empty_kafka, work, partitions=PARTITIONS)


def test_a_broadcast_goes_on_when_the_broker_is_back_and_hands_an_error_on(
    broker: Broker, empty_kafka: str
) -> None:
    async def work(log: KafkaLog) -> None:
        failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        known = Known()

        def apply(key: bytes | None, value: bytes | None) -> None:
            if key == b"6":
                raise ValueError(f"cannot apply {key!r}")
            known.apply(key, value)

        broadcast = Broadcast(log.reader, TOPIC, apply, failed.set_result)
        await put_keys(log, range(3))
        await broadcast.start()
        broker.kill()
        await asyncio.to_thread(broker.start)
        await put_keys(log, range(3, 6))
        await known.until({b"%d" % n: b"v" for n in range(6)})
        await put_keys(log, range(6, 7))
        with pytest.raises(ValueError, match="cannot apply b'6'"):
            raise await failed
        await broadcast.stop()

    connect(empty_kafka, work, partitions=PARTITIONS)
