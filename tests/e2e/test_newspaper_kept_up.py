"""A news site is kept up with through kill -9: each article is told of as it appears."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agents.commands import printed, running, wait_until
from tests.e2e.pace import keeps
from tests.webs.newspaper.server import Asked, read_record
from tests.webs.newspaper.site import LISTED, Site
from tests.webs.process import serve_newspaper

SITE = Site(old=20, first=3, articles=6, every=10)
ARTICLES = [f"/news/{article}" for article in range(SITE.first + SITE.articles)]
PAGES = 2 + SITE.old // LISTED + SITE.old + len(ARTICLES)
DELAY = 0.05
#: Requests after which a crawl is killed, again and again: the site still publishes.
KILLS = (12, 30, 45, 60)


@dataclass(frozen=True)
class Kept:
    """What the server was asked, and the changes that were told."""

    asked: list[Asked]
    changes: list[dict[str, str]]
    directory: Path
    url: str


def command(url: str, *ends: str) -> list[str]:
    """Return the command of the crawl; without what ``ends`` it, it goes on."""
    given = {
        "fetch.allow": "127.0.0.1", "fetch.delay_seconds": DELAY, "fetch.delay_factor": 0,
        "judge.duplicates": "false", "frontier.policy": "linkage",
        "revisit.shortest_seconds": 0.2, "revisit.change_days": 1e-5,
    }  # fmt: skip
    options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    seeds = ("--seed", url, "--seed", f"{url}quiet")
    return ["crawl", *(ends or ("--keep-up",)), *seeds, "--predicate", 'any="page"', *options]


def told(directory: Path) -> list[dict[str, str]]:
    """Return the changes as a program reads them."""
    lines = printed(directory, "changes", "--set", "frontier.revisit=0.5", "--format", "jsonl").splitlines()
    return [json.loads(line) for line in lines]


def asked(record: Path) -> int:
    """Return how many requests the server had."""
    return len(read_record(record)) if record.exists() else 0


def appeared(directory: Path, url: str) -> bool:
    found = {change["url"] for change in told(directory) if change["kind"] == "appeared"}
    return found.issuperset(f"{url.rstrip('/')}{path}" for path in ARTICLES)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    directory = tmp_path_factory.mktemp("killed")
    record = directory / "asked.jsonl"
    with serve_newspaper(SITE, record) as server:
        for requests in KILLS:
            with running(directory, *command(server.url)) as process:
                wait_until(lambda: asked(record) >= requests, process)  # noqa: B023
        with running(directory, *command(server.url)) as process:
            wait_until(lambda: appeared(directory, server.url), process)
            process.terminate()
            process.wait()
        # What was under way when it was stopped is taken in by the next run, which may make no more requests.
        printed(directory, *command(server.url, "--requests", "1", "--set", "frontier.revisit=0.5"))
        return Kept(read_record(record), told(directory), directory, server.url)


def test_each_page_is_told_of_once(kept: Kept) -> None:
    found = [change["url"] for change in kept.changes if change["kind"] == "appeared"]
    assert len(found) == len({*found}) == PAGES


def test_a_page_that_stays_as_it_is_changes_nothing(kept: Kept) -> None:
    assert {change["url"] for change in kept.changes if change["kind"] == "changed"} <= {kept.url}
    assert not [change for change in kept.changes if change["kind"] in ("left", "moved")]


def test_a_new_article_is_fetched_within_a_few_looks_at_the_front_page(kept: Kept) -> None:
    for article, path in list(enumerate(ARTICLES))[SITE.first :]:
        fetched = next(asked.before for asked in kept.asked if asked.path == path)
        looks = [
            asked
            for asked in kept.asked
            if asked.path == "/" and SITE.published(article) <= asked.before < fetched
        ]
        assert 1 <= len(looks) <= 4, path


def test_what_is_known_is_asked_for_another_version_only(kept: Kept) -> None:
    asked = Counter(asked.path for asked in kept.asked if not asked.conditional)
    assert all(asked[path] <= 1 + len(KILLS) for path in ARTICLES)  # its answer may be lost with each kill
    assert sum(asked.status == 304 for asked in kept.asked) > len(ARTICLES)


def test_no_delay_is_broken(kept: Kept) -> None:
    assert keeps([asked.time for asked in kept.asked], DELAY)


def test_nothing_is_lost_or_counted_twice(kept: Kept) -> None:
    report = json.loads(printed(kept.directory, "audit", "--json"))
    found = {name: report[name] for name in ("behind", "judged", "judged_twice", "lost", "differences")}
    assert found == {"behind": 0, "judged": PAGES, "judged_twice": 0, "lost": 0, "differences": 0}


def test_it_is_told_what_the_visits_showed(kept: Kept) -> None:
    lines = printed(kept.directory, "explain", kept.url).splitlines()
    assert [line for line in lines if line.startswith("visited again ") and " due " in line]
