"""On four partitions with two workers there is one line a predicate, whatever happens to the workers."""

from pathlib import Path
from urllib.error import URLError

import msgspec
from kafka import KafkaProducer

from deploy.kafka.broker import Broker
from scentline.agents.operate.snapshot import take
from scentline.models.harvest import Harvest, merged
from scentline.streams.metrics.catalogue import (
    BROKERS_LOST,
    HARVEST_HITS,
    HARVEST_PAGES,
    HARVEST_RATE,
    LAG,
    READY,
    REBALANCES,
    RECOVERY,
    WINDOW_HITS,
    WINDOW_PAGES,
)
from scentline.streams.metrics.catalogue import PARTITIONS as HELD
from scentline.streams.published import HarvestPoint, Outcome
from scentline.streams.topics import HARVEST, OUTCOMES, partition_of
from scentline.streams.transport.kafka.admin import kept
from tests.agents.commands import printed
from tests.kafka.crawls import Crawl, servers
from tests.patience import wait_for
from tests.streams.scraping import asked

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


class Counted(Crawl):
    """What the judges of a crawl write, and the workers that count it."""

    def __init__(self, directory: Path, broker: str) -> None:
        values = {
            "kafka.session_seconds": 3,
            "kafka.heartbeat_seconds": 0.5,
            "harvest.window_pages": WINDOW,
            "harvest.interval_seconds": 0.1,
        }
        super().__init__(directory, broker, PARTITIONS, values)
        self.written: list[list[Outcome]] = [[] for _ in range(PARTITIONS)]
        self._broker = servers(broker)
        self._numbers = iter(range(100_000))

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

    def in_all(self) -> dict[str, list[float]]:
        """Return each predicate's gauges, summed over the workers."""
        scrapes = self.scrapes()
        return {
            name: [sum(scrape.sum(metric, predicate=name) for scrape in scrapes) for metric in MEASURED]
            for name in PREDICATES
        }

    def wholes(self) -> dict[str, list[float]]:
        """Return what they should be."""
        found = {name: self.whole(name) for name in PREDICATES}
        return {
            name: [whole.pages, whole.hits, WINDOW, whole.ring_hits, whole.rate]
            for name, whole in found.items()
        }

    def ready(self) -> bool:
        try:
            return all(asked(f"{address}/readyz")[0] == 200 for address in self.addresses)
        except URLError:
            return False  # it has only just been started


MEASURED = (HARVEST_PAGES, HARVEST_HITS, WINDOW_PAGES, WINDOW_HITS, HARVEST_RATE)


def test_there_is_one_line_a_predicate_whatever_happens_to_the_workers(
    tmp_path: Path, empty_kafka: str
) -> None:
    assert {partition_of(name, PARTITIONS) for name in PREDICATES} == set(range(PARTITIONS))
    with Counted(tmp_path, empty_kafka) as crawl:
        one, two = crawl.worker("one", "harvest"), crawl.worker("two", "harvest")
        crawl.write()
        wait_for("the first points", crawl.counted)
        wait_for("both to be ready", crawl.ready)
        wait_for("the sums of both", lambda: crawl.in_all() == crawl.wholes())
        scrapes = crawl.scrapes()
        assert [scrape.of(READY, role="harvest") for scrape in scrapes] == [1, 1]
        assert all(scrape.of(REBALANCES, role="harvest") >= 1 for scrape in scrapes)
        assert all(scrape.of(RECOVERY, role="harvest") > 0 for scrape in scrapes)
        assert sum(scrape.of(HELD, topic=OUTCOMES.name) for scrape in scrapes) == PARTITIONS
        wait_for("no lag", lambda: not sum(scrape.sum(LAG) for scrape in crawl.scrapes()))
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
        wait_for("both to be ready again", crawl.ready)
        wait_for("the new sums of both", lambda: crawl.in_all() == crawl.wholes())
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


def test_a_lost_broker_is_said_once_and_the_worker_is_not_ready(
    tmp_path: Path, broker: Broker, empty_kafka: str
) -> None:
    with Counted(tmp_path, empty_kafka) as crawl:
        worker = crawl.worker("one", "harvest")
        crawl.write()
        wait_for("the first points", crawl.counted)
        before = worker.said()
        broker.kill()
        try:
            is_ready = f"{crawl.addresses[0]}/readyz"
            wait_for("the loss to be known", lambda: "broker: has not answered" in asked(is_ready)[1])
            wait_for("more to be tried", lambda: crawl.scrapes()[0].of(BROKERS_LOST) > LOST_SECONDS)
        finally:
            broker.start()
        wait_for("the worker to be ready again", crawl.ready)
        crawl.write()
        wait_for("the points after it", crawl.counted)
        said = worker.said().removeprefix(before).splitlines()
    brokers = [line.partition(" kafka: ")[2].partition(" what=")[0].partition(" seconds=")[0] for line in said]
    assert [line for line in brokers if "brokers" in line] == [
        "the brokers do not answer: trying again", "the brokers answer again",
    ]  # fmt: skip
    assert len(said) < 6 and " error " not in "\n".join(said)
