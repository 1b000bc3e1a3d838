"""Publishing to Kafka: whole batches, in order, once; and one writer of a changelog at a time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deploy.kafka.broker import Broker
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, APP_ID, GROUP_BYTES, changelog_of, declared
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.connection import KafkaError
from scentline.streams.transport.kafka.log import KafkaLog, connected
from scentline.streams.transport.kafka.publisher import BATCH_BYTES, CLAIM
from scentline.streams.transport.publisher import FencedError
from tests.patience import PATIENCE

PARTITIONS = 3
CHANGELOG = changelog_of(APP_ID, "users")


@asynccontextmanager
async def logs(broker: str, number: int) -> AsyncIterator[list[KafkaLog]]:
    """Connect so many times, as so many workers would."""
    settings = Settings(broker=broker, data=Path("unused"))
    with Admin(settings) as admin:
        admin.create(declared(PARTITIONS), 1)
    if number == 0:
        yield []
        return
    async with connected(settings) as log, logs(broker, number - 1) as others:
        yield [log, *others]


def run(broker: str, work: Callable[..., Awaitable[None]], number: int = 1) -> None:
    async def running() -> None:
        async with asyncio.timeout(PATIENCE), logs(broker, number) as connections:
            await work(*connections)

    asyncio.run(running())


async def values(log: KafkaLog, topic: str, partition: int) -> list[bytes | None]:
    end = (await log.reader.ends(topic))[partition]
    return [entry.value for entry in await log.reader.records(topic, partition, 0, end)]


def test_messages_of_a_partition_keep_their_order_whoever_sends_them_how(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        def messages(first: int) -> list[tuple[str, int, bytes | None, bytes | None]]:
            return [(ACCESSES.name, n % PARTITIONS, None, b"%06d" % n) for n in range(first, first + 1000)]

        await asyncio.gather(*(log.publisher.send_all(messages(first)) for first in range(0, 5000, 1000)))
        for partition in range(PARTITIONS):
            expected = [b"%06d" % n for n in range(5000) if n % PARTITIONS == partition]
            assert await values(log, ACCESSES.name, partition) == expected

    run(empty_kafka, work)


def test_more_than_a_batch_holds_is_sent_in_several(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        sizes = [BATCH_BYTES // 3, BATCH_BYTES // 2, BATCH_BYTES // 2, 3 * BATCH_BYTES, 1]
        await log.publisher.send_all([(ACCESSES.name, 0, b"k", bytes(size)) for size in sizes])
        assert [len(value or b"") for value in await values(log, ACCESSES.name, 0)] == sizes

    run(empty_kafka, work)


def test_a_batch_is_whole_and_its_offsets_are_known(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        [claim] = await log.publisher.claim(CHANGELOG, 1, -1)
        assert (claim.offset, claim.key) == (0, CLAIM)
        assert await log.publisher.append_batch(CHANGELOG, 1, [(b"a", b"1"), (b"b", None)]) == 1
        large = [(b"%d" % n, bytes(1000)) for n in range(20_000)]
        assert await log.publisher.append_batch(CHANGELOG, 1, large) == 3
        assert len(await values(log, CHANGELOG, 1)) == 3 + len(large)

    run(empty_kafka, work)


@pytest.mark.parametrize("size", [GROUP_BYTES, 2 * GROUP_BYTES])
def test_a_batch_beyond_the_limit_is_an_error_that_says_so(empty_kafka: str, size: int) -> None:
    async def work(log: KafkaLog) -> None:
        await log.publisher.claim(CHANGELOG, 0, -1)
        with pytest.raises(KafkaError, match=r"changelog/0: a batch of [\d,]+ bytes is more than the broker"):
            await log.publisher.append_batch(CHANGELOG, 0, [(b"k", bytes(size))])
        assert len(await values(log, CHANGELOG, 0)) == 1

    run(empty_kafka, work)


def test_a_claim_ends_that_of_another_and_brings_what_it_wrote(empty_kafka: str) -> None:
    async def work(first: KafkaLog, second: KafkaLog) -> None:
        await first.publisher.claim(CHANGELOG, 0, -1)
        await first.publisher.append_batch(CHANGELOG, 0, [(b"a", b"1")])
        known = await second.publisher.claim(CHANGELOG, 0, 0)
        assert [(entry.offset, entry.key) for entry in known] == [(1, b"a"), (2, CLAIM)]
        with pytest.raises(FencedError, match="another writer has claimed it since"):
            await first.publisher.append_batch(CHANGELOG, 0, [(b"a", b"2")])
        with pytest.raises(FencedError):
            await first.publisher.append_batch(CHANGELOG, 0, [(b"a", b"3")])
        assert await second.publisher.append_batch(CHANGELOG, 0, [(b"a", b"4")]) == 3
        again = await first.publisher.claim(CHANGELOG, 0, 3)
        assert [entry.offset for entry in again] == [4]
        with pytest.raises(FencedError):
            await second.publisher.append_batch(CHANGELOG, 0, [(b"a", b"5")])
        assert (await values(first, CHANGELOG, 0))[3] == b"4"

    run(empty_kafka, work, number=2)


def test_of_many_that_claim_at_once_one_can_write(empty_kafka: str) -> None:
    async def work(*connections: KafkaLog) -> None:
        async def attempt(log: KafkaLog) -> bool:
            try:
                await log.publisher.claim(CHANGELOG, 2, -1)
            except FencedError:
                return False
            return True

        claimed = await asyncio.gather(*map(attempt, connections))
        wrote = 0
        for log, holds in zip(connections, claimed, strict=True):
            if holds:
                try:
                    await log.publisher.append_batch(CHANGELOG, 2, [(b"k", b"v")])
                    wrote += 1
                except FencedError:
                    pass
        assert wrote == 1

    run(empty_kafka, work, number=4)


def test_who_did_not_claim_or_gave_up_does_not_write(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        with pytest.raises(FencedError, match="it was not claimed"):
            await log.publisher.append_batch(CHANGELOG, 0, [(b"a", b"1")])
        await log.publisher.claim(CHANGELOG, 0, -1)
        writing = asyncio.ensure_future(log.publisher.append_batch(CHANGELOG, 0, [(b"a", b"1")]))
        await asyncio.sleep(0)
        log.publisher.release(CHANGELOG, 0)
        with pytest.raises(FencedError, match="it was given up"):
            await writing

    run(empty_kafka, work)


def test_what_is_sent_while_the_broker_is_down_is_there_once_when_it_is_back(
    broker: Broker, empty_kafka: str
) -> None:
    async def work(log: KafkaLog) -> None:
        await log.publisher.claim(CHANGELOG, 0, -1)

        async def write() -> None:
            for number in range(300):
                value = b"%03d" % number
                await asyncio.gather(
                    log.publisher.send_all([(ACCESSES.name, 0, None, value)]),
                    log.publisher.append_batch(CHANGELOG, 0, [(b"k", value)]),
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

    run(empty_kafka, work)


def test_a_topic_that_is_not_there_is_named(empty_kafka: str) -> None:
    async def work(log: KafkaLog) -> None:
        assert log.publisher.partitions(ACCESSES.name) == PARTITIONS
        with pytest.raises(KafkaError, match="there is no topic absent; expected those of scentline"):
            log.publisher.partitions("absent")

    run(empty_kafka, work)
