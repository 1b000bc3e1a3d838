"""The fetch agent turns orders into pages, failures and redirects, and acknowledges what the log has."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import zstandard

from scentline.agents.fetch.agent import FetchAgent, noted
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.servers import TooEarlyError
from scentline.streams.attempts import Attempts
from scentline.streams.facts import Failed, Hinted, Listed, Postponed, Redirected, SightingPack
from scentline.streams.records import DeadLetter, Decoder, FetchedPage, FetchOrder, RobotsTxt, encode
from scentline.streams.settings import RevisitSettings, Settings
from scentline.streams.topics import DEAD_LETTERS, FETCHES, PAGES, SIGHTINGS
from scentline.streams.transport.publisher import JournalPublisher
from tests.agents.loopback import Answer, Request, awaited, fixed, response, serving
from tests.agents.shards import a_runtime, journal_of
from tests.patience import PATIENCE

NOW = 1000.0


@dataclass
class Event:
    """A message of the topic of orders, as the agent's stream hands it over."""

    value: bytes | None
    acknowledged: list[bool] = field(default_factory=list)
    message: Any = field(default_factory=lambda: SimpleNamespace(partition=0, offset=7))

    def ack(self) -> None:
        self.acknowledged.append(True)


def order(url: str, lease: float = NOW + 60) -> FetchOrder:
    return FetchOrder(
        url=url, order=2, predicate="p", policy="linkage", explored=False, probability=0.99, priority=1.5,
        depth=3, lease=lease,
    )  # fmt: skip


def answered(
    tmp_path: Path,
    answer: Answer,
    lease: float = NOW + 60,
    value: bytes | None = b"",
    revisit: RevisitSettings | None = None,
    **fetch: object,
) -> Any:
    """Have an order answered, or ``value``, if given; return (event, URL, records by topic, what was asked)."""
    fetch = {"allow": ("127.0.0.1",), "robots": False, "delay_seconds": 0.0} | fetch
    settings = Settings.model_validate({"data": tmp_path / "data", "fetch": fetch})

    async def run() -> Any:
        with a_runtime(settings, NOW) as runtime:
            async with serving(answer) as server, Client(settings.fetch, lambda: NOW, revisit) as client:
                agent = FetchAgent(runtime, client, journal_of(runtime))
                url = f"{server.origin}/page"
                event = Event(encode(order(url, lease)) if value == b"" else value)
                await agent._slots.acquire()
                await agent._answer(event, agent._given(event))
                if settings.fetch.sitemaps or revisit is not None:
                    await read_sitemaps(agent, client)
                journal = journal_of(runtime)
                topics = (PAGES, SIGHTINGS, DEAD_LETTERS)
                found = {topic.name: [e.value for e in journal.read(topic.name, 0, 0, 10)] for topic in topics}
                return event, url, found, server.targets()

    return asyncio.run(run())


async def read_sitemaps(agent: FetchAgent, client: Client) -> None:
    work = asyncio.create_task(client.sitemaps.work(agent._publish_listed))
    async with asyncio.timeout(PATIENCE):
        while agent.reading_sitemaps:
            await asyncio.sleep(0.01)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


def sightings(found: dict[str, list[bytes]]) -> list[Any]:
    decode = Decoder[SightingPack](SightingPack)
    facts = [fact for value in found["sightings"] for _, _, fact in decode(value).facts]
    return [msgspec.structs.replace(fact, elapsed=0.0) if hasattr(fact, "elapsed") else fact for fact in facts]


def test_a_page_goes_on_with_its_order_and_its_body_compressed(tmp_path: Path) -> None:
    event, url, found, _ = answered(
        tmp_path, fixed(b"<p>hello" * 100, x_robots_tag="nofollow"), delay_seconds=0.01
    )
    (value,) = found["pages"]
    page = Decoder[FetchedPage](FetchedPage)(value)
    assert page.order == order(url)
    assert zstandard.ZstdDecompressor().decompress(page.body) == b"<p>hello" * 100
    assert (page.status, page.time, page.nofollow, page.server) == (200, NOW, True, "127.0.0.1")
    assert page.elapsed > 0
    assert event.acknowledged == [True]


