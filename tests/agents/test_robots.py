import asyncio
import random
from collections.abc import Sequence

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.fetch import robots as module
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.result import Answer as Answered
from scentline.agents.fetch.result import Body, Ended, FetchError
from scentline.agents.fetch.robots import (
    MAX_BYTES,
    MAX_WILD_RULES,
    MAX_WILDCARDS,
    Robots,
    directives,
    own_groups,
)
from scentline.models.facts import Early
from scentline.models.records import ROBOTS_BYTES, HostAnswer, RobotsTxt, Version
from tests.agents.loopback import Request, awaited, failed, response, serving, settings, untimed
from tests.cases import each_case

RULES = b"""\xef\xbb\xbfUser-agent: *
Disallow: /

User-agent: Scentline
Disallow: /private
Allow: /private/open
Crawl-delay: 2.5
"""


#: The Crawl-delay of a page that may be fetched, or the end of a fetch that may not.
Decision = float | Ended | None


class Site:
    """Answers for robots.txt, counting the questions."""

    def __init__(self, *answers: Answered | FetchError) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.known: list[Version | None] = []
        self.time = 0.0

    async def ask(self, url: str, known: Version | None) -> Answered:
        self.asked.append(url)
        self.known.append(known)
        await asyncio.sleep(0)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, FetchError):
            raise answer
        return answer

    def robots(self, **changes: object) -> Robots:
        return Robots(self.ask, settings(**changes), lambda: self.time)


def found(text: bytes) -> Answered:
    return Answered(200, None, text)


VERSION = Version('"1"', "Thu, 01 Jan 1970 00:00:00 GMT")
DAY = 86_400.0
OPEN: Decision = None
DELAYED: Decision = 2.5
FORBIDDEN: Decision = failed("refused", "robots.txt", crawl_delay=2.5)
SHUT: Decision = failed("refused", "robots.txt")
NONE, OTHER, MOVED = found(b""), "https://www.example.net/robots.txt", "http://example.org/moved.txt"
SAME, BUSY, LOST = Answered(304, None, b""), Answered(500, None, b""), FetchError("retry", "connection")


def versioned(text: bytes) -> Answered:
    return Answered(200, None, text, VERSION)


def held(reason: str, wait: float) -> Decision:
    return failed("retry", f"robots.txt {reason}", wait)


async def decided(robots: Robots, url: str) -> Decision:
    try:
        return await robots.allow(url)
    except FetchError as error:
        return error.ended


#: What a site answers in turn, when which page of it may be asked for by that, and how often it is asked.
TIMELINES: list[tuple[Sequence[Answered | FetchError], list[tuple[float, str, Decision]], int]] = [
    ([found(RULES)], [(0, "/a", DELAYED), (0, "/private/a", FORBIDDEN), (1, "/private/open", DELAYED)], 1),
    ([found(RULES), NONE],
     [(0, "/private", FORBIDDEN), (DAY - 1, "/private", FORBIDDEN), (DAY, "/private", OPEN)], 2),
    ([found(b"User-agent: Scent\nDisallow: /\n\nUser-agent: *\nDisallow: /b")],
     [(0, "/a", OPEN), (0, "/b", SHUT)], 1),
    ([found(b"user agent : SCENTLINE/7.1 # us\nDisallow: /")], [(0, "/a", SHUT)], 1),
    ([found(b"User-agent: *\nCrawl-delay: 1e12\nDisallow: /b")], [(0, "/a", DAY)], 1),
    *(([Answered(status, None, b"")], [(0.0, "/a", OPEN)], 1) for status in (204, 301, 304, 401, 403, 404)),
    *(
        ([found(text)], [(0.0, "/a", OPEN)], 1)
        for text in (b"", b"\xff\xfe\x00", b"<html><body>not found", b"Disallow: /\n", b"\0" * 9999)
    ),
    *(
        ([answer, NONE],
         [(0.0, "/a", held(why, 300.0)), (200.0, "/a", held(why, 100.0)), (300.0, "/a", OPEN)], 2)
        for answer, why in (
            (Answered(503, None, b""), "status 503"), (Answered(429, None, b""), "status 429"),
            (FetchError("retry", "broken response"), "broken response"),
            (FetchError("refused", "content encoding"), "content encoding"),
        )
    ),
    ([Answered(503, None, b"", retry_after=900.0)], [(0, "/a", held("status 503", 900.0))], 1),
    ([Answered(404, None, b""), BUSY], [(0, "/a", OPEN), (DAY, "/a", held("status 500", 300.0))], 2),
    *(
        ([versioned(RULES), answer],
         [(0, "/a", DELAYED), (DAY, "/a", DELAYED), (29.9 * DAY, "/private", FORBIDDEN),
          (29.9 * DAY + 299, "/a", DELAYED), (31 * DAY, "/a", held(why, 300.0))], 4)
        for answer, why in ((BUSY, "status 500"), (LOST, "connection"))
    ),
    ([Answered(301, OTHER, b""), found(b"User-agent: *\nDisallow: /")], [(0, "/a", SHUT)], 2),
    ([Answered(301, OTHER, b"")], [(0, "/a", OPEN)], 6),
]  # fmt: skip


