"""What a client says is bounded and refused by name, and what it says well has one end, in the log."""

import asyncio
import json
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
import zstandard

from scentline.agents.door.agent import DoorAgent
from scentline.agents.door.server import serving_door
from scentline.models.facts import Early, Found, Missing, Moved
from scentline.models.records import FetchedPage
from scentline.streams.metrics import Reading, catalogue
from scentline.streams.metrics.endpoint import serving_metrics
from scentline.streams.runtime import Runtime
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.topics import PAGES
from tests.agents.judging import an_order
from tests.agents.loopback import awaited
from tests.agents.shards import a_runtime, journal_of
from tests.agents.test_fetch_agent import NOW, facts_in, written
from tests.cases import each_case
from tests.streams.scraping import PATIENT, get, read

TOKEN = "a token of sixteen and more"
URL = "http://a.test/1"
FRAMED = {"Content-Type": "application/x-scentline"}


class Visitor:
    """A door on an empty journal, and a client of it."""

    def __init__(self, runtime: Runtime, door: DoorAgent, http: httpx.AsyncClient) -> None:
        self.runtime, self.door, self.http = runtime, door, http
        self.acknowledged: list[str] = []

    def park(self, url: str = URL, **changed: Any) -> str:
        self.door.leases.park(an_order(url, **changed), lambda: self.acknowledged.append(url), NOW, early=False)
        return "f2"

    async def call(self, name: str, **said: Any) -> httpx.Response:
        return await self.http.post(f"/door/1/{name}", json={"client": "one", **said})

    async def settle(self, body: bytes = b"", **answer: Any) -> list[str]:
        """Settle the order that is leased first; with a body by a framed call."""
        await self.call("lease", id="1", want=4)
        answer = {"url": URL, "order": "f2", "body": len(body), **answer}
        head = json.dumps({"client": "one", "answers": [answer]}).encode()
        framed = struct.pack(">I", len(head)) + head + body
        said = await self.http.post("/door/1/settle", content=framed, headers=FRAMED)
        found: list[str] = said.raise_for_status().json()["said"]
        return found

    @property
    def pages(self) -> list[FetchedPage]:
        return written(journal_of(self.runtime), PAGES, FetchedPage)

    @property
    def facts(self) -> list[Any]:
        return facts_in(journal_of(self.runtime))


@asynccontextmanager
async def visiting(**given: Any) -> AsyncIterator[Visitor]:
    door = {"address": "127.0.0.1:0", "token": TOKEN}
    usual = {"door": door, "fetch": {"max_bytes": 100_000}}
    with (
        TemporaryDirectory() as data,
        a_runtime(settings := Settings.model_validate({"data": data, **usual, **given}), NOW) as runtime,
    ):
        agent = DoorAgent(runtime)
        async with serving_door(settings, agent, dict) as url:
            head = {"Authorization": f"Bearer {TOKEN}"}
            async with httpx.AsyncClient(base_url=url, headers=head) as http:
                yield Visitor(runtime, agent, http)


@awaited
async def test_an_answer_is_in_the_log_once_and_then_its_order_acknowledged() -> None:
    async with visiting() as visitor:
        visitor.park()
        leased = (await visitor.call("lease", id="1", want=1)).json()
        (order,) = leased["orders"]
        assert (order["url"], order["order"], leased["state"]) == (URL, "f2", "running")
        body = zlib.compress(b"<title>tea</title>")
        told = {"content-type": "text/html", "x-robots-tag": "other: noindex, nofollow"}
        head = {"Content-Type": "text/html", "Set-Cookie": "secret", "X-Robots-Tag": told["x-robots-tag"]}
        answer = {"status": 200, "headers": head, "items": ["Tea"], "elapsed": 0.5, "server": "10.0.0.1"}
        assert visitor.acknowledged == []
        assert await visitor.settle(body, **answer) == ["ok"]
        assert visitor.acknowledged == [URL]
        assert await visitor.settle(body, **answer) == ["again"]
        (page,) = visitor.pages
        assert (page.status, page.headers, page.items) == (200, told, ("Tea",))
        assert zstandard.decompress(page.body) == b"<title>tea</title>"
        assert (page.host.elapsed, page.host.server) == (0.5, "10.0.0.1")
        assert await visitor.settle(order="f9", status=404) == ["unknown"]


