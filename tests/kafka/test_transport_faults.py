"""Two workers and a broker, and whatever may happen to them: every access is counted once, and told of once."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from deploy.kafka.broker import Broker
from scentline.streams.facts import Access, SightingPack, Visited
from scentline.streams.inbox import MARK, Mark
from scentline.streams.records import Pack, encode
from scentline.streams.topics import ACCESSES, APP_ID, SIGHTINGS, changelog_of, declared, partition_of
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.log import KafkaLog, connected
from scentline.streams.transport.kafka.publisher import CLAIM
from scentline.streams.transport.partition import Entry
from tests.agents.loopback import awaited
from tests.kafka.counting import TABLE, settings_of
from tests.patience import PATIENCE

PARTITIONS = 4
HOSTS = 13
USERS = 100
CHANGELOG = changelog_of(APP_ID, TABLE)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)


class Worker:
    """A counting worker in a process of its own."""

    def __init__(self, broker: str, directory: Path, *flags: str) -> None:
        self._out = directory.with_suffix(".out")
        with self._out.open("ab") as out:
            command = [sys.executable, "-m", "tests.kafka.counting", broker, str(directory), *flags]
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        self.send = self.process.send_signal

    def said(self) -> list[str]:
        return self._out.read_text().splitlines()

    def count(self, what: str) -> int:
        return sum(line.startswith(what) for line in self.said())

    @asynccontextmanager
    async def saying(self, what: str, times: int) -> AsyncIterator[None]:
        """Do something, and wait until it has said what begins so, so many times since."""
        before = self.count(what)
        yield
        await until(lambda: self.count(what) >= before + times or self.process.poll() is not None)
        assert self.process.poll() is None, "\n".join(self.said()[-30:])

    async def works(self) -> None:
        async with self.saying("committed", 10):
            pass

    async def stop(self) -> None:
        """End it in good order."""
        self.send(signal.SIGTERM)
        await until(lambda: self.process.poll() is not None)
        assert self.process.returncode == 0, "\n".join(self.said()[-30:])


async def feed(log: KafkaLog, sent: list[Access], stop: asyncio.Event) -> None:
    """Send accesses, each of its own time, a few at a time, until it is told to stop."""
    while not stop.is_set():
        numbers = range(len(sent), len(sent) + 5)
        new = [Access(f"user{n % USERS}", f"http://host{n % HOSTS}.org/", float(n)) for n in numbers]
        sent += new
        places = [(ACCESSES.name, partition_of(access.user, PARTITIONS)) for access in new]
        values = [encode(Pack(facts=[(0, 0, access)])) for access in new]
        await log.publisher.send_all([(*at, None, value) for at, value in zip(places, values, strict=True)])
        await asyncio.sleep(0.02)


async def entries(log: KafkaLog, topic: str) -> list[tuple[int, Entry]]:
    """Return what is there of a topic, each entry with its partition."""
    ends = await log.reader.ends(topic)
    return [(at, entry) for at, end in ends.items() for entry in await log.reader.records(topic, at, 0, end)]


async def absorbed(log: KafkaLog) -> None:
    """Wait until each access that is in the log by now has been absorbed."""
    ends, marks = await log.reader.ends(ACCESSES.name), dict[int, int]()
    async with asyncio.timeout(PATIENCE):
        while any(marks.get(partition, -1) + 1 < end for partition, end in ends.items()):
            await asyncio.sleep(0.2)
            for partition, entry in await entries(log, CHANGELOG):
                if entry.key == MARK:
                    marks[partition] = msgspec.msgpack.decode(entry.value or b"", type=Mark).offset


async def check(log: KafkaLog, sent: list[Access]) -> None:
    """Check the newest rows, and what a receiver takes of the emissions, by the rule of `Shard.accept`."""
    rows = {
        entry.key: entry.value for _, entry in await entries(log, CHANGELOG) if entry.key not in (MARK, CLAIM)
    }
    counts = {key: msgspec.msgpack.decode(value or b"", type=int) for key, value in rows.items()}
    assert counts == Counter(access.user.encode() for access in sent)
    told: Counter[float] = Counter()
    last: dict[tuple[int, str], tuple[int, int]] = {}
    for partition, entry in await entries(log, SIGHTINGS.name):
        pack = msgspec.msgpack.decode(entry.value or b"", type=SightingPack)
        for offset, index, fact in pack.facts:
            if (offset, index) > last.get((partition, pack.source), (-1, -1)):
                last[partition, pack.source] = (offset, index)
                assert isinstance(fact, Visited)
                told[fact.time] += 1
    assert told == Counter(access.time for access in sent)


@asynccontextmanager
async def world(broker: str, directory: Path) -> AsyncIterator[Callable[..., Worker]]:
    """Make the topics, feed them, and have workers end with the test; at its end, count."""
    settings = settings_of(broker, directory)
    with Admin(settings) as admin:
        admin.create(declared(PARTITIONS), 1)
    workers: list[Worker] = []

    def start(name: str, *flags: str) -> Worker:
        workers.append(Worker(broker, directory / name, *flags))
        return workers[-1]

    async with connected(settings) as log:
        sent, stop = list[Access](), asyncio.Event()
        feeding = asyncio.create_task(feed(log, sent, stop))
        try:
            yield start
            stop.set()
            await feeding
            await absorbed(log)
            for worker in workers:
                if worker.process.poll() is None:
                    await worker.stop()
            await check(log, sent)
        finally:
            feeding.cancel()
            for worker in workers:
                worker.process.kill()
                worker.process.wait()


@awaited
async def test_every_access_counts_once_while_workers_come_and_go(empty_kafka: str, tmp_path: Path) -> None:
    async with world(empty_kafka, tmp_path) as start:
        first = start("first", "--uncommitted")
        await first.works()
        second = start("second", "--uncommitted")
        await second.works()
        async with first.saying("opened", PARTITIONS):
            await second.stop()
        second = start("second", "--uncommitted")
        await second.works()
        async with first.saying("opened", PARTITIONS):
            second.send(signal.SIGKILL)


@awaited
async def test_a_worker_that_was_frozen_for_longer_than_its_session_writes_nothing_more(
    empty_kafka: str, tmp_path: Path
) -> None:
    async with world(empty_kafka, tmp_path) as start:
        blind, seeing = start("blind", "--blind"), start("seeing")
        await blind.works()
        await seeing.works()
        for frozen, other in ((blind, seeing), (seeing, blind)):
            async with other.saying("opened", PARTITIONS):
                frozen.send(signal.SIGSTOP)
            await other.works()
            frozen.send(signal.SIGCONT)
            await frozen.works()


@awaited
async def test_every_access_counts_once_when_the_broker_dies_and_comes_back(
    broker: Broker, empty_kafka: str, tmp_path: Path
) -> None:
    async with world(empty_kafka, tmp_path) as start:
        first, second = start("first"), start("second")
        await first.works()
        await second.works()
        broker.kill()
        await asyncio.sleep(1)
        await asyncio.to_thread(broker.start)
        await first.works()
        await second.works()
