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
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, APP_ID, SIGHTINGS, changelog_of, declared, partition_of
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.log import KafkaLog, connected
from scentline.streams.transport.kafka.publisher import CLAIM
from scentline.streams.transport.partition import Entry
from tests.kafka.counting import TABLE, Row, settings_of
from tests.patience import PATIENCE

PARTITIONS = 4
HOSTS = 13
USERS = 100


class Feed:
    """Sends accesses, each of its own time, a few at a time, until it is told to stop."""

    def __init__(self, log: KafkaLog) -> None:
        self.sent = 0
        self._log = log
        self._stop = asyncio.Event()

    async def run(self) -> None:
        while not self._stop.is_set():
            messages = []
            for _ in range(5):
                access = access_of(self.sent)
                value = encode(Pack(facts=[(0, 0, access)]))
                messages.append((ACCESSES.name, partition_of(access.user, PARTITIONS), None, value))
                self.sent += 1
            await self._log.publisher.send_all(messages)
            await asyncio.sleep(0.02)

    def stop(self) -> None:
        self._stop.set()


def access_of(number: int) -> Access:
    return Access(f"user{number % USERS}", f"http://host{number % HOSTS}.org/", float(number))


class Worker:
    """A counting worker in a process of its own."""

    def __init__(self, broker: str, directory: Path, *flags: str) -> None:
        self._out = directory.with_suffix(".out")
        with self._out.open("ab") as out:
            command = [sys.executable, "-m", "tests.kafka.counting", broker, str(directory), *flags]
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)

    def said(self) -> list[str]:
        return self._out.read_text().splitlines()

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

    def count(self, what: str) -> int:
        return sum(line.startswith(what) for line in self.said())

    def send(self, number: int) -> None:
        self.process.send_signal(number)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.02)


class Record:
    """What workers wrote so far, read on from where it was read before."""

    def __init__(self, log: KafkaLog) -> None:
        self.rows: dict[bytes, int] = {}
        self.marks = dict.fromkeys(range(PARTITIONS), -1)
        self.told: Counter[float] = Counter()
        self._log = log
        self._offsets: Counter[tuple[str, int]] = Counter()
        self._origins: dict[tuple[int, str], tuple[int, int]] = {}

    async def absorbed(self) -> None:
        """Wait until each access that is in the log by now has been absorbed."""
        ends = await self._log.reader.ends(ACCESSES.name)
        async with asyncio.timeout(PATIENCE):
            while any(self.marks[partition] + 1 < end for partition, end in ends.items()):
                await asyncio.sleep(0.1)
                await self.read()

    async def read(self) -> None:
        for partition in range(PARTITIONS):
            async for entry in self._news(changelog_of(APP_ID, TABLE), partition):
                if entry.key == MARK:
                    self.marks[partition] = msgspec.msgpack.decode(entry.value or b"", type=Mark).offset
                elif entry.key != CLAIM:
                    row = msgspec.msgpack.decode(entry.value or b"", type=Row)
                    self.rows[entry.key or b""] = row.count
            async for entry in self._news(SIGHTINGS.name, partition):
                self._tell(partition, msgspec.msgpack.decode(entry.value or b"", type=SightingPack))

    def _tell(self, partition: int, pack: SightingPack) -> None:
        """Take what a receiver takes, by the rule of `Shard.accept`."""
        for offset, index, fact in pack.facts:
            if (offset, index) > self._origins.get((partition, pack.source), (-1, -1)):
                self._origins[partition, pack.source] = (offset, index)
                assert isinstance(fact, Visited)
                self.told[fact.time] += 1

    async def _news(self, topic: str, partition: int) -> AsyncIterator[Entry]:
        reader, place = self._log.reader, (topic, partition)
        end = (await reader.ends(topic))[partition]
        while self._offsets[place] < end:
            for entry in await reader.fetch(topic, partition, self._offsets[place], 1000):
                self._offsets[place] = entry.offset + 1
                yield entry


@asynccontextmanager
async def world(broker: str, directory: Path) -> AsyncIterator[Callable[..., Worker]]:
    """Make the topics, feed them, and have workers end with the test; at its end, count."""
    settings: Settings = settings_of(broker, directory)
    with Admin(settings) as admin:
        admin.create(declared(PARTITIONS), 1)
    workers: list[Worker] = []

    def start(name: str, *flags: str) -> Worker:
        workers.append(Worker(broker, directory / name, *flags))
        return workers[-1]

    async with connected(settings) as log:
        feed = Feed(log)
        feeding = asyncio.create_task(feed.run())
        try:
            yield start
            feed.stop()
            await feeding
            record = Record(log)
            await record.absorbed()
            for worker in workers:
                if worker.process.poll() is None:
                    await worker.stop()
            await record.read()
            expected = [access_of(number) for number in range(feed.sent)]
            users = Counter(access.user.encode() for access in expected)
            assert record.rows == users
            assert record.told == Counter(access.time for access in expected)
        finally:
            feeding.cancel()
            for worker in workers:
                worker.process.kill()
                worker.process.wait()


def test_every_access_counts_once_while_workers_come_and_go(empty_kafka: str, tmp_path: Path) -> None:
    async def run() -> None:
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

    asyncio.run(run())


def test_a_worker_that_was_frozen_for_longer_than_its_session_writes_nothing_more(
    empty_kafka: str, tmp_path: Path
) -> None:
    async def run() -> None:
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

    asyncio.run(run())


def test_every_access_counts_once_when_the_broker_dies_and_comes_back(
    broker: Broker, empty_kafka: str, tmp_path: Path
) -> None:
    async def run() -> None:
        async with world(empty_kafka, tmp_path) as start:
            first, second = start("first"), start("second")
            await first.works()
            await second.works()
            broker.kill()
            await asyncio.sleep(1)
            await asyncio.to_thread(broker.start)
            await first.works()
            await second.works()

    asyncio.run(run())