@awaited
async def test_a_settle_leases_what_comes_next_and_repeated_the_same() -> None:
    async with visiting() as visitor:
        for page in (URL, "http://b.test/", "http://c.test/"):
            visitor.park(page)
        await visitor.call("lease", id="1", want=1)
        answers, lease = [{"url": URL, "order": "f2", "status": 404}], {"client": "one", "id": "2", "want": 1}
        calls = [(await visitor.call("settle", answers=answers, lease=lease)).json() for _ in range(2)]
        assert [call["said"] for call in calls] == [["ok"], ["again"]]
        assert [[order["url"] for order in call["orders"]] for call in calls] == [["http://b.test/"]] * 2
        assert visitor.acknowledged == [URL]


@awaited
async def test_a_client_that_is_gone_gets_no_order() -> None:
    async with visiting() as visitor:
        call = asyncio.create_task(visitor.call("lease", id="1", want=1, wait=20))
        while not visitor.door.clients:
            await asyncio.sleep(0.01)
        call.cancel()
        visitor.park()
        for _ in range(2):
            await visitor.http.get("/door/1/state")
            await visitor.door.wake()
        assert visitor.door.held() == 0


@each_case(
    ("answer", "result", "host"),
    [
        ({"status": 404}, Missing("gone", "status 404"), {}),
        ({"status": 503, "headers": {"Retry-After": "7"}}, Missing("retry", "status 503"),
         {"retry_after": 7.0, "overloaded": True}),
        ({"status": 301, "target": "/2"}, Moved("http://a.test/2"), {}),
        ({"status": 302, "target": "ftp://a.test/"}, Missing("gone", "redirect to no page"), {}),
        ({"reason": "robots"}, Missing("refused", "robots.txt"), {}),
        ({"reason": "timeout"}, Missing("retry", "timeout"), {"unanswered": True}),
        ({"reason": "whatever"}, Missing("failed", "error of the client"), {}),
        ({"reason": "back"}, Early(0.0), {}),
        ({"status": 200, "headers": {"content-type": "a/b"}}, Missing("unfit", "content type a/b"), {}),
        ({"status": 200, "headers": {"X-Robots-Tag": "other: nofollow\nnoindex"}},
         Missing("refused", "X-Robots-Tag noindex"), {}),
    ],
)  # fmt: skip
@awaited
async def test_an_answer_without_a_page_is_the_end_that_our_fetcher_would_report(
    answer: dict[str, Any], result: object, host: dict[str, Any]
) -> None:
    async with visiting() as visitor:
        visitor.park()
        assert await visitor.settle(**answer) == ["ok"]
        (fact,) = visitor.facts
        assert fact.result == result
        assert {name: getattr(fact.host, name) for name in host} == host
        assert visitor.pages == []


@each_case(
    ("body", "reason"),
    [
        (zlib.compress(b"a" * 50_000_000), "body over 100000 bytes"),
        (zlib.compress(b"a" * 9_000)[:-9], "body cut short"),
        (b"no stream", "broken compression"),
    ],
)
@awaited
async def test_a_bomb_and_a_broken_body_are_no_pages(body: bytes, reason: str) -> None:
    async with visiting() as visitor:
        visitor.park()
        assert await visitor.settle(body, status=200) == ["ok"]
        assert [fact.result.reason for fact in visitor.facts] == [reason]


@awaited
async def test_a_page_without_a_body_is_made_of_its_title_text_and_links_escaped() -> None:
    async with visiting() as visitor:
        visitor.park()
        links = [{"url": "/2", "text": "<b>two</b>", "memo": "a memo"}, {"url": "http://x\n", "text": ""}]
        head, title = {"X-Robots-Tag": "Scentline: nofollow"}, "</title><a href=/3>"
        head["Content-Type"] = "application/json"
        await visitor.settle(status=200, title=title, text="tea & milk", links=links, headers=head)
        (page,) = visitor.pages
        text = zstandard.decompress(page.body).decode()
        assert '<a href="/2">&lt;b&gt;two&lt;/b&gt;</a>' in text
        assert "tea &amp; milk" in text
        assert "href=/3>" not in text
        assert (page.wanted, page.nofollow) == (("http://a.test/2", "http://x/"), True)
        assert visitor.facts == [Found("http://a.test/2", memo="a memo", noted=True)]


