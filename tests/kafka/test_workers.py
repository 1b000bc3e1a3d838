"""Crawls by several workers: they wait for slow ones, and the harvest counts each page once."""

import os
from pathlib import Path
from urllib.error import URLError

import msgspec
import pytest
from kafka import KafkaProducer

from bench.faults.faults import FULL_DISK
from deploy.kafka.broker import Broker
from scentline.agents.operate.control import known_steering, submit
from scentline.agents.operate.requests import Seeds
from scentline.agents.operate.topics import take
from scentline.models.published import Exclusion, HarvestPoint, Limit, Outcome
from scentline.models.records import partition_of
from scentline.models.url import host
from scentline.streams.metrics import catalogue
from scentline.streams.metrics.catalogue import PARTITIONS as HELD
from scentline.streams.topics import ACCESSES, HARVEST, INBOXES, OUTCOMES, PAGES, TOPICS, changelog_of
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint, printed, running
from tests.e2e.crawls import write_log
from tests.kafka.crawls import Crawl, crawl_of, servers, settled
from tests.patience import PATIENCE, wait_for
from tests.streams.scraping import asked

SLOW = (5, 3, 60, 3)  # seed, sites, pages a site, topics


# back-pressure

#: Pages in flight, once as many are judged; and with those whose answer takes longer than usual.
FEW, CONNECTIONS = 4, 8
#: Looks in a row that must find the same: for longer than it takes until a fetch counts as a slow one.
LOOKS = 20
#: Python that has a worker take a third of a second for each page that it reads.
SLOWLY = """\
import asyncio
from scentline.agents.judge.process import ExaminerProcess
examine = ExaminerProcess.examine
async def slowly(self, question):
    await asyncio.sleep(0.3)
    return await examine(self, question)
ExaminerProcess.examine = slowly
"""
PACED = {
    "kafka.session_seconds": 6, "kafka.heartbeat_seconds": 2, "fetch.connections": CONNECTIONS,
    "frontier.window_share": 1, "frontier.window_max": FEW, "predicates.menu": 'title("*")',
}  # fmt: skip


def all_ends(crawl: Crawl) -> dict[str, int]:
    return {topic.name: crawl.ends(topic.name) for topic in TOPICS}


@pytest.mark.slow
def test_a_slow_judge_slows_fetching_and_a_frozen_one_stops_it(tmp_path: Path, empty_kafka: str) -> None:
    paced = PACED | {"window.token": "a token of the window"}
    seeds = SyntheticWeb(*SLOW).seeds(3)
    with crawl_of(SLOW, tmp_path, empty_kafka, 1, paced) as crawl:
        crawl.worker("others", "observe", "browse", "fetch", "frontier", "learn", "harvest")
        judge = crawl.worker("judge", "judge", first=SLOWLY)
        submit(crawl.settings, Seeds(tuple(seeds)))
        wait_for("a full window", lambda: crawl.ends(OUTCOMES.name) >= 2 * FEW)
        workers = crawl.addresses[0].removeprefix("http://")
        explain = ("explain", seeds[0], "--set", f"window.workers={workers}")
        assert crawl.command(*explain).splitlines()[1].startswith("state: ")
        none = ("--set", "window.workers=127.0.0.1:9")
        assert "nobody answers" in complaint(tmp_path, *explain, *crawl.options, *none)
        assert "menu" in crawl.command("harvest")
        assert len(crawl.command("matches", "menu").splitlines()) > FEW
        assert "rows in 1 parts" in crawl.command("export", "--out", "pages", "menu")

        def pages_wait() -> bool:
            scrapes = crawl.scrapes()
            lag = {
                topic.name: sum(each.sum(catalogue.LAG, topic=topic.name) for each in scrapes)
                for topic in INBOXES.values()
            }
            assert lag[PAGES.name] <= CONNECTIONS
            return lag[PAGES.name] > 1 and max(lag, key=lag.__getitem__) == PAGES.name

        wait_for("the metrics to name the pages", pages_wait)

        judge.freeze()
        before = all_ends(crawl)
        after = settled(lambda: all_ends(crawl), LOOKS)
        assert after[PAGES.name] - before[PAGES.name] <= CONNECTIONS
        lag = crawl.lag()
        assert 0 < lag.pop(PAGES.name) <= 2 * CONNECTIONS  # what was judged last was not committed yet
        assert lag.total() == 0

        judge.thaw()
        again = after[OUTCOMES.name] + 2 * FEW
        wait_for("pages to be judged again", lambda: crawl.ends(OUTCOMES.name) >= again)


