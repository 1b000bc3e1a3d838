"""Topics are read whole and followed on either log: no hole is waited for, and no error hidden."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from deploy.kafka.broker import Broker
from scentline.agents.worker.connect import connect
from scentline.streams.runtime import STEP_RECORDS, Broadcast, Bus
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, INTERESTS, declared
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.connection import aiokafka_arguments
from tests.agents.loopback import awaited
from tests.kafka.crawls import connections, servers
from tests.patience import PATIENCE

PARTITIONS = 3
TOPIC = INTERESTS.name


def never(error: BaseException) -> None:
    raise AssertionError("no error was expected") from error


class Known(dict[bytes | None, bytes]):
    """What a broadcast has told."""

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        if value is None:
            self.pop(key, None)
        elif value == b"broken":
            raise ValueError(f"cannot apply {key!r}")
        else:
            self[key] = value

    async def until(self, expected: dict[bytes, bytes]) -> None:
        async with asyncio.timeout(PATIENCE):
            while dict(self) != expected:
                await asyncio.sleep(0.01)


async def put(log: Bus, numbers: Iterable[int], value: bytes | None) -> None:
    await log.send_all([(TOPIC, n % PARTITIONS, b"%d" % n, value) for n in numbers])


# either log


@pytest.fixture(params=["embedded", "kafka"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Return the settings of a log with the topics."""
    on_kafka = request.param == "kafka"
    broker = {"broker": request.getfixturevalue("empty_kafka")} if on_kafka else {}
    settings = Settings.model_validate({"data": tmp_path, "streams": {"partitions": PARTITIONS}} | broker)
    if on_kafka:
        with Admin(settings) as admin:
            admin.create(declared(PARTITIONS), 1)
    return settings


async def hole(log: Bus, settings: Settings) -> dict[bytes, bytes]:
    """Write what leaves offsets without a record; return what is there of it."""
    if not settings.on_kafka:  # the newest alone is kept
        await log.send_all([(TOPIC, 0, b"a", b"%d" % number) for number in range(3000)])
        return {b"a": b"2999"}
    before = await log.ends(TOPIC)
    producer = AIOKafkaProducer(**aiokafka_arguments(settings), transactional_id="another's")
    await producer.start()
    async with producer.transaction():
        for partition in range(PARTITIONS):
            await producer.send(TOPIC, b"t", key=b"t%d" % partition, partition=partition)
    await producer.stop()
    while await log.ends(TOPIC) != {partition: end + 2 for partition, end in before.items()}:
        await asyncio.sleep(0.01)  # a broker writes a transaction's marker after it has answered
    return {b"t%d" % partition: b"t" for partition in range(PARTITIONS)}


@awaited
async def test_all_that_is_there_is_applied_before_the_start_returns_and_the_rest_followed(
    here: Settings,
) -> None:
    async with connect(here) as log:
        nothing = Broadcast(log, CONTROL.name, Known().apply, never)
        await nothing.start()
        assert await log.ends(CONTROL.name) == {0: 0}
        await nothing.stop()

        numbers = range(2 * STEP_RECORDS * PARTITIONS)
        await put(log, numbers, b"old")
        expected = {b"%d" % number: b"old" for number in numbers} | await hole(log, here)
        readers = [Known(), Known()]
        broadcasts = [Broadcast(log, TOPIC, known.apply, never) for known in readers]
        for broadcast, known in zip(broadcasts, readers, strict=True):
            await broadcast.start()
            assert (dict(known), broadcast.behind()) == (expected, 0)
        await put(log, [0], b"new")
        await put(log, [1], None)
        expected |= {b"0": b"new"} | await hole(log, here)
        del expected[b"1"]
        ends = await log.ends(TOPIC)
        for broadcast, known in zip(broadcasts, readers, strict=True):
            await known.until(expected)
            while not broadcast.reached(ends):
                await asyncio.sleep(0.01)
            assert broadcast.behind() == 0
            await broadcast.stop()


@awaited
async def test_no_update_is_lost_while_records_keep_coming(here: Settings) -> None:
    async with connect(here) as log:

        async def write() -> None:
            for number in range(600):
                await log.send_all([(TOPIC, number % PARTITIONS, b"%d" % (number % 51), b"%d" % number)])
                if number % 11 == 0:
                    await asyncio.sleep(0)

        known = Known()
        writing = asyncio.ensure_future(write())
        broadcast = Broadcast(log, TOPIC, known.apply, never)
        await broadcast.start()
        await writing
        await known.until({b"%d" % (number % 51): b"%d" % number for number in range(549, 600)})
        await broadcast.stop()


@awaited
async def test_an_error_at_the_start_is_raised_and_one_while_following_is_handed_on(here: Settings) -> None:
    async with connect(here) as log:
        failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        broadcast = Broadcast(log, TOPIC, Known().apply, failed.set_result)
        await broadcast.start()
        await put(log, [7], b"broken")
        assert str(await failed) == "cannot apply b'7'"
        await broadcast.stop()
        with pytest.raises(ValueError, match="cannot apply b'7'"):
            await Broadcast(log, TOPIC, Known().apply, never).start()


@awaited
async def test_it_reads_from_any_offset_up_to_a_limit(here: Settings) -> None:
    async with connect(here) as log:
        await put(log, range(10 * PARTITIONS), b"v")
        fetch = log.fetch
        for start, limit, expected in ((0, 4, range(4)), (4, 4, range(4, 8)), (2, 1, [2]), (10, 4, [])):
            assert [entry.offset for entry in await fetch(TOPIC, 1, start, limit)] == list(expected)
        assert [entry.key for entry in await fetch(TOPIC, 2, 9, 4)] == [b"29"]
        assert await log.ends(TOPIC) == dict.fromkeys(range(PARTITIONS), 10)


# a broker that compacts, and one that dies


@awaited
async def test_compacted_offsets_are_passed_over(empty_kafka: str) -> None:
    async with connections(empty_kafka) as [log]:

        def compact_soon() -> None:
            with KafkaAdminClient(bootstrap_servers=servers(empty_kafka)) as admin:
                topic = {
                    "segment.ms": "100",
                    "min.cleanable.dirty.ratio": "0.01",
                    "max.compaction.lag.ms": "100",
                }
                admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC, topic)])
                cleaner = {"log.cleaner.backoff.ms": "100"}
                admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", cleaner)])

        await asyncio.to_thread(compact_soon)
        written = 0
        while True:
            # a record that is written closes the segment before it, if that is old enough
            await log.send_all([(TOPIC, 0, b"k", b"%d" % written)])
            written += 1
            if sum([len(found) async for found in log.records(TOPIC, 0, 0, written)]) < written:
                break
            await asyncio.sleep(0.1)
        known = Known()
        broadcast = Broadcast(log, TOPIC, known.apply, never)
        await broadcast.start()
        assert dict(known) == {b"k": b"%d" % (written - 1)}
        await broadcast.stop()


@awaited
async def test_a_broadcast_goes_on_when_the_broker_is_back(broker: Broker, empty_kafka: str) -> None:
    async with connections(empty_kafka) as [log]:
        known = Known()
        broadcast = Broadcast(log, TOPIC, known.apply, never)
        await put(log, range(3), b"v")
        await broadcast.start()
        broker.kill()
        await asyncio.to_thread(broker.start)
        await put(log, range(3, 6), b"v")
        await known.until({b"%d" % n: b"v" for n in range(6)})
        await broadcast.stop()
