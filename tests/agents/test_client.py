"""Whatever a server sends is one result: a page, a failure or another URL, within limits of time and memory."""

import asyncio
import gzip
import ssl
import struct
from collections.abc import Callable
from email.utils import formatdate
from itertools import product
from pathlib import Path
from random import Random

import pytest
import trustme

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.pool import FRAMING_BYTES
from scentline.agents.fetch.result import Body, Ended
from scentline.models.records import Version
from scentline.models.settings import JudgeSettings
from scentline.models.url import canonical
from tests.agents import loopback
from tests.agents.loopback import Answer, Request, awaited, closing, failed, fixed, serving, settings, untimed
from tests.cases import each_case
from tests.patience import PATIENCE

NOW = 1_700_000_000.0


def clock() -> float:
    return NOW


def fetch(answer: Answer, **changes: object) -> Ended:
    async def run() -> Ended:
        given = settings(**changes), clock, None, JudgeSettings().formats
        async with serving(answer) as server, Client(*given) as client:
            return untimed(await client.fetch(server.origin + "/"))

    return asyncio.run(run())


def page(answer: Answer, **changes: object) -> Body:
    result = fetch(answer, **changes).result
    assert isinstance(result, Body), result
    return result


def writing(*parts: bytes, then: Callable[[asyncio.StreamWriter], None] | None = None) -> Answer:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
        await writer.drain()
        if then is not None:
            then(writer)

    return answer


def slowly(head: bytes, pause: float, rest: bytes = b"", times: int = 10**9) -> Answer:
    """Answer with ``rest`` again and again behind a head, and a pause before each."""

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for _ in range(times):
            await writer.drain()
            await asyncio.sleep(pause)
            writer.write(rest)

    return answer


def reset(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER of no time
    writer.transport.abort()


OK, END = b"HTTP/1.1 200 OK\r\n", asyncio.StreamWriter.close
CHUNKED = OK + b"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
THREE_KB = CHUNKED + b"bb8\r\n" + b"x" * 3000 + b"\r\n0\r\n\r\n"
GONE, RETRY = (206, 304, 400, 401, 403, 404, 410, 451), (407, 408, 425, 429, 500, 502, 503, 599)
WAITS = {
    "120": 120.0, "9" * 30: 86_400.0, formatdate(NOW + 90, usegmt=True): 90.0,
    formatdate(NOW - 90, usegmt=True): 0.0, "soon": None, "-5": None, "": None,
}  # fmt: skip
TOO_LARGE = failed("unfit", "body over 2999 bytes")
TIMEOUT = failed("retry", "timeout", unanswered=True)
FAILURES: list[tuple[Answer, dict[str, object], Ended]] = [
    (fixed(b"", "302 X", location="ftp://example.org/"), {}, failed("gone", "redirect to no page")),
    (fixed(b"", "302 X", location="/#again"), {}, failed("gone", "redirect to itself")),
    *((fixed(b"", f"{status} X"), {}, failed("gone", f"status {status}")) for status in GONE),
    *(
        (fixed(b"", f"{status} X"), {}, failed("retry", f"status {status}", overloaded=status in (429, 503)))
        for status in RETRY
    ),
    (writing(b"HTTP/1.1 204 No Content\r\n\r\n"), {}, failed("gone", "no content")),
    *(
        (fixed(b"", "503 X", retry_after=value), {}, failed("retry", "status 503", seconds, overloaded=True))
        for value, seconds in WAITS.items()
    ),
    *(
        (fixed(b"x" * 100, content_type=kind), {}, failed("unfit", f"content type {read}"))
        for kind, read in {"image/png": "image/png", "application/zip; charset=x": "application/zip",
                           "TEXT/CSS": "text/css", "binary/octet-stream": "unknown, and no document"}.items()
    ),
    (fixed(b"x", content_encoding="br"), {}, failed("unfit", "content encoding")),
    (fixed(b"x" * 3000), {"max_bytes": 2999}, TOO_LARGE),
    (writing(THREE_KB), {"max_bytes": 2999}, TOO_LARGE),
    (slowly(OK + b"\r\n", 0, b"x" * 1000), {"max_bytes": 2999}, TOO_LARGE),
    (slowly(OK + b"\r\n", 0.02, b"x"), {"timeout_seconds": 0.3}, TIMEOUT),
    (slowly(b"", 3600), {"timeout_seconds": 0.2}, TIMEOUT),
    (slowly(b"", 3600), {"first_byte_seconds": 0.2}, TIMEOUT),
    (fixed(b"x", x_robots_tag="Scentline: noindex"), {}, failed("refused", "X-Robots-Tag noindex")),
    (writing(OK + b"Content-Length: 1\r\nX-Robots-Tag: bot: noarchive\r\nX-Robots-Tag: none\r\n\r\nx"), {},
     failed("refused", "X-Robots-Tag noindex")),
    (writing(OK + b"X: " + b"y" * 100_000 + b"\r\n\r\n", then=END), {}, failed("retry", "broken response")),
    (writing(OK + b"X: y\r\n" * 500 + b"\r\n", then=END), {}, failed("retry", "broken response")),
    (closing, {}, failed("retry", "connection", unanswered=True)),
    (writing(then=reset), {}, failed("retry", "connection", unanswered=True)),
    (writing(OK + b"Content-Length: 100\r\n\r\nhalf", then=END), {}, failed("retry", "body cut short")),
    (fixed(gzip.compress(b"text" * 99)[:-4], content_encoding="gzip"), {}, failed("retry", "body cut short")),
    (fixed(b"text", content_encoding="gzip"), {}, failed("retry", "broken compression")),
]  # fmt: skip


TEXT = b"<p>some text</p>" * 1000
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 10
LONG_HEAD = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 3000) for n in range(100))
SHORT_CHUNKS = b"20\r\n" + TEXT[:32] + b"\r\n"
PAGES: list[tuple[Answer, dict[str, object], bytes]] = [
    *(
        (fixed(b"x", content_type=kind), {}, b"x")
        for kind in ("text/html;charset=utf-8", "Text/Plain", "application/xhtml+xml", "", "x", "a/b,text/html")
    ),
    *(
        (fixed(b"%PDF-1.4", content_type=kind), {}, b"%PDF-1.4")
        for kind in ("application/pdf; charset=x", "Application/Octet-Stream")
    ),
    (fixed(gzip.compress(TEXT), content_encoding="x-gzip"), {}, TEXT),
    (fixed(b"x" * 3000), {"max_bytes": 3000}, b"x" * 3000),
    (writing(THREE_KB), {"max_bytes": 3000}, b"x" * 3000),
    (slowly(OK + b"Content-Length: 2\r\n\r\n", 0.4, b"ok", 1), {"first_byte_seconds": 0.2}, b"ok"),
    (writing(HINTS + OK + LONG_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + SHORT_CHUNKS * 90_000
             + b"0\r\nX: y\r\n\r\n"), {}, TEXT[:32] * 90_000),
]  # fmt: skip