@each_case(("answers", "steps", "asked"), TIMELINES)
@awaited
async def test_a_page_is_allowed_by_the_newest_robots_txt_that_could_be_had(
    answers: Sequence[Answered | FetchError], steps: list[tuple[float, str, Decision]], asked: int
) -> None:
    site = Site(*answers)
    robots = site.robots(redirects=5)
    for site.time, path, expected in steps:
        assert await decided(robots, "http://example.org" + path) == expected
    assert len(site.asked) == asked


@each_case(
    ("answers", "known"),
    [
        ([versioned(RULES), SAME, SAME, NONE], [None, VERSION, VERSION, VERSION]),
        # The version of a redirect's end is none of its beginning.
        ([Answered(301, MOVED, b""), versioned(RULES)] * 2, [None] * 4),
    ],
)
@awaited
async def test_it_asks_by_versions(answers: list[Answered | FetchError], known: list[Version | None]) -> None:
    site = Site(*answers)
    robots = site.robots()
    while len(site.known) < len(known):
        await decided(robots, "http://example.org/private")
        site.time += DAY
    assert site.known == known


@each_case(("value", "kept"))
def test_groups_are_kept_for_this_crawler_and_for_all(value: str, kept: str) -> None:
    assert own_groups(f"User-Agent: {value}\nAllow: /", "x") == f"user-agent: {kept}\nAllow: /"


@awaited
async def test_a_robots_txt_that_comes_too_slowly_allows_nothing_for_now() -> None:
    robots = Robots(lambda *_: asyncio.sleep(3600, NONE), settings(timeout_seconds=0.05), lambda: 0.0)
    assert await decided(robots, "http://example.org/a") == failed(
        "retry", "robots.txt timeout", 300.0, unanswered=True
    )


@awaited
async def test_sitemaps_are_announced_each_time_a_page_is_asked_for() -> None:
    lines = b"Sitemap: http://example.org/map.xml\nSitemap: file:///etc/passwd\n" * 2
    site = Site(versioned(lines), SAME, NONE)
    told: list[tuple[str, tuple[str, ...]]] = []
    robots = site.robots()
    robots.announce = lambda *found: told.append(found)
    for site.time in (0.0, 0.0, 90_000.0, 190_000.0):
        assert await robots.allow("http://example.org/a") is None
    assert told == [("http://example.org", ("http://example.org/map.xml",))] * 3


async def refetched(*origins: str) -> list[str]:
    """Return whose robots.txt are fetched when pages of origins are asked for in turn."""
    site = Site(found(RULES))
    robots = site.robots()
    for origin in origins:
        await robots.allow(f"{origin}/a")
    return [url.removesuffix("/robots.txt") for url in site.asked]


@each_case(
    ("bound", "most", "asked", "fetched"),
    [("_MAX_SITES", 2, "abacab", "abcb"), ("_MAX_CHARACTERS", 4 * len(RULES), "abcbca", "abca")],
)
@awaited
async def test_the_sites_kept_are_those_asked_for_last(bound: str, most: int, asked: str, fetched: str) -> None:
    with pytest.MonkeyPatch.context() as bounded:
        bounded.setattr(module, bound, most)
        assert await refetched(*(f"http://{name}" for name in asked)) == [f"http://{name}" for name in fetched]


@awaited
async def test_sites_are_told_apart_by_scheme_host_and_port() -> None:
    starts = ("http://", "https://", "http://www.")
    origins = [f"{start}example.org{end}" for start in starts for end in ("", ":81")]
    assert await refetched(*origins * 2) == origins


MANY = "".join(f"Disallow: /*x{n}\n" for n in range(MAX_WILD_RULES))


@each_case(
    ("rules", "allowed"),
    [
        (f"{MANY}Disallow: /wild*card\nAllow: /plain*\nDisallow: /plain\n",
         {"/wild": False, "/plainly": False, "/other": True}),
        ("Disallow: /a" + "*b" * (MAX_WILDCARDS + 1), {"/a": False}),
        ("Disallow: /a" + "*b" * MAX_WILDCARDS, {"/a": True}),
        (f"{MANY}Disallow: *.php", {"/other": False}),
    ],
)  # fmt: skip
@awaited
async def test_rules_beyond_the_bounds_of_wildcards_forbid_more(rules: str, allowed: dict[str, bool]) -> None:
    robots = Site(found(f"User-agent: *\n{rules}".encode())).robots()
    assert {path: await decided(robots, f"http://example.org{path}") is None for path in allowed} == allowed


# through the client