@pytest.mark.slow
def test_feeding_a_log_waits_for_who_takes_it_in(tmp_path: Path, broker: Broker, empty_kafka: str) -> None:
    write_log(tmp_path / "access.log", SyntheticWeb(*SLOW), users=20, accesses=3000)
    with crawl_of(SLOW, tmp_path, empty_kafka, 1, PACED) as crawl:
        arguments = ("feed", "access.log", *crawl.options, "--set", "streams.backlog=5")
        with running(tmp_path, *arguments) as feeder:
            assert feeder.stderr is not None
            said = feeder.stderr.readline()
            assert "waiting for scentline-browse: 6 messages of accesses are not absorbed yet" in said
            assert settled(lambda: all_ends(crawl), LOOKS)[ACCESSES.name] == 6
            broker.kill()
            while "waiting because the lag is unknown" not in said:
                said = feeder.stderr.readline()
                assert said, "the feeder ended"
            broker.start()
            crawl.worker("those who take it in", "browse", "frontier", "learn")
            _, said = feeder.communicate(timeout=PATIENCE)
            assert feeder.returncode == 0, said
        assert crawl.ends(ACCESSES.name) > 6
        wait_for("the rest to be taken in", lambda: crawl.lag()[ACCESSES.name] == 0)


# harvest: on four partitions with two workers there is one line a predicate

PARTITIONS = 4
NEWEST = 50
#: Each partition is that of one predicate's name.
PREDICATES = ("a", "b", "d", "g")
ROUND = 60
#: For how long a broker is away, at least: long enough for whatever else gives up.
LOST_SECONDS = 12.0


def an_outcome(number: int) -> Outcome:
    return Outcome(
        url=f"http://{number % 7}.test/{number}", time=1_700_000_000.0 + number, title="",
        verdict={name: number % place == 0 for place, name in enumerate(PREDICATES, 2)}, predicate="a",
        policy="learned", explored=number % 10 == 0, probability=1.0, priority=0.0, expected=None, depth=0,
        words=(), links=(), origin=f"pages/0@{number}",
    )  # fmt: skip


class Counted(Crawl):
    """What the judges of a crawl write, and the workers that count it."""

    def __init__(self, directory: Path, broker: str) -> None:
        values = {"kafka.session_seconds": 3, "kafka.heartbeat_seconds": 0.5}
        values |= {"harvest.window_pages": NEWEST, "harvest.interval_seconds": 0.1}
        super().__init__(directory, broker, PARTITIONS, values)
        self.written: list[Outcome] = []
        self._numbers = iter(range(100_000))

    def write(self) -> None:
        """Write a round of outcomes, every third one a second time."""
        with KafkaProducer(bootstrap_servers=servers(self.settings.broker)) as producer:
            for outcome in (an_outcome(next(self._numbers)) for _ in range(ROUND)):
                partition = partition_of(outcome.url, PARTITIONS)
                for _ in range(1 + (outcome.time % 3 == 0)):
                    producer.send(OUTCOMES.name, msgspec.json.encode(outcome), partition=partition)
                    self.written.append(outcome)

    def totals(self) -> dict[str, tuple[int, int]]:
        """Return how many pages were written, and how many of them satisfy each predicate."""
        pages = {outcome.url: outcome.verdict for outcome in self.written}
        return {name: (len(pages), sum(verdict[name] for verdict in pages.values())) for name in PREDICATES}

    def points(self) -> list[HarvestPoint]:
        """Return every point, those of a predicate in their order."""
        return self.records(HARVEST.name, HarvestPoint)

    def counted(self) -> bool:
        """Return whether the newest points are those of everything written."""
        return {point.predicate: (point.pages, point.hits) for point in self.points()} == self.totals()

    def measured(self) -> bool:
        """Return whether each predicate's gauges, summed over the workers, are those of everything written."""
        scrapes = self.scrapes()
        return all(
            [sum(scrape.sum(metric, predicate=name) for scrape in scrapes) for metric in MEASURED]
            == [*total, NEWEST]
            for name, total in self.totals().items()
        )

    def ready(self) -> bool:
        try:
            return all(asked(f"{address}/readyz")[0] == 200 for address in self.addresses)
        except URLError:
            return False  # it has only just been started


MEASURED = (catalogue.HARVEST_PAGES, catalogue.HARVEST_HITS, catalogue.WINDOW_PAGES)


