"""Publishing to Kafka: whole batches, in order, once; and one writer of a changelog at a time."""

import asyncio

import pytest

from deploy.kafka.broker import Broker
from scentline.streams.topics import ACCESSES, APP_ID, GROUP_BYTES, changelog_of
from scentline.streams.transport.kafka.connection import KafkaError
from scentline.streams.transport.kafka.log import KafkaLog
from scentline.streams.transport.kafka.publisher import BATCH_BYTES, CLAIM
from scentline.streams.transport.publisher import FencedError
from tests.kafka.crawls import connect

PARTITIONS = 3
CHANGELOG = changelog_of(APP_ID, "users")


async def values(log: KafkaLog, topic: str, partition: int, start: int = 0) -> list[bytes | None]:
    end = (await log.reader.ends(topic))[partition]
    return [entry.value for entry in await log.reader.records(topic, partition, start, end)]


def test_messages_keep_their_order_and_batches_are_cut_or_whole(empty_kafka: str) -> None:
    def messages(first: int) -> list[tuple[str, int, bytes | None, bytes | None]]:
        return [(ACCESSES.name, n % PARTITIONS, None, b"%06d" % n) for n in range(first, first + 1000)]

    async def work(log: KafkaLog) -> None:
        publisher = log.publisher
        await asyncio.gather(*(publisher.send_all(messages(first)) for first in range(0, 5000, 1000)))
        for partition in range(PARTITIONS):
            expected = [b"%06d" % n for n in range(5000) if n % PARTITIONS == partition]
            assert await values(log, ACCESSES.name, partition) == expected

        sizes = [BATCH_BYTES // 3, BATCH_BYTES // 2, BATCH_BYTES // 2, 3 * BATCH_BYTES, 1]
        start = (await log.reader.ends(ACCESSES.name))[0]
        await publisher.send_all([(ACCESSES.name, 0, b"k", bytes(size)) for size in sizes])
        assert [len(value or b"") for value in await values(log, ACCESSES.name, 0, start)] == sizes

        [claim] = await publisher.claim(CHANGELOG, 1, -1)
        assert (claim.offset, claim.key) == (0, CLAIM)
        assert await publisher.append_batch(CHANGELOG, 1, [(b"a", b"1"), (b"b", None)]) == 1
        large = [(b"%d" % n, bytes(1000)) for n in range(20_000)]
        assert await publisher.append_batch(CHANGELOG, 1, large) == 3
        assert len(await values(log, CHANGELOG, 1)) == 3 + len(large)

        assert publisher.partitions(ACCESSES.name) == PARTITIONS
        with pytest.raises(KafkaError, match="there is no topic absent; expected those of scentline"):
            publisher.partitions("absent")
        for partition, size in ((0, GROUP_BYTES), (2, 2 * GROUP_BYTES)):
            await publisher.claim(CHANGELOG, partition, -1)
            with pytest.raises(KafkaError, match=r"changelog/\d: a batch of [\d,]+ bytes is more than the"):
                await publisher.append_batch(CHANGELOG, partition, [(b"k", bytes(size))])
            assert len(await values(log, CHANGELOG, partition)) == 1

    connect(empty_kafka, work, partitions=PARTITIONS)


def test_a_claim_ends_that_of_another_and_brings_what_it_wrote(empty_kafka: str) -> None:
    async def work(first: KafkaLog, second: KafkaLog) -> None:
        with pytest.raises(FencedError, match="it was not claimed"):
            await first.publisher.append_batch(CHANGELOG, 0, [(b"a", b"1")])
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
        writing = asyncio.ensure_future(first.publisher.append_batch(CHANGELOG, 0, [(b"a", b"6")]))
        await asyncio.sleep(0)
        first.publisher.release(CHANGELOG, 0)
        with pytest.raises(FencedError, match="it was given up"):
            await writing

    connect(empty_kafka, work, number=2)


def test_of_many_that_claim_at_once_one_can_write(empty_kafka: str) -> None:
    async def wrote(log: KafkaLog, claiming: asyncio.Barrier) -> bool:
        try:
            try:
                await log.publisher.claim(CHANGELOG, 2, -1)
            finally:
                await claiming.wait()
            await log.publisher.append_batch(CHANGELOG, 2, [(b"k", b"v")])
        except FencedError:
            return False
        return True

    async def work(*connections: KafkaLog) -> None:
        claiming = asyncio.Barrier(len(connections))
        assert sum(await asyncio.gather(*(wrote(log, claiming) for log in connections))) == 1

    connect(empty_kafka, work, number=4)


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

    connect(empty_kafka, work)