@each_case(("answer", "changes", "expected"), [*FAILURES, *PAGES])
def test_answers_are_pages_or_fail(answer: Answer, changes: dict[str, object], expected: Ended | bytes) -> None:
    result = fetch(answer, **changes)
    assert (result.result.body if isinstance(result.result, Body) else result) == expected


def test_a_page_brings_the_headers_that_are_read_later() -> None:
    headers = {"etag": '"1"', "x_robots_tag": "noarchive", "set_cookie": "a=b", "link": "x" * 5000}
    result = page(fixed(b"<p>hello", content_language="de", **headers))
    assert (result.body, result.status, result.nofollow) == (b"<p>hello", 200, False)
    assert set(result.headers) == {"content-type", "content-language", "etag", "link", "x-robots-tag"}
    assert len(result.headers["link"]) == 1000
    assert page(fixed(b"x", x_robots_tag="nofollow")).nofollow
    assert not page(fixed(b"x", x_robots_tag="otherbot: noindex")).nofollow


@awaited
async def test_requests_name_the_crawler_and_the_known_version_and_carry_no_cookies() -> None:
    name, known = "Test/1 (+mailto:me@example.org)", Version('"7"', "Thu, 01 Jan 1970 00:01:40 GMT")
    async with serving(fixed(b"x", set_cookie="a=b; Path=/")) as server:
        async with Client(settings(user_agent=name), clock, None, JudgeSettings().formats) as client:
            for version in (None, known):
                assert isinstance((await client.fetch(server.origin + "/", version)).result, Body)
        assert server.connections == 1
    plain, asked = (request.headers for request in server.requests)
    for headers in (plain, asked):
        assert (headers["user-agent"], headers["accept-encoding"]) == (name, "gzip, deflate")
        assert headers["accept"].startswith("text/html,application/xhtml+xml,application/pdf;q=0.9,")
        assert "cookie" not in headers
    assert (asked["if-none-match"], asked["if-modified-since"]) == (known.etag, known.last_modified)
    assert {"if-none-match", "if-modified-since"}.isdisjoint(plain)


SEGMENTS = [
    "", "a", ".", "..", ".x", "%2e", "%2E.", "..a", "b^", ";jsessionid=0A1B2C3D4E5F", "a%2f..", "é", "\\", "'(",
]  # fmt: skip
QUERIES = ["", "?", "?q=../x", "?sid=0123456789abcdef0123456789abcdef"]


