"""Requests of a crawl among dead links: fewer of them fail, their budget is kept, and each counts once."""

import time
from pathlib import Path
from typing import Any

import pytest

from scentline.streams.topics import EVIDENCE
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from tests.agents.commands import forked, last_line, printed
from tests.patience import PATIENCE

REQUESTS = 240


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a web, of whose links to articles three in ten are dead."""
    return a_web(tmp_path_factory.mktemp("requests"), sites=4, pages=80)


def a_web(directory: Path, sites: int, pages: int) -> Path:
    size = ("--sites", str(sites), "--pages", str(pages), "--topics", "4")
    printed(directory, "synthetic", "--out", "web", *size, "--dead", "0.3")
    return directory


def command(directory: Path, data: str, *options: str) -> tuple[str, ...]:
    seeds = (directory / "web" / "seeds.txt").read_text().split()
    return (
        "crawl", "--archive", "web/pages.warc.gz", "--labels", "web/topics.tsv.gz",
        *(word for seed in seeds for word in ("--seed", seed)), "--predicate", 'sports=category("Sports")',
        "--requests", str(REQUESTS), "--data", data, "--json", *options,
    )  # fmt: skip


def audited(directory: Path, data: str) -> dict[str, Any]:
    report = last_line(printed(directory, "audit", "--data", data, "--json"))
    return {name: report[name] for name in ("judged", "judged_twice", "lost", "differences")}


def test_of_as_many_requests_fewer_fail_than_in_the_order_of_links(tmp_path: Path) -> None:
    directory = a_web(tmp_path, sites=8, pages=100)  # pages that satisfy are left to the end
    learned = last_line(printed(directory, *command(directory, "learned")))
    breadth = last_line(printed(directory, *command(directory, "breadth", "--policy", "breadth-first")))
    assert learned["requests"] == breadth["requests"] == REQUESTS
    assert learned["fetched"] > breadth["fetched"]
    for data, found in (("learned", learned), ("breadth", breadth)):
        assert audited(directory, data) == {
            "judged": found["fetched"], "judged_twice": 0, "lost": 0, "differences": 0,
        }  # fmt: skip


def test_a_crawl_among_dead_links_that_is_killed_counts_each_request_once(directory: Path) -> None:
    for more in (7, 25, 60):
        kill_after(directory, "killed", more)
    found = last_line(printed(directory, *command(directory, "killed")))
    assert found["requests"] == REQUESTS
    assert found["requests"] - found["fetched"] > 20
    assert audited(directory, "killed") == {
        "judged": found["fetched"], "judged_twice": 0, "lost": 0, "differences": 0,
    }  # fmt: skip


def kill_after(directory: Path, data: str, records: int) -> None:
    """Crawl, and kill the crawl when `evidence` has so many new records."""
    before = told(directory / data)
    deadline = time.monotonic() + PATIENCE
    with forked(directory, *command(directory, data)) as crawl:
        while told(directory / data) < before + records:
            assert crawl.process.is_alive(), "it ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.05)


def told(data: Path) -> int:
    """Return how many records `evidence` has had."""
    try:
        with Journal.open(data / "journal", read_only=True) as journal:
            return sum(journal.end(EVIDENCE.name, part) for part in range(journal.partitions(EVIDENCE.name)))
    except (JournalMissingError, UnknownTopicError):
        return 0
