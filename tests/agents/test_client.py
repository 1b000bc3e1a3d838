import asyncio
import gzip
import socket
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from email.utils import formatdate
from itertools import product
from random import Random

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.fetch import client as module
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.pool import FRAMING_BYTES
from scentline.agents.fetch.result import Early, Failure, Fetched, Moved, Result
from scentline.agents.fetch.servers import Servers
from scentline.models.url import canonical
from scentline.streams.crawl_settings import FetchSettings
from tests.agents.clocks import WaitingClock
from tests.agents.loopback import (
    Answer,
    Request,
    Server,
    fixed,
    response,
    serving,
    settings,
    untimed,
)
from tests.cases import each_case
from tests.patience import PATIENCE

NOW = 1_700_000_000.0


def clock() -> float:
    return NOW


def fetch(answer: Answer, path: str = "/", **changes: object) -> tuple[Result, Server]:
    async def run() -> tuple[Result, Server]:
        async with serving(answer) as server, Client(settings(**changes), clock) as client:
            return untimed(await client.fetch(server.origin + path)), server

    return asyncio.run(run())


def failure(answer: Answer, **changes: object) -> Failure:
    result, _ = fetch(answer, "/", **changes)
    assert isinstance(result, Failure), result
    return result


def page(answer: Answer, **changes: object) -> Fetched:
    result, _ = fetch(answer, "/", **changes)
    assert isinstance(result, Fetched), result
    return result


def writing(*parts: bytes, then: Callable[[asyncio.StreamWriter], None] | None = None) -> Answer:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
        await writer.drain()
        if then is not None:
            then(writer)

    return answer


def close(writer: asyncio.StreamWriter) -> None:
    writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER of no time
    writer.transport.abort()


def test_a_page_brings_its_body_and_the_headers_that_are_read_later() -> None:
    headers = {"etag": '"1"', "x_robots_tag": "noarchive", "set_cookie": "a=b", "link": "x" * 5000}
    result = page(fixed(b"<p>hello", content_language="de", **headers))
    assert result.body == b"<p>hello"
    assert result.status == 200
    assert set(result.headers) == {"content-type", "content-language", "etag", "link", "x-robots-tag"}
    assert len(result.headers["link"]) == 1000


def test_requests_name_the_crawler_and_carry_no_cookies() -> None:
    async def run() -> list[Request]:
        async with (
            serving(fixed(b"x", set_cookie="a=b; Path=/")) as server,
            Client(settings(user_agent="Test/1 (+mailto:me@example.org)"), clock) as client,
        ):
            for path in ("/a", "/b"):
                assert isinstance(await client.fetch(server.origin + path), Fetched)
            assert server.connections == 1
            return server.requests

    for request in asyncio.run(run()):
        assert request.headers["user-agent"] == "Test/1 (+mailto:me@example.org)"
        assert request.headers["accept-encoding"] == "gzip, deflate"
        assert request.headers["accept"].startswith("text/html")
        assert "cookie" not in request.headers


SEGMENTS = [
    "a",
    ".",
    "..",
    ".x",
    "%2e",
    "%2E.",
    "..a",
    "",
    "b^",
    ";jsessionid=0A1B2C3D4E5F",
    "a%2f..",
    "é",
    "\\",
    "'(",
]
QUERIES = ["", "?", "?q=../x", "?sid=0123456789abcdef0123456789abcdef"]


def test_what_goes_out_for_any_link_is_what_robots_txt_and_exclusions_saw() -> None:
    """They see the canonical URL: the server has to be asked for it, to the letter."""

    async def run() -> None:
        async with serving(fixed(b"x")) as server, Client(settings(), clock) as client:
            for segments in product(SEGMENTS, repeat=3):
                found = canonical("/".join(segments) + choice.choice(QUERIES), f"{server.origin}/s/")
                if found is None or found in seen or not found.startswith(server.origin):
                    continue
                seen.add(found)
                assert isinstance(await client.fetch(found), Fetched), found
                assert server.origin + server.requests[-1].target == found
                assert {".", ".."}.isdisjoint(found.partition("?")[0].split("/"))

    seen, choice = set[str](), Random(1)
    asyncio.run(run())
    assert len(seen) > 1000


