"""The fetch agent turns orders into pages and facts, of visits too, and acknowledges what the log has."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

import zstandard
from msgspec.structs import replace

from scentline.agents.fetch.agent import FetchAgent
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.orders import QUARANTINED, noted
from scentline.models import records
from scentline.models.facts import (
    Early,
    Fetched,
    Found,
    Missing,
    Moved,
    Same,
    SightingPack,
    Signal,
)
from scentline.models.page import Verdict
from scentline.models.records import DeadLetter, FetchedPage, HostAnswer, Revisit, RobotsTxt, Visit, encode
from scentline.models.settings import RevisitSettings
from scentline.streams.attempts import Attempts
from scentline.streams.inbox import Message
from scentline.streams.settings import Settings
from scentline.streams.topics import DEAD_LETTERS, FETCHES, PAGES, SIGHTINGS, Topic
from scentline.streams.transport.journal import Journal
from tests.agents.judging import an_order
from tests.agents.loopback import Answer, Request, closing, fixed, response, serving
from tests.agents.scenarios import listed
from tests.agents.shards import a_runtime, journal_of
from tests.cases import each_case
from tests.patience import PATIENCE

NOW = 1000.0
FETCH = {"allow": ("127.0.0.1",), "robots": False, "delay_seconds": 0.0, "max_bytes": 10_000}
PAGE = fixed(b"<p>hello" * 100, x_robots_tag="nofollow")


class Event:
    """A message of the topic of orders, as the agent's stream hands it over."""

    def __init__(self, value: bytes | None, offset: int = 7) -> None:
        self.value, self.message = value, SimpleNamespace(partition=0, offset=offset)
        self.happened: list[str] = []

    def ack(self) -> None:
        self.happened.append("acknowledged")


class Done(NamedTuple):
    """What comes of an order for the page of a URL."""

    url: str
    facts: list[Any]
    pages: list[FetchedPage]
    letters: list[DeadLetter]
    asked: list[str]
    #: Of how many processes it is noted that they died with it.
    deaths: int
    #: When its answer was in the log, and when it was acknowledged.
    happened: list[str]


def answered(
    answer: Answer, ordered: Mapping[str, Any] = {}, *, value: bytes | None = b"", earlier: int = 0,
    deaths: int = 0, keeps_up: bool = False, keep: str = "matches", **fetch: object,
) -> Done:  # fmt: skip
    """Have an order answered, or ``value``, if given, behind ``earlier`` ones.

    It is for a page of the server, but for what is ``ordered``; a robots.txt that it brings is given as text.
    """

    async def run(data: Path, settings: Settings) -> Done:
        revisits = RevisitSettings() if keeps_up else None
        with a_runtime(settings, NOW) as runtime:
            async with serving(answer) as server, Client(settings.fetch, lambda: NOW, revisits) as client:
                url = f"{server.origin}/page"
                for _ in range(deaths):
                    Attempts(data / "attempts").taking(noted(url, 0)).__enter__()
                runtime.attempts = Attempts(data / "attempts")
                journal = journal_of(runtime)
                journal.append_all([(FETCHES.name, 0, None, b"an order")] * earlier, NOW)
                agent = FetchAgent(runtime, client)
                await agent._assigned()
                given = {"robots": 0.0, **ordered}
                if isinstance(given["robots"], str):
                    text = zstandard.compress(given["robots"].encode())
                    given["robots"] = RobotsTxt(f"{server.origin}/robots.txt", NOW + 60, text)
                event = Event(encode(an_order(url, **given)) if value == b"" else value)
                send_all = runtime.bus.send_all

                async def sending(messages: Sequence[Message]) -> None:
                    await send_all(messages)
                    event.happened.append("sent")

                runtime.bus.send_all = sending  # type: ignore[assignment]
                await agent._slots.acquire()
                await agent._answer(event, agent._orders.given(event))
                happened = list(event.happened)
                await read_sitemaps(agent, client)
                pages, letters = (
                    written(journal, PAGES, FetchedPage),
                    written(journal, DEAD_LETTERS, DeadLetter),
                )
                left = runtime.attempts.deaths(noted(url, 0))
                return Done(url, facts_in(journal), pages, letters, server.targets(), left, happened)

    with TemporaryDirectory() as directory:
        fetch = FETCH | {"sitemaps": False} | fetch
        settings = {"data": Path(directory) / "data", "fetch": fetch, "keep": {"pages": keep}}
        return asyncio.run(run(Path(directory), Settings.model_validate(settings)))