async def silent(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.close()


@pytest.mark.parametrize(
    ("answer", "fact"),
    [
        (fixed(b"", "404 Not Found"), Failed("/page", 2, "gone", "status 404", NOW)),
        (fixed(b"", "503 Busy", retry_after="90"),
         Failed("/page", 2, "retry", "status 503", NOW, 90.0, overloaded=True)),
        (silent, Failed("/page", 2, "retry", "connection", NOW, unanswered=True)),
        (fixed(b"", "302 Found", location="/other"), Redirected("/page", 2, "/other", NOW)),
    ],
)  # fmt: skip
def test_what_is_no_page_is_told_to_the_frontier(
    tmp_path: Path, answer: Answer, fact: Failed | Redirected
) -> None:
    _, url, found, _ = answered(tmp_path, answer)
    origin = url.removesuffix("/page")
    target = {"target": origin + fact.target} if isinstance(fact, Redirected) else {}
    assert sightings(found) == [msgspec.structs.replace(fact, url=url, **target)]
    assert not found["pages"]


@awaited
async def test_an_order_is_acknowledged_once_the_log_has_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = {"allow": ("127.0.0.1",), "robots": False, "delay_seconds": 0.0}
    settings = Settings.model_validate({"data": tmp_path / "data", "fetch": fetch})
    acknowledged: list[list[bool]] = []
    with a_runtime(settings, NOW) as runtime:
        async with serving(fixed(b"x")) as server, Client(settings.fetch, lambda: NOW) as client:
            agent = FetchAgent(runtime, client, journal_of(runtime))
            event = Event(encode(order(f"{server.origin}/page")))

            async def send_all(messages: Any) -> None:
                acknowledged.append(list(event.acknowledged))

            monkeypatch.setattr(runtime.publisher, "send_all", send_all)
            await agent._slots.acquire()
            await agent._answer(event, agent._given(event))
    assert (acknowledged, event.acknowledged) == ([[]], [True])


def test_an_order_whose_lease_ran_out_is_not_carried_out(tmp_path: Path) -> None:
    event, _, found, asked = answered(tmp_path, fixed(b"x"), lease=NOW - 1)
    assert not any(found.values())
    assert not asked
    assert event.acknowledged == [True]


@pytest.mark.parametrize("value", [b"\xc1", None])
def test_what_is_no_order_goes_to_the_dead_letters(tmp_path: Path, value: bytes | None) -> None:
    event, _, found, asked = answered(tmp_path, fixed(b"x"), value=value)
    (buried,) = found["dead-letters"]
    letter = Decoder[DeadLetter](DeadLetter)(buried)
    assert (letter.topic, letter.partition, letter.offset) == (FETCHES.name, 0, 7)
    assert letter.reason.startswith("not a FetchOrder")
    assert not asked
    assert event.acknowledged == [True]


def test_an_order_that_comes_too_early_is_postponed(tmp_path: Path) -> None:
    rules = fixed(b"User-agent: *\nCrawl-delay: 20\nDisallow: /private", content_type="text/plain")
    _, url, found, asked = answered(tmp_path, rules, delay_seconds=0.01, robots=True)
    told, fact = sightings(found)
    assert isinstance(told, RobotsTxt)
    assert fact == Postponed(url, 2, NOW, fact.wait, 20.0, "127.0.0.1")
    assert 0 < fact.wait <= 20
    assert asked == ["/robots.txt"]


@pytest.mark.parametrize("keeps_up", [False, True])
def test_what_a_sitemap_says_that_changed_is_a_hint_where_pages_are_visited_again(
    tmp_path: Path, keeps_up: bool
) -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        origin = f"http://{request.headers['host']}"
        dates = {"a": "1970-01-01T00:15Z", "b": "1970-01-02", **{f"c{n}": "1971" for n in range(250)}}
        listed = "".join(f"<url><loc>{origin}/{n}</loc><lastmod>{t}</lastmod></url>" for n, t in dates.items())
        files = {"/robots.txt": f"Sitemap: {origin}/map.xml", "/map.xml": f"<urlset>{listed}</urlset>"}
        writer.write(response(files.get(request.target, "a page").encode(), content_type="text/plain"))

    revisit = RevisitSettings() if keeps_up else None
    _, url, found, _ = answered(tmp_path, answer, revisit=revisit, robots=True, sitemaps=True)
    origin = url.removesuffix("/page")
    hints = [Hinted(f"{origin}/a", "sitemap", 900.0)] if keeps_up else []
    facts = sightings(found)[1:]
    listed = {f"{origin}/{name}" for name in ("a", "b", *(f"c{n}" for n in range(250)))}
    assert {fact.url for fact in facts if isinstance(fact, Listed)} == listed
    assert [fact for fact in facts if isinstance(fact, Hinted)] == hints


@pytest.mark.parametrize("keeps_up", [False, True])
@pytest.mark.parametrize("media_type", ["text/html", "application/rss+xml"])
def test_the_feed_that_a_page_names_or_is_gives_hints_where_pages_are_visited_again(
    tmp_path: Path, media_type: str, keeps_up: bool
) -> None:
    named = b'<link rel="alternate" type="application/rss+xml" href="/feed">'
    entry = b"<rss><item><link>/a</link><pubDate>Thu, 01 Jan 1970 00:15:00 GMT</pubDate></item></rss>"

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        html = media_type == "text/html" and request.target == "/page"
        writer.write(response(named if html else entry, content_type=media_type))

    _, url, found, asked = answered(tmp_path, answer, revisit=RevisitSettings() if keeps_up else None)
    feed = "/feed" if media_type == "text/html" else "/page"
    assert asked == ["/page", *([feed] if keeps_up else [])]
    told = [fact for fact in sightings(found) if not isinstance(fact, Failed)]
    page = url.replace("/page", "/a")
    assert told == ([Listed(page), Hinted(page, "feed", 900.0)] if keeps_up else [])


def carried_out(tmp_path: Path, killers: set[int], deaths: int) -> tuple[list[list[str]], list[Any]]:
    """Have six orders carried out; processes died with those of ``killers`` in hand.

    Return which paths were asked for while others were under way, and what was told.
    """
    settings = Settings.model_validate({
        "data": tmp_path / "data",
        "fetch": {"allow": ("127.0.0.1",), "robots": False, "delay_seconds": 0.0, "connections": 3},
    })  # fmt: skip
    under_way: list[str] = []
    together: list[list[str]] = []

    async def slow(request: Request, writer: asyncio.StreamWriter) -> None:
        under_way.append(request.target)
        together.append(list(under_way))
        await asyncio.sleep(0.05)
        under_way.remove(request.target)
        await fixed(b"<p>hello")(request, writer)

    class Stream:
        def noack(self) -> "Stream":
            return self

        async def events(self) -> AsyncIterator[Event]:
            for number in range(6):
                place = SimpleNamespace(partition=0, offset=number)
                yield Event(encode(order(f"{origin[0]}/{number}")), message=place)

    origin: list[str] = []

    async def run() -> list[Any]:
        with a_runtime(settings, NOW) as runtime:
            async with serving(slow) as server, Client(settings.fetch, lambda: NOW) as client:
                origin.append(server.origin)
                attempts = tmp_path / "attempts"
                for _ in range(deaths):
                    died = Attempts(attempts)
                    for number in killers:
                        died.taking(noted(f"{server.origin}/{number}", 0)).__enter__()
                runtime.attempts = Attempts(attempts)
                await FetchAgent(runtime, client, journal_of(runtime))._run(Stream())
                while runtime._tasks:
                    await asyncio.sleep(0.01)
                assert isinstance(runtime.publisher, JournalPublisher)
                told = runtime.publisher._journal.read(SIGHTINGS.name, 0, 0, 10)
                return sightings({"sightings": [entry.value or b"" for entry in told]})

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
    assert [(fact.url.rpartition("/")[2], fact.kind, fact.reason) for fact in told] == [
        ("4", "refused", "quarantined: its fetch failed here")
    ]


def told(path: str, lines: str, until: float = NOW + 60) -> RobotsTxt:
    return RobotsTxt(f"{path}/robots.txt", until, zstandard.compress(lines.encode()))


def with_robots(
    tmp_path: Path, robots: float | str, earlier: int = 0, deaths: int = 0
) -> tuple[list[Any], list[str], int, list[FetchedPage]]:
    """Have an order answered that knows robots.txt until then, or brings it, behind ``earlier`` orders.

    Return the sightings, what was asked for, with which deaths the order is noted then, and the pages.
    """
    settings = Settings.model_validate({
        "data": tmp_path / "data", "fetch": {"allow": ("127.0.0.1",), "delay_seconds": 0.0},
    })  # fmt: skip

    async def run() -> Any:
        with a_runtime(settings, NOW) as runtime:
            async with serving(fixed(b"a page")) as server, Client(settings.fetch, lambda: NOW) as client:
                url = f"{server.origin}/page"
                for _ in range(deaths):
                    Attempts(tmp_path / "attempts").taking(noted(url, 0)).__enter__()
                runtime.attempts = Attempts(tmp_path / "attempts")
                journal = journal_of(runtime)
                journal.append_all([(FETCHES.name, 0, None, b"an order")] * earlier, NOW)
                agent = FetchAgent(runtime, client, journal)
                await agent._assigned()
                known = told(server.origin, robots) if isinstance(robots, str) else robots
                event = Event(encode(msgspec.structs.replace(order(url), robots=known)))
                await agent._slots.acquire()
                await agent._answer(event, agent._given(event))
                left = runtime.attempts.deaths(noted(url, 0))
                topics = (SIGHTINGS.name, PAGES.name)
                found = {name: [e.value or b"" for e in journal.read(name, 0, 0, 10)] for name in topics}
                pages = list(map(Decoder[FetchedPage](FetchedPage), found[PAGES.name]))
                return sightings(found), server.targets(), left, pages

    found: tuple[list[Any], list[str], int, list[FetchedPage]] = asyncio.run(run())
    return found


def test_a_robots_txt_that_is_known_to_nobody_is_fetched_and_told(tmp_path: Path) -> None:
    (fact,), asked, _, pages = with_robots(tmp_path, 0.0)
    assert (type(fact), fact.until, fact.time) == (RobotsTxt, NOW + 86_400, NOW)
    assert asked == ["/robots.txt", "/page"]
    assert len(pages) == 1


@pytest.mark.parametrize(("until", "earlier"), [(NOW + 60, 0), (NOW + 60, 9), (0.0, 9), (NOW - 60, 0)])
def test_an_order_is_put_off_where_the_frontier_may_know_more_of_robots_txt(
    tmp_path: Path, until: float, earlier: int
) -> None:
    (fact,), asked, deaths, _ = with_robots(tmp_path, until, earlier, deaths=1)
    assert (type(fact), fact.wait, fact.robots) == (Postponed, 0.0, True)
    assert asked == []
    assert deaths == 1, "it is to be carried out alone when it comes again"


def test_an_order_brings_what_robots_txt_says(tmp_path: Path) -> None:
    facts, asked, _, (page,) = with_robots(tmp_path / "allowed", "User-agent: *\nCrawl-delay: 3")
    assert (facts, asked) == ([], ["/page"])
    assert (page.crawl_delay, page.order.robots) == (3.0, NOW + 60)
    (fact,), asked, _, pages = with_robots(tmp_path / "not", "User-agent: *\nDisallow: /page", earlier=9)
    assert (fact.kind, fact.reason, asked, pages) == ("refused", "robots.txt", [], [])


def test_an_order_that_came_too_early_is_still_one_that_a_process_died_with(tmp_path: Path) -> None:
    (fact,), asked, deaths, _ = with_robots(tmp_path, "User-agent: *\nCrawl-delay: 30", earlier=9, deaths=2)
    assert (type(fact), fact.robots, asked, deaths) == (Postponed, False, [], 2)


@pytest.mark.parametrize("orders", [0, 1])
def test_hosts_count_as_just_asked_where_there_were_orders_before(tmp_path: Path, orders: int) -> None:
    settings = Settings.model_validate({"data": tmp_path / "data"})

    async def run() -> bool:
        with a_runtime(settings, NOW) as runtime:
            journal = journal_of(runtime)
            journal.append_all([(FETCHES.name, 0, None, b"an order")] * orders, NOW)
            async with Client(settings.fetch, lambda: NOW) as client:
                await FetchAgent(runtime, client, journal)._assigned()
                try:
                    await client.servers.ready(["a.org"], 60.0)
                except TooEarlyError:
                    return True
        return False

    assert asyncio.run(run()) is bool(orders)
