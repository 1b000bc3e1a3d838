"""Webs that change are kept up with through kill -9: changes are told once, news are fetched as they break."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.agents.commands import COMMAND, last_line, printed, running, wait_until
from tests.agents.test_changes import items
from tests.e2e.crawls import ANY, exact, keeps, options, view
from tests.patience import PATIENCE
from tests.webs.changing import LAST, START, WORDS, Changing, Look, Script, script

POLICY = ("--set", "frontier.policy=combined")


def lines(cwd: Path, *arguments: str) -> list[dict[str, str]]:
    return list(map(json.loads, printed(cwd, *arguments, "--format", "jsonl").splitlines()))


class Keeping:
    """A crawl that keeps up with a web, by the same command each time.

    ``expected`` is what it has to tell up to the time ``at``.
    """

    def __init__(self, directory: Path) -> None:
        self.at = 0.0
        self.web = Changing(script(), lambda: self.at)
        self.expected: Counter[tuple[str, str, str]] = Counter()
        self.directory = directory
        self._words = ["snow"]

    def words(self, *ends: str) -> list[str]:
        """Return the words of the command, which has a log of users who went through some of the pages."""
        random, names = Random(1), sorted(name for name, looks in self.web.script.items() if 0 in looks)
        views = (
            view(START + 60 * user + number, f"10.0.0.{user}", self.web.url(name))
            for user in range(1, 9)
            for number, name in enumerate(random.sample(names, 6))
        )
        (self.directory / "access.log").write_text("".join(views))
        given = {
            "fetch.allow": "127.0.0.1,localhost,a.localhost", "fetch.delay_seconds": 0, "fetch.delay_factor": 0,
            "streams.partitions": 3, "frontier.retry_seconds": 0.3, "frontier.lease_seconds": 10,
            "judge.duplicates": "false", "revisit.shortest_seconds": 0.2, "revisit.longest_seconds": 0.6,
            "revisit.tell_seconds": 0.5,
        }  # fmt: skip
        where = ("--seed", self.web.url("0/"), "--log", "access.log", "--predicate", f"snow={WORDS['snow']}")
        return ["crawl", *ends, *where, "--json", *options(given), *POLICY]

    def told(self) -> Counter[tuple[str, str, str]]:
        return Counter(map(self.web.told, lines(self.directory, "changes", "--set", "frontier.revisit=0.5")))

    def add_sea(self) -> None:
        """Add the other predicate, which judges the pages that were judged before too."""
        printed(self.directory, "predicate", "add", "sea", WORDS["sea"], "--kept")
        self._words.append("sea")
        self.expected.update(self.web.changes("sea", None, self.at))

    def go_on(self, at: float) -> None:
        for word in self._words:
            self.expected.update(self.web.changes(word, self.at if at else None, at))
        self.at = at

    def current(self) -> bool:
        """Return whether the newest point of the harvest has all matches, and says how fresh they are."""
        points: list[Any] = [
            point for point in lines(self.directory, "harvest") if point["predicate"] == "snow"
        ]
        newest = points[-1]
        assert newest["matches"] == 0 or 0 < newest["freshness"] <= 1
        assert 0 <= newest["revisit_share"] < 1
        told = newest["revisits"] and newest["revisit_share"]
        return bool(told) and newest["matches"] == len(self.web.matches("snow", self.at))

    def settled(self) -> bool:
        """Return whether all is told, and each page was visited twice since the time that it is."""
        asked = Counter(asked.name for asked in self.web.asked if asked.at >= self.at)
        visited = all(asked[name] > 1 for name in self.web.script if self.web.look(name, self.at).stands)
        return visited and not self.expected - self.told()

    def kill(self, requests: int) -> None:
        enough = len(self.web.asked) + requests
        with running(self.directory, *self.words("--keep-up"), program=COMMAND) as process:
            wait_until(lambda: len(self.web.asked) >= enough, process)

    def settle(self, settled: Callable[[], bool]) -> tuple[str, str]:
        """Crawl until something holds, and end as by Ctrl-C; return what the crawl wrote."""
        with running(self.directory, *self.words("--keep-up"), program=COMMAND) as process:
            wait_until(settled, process)
            process.terminate()
            out, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, said
        return out, said


@pytest.fixture(scope="module")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Keeping:
    """Keep up with all that the web becomes, killed at each time."""
    keeping, random = Keeping(tmp_path_factory.mktemp("changing")), Random(3)
    with keeping.web.served():
        for at in range(LAST + 1):
            keeping.go_on(at)
            keeping.kill(random.randint(1, 60))
            keeping.settle(keeping.settled)
            if at == 1:
                keeping.add_sea()
                keeping.settle(keeping.settled)
        before = len(keeping.web.asked)
        out, said = keeping.settle(lambda: len(keeping.web.asked) > before and keeping.current())
        assert " revisits, " in said
        assert last_line(out)["revisits"] > 0
        # What was under way when it ended is taken in by the next run, which may make no more requests.
        printed(keeping.directory, *keeping.words("--requests", "1", "--set", "frontier.revisit=0.5"))
    return keeping


def test_each_change_is_told_once_and_every_count_is_exact(keeping: Keeping) -> None:
    assert keeping.told() == keeping.expected
    pages = sum(any(look.stands for look in looks.values()) for looks in keeping.web.script.values())
    exact(keeping.directory, *POLICY, behind=0, judged=pages)


def test_known_pages_are_asked_for_another_version_explain_says_what_visits_showed(keeping: Keeping) -> None:
    asked = [asked.status for asked in keeping.web.asked if asked.name == "0/still"]
    assert asked.count(304) > 2 * asked.count(200)
    said = printed(keeping.directory, "explain", keeping.web.url("0/still"), *POLICY).splitlines()
    assert [line for line in said if line.startswith("visited again ") and " due " in line]


def test_matches_and_a_feed_show_what_holds_and_what_was_told(keeping: Keeping) -> None:
    matches = {keeping.web.name(line["url"]) for line in lines(keeping.directory, "matches", "snow")}
    assert matches == {*keeping.web.matches("snow", LAST)}
    feed = items(printed(keeping.directory, "changes", "--predicate", "snow", "--format", "rss"))
    shown = {(item["title"].partition(":")[0].lower(), keeping.web.name(item["link"])) for item in feed}
    told = {(kind, name) for word, kind, name in keeping.expected if word == "snow"}
    assert shown ^ told == {("moved", "0/here"), ("moved", "1/moved")}, "what moved is linked to where it is"


# a news site that is crawled while it publishes


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
MONDAY = 1_704_672_000


def access_log(paper: Changing) -> str:
    """Return the log of twelve days: the first articles came one a day, and people came from the front page."""
    clicks = [(f"0/news/{number}", "0/", number, BREAKING) for number in range(FIRST)]
    clicks += [(f"0/old/{number}", "0/archive/0", 0, LASTING) for number in range(5)]
    times = [
        (MONDAY + day * 86_400 + 600 * user, paper.url(name), paper.url(referrer))
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


def test_articles_are_fetched_as_they_break_and_hubs_asked_for_another_version_only(crawled: Crawled) -> None:
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