async def read_sitemaps(agent: FetchAgent, client: Client) -> None:
    work = asyncio.create_task(client.sitemaps.work(agent._publish_listed))
    async with asyncio.timeout(PATIENCE):
        while agent.reading_sitemaps:
            await asyncio.sleep(0.01)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


def written(journal: Journal, topic: Topic, kind: Any) -> list[Any]:
    return [records.Decoder[Any](kind)(entry.value or b"") for entry in journal.read(topic.name, 0, 0, 100)]


def facts_in(journal: Journal) -> list[Any]:
    return [fact for pack in written(journal, SIGHTINGS, SightingPack) for _, _, fact in pack.facts]


def untimed(fact: Fetched) -> Fetched:
    return replace(fact, host=replace(fact.host, elapsed=0.0))


def test_a_page_goes_on_with_its_order_and_its_body_compressed_and_then_the_order_is_acknowledged() -> None:
    done = answered(PAGE, delay_seconds=0.01)
    (page,) = done.pages
    assert page.order == an_order(done.url)
    assert zstandard.ZstdDecompressor().decompress(page.body) == b"<p>hello" * 100
    assert (page.status, page.time, page.nofollow, page.host.server) == (200, NOW, True, "127.0.0.1")
    assert page.host.elapsed > 0
    assert (done.facts, done.happened) == ([], ["sent", "acknowledged"])


KNOWN = records.Version('"7"', "Thu, 01 Jan 1970 00:01:40 GMT")
FOR_LINKS, AGAIN = Revisit(KNOWN, 900.0), Revisit(KNOWN, 900.0, again=True, verdict={"alps": True})
UNCHANGED, MISSING = fixed(b"", "304 Not Modified"), fixed(b"", "404 Not Found")
BUSY = fixed(b"", "503 Busy", retry_after="90")
MOVED = fixed(b"", "308 Moved", location="http://b.org/")
FOR_NOW = fixed(b"", "302 Found", location="http://b.org/")
VISITS: dict[Visit, Revisit | None] = {"first": None, "links": FOR_LINKS, "again": AGAIN}


@each_case(
    ("answer", "result", "told"),
    [
        (MISSING, Missing("gone", "status 404"), {}),
        (BUSY, Missing("retry", "status 503"), {"retry_after": 90.0, "overloaded": True}),
        (closing, Missing("retry", "connection"), {"unanswered": True}),
        (MOVED, Moved("http://b.org/"), {}),
        (FOR_NOW, Moved("http://b.org/", permanent=False), {}),
    ],
)
def test_what_is_no_page_is_told_to_the_frontier(answer: Answer, result: Any, told: dict[str, Any]) -> None:
    for visit, revisit in VISITS.items():
        done = answered(answer, {"revisit": revisit, "silent": True}, keep="none")
        assert ([untimed(fact) for fact in done.facts], done.pages) == (
            [Fetched(done.url, 2, visit, NOW, HostAnswer(**told), result, silent=True)], []
        )  # fmt: skip


@each_case(
    ("visit", "verdict", "keep", "kept"),
    [("again", {"alps": True}, "matches", True), ("again", {"alps": False}, "matches", False),
     ("again", {}, "all", True), ("links", {"alps": True}, "all", False)],
)  # fmt: skip
def test_a_page_that_is_as_it_was_is_told_of(visit: Visit, verdict: Verdict, keep: str, kept: bool) -> None:
    revisit = Revisit(KNOWN, 900.0, again=visit == "again", verdict=verdict)
    done = answered(UNCHANGED, {"revisit": revisit}, keep=keep)
    (fact,), expected = done.facts, (an_order(done.url, revisit=revisit), 304, b"", NOW)
    assert (fact.visit, fact.result, fact.time) == (visit, Same(), NOW)
    assert [(page.order, page.status, page.body, page.time) for page in done.pages] == [expected] * kept
    assert all(page.headers["etag"] == KNOWN.etag for page in done.pages)