async def through_client(rules: bytes, *paths: str) -> tuple[list[Ended], list[str]]:
    """Return the results of pages asked for at once, and what their server was asked."""

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(rules if request.target == "/robots.txt" else response(b"page"))

    async with serving(answer) as server, Client(settings(robots=True), lambda: 0.0) as client:
        results = await asyncio.gather(*(client.fetch(server.origin + path) for path in paths))
        return [untimed(result) for result in results], server.targets()


@awaited
async def test_of_pages_asked_for_at_once_a_crawl_delay_postpones_all_but_one() -> None:
    rules = response(RULES, content_type="application/octet-stream")
    (first, second, third), targets = await through_client(rules, "/a", "/private", "/b")
    assert isinstance(first.result, Body)
    assert first.host.crawl_delay == 2.5
    assert second == failed("refused", "robots.txt", crawl_delay=2.5)
    assert third == Ended(Early(2.5), HostAnswer(crawl_delay=2.5, server="127.0.0.1"))
    assert targets == ["/robots.txt", "/a"]


@awaited
async def test_a_robots_txt_over_the_limit_counts_as_far_as_it_was_read() -> None:
    text = b"User-agent: *\nDisallow: /a\n" + b"#" * MAX_BYTES + b"\nDisallow: /b\n"
    results, _ = await through_client(response(text), "/a", "/b")
    assert results[0] == failed("refused", "robots.txt")
    assert isinstance(results[1].result, Body)


# told to others


class Changing(Site):
    """A site whose robots.txt changes, on a clock of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.time, self.serves = BEGIN, 0
        self.told: RobotsTxt | None = None

    async def ask(self, url: str, known: Version | None) -> Answered:
        missing, busy = Answered(404, None, b""), Answered(503, None, b"", retry_after=900.0)
        version = Version(f'"{self.serves}"')
        if self.serves >= len(TEXTS):
            self.answers = [busy if self.serves > len(TEXTS) else missing]
        else:
            self.answers = [SAME if known == version else Answered(200, None, TEXTS[self.serves], version)]
        return await super().ask(url, known)

    async def tell(self, told: RobotsTxt) -> None:
        self.told = msgspec.msgpack.decode(msgspec.msgpack.encode(told), type=RobotsTxt)

    def telling(self) -> Robots:
        robots = self.robots(robots=True)
        robots.publish = self.tell
        return robots


BEGIN = 1_000_000.0
TEXTS = (RULES, b"User-agent: *\nDisallow: /a\nCrawl-delay: 7", b"\n")
#: Seconds that pass, what the site serves from then on, and whether the fetcher dies.
STEPS = st.tuples(
    st.sampled_from((1.0, 299.0, 901.0, 50_000.0, 90_000.0, 31 * 86_400.0)),
    st.integers(0, len(TEXTS) + 1),
    st.booleans(),
)


@given(st.lists(STEPS, max_size=12))
@awaited
async def test_a_fetcher_that_is_told_all_goes_on_as_ever(steps: list[tuple[float, int, bool]]) -> None:
    lives, dies = Changing(), Changing()
    one, other = lives.telling(), dies.telling()
    for seconds, serves, death in steps:
        for site in (lives, dies):
            site.time, site.serves = site.time + seconds, serves
        if death:
            other = dies.telling()
            if dies.told is not None:
                assert not other.knows("http://a.org/", dies.told.until)
                await other.take_up(dies.told)
        for path in ("a", "private", "private/open"):
            assert await decided(one, f"http://a.org/{path}") == await decided(other, f"http://a.org/{path}")
        assert (dies.known, dies.told) == (lives.known, lives.told)
        assert dies.told is not None
        assert other.knows("http://a.org/", dies.told.until)


@each_case(
    "answer",
    [found(random.Random(1).randbytes(ROBOTS_BYTES + 100)), FetchError("retry", "connection", unanswered=True),
     FetchError("refused", "address 10.0.0.1")],
)  # fmt: skip
@awaited
async def test_a_robots_txt_that_is_too_long_or_was_not_sent_is_untold(answer: Answered | FetchError) -> None:
    async def tell(told: RobotsTxt) -> None:
        raise AssertionError(told)

    robots = Site(answer).robots()
    robots.publish = tell
    await decided(robots, "http://example.org/a")


@each_case("text", [b"no Zstandard", zstandard.compress(b"User-agent: *\nDisallow: /" * 10**6)])
@awaited
async def test_hostile_texts_are_read_within_bounds_or_fetched_anew(text: bytes) -> None:
    site = Site(found(b"User-agent: *\nDisallow: /"))
    robots = site.robots(robots=True)
    await robots.take_up(RobotsTxt("http://example.org/robots.txt", 100.0, text))
    assert await decided(robots, "http://example.org/a") == SHUT
    assert len(site.asked) == (text == b"no Zstandard")


# X-Robots-Tag: what it says to this crawler, in every form that sites use


@each_case(("values", "found"))
def test_directives_are_read_as_sites_write_them(values: list[str], found: list[str]) -> None:
    assert directives(values, "scentline") == {*found}
