"""On four partitions with two workers there is one line a predicate, whatever happens to the workers."""

import json
from contextlib import ExitStack
from pathlib import Path
from urllib.error import URLError

import msgspec
import pytest
from kafka import KafkaProducer

from bench.faults.workers import WorkerProcess
from deploy.kafka.broker import Broker
from deploy.ports import free_port
from scentline.agents.operate.snapshot import take
from scentline.models.harvest import Harvest, merged
from scentline.streams.configuration import load
from scentline.streams.metrics.catalogue import (
    BROKERS_LOST,
    HARVEST_HITS,
    HARVEST_PAGES,
    HARVEST_RATE,
    WINDOW_HITS,
    WINDOW_PAGES,
)
from scentline.streams.published import HarvestPoint, Outcome
from scentline.streams.settings import Settings
from scentline.streams.topics import HARVEST, OUTCOMES, partition_of
from scentline.streams.transport.kafka.admin import kept
from tests.agents.commands import printed
from tests.patience import wait_for
from tests.streams.scraping import asked, read

PARTITIONS = 4
WINDOW = 50
#: Each partition is that of one predicate's name.
PREDICATES = ("a", "b", "d", "g")
ROUND = 60
#: For how long a broker is away, at least: long enough for whatever else gives up.
LOST_SECONDS = 12.0


def an_outcome(number: int) -> Outcome:
    return Outcome(
        url=f"http://{number % 7}.test/{number}",
        time=1_700_000_000.0 + number,
        title="",
        verdict={name: number % place == 0 for place, name in enumerate(PREDICATES, 2)},
        predicate="a",
        policy="learned",
        explored=number % 10 == 0,
        probability=1.0,
        priority=0.0,
        expected=None,
        depth=0,
        words=(),
        links=(),
        origin=f"pages/0@{number}",
    )


class Crawl:
    """What the judges of a crawl say, and two workers that count it."""

    def __init__(self, directory: Path, broker: str) -> None:
        self.directory = directory
        values = {
            "broker": broker,
            "kafka.session_seconds": 3,
            "kafka.heartbeat_seconds": 0.5,
            "harvest.window_pages": WINDOW,
            "harvest.interval_seconds": 0.1,
        }
        config = directory / "crawl.toml"
        config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
        self.options = ("--config", str(config))
        self.settings: Settings = load(
            {"data": str(directory / "snapshot")}, config_file=config, environ={}
        ).settings
        self.written: list[list[Outcome]] = [[] for _ in range(PARTITIONS)]
        self._broker = broker.removeprefix("kafka://")
        self._numbers = iter(range(100_000))
        self.ports: list[int] = []

    def worker(self, name: str) -> WorkerProcess:
        self.ports.append(free_port())
        options = (*self.options, "--set", f"metrics.port={self.ports[-1]}")
        return WorkerProcess(name, ("harvest",), self.directory, options)

    def write(self) -> None:
        """Write a round of outcomes, every third one a second time."""
        producer = KafkaProducer(bootstrap_servers=self._broker)
        for _ in range(ROUND):
            outcome = an_outcome(next(self._numbers))
            partition = partition_of(outcome.url, PARTITIONS)
            for _ in range(1 + (outcome.time % 3 == 0)):
                producer.send(OUTCOMES.name, msgspec.json.encode(outcome), partition=partition)
                self.written[partition].append(outcome)
        producer.close()

    def points(self) -> list[HarvestPoint]:
        """Return every point, those of a predicate in their order."""
        return [
            msgspec.json.decode(entry.value or b"", type=HarvestPoint)
            for partition in range(PARTITIONS)
            for entry in kept(self.settings, HARVEST.name, partition)
        ]

    def recount(self, predicate: str, covers: dict[int, int]) -> Harvest:
        """Return the statistics of the outcomes that are covered, each page once."""
        states = []
        for partition, offset in sorted(covers.items()):
            state, seen = Harvest(WINDOW, 60.0), set[str]()
            for outcome in self.written[partition][: offset + 1]:
                if outcome.url not in seen:
                    state.add(outcome.verdict[predicate], outcome.time, outcome.policy, outcome.explored)
                seen.add(outcome.url)
            states.append(state)
        return merged(states)

    def whole(self, predicate: str) -> Harvest:
        return self.recount(predicate, {n: len(log) - 1 for n, log in enumerate(self.written)})

    def counted(self) -> bool:
        """Return whether the newest points are those of everything written."""
        newest = {point.predicate: point.pages for point in self.points()}
        return newest == {name: self.whole(name).pages for name in PREDICATES}