def test_a_url_that_would_go_out_as_another_is_refused() -> None:
    async def run() -> None:
        async with serving(fixed(b"x")) as server, Client(settings(), clock) as client:
            assert untimed(await client.fetch(f"{server.origin}/b/.x/../../private")) == Failure(
                "refused", "url"
            )
            assert server.requests == []

    asyncio.run(run())


@each_case("path", ["/a%28b%29", "/%27?q=a+b%2B%20c", "/%7Ca'b(c)", "//a//?b=%5B", "/%E2%82%AC"])
def test_a_url_is_asked_for_as_it_is_spelled(path: str) -> None:
    result, server = fetch(fixed(b"x"), path)
    assert isinstance(result, Fetched)
    assert server.targets() == [path]


def test_a_redirect_is_not_followed_but_brings_its_target() -> None:
    result, server = fetch(fixed(b"", "301 Moved", location="../%7eb?x=1#top"), "/a/c")
    assert result == Moved(f"{server.origin}/a/c", f"{server.origin}/~b?x=1", 301)
    assert server.targets() == ["/a/c"]


@each_case(
    ("location", "reason"),
    [("ftp://example.org/", "redirect to no page"), ("/#again", "redirect to itself")],
)
def test_a_redirect_that_leads_nowhere_is_gone(location: str, reason: str) -> None:
    assert failure(fixed(b"", "302 Found", location=location)) == Failure("gone", reason)


GONE, RETRY = (206, 304, 400, 401, 403, 404, 410, 451), (407, 408, 425, 429, 500, 502, 503, 599)


@each_case("status", GONE + RETRY)
def test_the_status_tells_whether_to_ask_again(status: int) -> None:
    kind = "gone" if status in GONE else "retry"
    assert failure(fixed(b"", f"{status} X")) == Failure(kind, f"status {status}")


def test_no_content_is_gone() -> None:
    assert failure(writing(b"HTTP/1.1 204 No Content\r\n\r\n")) == Failure("gone", "no content")


@each_case(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("9" * 30, 86_400.0),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        (formatdate(NOW - 90, usegmt=True), 0.0),
        ("soon", None),
        ("-5", None),
        ("", None),
    ],
)
def test_retry_after_is_kept_within_a_day(value: str, seconds: float | None) -> None:
    assert failure(fixed(b"", "503 X", retry_after=value)) == Failure("retry", "status 503", seconds)


@each_case("kind", ["image/png", "application/pdf; charset=x", "TEXT/CSS"])
def test_what_is_not_html_or_text_is_refused_unread(kind: str) -> None:
    reason = "content type " + kind.partition(";")[0].lower()
    assert failure(fixed(b"x" * 100, content_type=kind)) == Failure("refused", reason)


@each_case(
    "kind",
    ["text/html;charset=utf-8", "Text/Plain", "application/xhtml+xml", "", "html", "image/png, text/html"],
)
def test_html_text_and_what_has_no_type_is_read(kind: str) -> None:
    assert page(fixed(b"x", content_type=kind)).body == b"x"


@each_case("encoding", ["gzip", "x-gzip", "deflate", "raw deflate", "identity"])
def test_content_encodings_are_undone(encoding: str) -> None:
    text = b"<p>some text</p>" * 1000
    raw = zlib.compressobj(wbits=-15)
    coded = {
        "gzip": gzip.compress(text[:5000]) + gzip.compress(text[5000:]),
        "deflate": zlib.compress(text),
        "raw deflate": raw.compress(text) + raw.flush(),
        "identity": text,
    }
    body = coded[encoding.removeprefix("x-")]
    assert page(fixed(body, content_encoding=encoding.removeprefix("raw "))).body == text


