"""What tests share that run on a broker: connections to its log, and crawls by worker processes."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.structs import OffsetAndMetadata

from bench.faults.workers import WorkerProcess
from deploy.kafka.broker import Broker
from deploy.kafka.jars import MissingProgramError
from deploy.ports import free_port
from scentline.agents.operate.topics import create, lags
from scentline.models.facts import AccessPack, Visited
from scentline.models.records import Decoder
from scentline.models.url import host
from scentline.streams.inbox import Shard
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings, load
from scentline.streams.stateful import Handler, Stateful
from scentline.streams.topics import ACCESSES, SIGHTINGS, declared
from scentline.streams.transport.kafka.admin import Admin, kept
from scentline.streams.transport.kafka.bus import KafkaBus
from scentline_lab.synthetic.web import synthetic_server
from tests.agents.commands import printed
from tests.patience import PATIENCE, wait_for
from tests.streams.scraping import Scrape, asked, read

T = TypeVar("T")


@asynccontextmanager
async def connections(broker: str, number: int = 1) -> AsyncIterator[list[KafkaBus]]:
    """Connect so often to topics of three partitions, which are made, each time as a worker does."""
    settings = Settings(broker=broker, data=Path("unused"))
    with Admin(settings) as admin:
        admin.create(declared(3), 1)
    async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        yield [await stack.enter_async_context(KafkaBus(settings)) for _ in range(number)]


@contextmanager
def started(broker: Broker) -> Iterator[Broker]:
    """Start a broker, and stop it at the end; skip the test, naming it, where a program is missing."""
    try:
        broker.start()
    except MissingProgramError as error:
        pytest.skip(str(error))
    try:
        yield broker
    finally:
        broker.stop()


def servers(broker: str) -> str:
    return broker.removeprefix("kafka://")


def send(broker: str, topic: str, partition: int, values: list[bytes]) -> None:
    with KafkaProducer(bootstrap_servers=servers(broker)) as producer:
        for value in values:
            producer.send(topic, value, partition=partition)
        producer.flush()


def commit(broker: str, group: str, topic: str, partition: int, offset: int) -> None:
    with KafkaConsumer(bootstrap_servers=servers(broker), group_id=group, enable_auto_commit=False) as consumer:
        place = TopicPartition(topic, partition)
        consumer.assign([place])
        consumer.commit({place: OffsetAndMetadata(offset)})


def drop(broker: str, topic: str, partition: int, before: int) -> None:
    with KafkaAdminClient(bootstrap_servers=servers(broker)) as admin:
        admin.delete_records({TopicPartition(topic, partition): before})


class Accesses(Handler[int]):
    """Counts each access of a user, and tells of it in the partition of its URL's host."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        decode = Decoder[AccessPack](AccessPack)
        self.inbox: Stateful[int] = Stateful(runtime, ACCESSES, "users", int, decode, self)

    def absorb(self, shard: Shard[int], fact: Any) -> None:
        shard.put(fact.user.encode(), (shard.get(fact.user.encode()) or 0) + 1)
        place = self._runtime.partition(SIGHTINGS, host(fact.url))
        shard.emit(SIGHTINGS.name, place, Visited(fact.url, fact.user, fact.time))


class Crawl:
    """A crawl by worker processes: the topics are made, and at its end the workers killed."""

    def __init__(self, directory: Path, broker: str, partitions: int, values: Mapping[str, Any]) -> None:
        self.directory = directory
        config = directory / "crawl.toml"
        given = {"broker": broker, "streams.partitions": partitions, "metrics.host": "127.0.0.1", **values}
        config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items()))
        self.options = ("--config", str(config))
        self.partitions = partitions
        self.settings = load({"data": str(directory / "snapshot")}, config_file=config, environ={}).settings
        self.addresses: list[str] = []
        self._resources = ExitStack()
        create(self.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def command(self, *arguments: str) -> str:
        return printed(self.directory, *arguments, *self.options)

    def worker(
        self, name: str, *roles: str, first: str = "", prefix: Sequence[str] = (), options: Sequence[str] = ()
    ) -> WorkerProcess:
        """Start a worker that tells its metrics."""
        port = free_port()
        given = (*self.options, "--set", f"metrics.port={port}", *options)
        worker = WorkerProcess(name, roles, self.directory, given)
        self._resources.callback(worker.kill)
        worker.start(prefix, first)
        self.addresses.append(f"http://127.0.0.1:{port}")
        return worker

    def scrapes(self) -> list[Scrape]:
        return [read(asked(f"{address}/metrics")[1]) for address in self.addresses]

    def ends(self, topic: str) -> int:
        """Return how many messages were ever written to a topic that shards."""
        with Admin(self.settings) as admin:
            return sum(admin.ends((topic, number) for number in range(self.partitions)).values())

    def records(self, topic: str, kind: type[T]) -> list[T]:
        """Return what is kept of a topic that shards, in JSON."""
        entries = (entry for number in range(self.partitions) for entry in kept(self.settings, topic, number))
        return [msgspec.json.decode(entry.value or b"", type=kind) for entry in entries]

    def lag(self) -> Counter[str]:
        """Return how many messages of each inbox wait."""
        return sum((Counter({each.topic: each.lag}) for each in lags(self.settings)), Counter())


@contextmanager
def crawl_of(
    web: tuple[int, int, int, int], directory: Path, broker: str, partitions: int, values: Mapping[str, Any]
) -> Iterator[Crawl]:
    """Give a crawl of a synthetic web: its seed, its sites, the pages of a site, and its topics."""
    with synthetic_server(*web) as server:
        given = {"fetch.proxy": server.url, "fetch.delay_seconds": 0, **values}
        with Crawl(directory, broker, partitions, given) as crawl:
            yield crawl


def settled(look: Callable[[], T], looks: int, pause: float = 0.25) -> T:
    """Return what is found when it was the same for so many looks in a row."""
    seen: list[T] = []

    def same() -> bool:
        seen.append(look())
        return len(seen) >= looks and all(each == seen[-1] for each in seen[-looks:])

    wait_for("nothing to change", same, pause)
    return seen[-1]