def test_there_is_one_line_a_predicate_whatever_befalls_workers(tmp_path: Path, empty_kafka: str) -> None:
    assert {partition_of(name, PARTITIONS) for name in PREDICATES} == set(range(PARTITIONS))
    with Counted(tmp_path, empty_kafka) as crawl:
        one, two = crawl.worker("one", "harvest"), crawl.worker("two", "harvest")
        crawl.write()
        wait_for("the first points", crawl.counted)
        wait_for("both to be ready", crawl.ready)
        wait_for("the sums of both", crawl.measured)
        scrapes = crawl.scrapes()
        assert [scrape.of(catalogue.READY, role="harvest") for scrape in scrapes] == [1, 1]
        assert all(scrape.of(catalogue.REBALANCES, role="harvest") >= 1 for scrape in scrapes)
        assert all(scrape.of(catalogue.RECOVERY, role="harvest") > 0 for scrape in scrapes)
        assert sum(scrape.of(HELD, topic=OUTCOMES.name) for scrape in scrapes) == PARTITIONS
        wait_for("no lag", lambda: not sum(scrape.sum(catalogue.LAG) for scrape in crawl.scrapes()))
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
        wait_for("the new sums of both", crawl.measured)
    last: dict[str, HarvestPoint] = {}
    for point in crawl.points():
        before = last.get(point.predicate, point)
        assert before.pages <= point.pages
        assert all(offset <= point.covers[partition] for partition, offset in before.covers.items())
        last[point.predicate] = point
    take(crawl.settings, lambda _: None)
    told = printed(crawl.directory, "harvest", "--data", "snapshot").splitlines()[1:]
    assert [line.split("\t")[:3] for line in told] == [
        [name, *map(str, total)] for name, total in crawl.totals().items()
    ]


def test_a_lost_broker_is_said_once_no_worker_ready(tmp_path: Path, broker: Broker, empty_kafka: str) -> None:
    with Counted(tmp_path, empty_kafka) as crawl:
        worker = crawl.worker("one", "harvest")
        crawl.write()
        wait_for("the first points", crawl.counted)
        before = worker.said()
        broker.kill()
        try:
            is_ready = f"{crawl.addresses[0]}/readyz"
            wait_for("the loss to be known", lambda: "broker: has not answered" in asked(is_ready)[1])
            wait_for("more to be tried", lambda: crawl.scrapes()[0].of(catalogue.BROKERS_LOST) > LOST_SECONDS)
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


def test_a_disk_that_fills_while_a_table_is_recovered_ends_the_worker(tmp_path: Path, empty_kafka: str) -> None:
    with Crawl(tmp_path, empty_kafka, 1, {}) as crawl:
        with KafkaProducer(bootstrap_servers=servers(empty_kafka)) as producer:
            for number in range(1000):
                producer.send(changelog_of("harvest"), os.urandom(1000), str(number).encode())
        worker = crawl.worker("one", "harvest", prefix=FULL_DISK)
        wait_for("the worker to end", lambda: not worker.running)
    last = worker.said().splitlines()[-1]
    assert last.startswith("scentline: error: writing to "), worker.said()
    assert "too large" in last and worker.status == 2


# steering

BUDGET, WINDOW = 60, 8


@pytest.mark.slow
def test_two_workers_leave_out_what_is_excluded_and_end_at_a_budget(tmp_path: Path, empty_kafka: str) -> None:
    values = {
        # Few pages are judged while a verdict is on its way through the learner.
        "fetch.delay_seconds": 0.5, "fetch.connections": WINDOW, "frontier.window_share": 1,
        "frontier.window_max": WINDOW, "predicates.menu": 'title("*")',
    }  # fmt: skip
    seeds = tuple(SyntheticWeb(5, 8, 40, 2).seeds(8))
    with crawl_of((5, 8, 40, 2), tmp_path, empty_kafka, PARTITIONS, values) as crawl:
        submit(crawl.settings, Exclusion(prefix=f"http://{host(seeds[0])}/"))
        submit(crawl.settings, Limit(name="pages", most=BUDGET))
        for name in ("one", "two"):
            crawl.worker(name, "all")
        submit(crawl.settings, Seeds(seeds))
        wait_for("the budget to be spent", lambda: crawl.ends(OUTCOMES.name) >= BUDGET)
        judged = settled(lambda: crawl.ends(OUTCOMES.name), LOOKS)
        found = crawl.records(OUTCOMES.name, Outcome)
        limits = [each for each in known_steering(crawl.settings).in_force if isinstance(each, Limit)]
    assert host(seeds[0]) not in {host(outcome.url) for outcome in found}
    # What the learner had not told is a part of a window: the verdicts of pages that were just in flight.
    assert judged <= BUDGET + 2 * WINDOW
    assert [(each.most, each.setting) for each in limits] == [(BUDGET, 0)], "workers tell that it replaced none"
