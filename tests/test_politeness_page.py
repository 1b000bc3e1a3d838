"""The page on politeness says what the code does: its settings, their defaults, its bounds, its files."""

import re
from pathlib import Path

from scentline.agents.fetch import guard, listings, pool, resolver, robots, servers, sitemaps
from scentline.agents.fetch.guard import names_contact
from scentline.agents.frontier.orders import SLOW_SECONDS
from scentline.models.frontier import politeness
from scentline.models.url import MAX_LENGTH
from scentline.streams.configuration import keys
from scentline.streams.crawl_settings import FetchSettings, FrontierSettings
from scentline.streams.settings import RevisitSettings
from tests.cases import each_case

ROOT = Path(__file__).parents[1]
TEXT = " ".join((ROOT / "docs" / "politeness.md").read_text(encoding="utf-8").split())
FETCH = FetchSettings()


def test_every_setting_of_fetching_is_told_and_every_setting_told_is_one() -> None:
    told = set(re.findall(r"`((?:fetch|frontier)\.\w+)`", TEXT))
    assert told <= set(keys())
    assert {key for key in keys() if key.startswith("fetch.")} <= told


def test_every_file_that_is_named_is_there() -> None:
    found = re.findall(r"`((?:agents|models)/[\w/]+\.py)`", TEXT)
    assert found
    assert [name for name in found if not (ROOT / name).exists()] == []


@each_case(
    ("words", "value", "expected"),
    [
        ("1 second, or the Crawl-delay", FETCH.delay_seconds, 1.0),
        ("2 times, up to a minute", (FETCH.delay_factor, politeness.LONGEST_PACE), (2.0, 60.0)),
        ("up to five minutes; a longer one", politeness.LONGEST_CRAWL_DELAY, 300.0),
        ("left alone for a minute", politeness.SHORTEST_BACK_OFF, 60.0),
        ("up to a day (`models", politeness.LONGEST_BACK_OFF, 86_400.0),
        ("or the third failure in a row", politeness.TOLERATED_FAILURES, 3),
        ("`frontier.attempts` times at most, 4", FrontierSettings().attempts, 4),
        ("again after 30 seconds, doubled", resolver.FAILED_SECONDS, 30.0),
        ("with each failure, up to an hour", resolver.LONGEST_FAILED_SECONDS, 3600.0),
        ("addresses are kept for five minutes", resolver.FOUND_SECONDS, 300.0),
        ("asked for again after five minutes", robots.UNREACHABLE_SECONDS, 300.0),
        ("the copy goes on for up to 30 days", robots.GRACE_SECONDS, 30 * 86_400.0),
        ("the first 500 KiB", robots.MAX_BYTES, 500 * 1024),
        ("no more than two seconds", servers.PATIENCE_SECONDS, 2.0),
        ("requests, 16, may be under way", FETCH.host_connections, 16),
        ("more than 2,000 characters", MAX_LENGTH, 2000),
        ("redirects in a row, 5", FETCH.redirects, 5),
        ("at most, 5 MB", FETCH.max_bytes, 5_000_000),
        ("at most, 30 seconds", FETCH.timeout_seconds, 30.0),
        ("head of its answer has come, 10", FETCH.first_byte_seconds, 10.0),
        ("up to 100 files of 10 MB", (sitemaps.MAX_FILES, listings.MAX_BYTES), (100, 10_000_000)),
        ("URLs of that host, 10,000", FETCH.sitemap_urls, 10_000),
        ("followed two deep", sitemaps.MAX_DEPTH, 2),
        ("up to 10 of a host", sitemaps.MAX_FEEDS, 10),
        ("`revisit.shortest_seconds`, 10 minutes", RevisitSettings().shortest_seconds, 600.0),
        ("kept open for ten seconds", pool.IDLE_SECONDS, 10.0),
        ("128, and 32 KiB", (pool.HEADERS, pool.HEADER_BYTES), (128, 32 * 1024)),
        ("512 KiB, and as much as the body", pool.FRAMING_BYTES, 512 * 1024),
        ("after three seconds that one", SLOW_SECONDS, 3.0),
        ("if the operator asks for them with", FETCH.sitemaps, False),
        ("The 83 ports that browsers block", len(guard.BAD_PORTS), 83),
        ("The built-in User-Agent names nobody", names_contact(FETCH.user_agent), False),
    ],
)
def test_a_number_that_is_told_is_the_codes(words: str, value: object, expected: object) -> None:
    assert words in TEXT
    assert value == expected
