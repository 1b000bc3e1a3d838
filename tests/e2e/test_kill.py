"""A crawl that is killed again and again loses nothing and counts nothing twice."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from scentline.agents.operate.control import known_predicates, known_steering, submit
from scentline.agents.operate.requests import Redefinition, Request, Seeds
from scentline.models.frontier.keys import HOST_PREFIX
from scentline.models.frontier.rows import FrontierRow, HostRow
from scentline.models.published import Exclusion, Limit, Pausing, Slowing
from scentline.models.records import Decoder, FetchOrder, encode, partition_of
from scentline.models.url import host
from scentline.streams.settings import Settings
from scentline.streams.topics import EVIDENCE, FETCHES, OUTCOMES, PAGES, SIGHTINGS, Topic
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import Forked, forked, last_line, printed
from tests.agents.shards import rows_of
from tests.e2e.crawls import SIZE, each, exact, options, pages_of, synthetic, topics, write_labels, write_log
from tests.patience import PATIENCE
from tests.streams.test_commits import cut

#: Between two looks at what a crawl has written: each takes time of the crawl's own.
LOOK_SECONDS = 0.05


class Crawl:
    """The same command each time, on the same data."""

    def __init__(
        self, directory: Path, web: SyntheticWeb, proxy: str, given: Mapping[str, object], *more: str
    ) -> None:
        self.directory, self.data = directory, directory / "scentline-data"
        write_log(directory / "access.log", web, users=20, accesses=400)
        write_labels(directory / "labels.tsv", web)
        self._settings = options({"fetch.delay_seconds": 0, "fetch.proxy": proxy} | dict(given))
        predicates = (f'{topic}=category("{topic}")' for topic in topics(web)[:2])
        self.words = [
            "crawl", *each("--seed", web.seeds(2)), "--log", "access.log", "--labels", "labels.tsv", "--json",
            *each("--predicate", predicates), *more, *self._settings,
        ]  # fmt: skip

    def finish(self) -> dict[str, Any]:
        """Crawl to the end and audit the crawl; return what it came to."""
        found: dict[str, Any] = last_line(printed(self.directory, *self.words))
        self.check(found["fetched"])
        return found

    def check(self, judged: int) -> None:
        exact(self.directory, *self._settings, judged=judged)

    def written(self, topic: Topic) -> int:
        try:
            with Journal.open(self.data / "journal", read_only=True) as journal:
                return sum(journal.end(topic.name, part) for part in range(journal.partitions(topic.name)))
        except (JournalMissingError, UnknownTopicError):
            return 0

    def wait(self, run: Forked, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert run.process.is_alive(), f"it ended before it was killed: {run.err.read_text()}"
            assert time.monotonic() < deadline, "what is waited for never comes"
            time.sleep(LOOK_SECONDS)

    def kill_after(self, topic: Topic, records: int) -> None:
        """Crawl, and kill the crawl when a topic has so many new records."""
        enough = self.written(topic) + records
        with forked(self.directory, *self.words) as run:
            self.wait(run, lambda: self.written(topic) >= enough)

    def leave_orders(self, count: int) -> None:
        """Put orders into the log whose rows were not written: what a crash between the two leaves on Kafka."""
        rows = [row for row in pages_of(self.data) if row.state == "candidate"][:count]
        assert len(rows) == count
        with Journal.open(self.data / "journal") as journal:
            partitions = journal.partitions(FETCHES.name)
            for row in rows:
                order = FetchOrder(
                    url=row.url, order=row.attempts + 1, predicate="none", policy="pagerank", explored=False,
                    probability=1.0, priority=0.0, depth=row.depth, lease=time.time() + 120.0,
                )  # fmt: skip
                partition = partition_of(host(row.url), partitions)
                journal.append(FETCHES.name, partition, None, encode(order), time.time())


@pytest.mark.parametrize(
    "given",
    [
        {"frontier.policy": "combined", "streams.partitions": 3, "frontier.depth": "auto"},
        {"frontier.ordering": "behaviour-fetch", "frontier.visited_patterns_only": "true"},
    ],
    ids=str,
)
def test_a_crawl_that_is_killed_again_and_again_counts_every_page_and_access_once(
    tmp_path: Path, web: SyntheticWeb, proxy: str, given: Mapping[str, object]
) -> None:
    crawl, random, budget = Crawl(tmp_path, web, proxy, given, "--budget", "150"), Random(len(given)), 150
    crawl.kill_after(SIGHTINGS, 3)  # while it reads the log
    for _ in range(2):
        crawl.kill_after(random.choice((SIGHTINGS, FETCHES, PAGES, OUTCOMES)), random.randint(1, 20))
    assert crawl.finish()["fetched"] == budget
    if "frontier.depth" in given:
        raws = rows_of(crawl.data, "frontier", HOST_PREFIX)
        found = (msgspec.msgpack.decode(raw, type=FrontierRow) for _, raw in raws)
        depths = [row.depth for row in found if isinstance(row, HostRow) and row.depth is not None]
        assert sum(sum(row.growth.pages) for row in depths) == budget
        assert sum(row.sessions for row in depths) > len(depths) > 1


def test_a_crawl_among_dead_links_that_loses_power_again_and_again_counts_requests_once(tmp_path: Path) -> None:
    random, requests, dead = Random(7), 160, SyntheticWeb(*SIZE, dead=0.3)
    with synthetic(dead) as served:
        learned = {"frontier.policy": "learned"}
        crawl = Crawl(tmp_path, dead, served.origin, learned, "--requests", str(requests))
        for topic in (SIGHTINGS, OUTCOMES, EVIDENCE, PAGES):
            crawl.kill_after(topic, random.randint(3, 25))
            before = crawl.written(topic)
            cut(crawl.data / "journal", random.randint(100, 999))
            assert crawl.written(topic) <= before
        found = crawl.finish()
    assert found["requests"] == requests
    assert requests - found["fetched"] > 10


def test_orders_that_crashes_left_rowless_count_once(tmp_path: Path, web: SyntheticWeb, proxy: str) -> None:
    crawl = Crawl(tmp_path, web, proxy, {"frontier.ordering": "pagerank"}, "--budget", "60")
    crawl.finish()
    crawl.leave_orders(15)  # for which the budget has room
    crawl.words[crawl.words.index("60")] = "100"
    assert crawl.finish()["fetched"] == 100


def hosts_ordered(data: Path, after: int) -> list[str]:
    decode = Decoder[FetchOrder](FetchOrder)
    with Journal.open(data / "journal", read_only=True) as journal:
        entries = journal.read(FETCHES.name, 0, after, 1_000)
    return [host(decode(entry.value or b"").url) for entry in entries]


def test_what_was_asked_of_a_crawl_holds_after_a_kill(tmp_path: Path, web: SyntheticWeb, proxy: str) -> None:
    site, setting, steered, more = host(web.seeds(1)[0]), 400, 60, 75
    topic, seed = min(topics(web)), list(web.labels())[-1][0]
    pause, resume = Pausing(on=True), Pausing(on=False)
    crawl = Crawl(tmp_path, web, proxy, {"fetch.delay_seconds": 0.02}, "--budget", str(setting))
    settings = Settings(data=crawl.data)

    def ask(*requests: Request) -> int:
        """Have requests carried out; return how many orders there were when the last one was."""
        for request in requests:
            assert submit(settings, request)
        return crawl.written(FETCHES)

    with forked(tmp_path, *crawl.words) as run:
        crawl.wait(run, lambda: crawl.written(OUTCOMES) >= 10)
        ask(Redefinition(topic, share=4.0), Seeds((seed,)))
        paused = ask(
            Limit(name="pages", most=steered), Exclusion(prefix=f"http://{site}/"), pause, resume, pause
        )
        assert ask(Slowing(name="a.test", seconds=2.0)) == paused
    with forked(tmp_path, *crawl.words) as run:
        assert ask(Slowing(name="a.test", seconds=0.0)) == paused
        crawl.wait(run, lambda: run.err.exists() and "; paused" in run.err.read_text())
        assert crawl.written(FETCHES) == paused
        ask(resume)
        run.process.join(PATIENCE)
    crawl.check(steered)
    assert known_predicates(settings)[topic].share == 4.0
    assert seed in {row.url for row in pages_of(crawl.data) if row.seed}
    assert site not in hosts_ordered(crawl.data, paused)
    [exclusion, limit] = sorted(known_steering(settings).in_force, key=lambda each: isinstance(each, Limit))
    assert isinstance(limit, Limit)
    assert (limit.most, limit.setting) == (steered, setting)
    before = ask(Exclusion(name=exclusion.name, on=False), Limit(name="pages", most=more))
    assert crawl.finish()["fetched"] == more
    assert site in hosts_ordered(crawl.data, before)
