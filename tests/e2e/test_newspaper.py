"""A news site is crawled while it publishes, through kill -9: news are fetched as they break."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents.commands import last_line, printed, running, wait_until
from tests.e2e.crawls import ANY, exact, options, view
from tests.e2e.pace import keeps
from tests.webs.newspaper import Newspaper, Site, newspaper

SITE = Site(old=30, first=3, articles=6, every=8)
DELAY = 0.1


@dataclass(frozen=True)
class Crawled:
    """A newspaper that was crawled, from a directory, and the last line that the crawl wrote."""

    paper: Newspaper
    directory: Path
    summary: dict[str, Any]


#: Clicks on the days after its birth of a news page, and of an old page.
BREAKING: tuple[int, ...] = (20, 9, 4, 2, 1, 1, 1, 1)
LASTING = (4,) * 12
#: 2024-01-08, 00:00 UTC.
START = 1_704_672_000


def access_log(root: str) -> str:
    """Return the log of twelve days: the first articles came one a day, and people came from the front page."""
    clicks = [(f"{root}news/{number}", root, number, BREAKING) for number in range(SITE.first)]
    clicks += [(f"{root}old/{number}", f"{root}archive/0", 0, LASTING) for number in range(5)]
    times = [
        (START + day * 86_400 + 600 * user, url, referrer)
        for url, referrer, born, daily in clicks
        for day, number in enumerate(daily, born)
        for user in range(number)
    ]
    lines = sorted((time + n, n, url, referrer) for n, (time, url, referrer) in enumerate(times))
    return "".join(view(time, f"10.0.{n // 250}.{n % 250}", *way) for time, n, *way in lines)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Crawl in instant mode, killed when the site has half of its articles.

    That what is under /news/ is news is learned from a log; the hubs are given.
    """
    directory = tmp_path_factory.mktemp("instant")
    with newspaper(SITE) as paper:
        (directory / "access.log").write_text(access_log(paper.url))
        hubs = f"{paper.url},{paper.url}quiet"
        given = {
            "frontier.mode": "instant", "news.visits_a_minute": 240, "news.hubs_given": hubs,
            "news.refresh_seconds": 0.2, "news.shortest_seconds": 0.3, "fetch.allow": "127.0.0.1",
            "fetch.delay_seconds": DELAY, "fetch.delay_factor": 0, "judge.duplicates": "false",
            "frontier.policy": "linkage", "streams.partitions": 3,
        }  # fmt: skip
        command = (
            "crawl", "--log", "access.log", "--predicate", ANY, "--json",
            "--budget", f"{SITE.pages}", *options(given),
        )  # fmt: skip
        with running(directory, *command) as process:
            wait_until(lambda: len(paper.asked) >= 25, process)
        return Crawled(paper, directory, last_line(printed(directory, *command)))


def test_new_articles_are_fetched_as_they_break_and_hubs_asked_for_another_version_only(
    crawled: Crawled,
) -> None:
    paper = crawled.paper
    assert {article: 1 <= paper.looks(article) <= 3 for article in SITE.new} == dict.fromkeys(SITE.new, True)
    for path in ("/", "/quiet"):
        first, *later = paper.of(path)
        assert (first.status, first.conditional) == (200, False)
        assert later and all(asked.conditional for asked in later)
    assert {asked.status for asked in paper.of("/quiet")[1:]} == {304}
    assert not any(asked.conditional for asked in paper.asked if asked.path not in ("/", "/quiet"))
    assert len(paper.of("/quiet")) < len(paper.of("/")), "a hub that never changes is asked less often"
    assert keeps([asked.time for asked in paper.asked], DELAY)


def test_the_archive_is_fetched_between_the_news(crawled: Crawled) -> None:
    first, *_, last = (crawled.paper.of(path)[0].before for path in SITE.new.values())
    old = [asked for asked in crawled.paper.asked[first:last] if asked.path.startswith("/old/")]
    assert len(old) >= SITE.articles


def test_every_page_is_judged_once_and_new_articles_are_counted_with_their_delay(crawled: Crawled) -> None:
    exact(crawled.directory, judged=SITE.pages)
    news, asked = crawled.summary["news"], crawled.paper.asked
    assert crawled.summary["fetched"] == SITE.pages
    assert (news["hubs"], news["pages"]) == (2, SITE.articles)
    assert 0 < news["delay"] < asked[-1].time - asked[0].time


def test_explain_says_why_a_page_was_fetched_at_once(crawled: Crawled) -> None:
    url = crawled.paper.url
    told = printed(crawled.directory, "explain", f"{url}news/{SITE.first}")
    assert f"fetched at once (frontier.mode): it is under a news prefix, and new on {url}" in told
    assert "a hub: visited" in printed(crawled.directory, "explain", url)
