"""What tests share that run on a broker: connections to its log, and crawls by worker processes."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, Self

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.structs import OffsetAndMetadata

from bench.faults.workers import WorkerProcess
from deploy.ports import free_port
from scentline.agents.operate.topics import create
from scentline.streams.configuration import load
from scentline.streams.settings import Settings
from scentline.streams.topics import declared
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.log import connected
from tests.agents.commands import printed
from tests.patience import PATIENCE
from tests.streams.scraping import Scrape, asked, read


def connect(broker: str, work: Callable[..., Awaitable[None]], number: int = 1, partitions: int = 3) -> None:
    """Do some work with so many connections to the topics, each as a worker has one."""
    settings = Settings(broker=broker, data=Path("unused"))
    with Admin(settings) as admin:
        admin.create(declared(partitions), 1)

    async def run() -> None:
        async with asyncio.timeout(PATIENCE), AsyncExitStack() as resources:
            logs = [await resources.enter_async_context(connected(settings)) for _ in range(number)]
            await work(*logs)

    asyncio.run(run())


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

    def worker(self, name: str, *roles: str, first: str = "") -> WorkerProcess:
        """Start a worker that tells its metrics."""
        port = free_port()
        options = (*self.options, "--set", f"metrics.port={port}")
        worker = WorkerProcess(name, roles, self.directory, options)
        self._resources.callback(worker.kill)
        worker.start(first=first)
        self.addresses.append(f"http://127.0.0.1:{port}")
        return worker

    def scrapes(self) -> list[Scrape]:
        return [read(asked(f"{address}/metrics")[1]) for address in self.addresses]

    def ends(self, topic: str) -> int:
        """Return how many messages were ever written to a topic that shards."""
        with Admin(self.settings) as admin:
            return sum(admin.ends((topic, number) for number in range(self.partitions)).values())