def test_an_order_whose_lease_ran_out_is_not_carried_out() -> None:
    done = answered(PAGE, {"lease": NOW - 1})
    assert (done.facts, done.pages, done.letters, done.asked) == ([], [], [], [])
    assert done.happened[-1] == "acknowledged"


@each_case("value", [b"\xc1", None])
def test_what_is_no_order_goes_to_the_dead_letters(value: bytes | None) -> None:
    done = answered(PAGE, value=value)
    (letter,) = done.letters
    assert (letter.topic, letter.partition, letter.offset) == (FETCHES.name, 0, 7)
    assert letter.reason.startswith("not a FetchOrder")
    assert (done.asked, done.happened) == ([], ["sent", "acknowledged"])


def test_hosts_count_as_just_asked_where_there_were_orders_before() -> None:
    assert answered(PAGE, delay_seconds=60.0).pages
    (fact,) = answered(PAGE, delay_seconds=60.0, earlier=1).facts
    assert 0 < fact.result.wait <= 60


# sitemaps and feeds


@each_case("keeps_up", [False, True])
def test_what_a_sitemap_says_that_changed_is_a_hint_where_pages_are_visited_again(keeps_up: bool) -> None:
    dates = {"a": "1970-01-01T00:15Z", "b": "1970-01-02", **{f"c{n}": "1971" for n in range(250)}}

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        origin = f"http://{request.headers['host']}"
        listed = "".join(f"<url><loc>{origin}/{n}</loc><lastmod>{t}</lastmod></url>" for n, t in dates.items())
        files = {"/robots.txt": f"Sitemap: {origin}/map.xml", "/map.xml": f"<urlset>{listed}</urlset>"}
        writer.write(response(files.get(request.target, "a page").encode(), content_type="text/plain"))

    done = answered(answer, keeps_up=keeps_up, robots=True, sitemaps=True)
    origin = done.url.removesuffix("page")
    assert {fact.url for fact in done.facts if isinstance(fact, Found)} == {origin + name for name in dates}
    hints = [Signal(f"{origin}a", "sitemap", 900.0)] if keeps_up else []
    assert [fact for fact in done.facts if isinstance(fact, Signal)] == hints


@each_case(
    ("media_type", "keeps_up", "asked"),
    [
        ("text/html", False, ["/page"]), ("application/rss+xml", False, ["/page"]),
        ("text/html", True, ["/page", "/feed"]), ("application/rss+xml", True, ["/page", "/page"]),
    ],
)  # fmt: skip
def test_a_feed_that_a_page_names_or_is_gives_hints(media_type: str, keeps_up: bool, asked: list[str]) -> None:
    named = b'<link rel="alternate" type="application/rss+xml" href="/feed">'
    entry = b"<rss><item><link>/a</link><pubDate>Thu, 01 Jan 1970 00:15:00 GMT</pubDate></item></rss>"

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        html = media_type == "text/html" and request.target == "/page"
        writer.write(response(named if html else entry, content_type=media_type))

    done = answered(answer, keeps_up=keeps_up)
    entered = done.url.replace("/page", "/a")
    told = [listed(entered), Signal(entered, "feed", 900.0)] if keeps_up else []
    assert (done.asked, [fact for fact in done.facts if not isinstance(fact, Fetched)]) == (asked, told)


# deaths


