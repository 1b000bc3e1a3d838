"""A news site is crawled while it publishes, through kill -9: news are fetched as they break."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents.commands import last_line, printed, running, wait_until
from tests.e2e.crawls import ANY, exact, keeps, options, view
from tests.webs.changing import Changing, Look, Script

#: Articles that are there from the first, those that appear, the requests between two, and those on the front.
FIRST, ARTICLES, EVERY, FRONT = 3, 6, 8, 5
#: Old pages, and how many of them a page of the archive lists.
OLD, LISTED = 30, 10
PAGES = 2 + OLD // LISTED + OLD + FIRST + ARTICLES
NEW = {number: f"0/news/{number}" for number in range(FIRST, FIRST + ARTICLES)}
DELAY = 0.1


def published(article: int) -> int:
    """Return before which request an article is published; those that were there at the opening at 0."""
    return max(0, (article - FIRST + 1) * EVERY)


def newspaper() -> Script:
    """Return a front page whose links change, an archive, and a quiet page that never changes."""

    def page(*links: str) -> Look:
        return Look(links=links, versioned="etag")

    old, lists = [f"0/old/{n}" for n in range(OLD)], [f"0/archive/{n}" for n in range(OLD // LISTED)]
    pages = {name: {0.0: page("0/")} for name in ("0/quiet", *old)}
    for number, name in enumerate(lists):
        pages[name] = {0: page(*old[number * LISTED :][:LISTED], *lists[number + 1 :][:1])}
    for article in range(FIRST + ARTICLES):
        newest_first = [f"0/news/{number}" for number in range(article, -1, -1)]
        pages[newest_first[0]] = {published(article): page("0/")}
        front = page(*newest_first[:FRONT], lists[0], "0/quiet")
        pages.setdefault("0/", {})[published(article)] = front
    return pages


@dataclass(frozen=True)
class Crawled:
    """A newspaper that was crawled, from a directory, and the last line that the crawl wrote."""

    paper: Changing
    directory: Path
    summary: dict[str, Any]

    def looks(self, article: int) -> int:
        """Return how often the front page was asked for between an article's appearance and its fetch."""
        fetched = self.paper.of(NEW[article])[0].at
        return sum(published(article) <= asked.at < fetched for asked in self.paper.of("0/"))


#: Clicks on the days after its birth of a news page, and of an old page.
BREAKING: tuple[int, ...] = (20, 9, 4, 2, 1, 1, 1, 1)
LASTING = (4,) * 12
#: 2024-01-08, 00:00 UTC.
START = 1_704_672_000


def access_log(paper: Changing) -> str:
    """Return the log of twelve days: the first articles came one a day, and people came from the front page."""
    clicks = [(f"0/news/{number}", "0/", number, BREAKING) for number in range(FIRST)]
    clicks += [(f"0/old/{number}", "0/archive/0", 0, LASTING) for number in range(5)]
    times = [
        (START + day * 86_400 + 600 * user, paper.url(name), paper.url(referrer))
        for name, referrer, born, daily in clicks
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
    paper = Changing(newspaper(), lambda: len(paper.asked))
    with paper.served():
        (directory / "access.log").write_text(access_log(paper))
        hubs = f"{paper.url('0/')},{paper.url('0/quiet')}"
        given = {
            "frontier.mode": "instant", "news.visits_a_minute": 240, "news.hubs_given": hubs,
            "news.refresh_seconds": 0.2, "news.shortest_seconds": 0.3, "fetch.allow": "127.0.0.1",
            "fetch.delay_seconds": DELAY, "fetch.delay_factor": 0, "judge.duplicates": "false",
            "frontier.policy": "linkage", "streams.partitions": 3,
        }  # fmt: skip
        command = (
            "crawl", "--log", "access.log", "--predicate", ANY, "--json",
            "--budget", f"{PAGES}", *options(given),
        )  # fmt: skip
        with running(directory, *command) as process:
            wait_until(lambda: len(paper.asked) >= 25, process)
        return Crawled(paper, directory, last_line(printed(directory, *command)))


def test_new_articles_are_fetched_as_they_break_and_hubs_asked_for_another_version_only(
    crawled: Crawled,
) -> None:
    paper = crawled.paper
    assert {article: 1 <= crawled.looks(article) <= 3 for article in NEW} == dict.fromkeys(NEW, True)
    for name in ("0/", "0/quiet"):
        first, *later = paper.of(name)
        assert (first.status, first.conditional) == (200, False)
        assert later and all(asked.conditional for asked in later)
    assert {asked.status for asked in paper.of("0/quiet")[1:]} == {304}
    assert not any(asked.conditional for asked in paper.asked if asked.name not in ("0/", "0/quiet"))
    assert len(paper.of("0/quiet")) < len(paper.of("0/")), "a hub that never changes is asked less often"
    assert keeps([asked.time for asked in paper.asked], DELAY)


def test_the_archive_is_fetched_between_the_news(crawled: Crawled) -> None:
    first, *_, last = (crawled.paper.of(name)[0].at for name in NEW.values())
    between = [asked for asked in crawled.paper.asked if first <= asked.at < last]
    assert sum(asked.name.startswith("0/old/") for asked in between) >= ARTICLES


def test_every_page_is_judged_once_and_new_articles_are_counted_with_their_delay(crawled: Crawled) -> None:
    exact(crawled.directory, judged=PAGES)
    news, asked = crawled.summary["news"], crawled.paper.asked
    assert crawled.summary["fetched"] == PAGES
    assert (news["hubs"], news["pages"]) == (2, ARTICLES)
    assert 0 < news["delay"] < asked[-1].time - asked[0].time


def test_explain_says_why_a_page_was_fetched_at_once(crawled: Crawled) -> None:
    front = crawled.paper.url("0/")
    told = printed(crawled.directory, "explain", crawled.paper.url(NEW[FIRST]))
    assert f"fetched at once (frontier.mode): it is under a news prefix, and new on {front}" in told
    assert "a hub: visited" in printed(crawled.directory, "explain", front)
