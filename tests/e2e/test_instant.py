"""A news site is crawled while it publishes: news are fetched as they break, and the rest is not starved."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agents.commands import last_line, printed, running, wait_until
from tests.e2e.pace import keeps
from tests.webs.newspaper.server import Asked, read_record
from tests.webs.newspaper.site import LISTED, Site
from tests.webs.process import serve_newspaper

SITE = Site(old=30, first=3, articles=6, every=8)
PAGES = 2 + SITE.old // LISTED + SITE.old + SITE.first + SITE.articles
NEW = [f"/news/{article}" for article in range(SITE.first, SITE.first + SITE.articles)]
DELAY = 0.1
#: Requests after which a crawl is killed: the site still publishes.
KILLED_AFTER = 25


@dataclass(frozen=True)
class Crawled:
    """What the server was asked, and the last line that the crawl wrote."""

    asked: list[Asked]
    summary: dict[str, object]
    directory: Path
    url: str

    def of(self, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == path]


def command(url: str) -> list[str]:
    given = {
        "frontier.mode": "instant",
        "news.hubs_given": f"{url},{url}quiet",
        "news.prefixes_given": f"{url}news/",
        "news.visits_a_minute": 240, "news.shortest_seconds": 0.3, "fetch.allow": "127.0.0.1",
        "fetch.delay_seconds": DELAY, "fetch.delay_factor": 0, "judge.duplicates": "false",
        "frontier.policy": "linkage",
    }  # fmt: skip
    options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    return ["crawl", "--predicate", 'any=not "unheard-of"', "--budget", str(PAGES), "--json", *options]


@pytest.fixture(scope="module", params=["uninterrupted", "killed"])
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    directory = tmp_path_factory.mktemp(request.param)
    record = directory / "asked.jsonl"
    with serve_newspaper(SITE, record) as server:
        if request.param == "killed":
            with running(directory, *command(server.url)) as process:
                wait_until(lambda: record.exists() and len(read_record(record)) >= KILLED_AFTER, process)
        summary = last_line(printed(directory, *command(server.url)))
        return Crawled(read_record(record), summary, directory, server.url)


def test_every_page_is_judged_and_counted_once(crawled: Crawled) -> None:
    assert crawled.summary["fetched"] == PAGES
    report = json.loads(printed(crawled.directory, "audit", "--json"))
    found = {name: report[name] for name in ("judged", "judged_twice", "lost", "differences")}
    assert found == {"judged": PAGES, "judged_twice": 0, "lost": 0, "differences": 0}


def test_a_new_article_is_fetched_before_the_front_page_has_been_looked_at_thrice_again(
    crawled: Crawled,
) -> None:
    for article, path in enumerate(NEW, SITE.first):
        fetched = crawled.of(path)[0].before
        looks = [asked for asked in crawled.of("/") if SITE.published(article) <= asked.before < fetched]
        assert 1 <= len(looks) <= 3, path


def test_new_articles_are_counted_with_their_delay(crawled: Crawled) -> None:
    news = crawled.summary["news"]
    assert isinstance(news, dict)
    assert (news["hubs"], news["pages"]) == (2, SITE.articles)
    assert 0 < news["delay"] < crawled.asked[-1].time - crawled.asked[0].time


def test_the_archive_is_fetched_between_the_news(crawled: Crawled) -> None:
    first, last = crawled.of(NEW[0])[0].before, crawled.of(NEW[-1])[0].before
    old = [asked for asked in crawled.asked[first:last] if asked.path.startswith("/old/")]
    assert len(old) >= SITE.articles


def test_hubs_are_asked_for_another_version_only(crawled: Crawled) -> None:
    for path in ("/", "/quiet"):
        first, *later = crawled.of(path)
        assert (first.status, first.conditional) == (200, False)
        assert later and all(asked.conditional for asked in later)
    assert {asked.status for asked in crawled.of("/quiet")[1:]} == {304}
    assert not any(asked.conditional for asked in crawled.asked if asked.path not in ("/", "/quiet"))


def test_a_hub_that_never_changes_is_asked_less_often(crawled: Crawled) -> None:
    assert len(crawled.of("/quiet")) < len(crawled.of("/"))


def test_no_delay_is_broken(crawled: Crawled) -> None:
    assert keeps([asked.time for asked in crawled.asked], DELAY)


def test_it_is_told_why_a_page_was_fetched_at_once(crawled: Crawled) -> None:
    told = printed(crawled.directory, "explain", f"{crawled.url.rstrip('/')}{NEW[0]}")
    assert f"fetched at once (frontier.mode): it is under a news prefix, and new on {crawled.url}" in told
    assert "a hub: visited" in printed(crawled.directory, "explain", crawled.url)