@awaited
async def test_what_is_discovered_is_a_candidate_and_a_link_of_the_page_that_is_in_hand() -> None:
    async with visiting() as visitor:
        visitor.park()
        seed, link = {"url": "http://b.test/", "seed": True}, {"url": "3", "parent": URL, "text": "three"}
        urls = [seed, link, {"url": "x:"}]
        said = (await visitor.call("discover", urls=urls)).json()["said"]
        assert said == ["taken", "taken", "refused: no http or https URL"]
        assert visitor.facts == [Found("http://b.test/", seed=True), Found("http://a.test/3", 1, level=1)]
        await visitor.settle(status=200)
        assert [page.wanted for page in visitor.pages] == [("http://a.test/3",)]


@awaited
async def test_a_crawl_delay_that_a_client_read_holds_for_the_host_and_is_published() -> None:
    async with visiting(fetch={"user_agent": "tea/1 (+https://tea.test/)"}) as visitor:
        robots = [{"url": "http://a.test/robots.txt", "status": 200, "text": "User-agent: *\nCrawl-delay: 50"}]
        await visitor.call("settle", robots=robots)
        for name in ("1", "2"):
            visitor.park(f"http://a.test/{name}", delay=1.0)
        first = (await visitor.call("lease", id="1", want=2)).json()["orders"]
        assert [order["url"] for order in first] == [URL]
        assert [fact.url for fact in visitor.facts] == ["http://a.test/robots.txt"]
        await visitor.settle(status=404)
        assert visitor.facts[-1].host.crawl_delay == 50.0
        assert (await visitor.call("lease", id="2", want=2)).json()["orders"] == []


@each_case(
    ("path", "content", "head", "status"),
    [
        ("state", None, {}, 200),
        ("state", None, {"Authorization": "Bearer another token, longer"}, 401),
        ("state", None, {"Origin": "http://a.test"}, 401),
        ("lease", b"{", {}, 400),
        ("lease", b'{"client": "one", "wait": 31}', {}, 400),
        ("lease", b'{"client": ""}', {}, 400),
        ("lease", b"[" * 100_000, {}, 400),
        ("settle", b"\xff\xff\xff\xff{}", FRAMED, 400),
        ("settle", b'\x00\x00\x00\x10{"client": "one"}left over', FRAMED, 400),
        ("settle", b"a" * (17 << 20), {}, 413),
        ("discover", json.dumps({"client": "a", "urls": [{"url": "a", "memo": "m" * 5000}]}).encode(), {}, 400),
        ("nothing", b"", {}, 404),
    ],
)
@awaited
async def test_a_call_that_is_none_is_refused(
    path: str, content: bytes | None, head: dict[str, str], status: int
) -> None:
    async with visiting() as visitor:
        method = "GET" if content is None else "POST"
        answer = await visitor.http.request(method, f"/door/1/{path}", content=content, headers=head)
        assert answer.status_code == status
        assert answer.headers["server"] == "scentline"
        assert len(answer.content) < 500


@awaited
async def test_an_open_address_needs_tls() -> None:
    with pytest.raises(ConfigurationError, match="expected a loopback address, or "):
        async with visiting(door={"address": "0.0.0.0:0"}):
            pass


@awaited
async def test_a_doors_metrics_count_its_clients_orders_and_answers() -> None:
    async with visiting() as visitor:
        visitor.park()
        visitor.park("http://b.test/")
        await visitor.settle(status=404)
        await visitor.call("discover", urls=[{"url": "http://c.test/"}])
        visitor.door.measure(reading := Reading())
        metrics = visitor.runtime.metrics
        async with serving_metrics("127.0.0.1", 0, PATIENT, metrics) as url:
            _, text = await get(f"{url}/metrics")
    scrape, gauges = read(text), {family.name: family.samples[0].value for family in reading.families()}
    own = {metric.name for metric in catalogue.CATALOGUE if metric.name.startswith("scentline_door")}
    assert own == {name for name in (*gauges, *scrape.kinds) if name.startswith("scentline_door")}
    assert [gauges[metric.name] for metric in (catalogue.DOOR_CLIENTS, catalogue.DOOR_PARKED)] == [1, 1]
    assert [scrape.of(metric) for metric in (catalogue.DOOR_DISCOVERED, catalogue.DOOR_RETURNED)] == [1, 0]
    assert scrape.of(catalogue.DOOR_ANSWERS, outcome="ok") == scrape.sum(catalogue.DOOR_ANSWERS) == 1


@awaited
async def test_a_request_that_is_no_http_is_quoted_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    async with visiting() as visitor:
        url = visitor.http.base_url
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(f"GET / HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\0\r\n\r\n".encode())
        assert b" 400 " in await reader.readline()
        writer.close()
    assert TOKEN not in caplog.text