@awaited
async def test_what_goes_out_for_any_link_is_what_robots_txt_and_exclusions_saw() -> None:
    """They see the canonical URL: the server has to be asked for it, to the letter."""
    seen, choice = set[str](), Random(1)
    async with serving(fixed(b"x")) as server, Client(settings(), clock) as client:
        for segments in product(SEGMENTS, repeat=3):
            found = canonical("/".join(segments) + choice.choice(QUERIES), f"{server.origin}/s/")
            if found is None or found in seen or not found.startswith(server.origin):
                continue
            seen.add(found)
            assert isinstance((await client.fetch(found)).result, Body), found
            assert server.origin + server.requests[-1].target == found
            assert {".", ".."}.isdisjoint(found.partition("?")[0].split("/"))
        for path in ("/a%28b%29", "/%27?q=a+b%2B%20c", "/%7Ca'b(c)", "//a//?b=%5B", "/%E2%82%AC"):
            assert isinstance((await client.fetch(server.origin + path)).result, Body)
            assert server.targets()[-1] == path
        asked = len(server.requests)
        refused = await client.fetch(f"{server.origin}/b/.x/../../private")
        assert (untimed(refused), len(server.requests)) == (failed("failed", "url"), asked)
    assert len(seen) > 1000


@awaited
async def test_authorities_are_those_named_else_certifi(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.issue_cert("localhost").configure_cert(tls)
    ours.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    results = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx")

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls) as server:
        (place,) = server.sockets
        for file in (tmp_path / "ca.pem", ""):
            monkeypatch.setenv("SSL_CERT_FILE", str(file))
            async with Client(settings(allow=("localhost", "127.0.0.1"), robots=False), clock) as client:
                results.append(await client.fetch(f"https://localhost:{place.getsockname()[1]}/"))
    assert isinstance(results[0].result, Body)
    assert untimed(results[1]) == failed("retry", "certificate", unanswered=True)


@each_case(
    ("head", "endless"),
    [
        (b"", HINTS * 10),
        (b"", b"HTTP/1.1 100 \r\n\r\n" * 100),
        (CHUNKED, b"1;" + b"a" * 15_000 + b"\r\nx\r\n"),
        (CHUNKED + b"1;", b"a" * 60_000),
        (CHUNKED, b"1\r\nx\r\n" * 1000),
        (CHUNKED, b"00000000001\r\nx\r\n" * 1000),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"X-Trailer: y\r\n" * 100),
    ],
)
def test_what_is_no_body_and_has_no_end_is_a_broken_response(head: bytes, endless: bytes) -> None:
    sent = 0

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(head)
        while True:
            writer.write(endless)
            await writer.drain()
            sent += len(endless)

    result = fetch(answer, first_byte_seconds=PATIENCE, timeout_seconds=PATIENCE)
    assert result == failed("retry", "broken response")
    # What the system's buffers hold is sent as well.
    assert sent < FRAMING_BYTES + 20_000_000


@awaited
async def test_each_answer_of_a_kept_connection_is_measured_by_itself() -> None:
    message = OK + b"Content-Length: 1\r\n" + LONG_HEAD + b"\r\nx"
    async with serving(writing(message)) as server, Client(settings(), clock) as client:
        for number in range(5):
            assert isinstance((await client.fetch(f"{server.origin}/{number}")).result, Body)
        assert server.connections == 1


@awaited
async def test_a_kept_connection_that_breaks_is_not_tried_again_at_once() -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        await (fixed(b"x") if request.target == "/" else closing)(request, writer)

    async with serving(answer) as server, Client(settings(), clock) as client:
        assert isinstance((await client.fetch(server.origin + "/")).result, Body)
        broken = await client.fetch(server.origin + "/broken")
        assert untimed(broken) == failed("retry", "connection", unanswered=True)
        assert (server.targets(), server.connections) == (["/", "/broken"], 1)


@awaited
async def test_a_host_that_can_not_be_reached_is_tried_again_later() -> None:
    def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"no TLS here")
        writer.close()

    async with serving(fixed(b"")) as server:
        closed = server.origin
    plain = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with plain, Client(settings(), clock) as client:
        for url, reason in (
            ("http://name.invalid/?secret=1", "dns"),
            (closed + "/", "connection"),
            (f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/", "tls"),
        ):
            assert untimed(await client.fetch(url)) == failed("retry", reason, unanswered=True)
    async with Client(settings(proxy=closed), clock) as client:
        down = untimed(await client.fetch("http://example.org/"))
    assert down == failed("retry", "proxy", unanswered=True)


@awaited
async def test_connections_are_reused_and_bounded() -> None:
    async with serving(fixed(b"x")) as server, Client(settings(connections=4), clock) as client:
        results = await asyncio.gather(*(client.fetch(f"{server.origin}/{i}") for i in range(40)))
    assert all(isinstance(result.result, Body) for result in results)
    assert server.connections <= 4
    assert len(server.requests) == 40


@each_case("given_up", [True, False])
@awaited
async def test_a_fetch_that_is_given_up_or_whose_client_closes_leaves_nothing_behind(given_up: bool) -> None:
    async with serving(loopback.hanging) as server:
        async with Client(settings(robots=True), clock) as client:
            task = asyncio.create_task(client.fetch(server.origin + "/"))
            while not server.requests:
                await asyncio.sleep(0.001)
            if given_up:
                task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