@pytest.fixture
def crawl(tmp_path: Path, empty_kafka: str) -> Crawl:
    crawl = Crawl(tmp_path, empty_kafka)
    printed(tmp_path, "topics", "create", "--partitions", str(PARTITIONS), *crawl.options)
    return crawl


def test_there_is_one_line_a_predicate_whatever_happens_to_the_workers(crawl: Crawl) -> None:
    assert {partition_of(name, PARTITIONS) for name in PREDICATES} == set(range(PARTITIONS))
    with ExitStack() as resources:
        one, two = crawl.worker("one"), crawl.worker("two")
        for worker in (one, two):
            resources.callback(worker.kill)
            worker.start()
        crawl.write()
        wait_for("the first points", crawl.counted)
        wait_for("both to be ready", lambda: all(map(ready, urls(crawl, "readyz"))))
        wait_for("the sums of both", lambda: in_all(crawl) == wholes(crawl))
        two.freeze()
        crawl.write()
        wait_for("one worker to count it all", crawl.counted)
        two.thaw()
        crawl.write()
        one.kill()
        crawl.write()
        wait_for("the other one to count it all", crawl.counted)
        one.start()
        crawl.write()
        wait_for("both to count it all", crawl.counted)
        wait_for("both to be ready again", lambda: all(map(ready, urls(crawl, "readyz"))))
        wait_for("the new sums of both", lambda: in_all(crawl) == wholes(crawl))
    last: dict[str, HarvestPoint] = {}
    for point in crawl.points():
        before = last.get(point.predicate, point)
        assert before.pages <= point.pages
        assert all(offset <= point.covers[partition] for partition, offset in before.covers.items())
        last[point.predicate] = point
        expected = crawl.recount(point.predicate, point.covers)
        assert (point.pages, point.hits, point.policies) == (expected.pages, expected.hits, expected.policies)
        assert (point.rate_by_pages, point.lift) == (expected.rate_by_pages, expected.lift)
    assert {crawl.whole(name).pages for name in PREDICATES} == {5 * ROUND}
    take(crawl.settings, lambda _: None)
    told = printed(crawl.directory, "harvest", "--data", "snapshot").splitlines()[1:]
    assert [line.split("\t")[:3] for line in told] == [
        [name, str(5 * ROUND), str(crawl.whole(name).hits)] for name in PREDICATES
    ]


def test_a_lost_broker_is_said_once_and_the_worker_is_not_ready(crawl: Crawl, broker: Broker) -> None:
    worker = crawl.worker("one")
    [is_ready], [metrics] = urls(crawl, "readyz"), urls(crawl, "metrics")
    with ExitStack() as resources:
        resources.callback(worker.kill)
        worker.start()
        crawl.write()
        wait_for("the first points", crawl.counted)
        before = worker.said()
        broker.kill()
        try:
            wait_for("the loss to be known", lambda: "broker: has not answered" in asked(is_ready)[1])
            wait_for("more to be tried", lambda: read(asked(metrics)[1]).of(BROKERS_LOST) > LOST_SECONDS)
        finally:
            broker.start()
        wait_for("the worker to be ready again", lambda: ready(is_ready))
        crawl.write()
        wait_for("the points after it", crawl.counted)
    said = worker.said().removeprefix(before).splitlines()
    brokers = [line.partition(" kafka: ")[2].partition(" what=")[0].partition(" seconds=")[0] for line in said]
    assert [line for line in brokers if "brokers" in line] == [
        "the brokers do not answer: trying again", "the brokers answer again",
    ]  # fmt: skip
    assert len(said) < 6 and " error " not in "\n".join(said)


def in_all(crawl: Crawl) -> dict[str, list[float]]:
    """Return each predicate's gauges, summed over the workers."""
    scrapes = [read(asked(url)[1]) for url in urls(crawl, "metrics")]
    return {
        name: [sum(scrape.sum(metric, predicate=name) for scrape in scrapes) for metric in MEASURED]
        for name in PREDICATES
    }


def wholes(crawl: Crawl) -> dict[str, list[float]]:
    """Return what they should be."""
    found = {name: crawl.whole(name) for name in PREDICATES}
    return {
        name: [whole.pages, whole.hits, WINDOW, whole.ring_hits, whole.rate] for name, whole in found.items()
    }


MEASURED = (HARVEST_PAGES, HARVEST_HITS, WINDOW_PAGES, WINDOW_HITS, HARVEST_RATE)


def ready(url: str) -> bool:
    try:
        return asked(url)[0] == 200
    except URLError:
        return False  # it has only just been started


def urls(crawl: Crawl, path: str) -> list[str]:
    return [f"http://127.0.0.1:{port}/{path}" for port in crawl.ports]
