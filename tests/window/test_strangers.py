"""Clients of the window that ask too slowly, for too much, or for what there is not: nobody else waits."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from scentline.agents.window.command import Connection
from scentline.agents.window.server import MOST_VIEWERS, SCREENS
from tests.cases import each_case
from tests.window.windows import entered


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with entered(tmp_path_factory.mktemp("none") / "data") as client:
        yield client


def test_a_window_waits_for_a_crawl_that_has_not_begun(client: httpx.Client) -> None:
    assert client.get("/api/crawl").json()["begun"] is False
    assert [client.get(f"/api/{screen}").status_code for screen in SCREENS if screen != "page"] == [200] * 9


def test_so_many_viewers_may_look_and_one_who_leaves_makes_room(client: httpx.Client) -> None:
    with ExitStack() as looking:
        streams = [looking.enter_context(client.stream("GET", "/events/now")) for _ in range(MOST_VIEWERS)]
        lines = [stream.iter_lines() for stream in streams]
        assert [next(each) for each in lines] == ["event: crawl"] * MOST_VIEWERS
        assert client.get("/events/now").status_code == 503
        assert client.get("/api/now").status_code == 200
    # That they are gone shows at their next event.
    while True:
        with client.stream("GET", "/events/now") as stream:
            if stream.status_code == 200:
                break


def test_headers_of_any_size_are_bounded(client: httpx.Client) -> None:
    address = client.base_url
    # What it does not take in is answered by the end of the connection.
    with socket.create_connection((address.host, address.port or 80)) as connection, suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Filler: " + b"a" * 200_000)
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert client.get("/healthz").text == "ok\n"


@given(
    st.binary(max_size=60),
    st.sampled_from(["/static/", "/api/", "/events/", "/", "/enter?token=", "/api/now?"]),
)
def test_no_address_is_an_error_of_the_window(client: httpx.Client, rest: bytes, at: str) -> None:
    address = at + "".join(f"%{byte:02x}" for byte in rest)
    with client.stream("GET", address) as answer:
        assert answer.status_code in (200, 307, 400, 401, 404, 405)


class _Hasty(Connection):
    seconds = 0.05


async def _slow_answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Take in a body, and answer in pieces for longer than a request may take."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(10):
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.sleep(0.05)
    await send({"type": "http.response.body", "body": b"end"})


async def _said(asked: bytes) -> bytes:
    """Return all that a server says to a client that says no more than ``asked``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(_slow_answer, http=_Hasty, log_config=None, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve([listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(asked)
        found = await reader.read()
        writer.close()
        server.should_exit = True
        await serving
        return found


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


@each_case("asked", [b"", HEAD[:8], HEAD, b"POST" + HEAD[3:] + b"Content-Length: 9\r\n\r\nabc"])
def test_who_does_not_come_to_an_end_is_let_go(asked: bytes) -> None:
    assert asyncio.run(_said(asked)) == b""


def test_who_has_asked_gets_the_whole_answer_however_long_it_takes() -> None:
    assert asyncio.run(_said(HEAD + b"\r\n")).endswith(b"end\r\n0\r\n\r\n")