def carried_out(tmp_path: Path, killers: set[int], deaths: int) -> tuple[list[list[str]], list[Any]]:
    """Have six orders carried out; processes died with those of ``killers`` in hand.

    Return which paths were asked for while others were under way, and what was told.
    """
    fetch = FETCH | {"connections": 3}
    settings = Settings.model_validate({"data": tmp_path / "data", "fetch": fetch})
    under_way: list[str] = []
    together: list[list[str]] = []

    async def slow(request: Request, writer: asyncio.StreamWriter) -> None:
        under_way.append(request.target)
        together.append(list(under_way))
        await asyncio.sleep(0.05)
        under_way.remove(request.target)
        await PAGE(request, writer)

    async def run() -> list[Any]:
        with a_runtime(settings, NOW) as runtime:
            async with serving(slow) as server, Client(settings.fetch, lambda: NOW) as client:
                urls = [f"{server.origin}/{number}" for number in range(6)]

                async def events() -> AsyncIterator[Event]:
                    for number, url in enumerate(urls):
                        yield Event(encode(an_order(url)), number)

                for _ in range(deaths):
                    died = Attempts(tmp_path / "attempts")
                    for number in killers:
                        died.taking(noted(urls[number], 0)).__enter__()
                runtime.attempts = Attempts(tmp_path / "attempts")
                stream = SimpleNamespace(noack=lambda: SimpleNamespace(events=events))
                await FetchAgent(runtime, client)._run(stream)
                while runtime._tasks:
                    await asyncio.sleep(0.01)
                return facts_in(journal_of(runtime))

    return together, asyncio.run(run())


def test_orders_that_a_process_died_with_are_carried_out_alone(tmp_path: Path) -> None:
    together, told = carried_out(tmp_path, {1, 4}, 1)
    assert ["/1"] in together
    assert ["/4"] in together
    assert not any({"/1", "/4"} & set(paths) for paths in together if len(paths) > 1)
    assert any(len(paths) > 1 for paths in together)
    assert told == []


def test_an_order_that_three_processes_died_with_is_refused(tmp_path: Path) -> None:
    together, told = carried_out(tmp_path, {4}, 3)
    assert not any("/4" in paths for paths in together)
    assert [(fact.url[-2:], fact.result) for fact in told] == [("/4", Missing("failed", QUARANTINED))]


# robots.txt that an order knows or brings


def test_a_robots_txt_that_is_known_to_nobody_is_fetched_and_told() -> None:
    done = answered(PAGE, robots=True)
    (fact,) = done.facts
    assert (type(fact), fact.until, fact.time) == (RobotsTxt, NOW + 86_400, NOW)
    assert (done.asked, len(done.pages)) == (["/robots.txt", "/page"], 1)


@each_case(("until", "earlier"), [(NOW + 60, 0), (NOW + 60, 9), (0.0, 9), (NOW - 60, 0)])
def test_an_order_is_put_off_where_the_frontier_may_know_more_of_robots_txt(until: float, earlier: int) -> None:
    done = answered(PAGE, {"robots": until}, earlier=earlier, deaths=1, robots=True)
    (fact,) = done.facts
    assert (fact.result, fact.host, done.asked) == (Early(0.0), HostAnswer(robots=True), [])
    assert done.deaths == 1, "it is to be carried out alone when it comes again"


def test_an_order_brings_what_robots_txt_says() -> None:
    done = answered(PAGE, {"robots": "User-agent: *\nCrawl-delay: 3"}, robots=True)
    (page,) = done.pages
    assert (done.facts, done.asked) == ([], ["/page"])
    assert (page.host.crawl_delay, page.order.robots) == (3.0, NOW + 60)
    forbidden = answered(PAGE, {"robots": "User-agent: *\nDisallow: /page"}, earlier=9, robots=True)
    (fact,) = forbidden.facts
    assert (fact.result, fact.host.elapsed) == (Missing("refused", "robots.txt"), 0.0)
    assert (forbidden.asked, forbidden.pages) == ([], [])


def test_an_order_that_came_too_early_is_postponed_and_still_one_that_a_process_died_with() -> None:
    brings = {"robots": "User-agent: *\nCrawl-delay: 30"}
    done = answered(PAGE, brings, earlier=9, deaths=2, robots=True)
    (fact,), told = done.facts, HostAnswer(crawl_delay=30.0, server="127.0.0.1")
    assert fact == Fetched(done.url, 2, "first", NOW, told, Early(fact.result.wait))
    assert 0 < fact.result.wait <= 30
    assert (done.asked, done.deaths) == ([], 2)
