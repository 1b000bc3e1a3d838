"""Whatever a stranger writes, as host, status line, header or Location, ends one fetch and nothing else."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from bench.fuzz.answers import check
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.result import Body, Ended, outcome_of
from scentline.agents.fetch.robots import Rules
from scentline.models.facts import Missing, Moved
from scentline.models.records import FetchedPage, HostAnswer, encode
from scentline.models.url import canonical
from scentline.models.url import host as host_of
from tests.agents.judging import an_order
from tests.agents.loopback import Request, Server, failed, fixed, response, serving, settings, untimed
from tests.cases import each_case

#: Seconds that a fetch may take that hangs for want of bytes.
SOON = 5.0
Answer = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class Names(AbstractResolver):
    """Every name leads to 127.0.0.1, or asking for one raises an error, as a library with a bug does."""

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error

    async def resolve(self, host: str, port: int = 0, family: Any = socket.AF_INET) -> list[ResolveResult]:
        if self._error is not None:
            raise self._error
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def local(names: AbstractResolver | None = None, **changes: object) -> AsyncIterator[Client]:
    async with Client(settings(**changes), lambda: 0.0) as client:
        client._pool.resolver._ask = names or Names()  # instead of DNS
        yield client


def asked(use: Callable[[Client, Server], Awaitable[Any]], answer: Any, **changes: object) -> Any:
    """Return what ``use`` makes of a client and of a server that answers so."""

    async def run() -> Any:
        async with serving(answer) as server, local(None, timeout_seconds=SOON, **changes) as client:
            return await use(client, server)

    return asyncio.run(run())


def sending(message: bytes, robots: bytes | None = None) -> Answer:
    """Answer with a message, and a request for robots.txt with another one."""

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(robots if robots is not None and request.target == "/robots.txt" else message)
        await writer.drain()
        writer.close()

    return answer


def fetched(message: bytes, robots: bytes | None = None) -> tuple[Ended, str]:
    """Return what one fetch brought of a server that sends a message and closes, and where it was."""

    async def use(client: Client, server: Server) -> tuple[Ended, str]:
        return untimed(await client.fetch(server.origin + "/")), server.origin

    found: tuple[Ended, str] = asked(use, sending(message, robots), robots=robots is not None)
    return found


# hosts


@each_case("name")
def test_a_host_that_idna_2008_does_not_know_is_fetched(name: str) -> None:
    async def use(client: Client, server: Server) -> None:
        url = canonical(f"http://{name}:{server.port}/page")
        assert url is not None
        assert isinstance((await client.fetch(url)).result, Body)
        assert server.targets() == ["/robots.txt", "/page"]
        assert {request.headers["host"] for request in server.requests} == {host_of(url)}

    for delay in (0.0, 0.001):
        asked(use, fixed(b"x"), delay_seconds=delay, robots=True)


#: The planes of Unicode that have characters; all others are unassigned or private.
ASSIGNED = [*range(0x32400), *range(0xE0000, 0xE0200)]


def test_a_host_of_any_one_code_point_is_asked_or_no_candidate() -> None:
    async def run() -> int:
        async with local() as client:
            urls = (canonical(f"http://{chr(number)}.example.org/") for number in ASSIGNED)
            found = [url for url in urls if url is not None]
            for url in found:
                client._pool.check(url)
                assert URL(url, encoded=True).raw_host == host_of(url)  # whom aiohttp connects to
            return len(found)

    assert asyncio.run(run()) > 9_000


# orders


@each_case("url", ["http://127.0.0.1:{port}/" + "a" * 2000])
def test_an_order_for_what_is_no_canonical_url_asks_nobody(url: str) -> None:
    async def use(client: Client, server: Server) -> None:
        found = await client.fetch(url.replace("{port}", str(server.port)))
        assert (untimed(found), server.connections) == (failed("failed", "url"), 0)

    for delay, robots in product((0.0, 0.001), (False, True)):
        asked(use, fixed(b"x"), delay_seconds=delay, robots=robots)


# status lines and headers

PHRASES = [
    b"N\xe3o encontrado", b"\xcd\xe5 \xed\xe0\xe9\xe4\xe5\xed\xee", "見つかりません".encode(), b"\xff\xfe", b"",
    b"OK" * 5000, b"\x80", b"\tOK",
]  # fmt: skip


@each_case("phrase", PHRASES)
def test_a_reason_phrase_in_any_encoding_is_passed_over(phrase: bytes) -> None:
    missing = b"HTTP/1.1 404 " + phrase + b"\r\nContent-Length: 0\r\n\r\n"
    assert fetched(missing)[0] == failed("gone", "status 404")
    page = b"HTTP/1.1 200 " + phrase + b"\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\nx"
    assert isinstance(fetched(page)[0].result, Body)
    assert isinstance(fetched(page, robots=missing)[0].result, Body)


@each_case(("value", "read"))
def test_a_header_in_utf_8_or_latin_1_is_read_and_can_be_written(value: str, read: str) -> None:
    # Another header beyond ASCII has no say in how this one is read.
    head = b"HTTP/1.1 200 \xff\r\nContent-Type: text/html; charset=\xe9\r\nX-Other: \xff\r\n"
    head += b"Content-Length: 1\r\nLink: "
    page = fetched(head + value.encode("latin-1") + b"\r\n\r\nx")[0].result
    assert isinstance(page, Body)
    assert page.headers["link"] == read
    order, told = an_order("http://a.org/"), HostAnswer()
    assert encode(FetchedPage(order=order, status=200, headers=page.headers, body=b"", time=0.0, host=told))


# Location


NOWHERE, BROKEN = failed("gone", "redirect to no page"), failed("retry", "broken response")


@each_case(
    ("written", "leads_to"),
    # What no head may hold leads to nothing at all.
    [("/" + "a" * 30_000, ""), ("/a\0b", None), ("/" + "a" * 100_000, None), ("/a\rb", None)],
)
def test_a_location_leads_to_a_canonical_url_or_nowhere(written: str, leads_to: str | None) -> None:
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + written.encode("latin-1") + b"\r\n\r\n"
    ended, origin = fetched(head)
    if leads_to:
        target = leads_to if "://" in leads_to else origin + leads_to
        assert ended == Ended(Moved(target, permanent=False))
    else:
        assert ended == (BROKEN if leads_to is None else NOWHERE)
    check(fetched(response(b"x"), robots=head)[0].result)


# what nobody expected

ERRORS = [
    ValueError("in http://a.org/?secret=1"), UnicodeError("secret=1"), RuntimeError("secret=1"),
    RecursionError(), AssertionError(), KeyError("secret=1"), MemoryError(),
    ExceptionGroup("secret=1", [TypeError()]),
]  # fmt: skip


@pytest.mark.parametrize("robots", [False, True])
def test_what_libraries_raise_is_one_failure_no_query(robots: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def run(error: Exception) -> Ended:
        async with local(Names(error), robots=robots) as client:
            return untimed(await client.fetch("http://a.org:8080/?secret=1"))

    for error in ERRORS:
        caplog.clear()
        with caplog.at_level(logging.ERROR, "scentline.web"):
            result = asyncio.run(run(error)).result
        kind = type(error).__name__
        # A name that has no form for DNS has no address.
        reason = "dns" if isinstance(error, UnicodeError) else f"error {kind}"
        assert isinstance(result, Missing)
        assert (result.kind, result.reason) == ("retry", f"robots.txt {reason}" if robots else reason)
        if reason != "dns":
            assert outcome_of(result) == "error"
            (line,) = (vars(record)["fields"] for record in caplog.records)
            step = "robots.txt" if robots else "page"
            assert (line["step"], line["host"]) == (step, "a.org:8080")
            assert line["error"] == f"{kind} in agents/fetch/servers.py, _look_up"
            assert "secret" not in str(line)


def test_a_rule_that_breaks_its_library_costs_the_page_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Rules, url: str) -> bool:
        raise RecursionError

    async def use(client: Client, server: Server) -> None:
        monkeypatch.setattr(Rules, "allows", broken)
        ended = await client.fetch(server.origin + "/")
        assert ended.result == Missing("retry", "error RecursionError")
        monkeypatch.undo()
        assert isinstance((await client.fetch(server.origin + "/")).result, Body)

    asked(use, fixed(b"User-agent: *\nDisallow: /x\n", content_type="text/plain"), robots=True)