def test_an_encoding_that_was_not_offered_is_refused() -> None:
    assert failure(fixed(b"x", content_encoding="br")) == Failure("refused", "content encoding")


@each_case("chunked", [False, True])
def test_a_body_over_the_limit_is_refused(chunked: bool) -> None:
    body = b"x" * 3000
    whole = response(body)
    if chunked:
        whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbb8\r\n" + body + b"\r\n0\r\n\r\n"
    assert page(writing(whole), max_bytes=3000).body == body
    assert failure(writing(whole), max_bytes=2999) == Failure("refused", "body over 2999 bytes")


def test_a_bomb_of_2_gb_is_refused_in_little_memory() -> None:
    deflate = zlib.compressobj(9, wbits=-15)
    megabyte = deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    bomb = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + megabyte * 2000
    answer = fixed(bomb, content_encoding="gzip")
    limit = 10_000_000
    assert len(bomb) < limit
    assert failure(answer, max_bytes=limit) == Failure("refused", "compressed over 200 to 1")
    tracemalloc.start()
    assert failure(answer, max_bytes=limit, max_ratio=10_000) == Failure("refused", f"body over {limit} bytes")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * limit  # a growing buffer is copied


def test_a_server_that_sends_a_byte_at_a_time_runs_out_of_time() -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    assert failure(answer, timeout_seconds=0.3) == Failure("retry", "timeout", unanswered=True)


@each_case("limit", ["timeout_seconds", "first_byte_seconds"])
def test_a_server_that_never_answers_runs_out_of_time(limit: str) -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    assert failure(answer, **{limit: 0.2}) == Failure("retry", "timeout", unanswered=True)


def test_a_body_may_take_longer_than_the_head() -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.4)
        writer.write(b"ok")

    assert page(answer, first_byte_seconds=0.2).body == b"ok"


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = [
    (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 100),
    (b"", b"HTTP/1.1 100 \r\n\r\n" * 100),
    (CHUNKED, b"1;" + b"a" * 15_000 + b"\r\nx\r\n"),
    (CHUNKED + b"1;", b"a" * 60_000),
    (CHUNKED, b"1\r\nx\r\n" * 1000),
    (CHUNKED, b"00000000001\r\nx\r\n" * 1000),
    (CHUNKED + b"1\r\nx\r\n0\r\n", b"X-Trailer: y\r\n" * 100),
]


@each_case(("head", "endless"), ENDLESS)
def test_what_is_no_body_and_has_no_end_is_a_broken_response(head: bytes, endless: bytes) -> None:
    sent = 0

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(head)
        while True:
            writer.write(endless)
            await writer.drain()
            sent += len(endless)

    patient = {"first_byte_seconds": PATIENCE, "timeout_seconds": PATIENCE}
    assert failure(answer, **patient) == Failure("retry", "broken response")
    # What the system's buffers hold is sent as well.
    assert sent < FRAMING_BYTES + 20_000_000


def test_chunks_that_are_short_and_a_head_that_is_long_are_read() -> None:
    body = b"x" * 3_000_000
    chunks = b"".join(b"20\r\n" + body[start : start + 32] + b"\r\n" for start in range(0, len(body), 32))
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 10
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 3000) for n in range(100))
    message = hints + head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nX: y\r\n\r\n"
    assert page(writing(message)).body == body


def test_each_answer_of_a_kept_connection_is_measured_by_itself() -> None:
    head = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 3000) for n in range(100))
    message = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" + head + b"\r\nx"

    async def run() -> None:
        async with serving(writing(message)) as server, Client(settings(), clock) as client:
            for number in range(5):
                assert isinstance(await client.fetch(f"{server.origin}/{number}"), Fetched)
            assert server.connections == 1

    asyncio.run(run())


def test_a_body_without_end_is_refused() -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    assert failure(answer, max_bytes=100_000) == Failure("refused", "body over 100000 bytes")


