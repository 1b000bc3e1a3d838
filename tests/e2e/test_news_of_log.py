"""A crawl learns from a log what is news and which pages lead there, and then fetches news as they break."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.agents.commands import last_line, printed
from tests.webs.newspaper.server import read_record
from tests.webs.newspaper.site import LISTED, Site
from tests.webs.process import serve_newspaper

SITE = Site(old=20, first=3, articles=5, every=8)
PAGES = 1 + 1 + SITE.old // LISTED + SITE.old + SITE.first + SITE.articles
#: Clicks on the days after its birth of a news page, and of an old page.
BREAKING, LASTING = (20, 9, 4, 2, 1, 1, 1, 1), (4,) * 12
#: 2024-01-08, 00:00 UTC.
START = 1_704_672_000


def access_log(root: str) -> str:
    """Return the log of twelve days: the first articles came one a day, and people came from the front page."""
    lines: list[tuple[int, str, str, str]] = []
    clicks: list[tuple[str, str, int, tuple[int, ...]]]
    clicks = [(f"{root}news/{number}", root, number, BREAKING) for number in range(SITE.first)]
    clicks += [(f"{root}old/{number}", f"{root}archive/0", 0, LASTING) for number in range(5)]
    for url, referrer, born, daily in clicks:
        for day, number in enumerate(daily, born):
            for user in range(number):
                time = START + day * 86_400 + 600 * user + len(lines)
                lines.append((time, f"10.0.{len(lines) // 250}.{len(lines) % 250}", url, referrer))
    return "".join(line(*clicked) for clicked in sorted(lines))


def line(time: int, client: str, url: str, referrer: str) -> str:
    moment = datetime.fromtimestamp(time, UTC)
    request = f'[{moment:%d/%b/%Y:%H:%M:%S} +0000] "GET {url} HTTP/1.1"'
    return f'{client} - - {request} 200 5120 "{referrer}" "Mozilla/5.0"\n'


@pytest.mark.parametrize("partitions", [1, 3])
def test_news_are_fetched_as_they_break_where_the_log_tells_what_is_news(
    tmp_path: Path, partitions: int
) -> None:
    record, log = tmp_path / "asked.jsonl", tmp_path / "access.log"
    with serve_newspaper(SITE, record) as server:
        log.write_text(access_log(server.url))
        given = {
            "frontier.mode": "instant", "news.refresh_seconds": 0.2, "news.visits_a_minute": 240,
            "news.shortest_seconds": 0.3, "fetch.allow": "127.0.0.1", "fetch.delay_seconds": 0.1,
            "fetch.delay_factor": 0, "judge.duplicates": "false", "streams.partitions": partitions,
        }  # fmt: skip
        options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
        where = ["--seed", server.url, "--log", str(log), "--policy", "linkage"]
        what = ["--predicate", 'any=not "unheard-of"', "--budget", str(PAGES), "--json"]
        summary = last_line(printed(tmp_path, "crawl", *where, *what, *options))
        assert summary["fetched"] == PAGES
        assert (summary["news"]["hubs"], summary["news"]["pages"]) == (1, SITE.articles)
        asked = [asked.path for asked in read_record(record)]
        assert asked.count("/") > SITE.articles
        told = json.loads(printed(tmp_path, "explain", f"{server.url}news/{SITE.first}", "--json"))
        assert (told["choice"]["policy"], told["found"]["hub"]) == ("instant", server.url)
    report = json.loads(printed(tmp_path, "audit", "--json"))
    assert {name: report[name] for name in ("judged_twice", "lost", "differences")} == {
        "judged_twice": 0, "lost": 0, "differences": 0,
    }  # fmt: skip
