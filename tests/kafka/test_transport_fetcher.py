"""One fetcher for many readers: each has all that it reads, from wherever it goes, whatever others read."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, PAGES, declared
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.connection import addresses
from scentline.streams.transport.kafka.fetcher import PARTITION_BYTES, Feed, Fetcher, Reading
from scentline.streams.transport.kafka.log import KafkaLog, connected
from scentline.streams.transport.partition import Place
from tests.patience import PATIENCE

PARTITIONS = 2
HERE, THERE = (ACCESSES.name, 0), (PAGES.name, 1)

Work = Callable[[KafkaLog, Fetcher], Awaitable[None]]


def run(broker: str, work: Work) -> None:
    settings = Settings(broker=broker, data=Path("unused"))
    with Admin(settings) as admin:
        admin.create(declared(PARTITIONS), 1)

    async def running() -> None:
        async with asyncio.timeout(PATIENCE), connected(settings) as log:
            fetcher = Fetcher(settings)
            await fetcher.start()
            await work(log, fetcher)
            await fetcher.stop()

    asyncio.run(running())


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


def test_readers_of_the_same_and_of_other_partitions_each_have_all(empty_kafka: str) -> None:
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

    run(empty_kafka, work)


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

    run(empty_kafka, work)


def test_what_is_not_taken_bounds_what_is_fetched(empty_kafka: str) -> None:
    part = b"x" * (PARTITION_BYTES // 4)

    async def work(log: KafkaLog, fetcher: Fetcher) -> None:
        for _ in range(16):
            await put(log, HERE, part)
        reading = fetcher.reading()
        feed = reading.go(HERE, 0)
        while feed.wanting:
            await reading.idle()
        await asyncio.sleep(0.3)
        assert feed.position <= 9
        assert len(await values(reading, HERE, 16)) == 16

    run(empty_kafka, work)


def test_a_partition_of_many_bounds_is_read_part_by_part(empty_kafka: str) -> None:
    async def work(log: KafkaLog, fetcher: Fetcher) -> None:
        await put(log, HERE, *(b"%d" % n + b"x" * (PARTITION_BYTES // 10) for n in range(40)))
        entries = await log.reader.records(*HERE, 0, 40)
        assert [entry.offset for entry in entries] == list(range(40))

    run(empty_kafka, work)


def test_where_nothing_is_kept_is_told(empty_kafka: str) -> None:
    async def work(log: KafkaLog, fetcher: Fetcher) -> None:
        await put(log, HERE, *(b"%d" % n for n in range(10)))
        with KafkaAdminClient(bootstrap_servers=addresses(empty_kafka)) as admin:
            admin.delete_records({TopicPartition(*HERE): 7})
        reading = fetcher.reading()
        feed = reading.go(HERE, 0)
        while not feed.out_of_range:
            await reading.idle()
        reading.go(HERE, 7)
        assert await values(reading, HERE, 3) == [b"7", b"8", b"9"]

    run(empty_kafka, work)
