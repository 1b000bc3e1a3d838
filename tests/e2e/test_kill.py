"""A crawl that is killed again and again loses nothing and counts nothing twice."""

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import msgspec
import pytest

from scentline.agents.frontier.rows import FrontierRow, PageRow
from scentline.models.url import host
from scentline.streams.records import FetchOrder, encode
from scentline.streams.topics import EVIDENCE, FETCHES, OUTCOMES, PAGES, SIGHTINGS, partition_of
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import forked, last_line, printed
from tests.agents.shards import rows_of
from tests.patience import PATIENCE
from tests.streams.test_one_batch import cut

WEB = (5, 4, 60, 4)  # seed, sites, pages a site, topics
#: Between two looks at what a crawl has written: each takes time of the crawl's own.
LOOK_SECONDS = 0.05


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


class Crawl:
    """The same command each time, on the same data."""

    def __init__(
        self, directory: Path, proxy: str, policy: str, budget: int, options: Sequence[str] = ()
    ) -> None:
        web = SyntheticWeb(*WEB)
        self.directory = directory
        self.data = directory / "data"
        self.policy = policy
        self.budget = budget
        self.options = options
        log = directory / "access.log"
        log.write_text("\n".join(web.access_log(users=20, accesses=400)) + "\n")
        labels = directory / "labels.tsv"
        labels.write_text("".join(f"{url}\t{category}\n" for url, category in web.labels()))
        topics = sorted(web.facts().pages)
        self.arguments = (
            "crawl",
            *(option for seed in web.seeds(2) for option in ("--seed", seed)),
            *("--log", str(log), "--labels", str(labels), "--json"),
            *("--budget", str(budget), "--policy", policy),
            *(option for topic in topics[:2] for option in ("--predicate", f'{topic}=category("{topic}")')),
            *("--set", f"fetch.proxy={proxy}", "--set", "fetch.delay_seconds=0"),
        )

    def finish(self, *arguments: str) -> dict[str, object]:
        """Run a command to its end; return its last line of JSON."""
        text = printed(self.directory, *self.words(*(arguments or self.arguments)))
        found: dict[str, object] = last_line(text)
        return found

    def words(self, *arguments: str) -> list[str]:
        """Return a command's arguments with those that are always the same."""
        return [*arguments, "--data", str(self.data), *self.options]

    def written(self, topic: str) -> int:
        """Return how many records a topic has had."""
        try:
            with Journal.open(self.data / "journal", read_only=True) as journal:
                return sum(journal.end(topic, partition) for partition in range(journal.partitions(topic)))
        except (JournalMissingError, UnknownTopicError):
            return 0

    def kill_after(self, topic: str, records: int) -> bool:
        """Start, and kill when a topic has that many new records; return whether it still ran then."""
        before = self.written(topic)
        deadline = time.monotonic() + PATIENCE
        with forked(self.directory, *self.words(*self.arguments)) as crawl:
            while (running := crawl.process.is_alive()) and self.written(topic) < before + records:
                assert time.monotonic() < deadline, f"no {records} new records in {topic}"
                time.sleep(LOOK_SECONDS)
            return running

    def leave_orders(self, count: int) -> None:
        """Put orders into the log whose rows were not written: what a crash between the two leaves on Kafka."""
        decode = msgspec.msgpack.Decoder(FrontierRow).decode
        found = (decode(raw) for _, raw in rows_of(self.data, "frontier", b"p"))
        rows = islice((row for row in found if isinstance(row, PageRow) and row.state == "candidate"), count)
        orders = [
            FetchOrder(
                url=row.url,
                order=row.attempts + 1,
                predicate="none",
                policy=self.policy,
                explored=False,
                probability=1.0,
                priority=0.0,
                depth=row.depth,
                lease=time.time() + 120.0,
            )
            for row in rows
        ]
        assert len(orders) == count
        with Journal.open(self.data / "journal") as journal:
            partitions = journal.partitions(FETCHES.name)
            places = [(FETCHES.name, partition_of(host(order.url), partitions)) for order in orders]
            entries = [(*place, None, encode(order)) for place, order in zip(places, orders, strict=True)]
            journal.append_all(entries, time.time())


def kill_again_and_again(crawl: Crawl, kills: int, random: Random) -> None:
    topics = {SIGHTINGS: 40, EVIDENCE: 20, FETCHES: 20, PAGES: 20, OUTCOMES: 20}
    assert crawl.kill_after(SIGHTINGS.name, 3), "it ended before it was killed"  # while it reads the log
    for _ in range(kills - 1):
        topic = random.choice(list(topics))
        assert crawl.kill_after(topic.name, random.randint(1, topics[topic])), "it ended before it was killed"
    assert crawl.finish()["fetched"] == crawl.budget
    check(crawl)


def check(crawl: Crawl) -> None:
    report = crawl.finish("audit", "--json")
    assert report["rows"]
    found = {name: report[name] for name in ("judged", "judged_twice", "lost", "differences")}
    assert found == {
        "judged": crawl.budget,
        "judged_twice": 0,
        "lost": 0,
        "differences": 0,
    }


@pytest.mark.parametrize(
    ("policy", "budget", "kills", "partitions"), [("learned", 120, 4, 1), ("combined", 100, 3, 3)]
)
def test_a_crawl_that_is_killed_again_and_again_counts_every_page_and_access_once(
    tmp_path: Path, proxy: str, policy: str, budget: int, kills: int, partitions: int
) -> None:
    crawl = Crawl(tmp_path, proxy, policy, budget, ("--set", f"streams.partitions={partitions}"))
    kill_again_and_again(crawl, kills, Random(partitions))


def test_a_crawl_whose_machine_loses_power_again_and_again_counts_every_page_and_access_once(
    tmp_path: Path, proxy: str
) -> None:
    crawl, random = Crawl(tmp_path, proxy, "learned", 120), Random(7)
    for topic in (SIGHTINGS, OUTCOMES, EVIDENCE, PAGES):
        assert crawl.kill_after(topic.name, random.randint(3, 30)), "it ended before it was killed"
        before = crawl.written(topic.name)
        cut(crawl.data / "journal", random.randint(100, 999))
        assert crawl.written(topic.name) <= before
    assert crawl.finish()["fetched"] == crawl.budget
    check(crawl)


def test_orders_that_a_crash_left_without_their_rows_are_answered_and_counted_once(
    tmp_path: Path, proxy: str
) -> None:
    crawl = Crawl(tmp_path, proxy, "linkage", 60)
    assert crawl.kill_after(OUTCOMES.name, 20)
    crawl.leave_orders(15)
    assert crawl.finish()["fetched"] == crawl.budget
    check(crawl)
