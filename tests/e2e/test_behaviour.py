"""Whole-site crawls in the order of what users do there, on a forum that has what Liu 2011 assumes.

Its lists and topics are read, its profiles hardly, its printable copies never; half of its topics are newer
than the log. Nothing but the pattern of their URLs tells these from the copies.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.agents.commands import last_line, printed
from tests.agents.test_archive import page, write
from tests.agents.test_cli_crawl import outcomes_of, pages_of

ROOT = "http://forum.test"
LISTS = [f"{ROOT}/list/{name}" for name in ("cars", "boats", "bikes", "trains", "planes", "trams")]
TOPICS = [[f"{ROOT}/topic/{name.rpartition('/')[2]}-{number}" for number in range(10)] for name in LISTS]
AGENT = "Mozilla/5.0 (X11; Linux x86_64) Firefox/99.0"


def of(kind: str, topic: str) -> str:
    return topic.replace("/topic/", f"/{kind}/")


ALL_TOPICS = [topic for topics in TOPICS for topic in topics]
PROFILES = [of("user", topic) for topic in ALL_TOPICS]
COPIES = [of("print", topic) for topic in ALL_TOPICS]


def html(url: str, links: Sequence[str]) -> bytes:
    found = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<title>{url}</title><p>{found}".encode()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the forum's archive and its log."""
    directory = tmp_path_factory.mktemp("forum")
    web = {f"{ROOT}/": [*COPIES[:5], *PROFILES[:5], *LISTS]}
    for name, topics in zip(LISTS, TOPICS, strict=True):
        around = (link for topic in topics for link in (of("print", topic), of("user", topic), topic))
        web[name] = [*LISTS, *around]
    web |= {topic: [of("user", topic), of("print", topic)] for topic in ALL_TOPICS}
    web |= {url: [] for url in (*PROFILES, *COPIES)}
    write(directory / "pages.warc.gz", *(page(url, html(url, links)) for url, links in web.items()))
    (directory / "access.log").write_text("".join(log(Random(5))))
    return directory


def log(random: Random) -> Iterator[str]:
    """Yield what forty people did: each reads a list's topics, every fourth a profile."""
    second = 0
    for number in range(40):
        name = random.randrange(len(LISTS))
        ways = [(LISTS[name], "-"), *((topic, LISTS[name]) for topic in random.sample(TOPICS[name][:5], 4))]
        if number % 4 == 0:
            topic = ways[-1][0]
            ways.append((of("user", topic), topic))
        for url, referrer in ways:
            second += 7
            time = f"21/Nov/2026:{10 + second // 3600}:{second // 60 % 60:02}:{second % 60:02} +0000"
            yield f'10.0.0.{number} - - [{time}] "GET {url} HTTP/1.1" 200 900 "{referrer}" "{AGENT}"\n'


def crawled(cwd: Path, files: Path, budget: int, *options: str) -> list[str]:
    """Read the log while one page is fetched, then crawl; return the pages as they were judged."""
    command = (
        "crawl", "--archive", str(files / "pages.warc.gz"), "--log", str(files / "access.log"),
        "--seed", f"{ROOT}/", "--data", "data", "--json", "--set", "frontier.explore=0",
        "--set", "frontier.window_max=1", *options,
    )  # fmt: skip
    printed(cwd, *command, "--set", "frontier.host_budget=1")
    summary: Any = last_line(printed(cwd, *command, "--budget", str(budget)))
    found = sorted(outcomes_of(cwd / "data"), key=lambda outcome: outcome.time)
    assert summary["fetched"] == len(found)
    return [outcome.url for outcome in found]


def test_behaviour_fetch_takes_what_is_read_old_or_new_before_the_rest(tmp_path: Path, files: Path) -> None:
    read = len(LISTS) + len(ALL_TOPICS)
    pages = crawled(tmp_path, files, read, "--ordering", "behaviour-fetch")
    assert set(pages[1:]) <= {*LISTS, *ALL_TOPICS}
    report: Any = last_line(printed(tmp_path, "audit", "--data", "data", "--json"))
    assert (report["judged"], report["lost"], report["differences"]) == (read, 0, 0)


def test_behaviour_discovery_takes_what_leads_to_the_rest_first(tmp_path: Path, files: Path) -> None:
    pages = crawled(tmp_path, files, 10, "--ordering", "behaviour-discovery")
    assert set(pages[2 : len(LISTS)]) <= set(LISTS)


def test_patterns_without_visits_are_left_out(tmp_path: Path, files: Path) -> None:
    options = ("--ordering", "breadth-first", "--set", "frontier.visited_patterns_only=true")
    pages = crawled(tmp_path, files, 500, *options)
    assert sorted(pages[1:]) == sorted([*LISTS, *ALL_TOPICS, *PROFILES])
    assert {row.state for row in pages_of(tmp_path / "data") if row.url in COPIES} == {"candidate"}
    said = printed(tmp_path, "explain", COPIES[0], "--data", "data", *options[2:])
    assert "not fetched: no visits match its pattern" in said
