"""The transport on Kafka: a role's app, publishing of one writer at a time, and fetching for many readers."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given
from hypothesis import strategies as st

from deploy.kafka.broker import Broker
from scentline.models.facts import Access
from scentline.models.records import Pack, encode
from scentline.streams.runtime import FencedError, Runtime
from scentline.streams.settings import KafkaSettings, Settings, StreamSettings
from scentline.streams.topics import ACCESSES, GROUP_BYTES, PAGES, changelog_of
from scentline.streams.transport.database import Place
from scentline.streams.transport.embedded import create_app
from scentline.streams.transport.kafka.bus import CLAIM, KafkaBus, role_app
from scentline.streams.transport.kafka.connection import KafkaError, wait_for_topics
from scentline.streams.transport.kafka.consumer import Consumer, ConsumerThread
from scentline.streams.transport.kafka.fetcher import PARTITION_BYTES, Feed, Fetcher, Reading
from scentline.streams.transport.kafka.lane import BATCH_BYTES
from tests.agents.loopback import awaited
from tests.cases import each_case
from tests.kafka.crawls import Accesses, connections, drop
from tests.patience import PATIENCE

PARTITIONS = 3
CHANGELOG = changelog_of("users")
HERE, THERE = (ACCESSES.name, 0), (PAGES.name, 1)


async def values(log: KafkaBus, topic: str, partition: int, start: int = 0) -> list[bytes | None]:
    end = (await log.ends(topic))[partition]
    return [entry.value async for found in log.records(topic, partition, start, end) for entry in found]


# the app


def test_a_role_has_an_app_of_its_own_that_is_told_of_brokers_and_sessions_on_the_embedded_log_they_share_one(
    tmp_path: Path,
) -> None:
    kafka = KafkaSettings(session_seconds=40, heartbeat_seconds=7)
    conf = role_app(Settings(broker="kafka://one:9092;two", data=tmp_path, kafka=kafka), "browse").conf
    assert conf.id == "scentline-browse"
    assert [str(url) for url in conf.broker] == ["kafka://one:9092", "kafka://two:9092"]
    assert (conf.broker_session_timeout, conf.broker_heartbeat_interval) == (40, 7)
    assert conf.broker_request_timeout >= conf.broker_session_timeout
    assert not conf.topic_allow_declare
    assert conf.topic_disable_leader
    assert create_app(Settings(data=tmp_path)).conf.id == "scentline"


@each_case(("ago", "owns"), [(ConsumerThread.alive_at, False), (60.0, False), (10.0, False), (0.0, True)])
def test_a_worker_of_whom_the_group_has_heard_nothing_owns_nothing(ago: float, owns: bool) -> None:
    consumer: Any = SimpleNamespace(
        app=SimpleNamespace(conf=SimpleNamespace(broker_session_timeout=10.0)),
        _thread=SimpleNamespace(alive_at=time.monotonic() - abs(ago)),
    )
    assert Consumer.in_session(consumer) is owns


@awaited
async def test_a_worker_waits_for_a_broker_and_for_topics_and_says_for_which(
    broker: Broker, empty_kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    async def told(what: str) -> None:
        while not any(what in str(vars(record).get("fields")) for record in caplog.records):
            await asyncio.sleep(0.05)

    broker.kill()
    async with asyncio.timeout(PATIENCE):
        names = [ACCESSES.name, "sightings"]
        waiting = asyncio.ensure_future(wait_for_topics(Settings(broker=empty_kafka, data=tmp_path), names))
        await told("no answer")
        await asyncio.to_thread(broker.start)
        await told("no topics accesses, sightings")
        assert not waiting.done()
        async with connections(empty_kafka):  # which makes them
            await waiting


@awaited
async def test_a_worker_whose_changelog_another_has_claimed_counts_each_access_once_all_the_same(
    tmp_path: Path, empty_kafka: str
) -> None:
    streams = StreamSettings(commit_seconds=0.5)
    settings = Settings(broker=empty_kafka, data=tmp_path, streams=streams)

    def fail(error: BaseException) -> None:
        raise AssertionError("no error was expected") from error

    async with connections(empty_kafka) as [other], KafkaBus(settings) as log:
        runtime = Runtime(log.app("browse"), settings, log, fail)
        inbox = Accesses(runtime).inbox
        runtime.app.finalize()
        await runtime.app.start()

        async def count(numbers: range, lost: Any) -> None:
            packs = [Pack(facts=[(0, 0, Access("user", "http://a.org/", float(n)))]) for n in numbers]
            await log.send_all([(*HERE, None, encode(pack)) for pack in packs])
            while (
                not (shard := inbox.shards.get(0))
                or shard is lost
                or shard.mark.offset < numbers.stop - 1
                or shard.pending
            ):
                await asyncio.sleep(0.01)

        await count(range(100), None)
        await other.claim(CHANGELOG, 0)
        await count(range(100, 200), inbox.shards[0])
        assert inbox.shards[0].get(b"user") == 200
        await runtime.close()
        await runtime.app.stop()


# publishing


@awaited
async def test_messages_keep_their_order_and_batches_are_cut_or_whole(empty_kafka: str) -> None:
    async with connections(empty_kafka) as [log]:

        def messages(first: int) -> list[tuple[str, int, bytes | None, bytes | None]]:
            return [(ACCESSES.name, n % PARTITIONS, None, b"%06d" % n) for n in range(first, first + 1000)]

        publisher = log
        await asyncio.gather(*(publisher.send_all(messages(first)) for first in range(0, 5000, 1000)))
        for partition in range(PARTITIONS):
            expected = [b"%06d" % n for n in range(5000) if n % PARTITIONS == partition]
            assert await values(log, ACCESSES.name, partition) == expected

        sizes = [BATCH_BYTES // 3, BATCH_BYTES // 2, BATCH_BYTES // 2, 3 * BATCH_BYTES, 1]
        start = (await log.ends(ACCESSES.name))[0]
        await publisher.send_all([(ACCESSES.name, 0, b"k", bytes(size)) for size in sizes])
        assert [len(value or b"") for value in await values(log, ACCESSES.name, 0, start)] == sizes

        assert await publisher.claim(CHANGELOG, 1) == 0
        assert await publisher.append_batch(CHANGELOG, 1, [(b"a", b"1"), (b"b", None)]) == 1
        large = [(b"%d" % n, bytes(1000)) for n in range(20_000)]
        assert await publisher.append_batch(CHANGELOG, 1, large) == 3
        assert len(await values(log, CHANGELOG, 1)) == 3 + len(large)

        assert publisher.partitions(ACCESSES.name) == PARTITIONS
        with pytest.raises(KafkaError, match="there is no topic absent; expected those of scentline"):
            publisher.partitions("absent")
        for partition, size in ((0, GROUP_BYTES), (2, 2 * GROUP_BYTES)):
            await publisher.claim(CHANGELOG, partition)
            with pytest.raises(KafkaError, match=r"changelog/\d: a batch of [\d,]+ bytes is more than the"):
                await publisher.append_batch(CHANGELOG, partition, [(b"k", bytes(size))])
            assert len(await values(log, CHANGELOG, partition)) == 1


@awaited
async def test_a_claim_ends_that_of_another_and_brings_what_it_wrote(empty_kafka: str) -> None:
    async with connections(empty_kafka, 2) as [first, second]:
        with pytest.raises(FencedError, match="it was not claimed"):
            await first.append_batch(CHANGELOG, 0, [(b"a", b"1")])
        await first.claim(CHANGELOG, 0)
        await first.append_batch(CHANGELOG, 0, [(b"a", b"1")])
        assert await second.claim(CHANGELOG, 0) == 2
        known = await second.fetch(CHANGELOG, 0, 1, 9)
        assert [(entry.offset, entry.key) for entry in known] == [(1, b"a"), (2, CLAIM)]
        with pytest.raises(FencedError, match="another writer has claimed it since"):
            await first.append_batch(CHANGELOG, 0, [(b"a", b"2")])
        with pytest.raises(FencedError):
            await first.append_batch(CHANGELOG, 0, [(b"a", b"3")])
        assert await second.append_batch(CHANGELOG, 0, [(b"a", b"4")]) == 3
        assert await first.claim(CHANGELOG, 0) == 4
        with pytest.raises(FencedError):
            await second.append_batch(CHANGELOG, 0, [(b"a", b"5")])
        assert (await values(first, CHANGELOG, 0))[3] == b"4"
        writing = asyncio.ensure_future(first.append_batch(CHANGELOG, 0, [(b"a", b"6")]))
        await asyncio.sleep(0)
        first.release(CHANGELOG, 0)
        with pytest.raises(FencedError, match="it was given up"):
            await writing


@awaited
async def test_of_many_that_claim_at_once_one_can_write(empty_kafka: str) -> None:
    async with connections(empty_kafka, 4) as logs:

        async def wrote(log: KafkaBus, claiming: asyncio.Barrier) -> bool:
            try:
                try:
                    await log.claim(CHANGELOG, 2)
                finally:
                    await claiming.wait()
                await log.append_batch(CHANGELOG, 2, [(b"k", b"v")])
            except FencedError:
                return False
            return True

        claiming = asyncio.Barrier(4)
        assert sum(await asyncio.gather(*(wrote(log, claiming) for log in logs))) == 1


@awaited
async def test_what_is_sent_while_the_broker_is_down_is_there_once_when_it_is_back(
    broker: Broker, empty_kafka: str
) -> None:
    async with connections(empty_kafka) as [log]:
        await log.claim(CHANGELOG, 0)

        async def write() -> None:
            for number in range(300):
                value = b"%03d" % number
                await asyncio.gather(
                    log.send_all([(ACCESSES.name, 0, None, value)]),
                    log.append_batch(CHANGELOG, 0, [(b"k", value)]),
                )
                await asyncio.sleep(0.002)

        writing = asyncio.ensure_future(write())
        await asyncio.sleep(0.2)
        broker.kill()
        await asyncio.to_thread(broker.start)
        await writing
        expected = [b"%03d" % number for number in range(300)]
        assert await values(log, ACCESSES.name, 0) == expected
        assert (await values(log, CHANGELOG, 0))[1:] == expected


# a feed, and readers of one fetcher


@asynccontextmanager
async def fetching(broker: str) -> AsyncIterator[Fetcher]:
    fetcher = Fetcher(Settings(broker=broker, data=Path("unused")))
    await fetcher.start()
    yield fetcher
    await fetcher.stop()


async def put(log: KafkaBus, place: Place, *values: bytes) -> None:
    await log.send_all([(*place, None, value) for value in values])


async def taken(reading: Reading, place: Place, count: int) -> list[bytes | None]:
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


@awaited
async def test_readers_each_have_all_from_where_they_go(empty_kafka: str) -> None:
    async with connections(empty_kafka) as [log], fetching(empty_kafka) as fetcher:
        one, two = fetcher.reading(), fetcher.reading()
        for reading in (one, two):
            reading.go(HERE, 0)
        two.go(THERE, 0)
        await put(log, HERE, b"1", b"2")
        await put(log, THERE, b"3")
        assert await taken(one, HERE, 2) == [b"1", b"2"]
        assert await taken(two, HERE, 2) == [b"1", b"2"]
        assert await taken(two, THERE, 1) == [b"3"]
        one.go(HERE, 1)
        two.leave([HERE])
        await put(log, HERE, b"4")
        assert await taken(one, HERE, 2) == [b"2", b"4"]
        assert await two.take({HERE}, 0.2) == {}

        drop(empty_kafka, *HERE, 2)
        feed = one.go(HERE, 0)
        while not feed.out_of_range:
            await one.idle()
        one.go(HERE, 2)
        assert await taken(one, HERE, 1) == [b"4"]
        assert [entry.value for entry in await log.fetch(*HERE, 0, 9)] == [b"4"]


@awaited
async def test_a_large_batch_comes_though_others_have_more_and_more(empty_kafka: str) -> None:
    async with connections(empty_kafka) as [log], fetching(empty_kafka) as fetcher:
        large = b"x" * (2 * PARTITION_BYTES)

        async def _keep_putting(log: KafkaBus) -> None:
            while True:
                await put(log, HERE, b"y" * 1000)

        reading = fetcher.reading()
        reading.go(HERE, 0)
        reading.go(THERE, 0)
        await put(log, THERE, large)
        busy = asyncio.create_task(_keep_putting(log))
        while THERE not in (found := await reading.take({HERE, THERE}, 1.0)):
            assert HERE in found or not found
        assert [entry.value for entry in found[THERE]] == [large]
        busy.cancel()


@awaited
async def test_what_is_not_taken_bounds_what_is_fetched_and_all_comes_part_by_part(empty_kafka: str) -> None:
    async with connections(empty_kafka) as [log], fetching(empty_kafka) as fetcher:
        for _ in range(16):
            await put(log, HERE, b"x" * (PARTITION_BYTES // 4))
        reading = fetcher.reading()
        feed = reading.go(HERE, 0)
        while feed.wanting:
            await reading.idle()
        await asyncio.sleep(0.3)
        assert feed.position <= 9
        assert len(await taken(reading, HERE, 16)) == 16
        await put(log, HERE, *(b"%d" % n + b"x" * (PARTITION_BYTES // 10) for n in range(40)))
        entries = [entry async for found in log.records(*HERE, 16, 56) for entry in found]
        assert [entry.offset for entry in entries] == list(range(16, 56))