@each_case("head", [b"X: " + b"y" * 100_000, b"".join(b"X-%d: y\r\n" % i for i in range(500))])
def test_headers_are_bounded(head: bytes) -> None:
    answer = writing(b"HTTP/1.1 200 OK\r\n" + head.rstrip() + b"\r\n\r\n", then=close)
    assert failure(answer) == Failure("retry", "broken response")


@each_case("ending", [close, reset])
def test_a_connection_that_breaks_is_tried_again_later(
    ending: Callable[[asyncio.StreamWriter], None],
) -> None:
    assert failure(writing(then=ending)) == Failure("retry", "connection", unanswered=True)
    cut = failure(writing(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", then=ending))
    assert (cut.kind, cut.reason) in {("retry", "body cut short"), ("retry", "connection")}


def test_a_kept_connection_that_breaks_is_not_tried_again_at_once() -> None:
    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == "/":
            writer.write(response(b"x"))
        else:
            writer.close()

    async def run() -> None:
        async with serving(answer) as server, Client(settings(), clock) as client:
            assert isinstance(await client.fetch(server.origin + "/"), Fetched)
            broken = await client.fetch(server.origin + "/broken")
            assert untimed(broken) == Failure("retry", "connection", unanswered=True)
            assert (server.targets(), server.connections) == (["/", "/broken"], 1)

    asyncio.run(run())


def test_compression_that_breaks_off_is_tried_again_later() -> None:
    whole = gzip.compress(b"text" * 1000)
    assert failure(fixed(whole[:-4], content_encoding="gzip")) == Failure("retry", "body cut short")
    assert failure(fixed(b"text", content_encoding="gzip")) == Failure("retry", "broken compression")


def test_a_closed_port_and_an_unknown_name_are_tried_again_later() -> None:
    async def run() -> tuple[Result, Result]:
        async with serving(fixed(b"")) as server:
            closed = server.origin
        async with Client(settings(), clock) as client:
            unknown = await client.fetch("http://name.invalid/?secret=1")
            return untimed(await client.fetch(closed + "/")), untimed(unknown)

    reasons = ("connection", "dns")
    assert asyncio.run(run()) == tuple(Failure("retry", reason, unanswered=True) for reason in reasons)


def test_a_server_that_does_not_speak_tls_is_tried_again_later() -> None:
    def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(response(b"no TLS here"))
        writer.close()

    async def run() -> Result:
        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        async with server, Client(settings(), clock) as client:
            return untimed(await client.fetch(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"))

    assert asyncio.run(run()) == Failure("retry", "tls", unanswered=True)


def test_connections_are_reused_and_bounded() -> None:
    async def run() -> Server:
        async with serving(fixed(b"x")) as server, Client(settings(connections=4), clock) as client:
            results = await asyncio.gather(*(client.fetch(f"{server.origin}/{i}") for i in range(40)))
            assert all(isinstance(result, Fetched) for result in results)
            return server

    server = asyncio.run(run())
    assert server.connections <= 4
    assert len(server.requests) == 40


def test_a_fetch_that_is_given_up_leaves_nothing_behind() -> None:
    asked = asyncio.Event()

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.sleep(3600)

    async def run() -> None:
        async with serving(answer) as server, Client(settings(robots=True), clock) as client:
            task = asyncio.create_task(client.fetch(server.origin + "/"))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_a_page_that_asks_in_its_head_not_to_be_indexed_is_not_read() -> None:
    refused = Failure("refused", "X-Robots-Tag noindex")
    assert failure(fixed(b"x", x_robots_tag="Scentline: noindex, nofollow")) == refused
    assert not page(fixed(b"x", x_robots_tag="otherbot: noindex")).nofollow
    assert page(fixed(b"x", x_robots_tag="nofollow")).nofollow


def test_the_directives_of_several_headers_are_read_one_by_one() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Robots-Tag: otherbot: noarchive\r\n"
    assert failure(writing(head + b"X-Robots-Tag: none\r\n\r\nx")).reason == "X-Robots-Tag noindex"


class Names(AbstractResolver):
    """The addresses of some names, in their order; an address is its own."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        self._names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in self._names[host]
        ]

    async def close(self) -> None:
        pass


class TestServers:
    def test_names_on_one_address_are_asked_one_after_the_other(self) -> None:
        async def run() -> None:
            arrived = asyncio.Event()
            go_on = asyncio.Event()

            async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
                arrived.set()
                await go_on.wait()
                writer.write(response(b"x"))

            async with (
                serving(answer) as server,
                Client(settings(delay_seconds=30), clock) as client,
            ):
                client._pool.resolver._ask = Names({"other.test": ["127.0.0.1"]})
                first = asyncio.create_task(client.fetch(f"{server.origin}/a"))
                await arrived.wait()
                busy = await client.fetch(f"http://other.test:{server.port}/b")
                assert isinstance(busy, Early)
                assert busy.wait == 30.0
                go_on.set()
                done = await first
                assert isinstance(done, Fetched)
                assert busy.server == done.server == "127.0.0.1"
                early = await client.fetch(f"http://other.test:{server.port}/b")
                assert isinstance(early, Early)
                assert 0 < early.wait <= 30.0
                assert server.targets() == ["/a"]

        asyncio.run(run())

    @each_case("slow", ["/robots.txt", "/page"])
    def test_a_slow_host_holds_up_no_other_whose_address_its_name_server_claims(self, slow: str) -> None:
        async def run() -> None:
            arrived, go_on = asyncio.Event(), asyncio.Event()

            async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
                if request.target == slow:
                    arrived.set()
                    await go_on.wait()
                writer.write(response(b""))

            async with (
                serving(answer, "127.0.0.2") as evil,
                serving(fixed(b"x")) as victim,
                Client(settings(allow=("127.0.0.0/8",), delay_seconds=1.0, robots=True), clock) as client,
            ):
                client._pool.resolver._ask = Names({"evil.test": ["127.0.0.2", "127.0.0.1"]})
                client._pool.resolver._names.clear()
                asking = asyncio.create_task(client.fetch(f"http://evil.test:{evil.port}/page"))
                await arrived.wait()
                assert isinstance(await client.fetch(f"{victim.origin}/"), Fetched)
                go_on.set()
                done = await asking
                assert isinstance(done, Fetched)
                assert done.server == "127.0.0.2"

        asyncio.run(run())

    def test_a_server_is_free_again_after_a_failure(self) -> None:
        async def run() -> None:
            async with (
                serving(writing(then=close)) as server,
                Client(settings(delay_seconds=0.01), clock) as client,
            ):
                for _ in range(3):
                    failed = await client.fetch(server.origin + "/")
                    assert isinstance(failed, Failure)
                    assert failed.reason == "connection"

        asyncio.run(run())

    def test_every_request_to_a_server_is_the_delay_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.5)  # between the steps of a redirect of robots.txt
        waiting = WaitingClock(monkeypatch)
        times: dict[str, float] = {}

        async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
            times[f"{request.headers['host'].partition(':')[0]}{request.target}"] = waiting()
            moved = {"status": "301 X", "location": "/moved.txt"} if request.target == "/robots.txt" else {}
            writer.write(response(b"", **moved))

        async def run() -> None:
            slow = settings(allow=("127.0.0.1", "::1"), delay_seconds=1.5, robots=True)
            async with serving(answer) as server, Client(slow, clock) as client:
                client.servers = Servers(waiting)
                for name in ("127.0.0.1", "localhost"):
                    assert isinstance(await client.fetch(f"http://{name}:{server.port}/"), Fetched)

        asyncio.run(run())
        assert times == {
            "127.0.0.1/robots.txt": 0.0,
            "127.0.0.1/moved.txt": 0.5,
            "127.0.0.1/": 2.0,
            "localhost/robots.txt": 3.5,
            "localhost/moved.txt": 4.0,
            "localhost/": 5.5,
        }

    def test_a_dead_host_keeps_no_other_from_being_asked(self) -> None:
        async def run() -> None:
            async def silent(request: Request, writer: asyncio.StreamWriter) -> None:
                await asyncio.sleep(3600)

            async with (
                serving(silent, "127.0.0.2") as dead,
                serving(fixed(b"x")) as alive,
                Client(settings(allow=("127.0.0.0/8",), delay_seconds=0.01), clock) as client,
            ):
                waiting = asyncio.create_task(client.fetch(f"http://127.0.0.2:{dead.port}/"))
                for _ in range(5):
                    assert isinstance(await client.fetch(alive.origin + "/"), Fetched)
                assert not waiting.done()
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)

        asyncio.run(run())


class TestProxy:
    def test_hosts_are_told_apart_by_name_where_only_it_is_known(self) -> None:
        async def run() -> None:
            async with (
                serving(fixed(b"x")) as proxy,
                Client(FetchSettings(proxy=proxy.origin, robots=False, delay_seconds=30), clock) as client,
            ):
                first, second, again = [await client.fetch(f"http://{name}.test/") for name in "aba"]
                assert isinstance(first, Fetched)
                assert isinstance(second, Fetched)
                assert isinstance(again, Early)
                assert first.server == again.server == ""

        asyncio.run(run())

    def test_it_is_asked_in_absolute_form_under_the_pages_own_host(self) -> None:
        async def run() -> None:
            async with serving(fixed(b"archived")) as proxy:
                through = FetchSettings(proxy=proxy.origin, delay_seconds=0.0)
                async with Client(through, clock) as client:
                    result = await client.fetch("http://no-such-host.example/a%28b%29?c=d+e")
                assert isinstance(result, Fetched)
                assert result.body == b"archived"
                host = "http://no-such-host.example"
                assert proxy.targets() == [f"{host}/robots.txt", f"{host}/a%28b%29?c=d+e"]
                assert proxy.requests[1].headers["host"] == "no-such-host.example"

        asyncio.run(run())

    def test_it_is_not_asked_for_addresses_that_may_not_be_reached(self) -> None:
        async def run() -> None:
            async with serving(fixed(b"x")) as proxy:
                async with Client(FetchSettings(proxy=proxy.origin, delay_seconds=0.0), clock) as client:
                    for host in (
                        "169.254.169.254",
                        "127.0.0.1",
                        "2130706433",
                        "[::ffff:10.0.0.1]",
                        "localhost",
                    ):
                        result = await client.fetch(f"http://{host}/")
                        assert isinstance(result, Failure)
                        assert result.kind == "refused"
                        assert result.reason == f"address {host.strip('[]')}"
                assert proxy.connections == 0

        asyncio.run(run())

    def test_credentials_are_sent_to_it_alone(self) -> None:
        async def run() -> None:
            async with serving(fixed(b"x")) as proxy:
                with_user = proxy.origin.replace("//", "//me:secret@")
                async with Client(settings(proxy=with_user), clock) as client:
                    assert isinstance(await client.fetch("http://example.org/"), Fetched)
                assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")
                assert "authorization" not in proxy.requests[0].headers

        asyncio.run(run())

    def test_one_that_is_down_is_tried_again_later(self) -> None:
        async def run() -> Result:
            async with serving(fixed(b"")) as server:
                down = server.origin
            async with Client(settings(proxy=down), clock) as client:
                return untimed(await client.fetch("http://example.org/"))

        assert asyncio.run(run()) == Failure("retry", "proxy", unanswered=True)


FRAGMENTS = (
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 302 Found",
    b"\r\n",
    b"Content-Length: 5",
    b"Content-Encoding: gzip",
    b"Transfer-Encoding: chunked",
    b"Location: //",
    b"3\r\nabc",
)


@given(st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=20), max_size=12))
def test_whatever_a_server_sends_there_is_a_result(parts: list[bytes]) -> None:
    result, _ = fetch(writing(*parts, then=close), "/", timeout_seconds=5)
    assert isinstance(result, Fetched | Moved | Failure)
