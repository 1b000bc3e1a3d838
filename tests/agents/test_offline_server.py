"""The offline webs' server: a forward proxy's requests over real sockets, its log, its process."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.offline.answer import MAX_VALUE, Answer, end_to_end, plain
from scentline.agents.offline.process import ServerProcess, ServerProcessError
from scentline.agents.offline.serve import OfflineServer, serve
from scentline.agents.offline.squidlog import squid_line
from scentline_lab.synthetic.serve import synthetic_server
from tests.agents.loopback import awaited
from tests.cases import each_case
from tests.patience import PATIENCE, wait_for

SQUID = re.compile(
    r"(\d+)\.(\d{3}) +(\d+) (\S+) ([A-Z_]+)/(\d{3}) (\d+) ([^\s]+) (\S+) (\S+) ([A-Z_]+)/(\S+) (\S+)"
)


def echo(url: str, headers: Mapping[str, str]) -> Answer:
    if url.endswith("/broken"):
        raise RuntimeError("broken")
    if url.endswith("/untyped"):
        return Answer(200, (("X-Kind", "untyped"),), b"\x00\x01")
    return Answer(200, (("Content-Type", "text/html; charset=utf-8"), ("X-A", "1"), ("X-A", "2")), url.encode())


async def raw(url: str, request: bytes) -> bytes:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(request)
    answer = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()
    await writer.wait_closed()
    return answer


def exchange(request: bytes) -> bytes:
    async def run() -> bytes:
        async with OfflineServer(echo) as server:
            return await raw(server.url, request)

    return asyncio.run(run())


def get(path: str, *, method: str = "GET") -> httpx.Response:
    async def run() -> httpx.Response:
        async with OfflineServer(echo) as server, httpx.AsyncClient(proxy=server.url) as client:
            return await client.request(method, path)

    return asyncio.run(run())


def test_a_forward_proxy_request_is_answered_for_its_absolute_url() -> None:
    response = get("http://caf-e.example:81/a%20b//c?q=%41")
    assert response.text == "http://caf-e.example:81/a%20b//c?q=%41"
    assert response.headers.get_list("X-A") == ["1", "2"]


def test_the_url_is_handed_on_as_the_client_wrote_it() -> None:
    answer = exchange(
        b"GET http://A.example/x/../%7Ey HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n"
    )
    assert answer.endswith(b"\r\n\r\nhttp://A.example/x/../%7Ey")


def test_an_origin_request_is_answered_for_its_host_header() -> None:
    answer = exchange(b"GET /x?y=1 HTTP/1.1\r\nHost: a.example:8080\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"\r\n\r\nhttp://a.example:8080/x?y=1")


def test_head_has_the_headers_of_get_and_no_body() -> None:
    found, whole = get("http://a.example/", method="HEAD"), get("http://a.example/")
    assert found.content == b""
    assert {**found.headers, "date": ""} == {**whole.headers, "date": ""}


@each_case("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_not_allowed(method: str) -> None:
    response = get("http://a.example/", method=method)
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD"


def test_a_tunnel_is_refused() -> None:
    answer = exchange(b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 501 ")


def test_an_answer_without_a_content_type_declares_none() -> None:
    response = get("http://a.example/untyped")
    assert response.headers["Content-Type"] == ""
    assert response.content == b"\x00\x01"


def test_an_answerer_that_fails_is_a_server_error_and_the_server_goes_on() -> None:
    async def run() -> tuple[int, int]:
        async with OfflineServer(echo) as server, httpx.AsyncClient(proxy=server.url) as client:
            failed = await client.get("http://a.example/broken")
            return failed.status_code, (await client.get("http://a.example/")).status_code

    assert asyncio.run(run()) == (500, 200)


def test_a_request_line_or_header_over_its_bound_is_refused() -> None:
    line = exchange(b"GET http://a.example/" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a.example\r\n\r\n")
    header = exchange(b"GET / HTTP/1.1\r\nHost: a.example\r\nX: " + b"a" * 9000 + b"\r\n\r\n")
    assert b" 400 " in line.splitlines()[0]
    assert b" 400 " in header.splitlines()[0]


def test_a_connection_serves_many_requests() -> None:
    request = b"GET http://a.example/%d HTTP/1.1\r\nHost: a.example\r\n\r\n"
    last = b"GET http://a.example/last HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
    answer = exchange(request % 1 + request % 2 + last)
    assert answer.count(b"HTTP/1.1 200 OK") == 3
    assert answer.index(b"example/1") < answer.index(b"example/2") < answer.index(b"example/last")


def test_each_answered_request_is_one_squid_line_there_before_its_answer(tmp_path: Path) -> None:
    log = tmp_path / "access.log"

    async def run() -> list[str]:
        async with OfflineServer(echo, log=log) as server, httpx.AsyncClient(proxy=server.url) as client:
            await client.get("http://a.example/x?y=1")
            await client.head("http://a.example/untyped")
            await client.post("http://b.example/")
            return log.read_text().splitlines()

    before = time.time()
    lines = [SQUID.fullmatch(line) for line in asyncio.run(run())]
    assert all(lines)
    fields = [line.groups() for line in lines if line is not None]
    assert all(before - 1 <= int(line[0]) <= time.time() for line in fields)
    assert [(line[5], *line[7:9], *line[11:]) for line in fields] == [
        ("200", "GET", "http://a.example/x?y=1", "a.example", "text/html"),
        ("200", "HEAD", "http://a.example/untyped", "a.example", "-"),
        ("405", "POST", "http://b.example/", "b.example", "text/plain"),
    ]
    assert {(line[3], line[4], line[9], line[10]) for line in fields} == {
        ("127.0.0.1", "TCP_MISS", "-", "HIER_DIRECT")
    }


@awaited
async def test_a_port_that_is_taken_is_an_error_and_leaves_nothing_open(tmp_path: Path) -> None:
    async with OfflineServer(echo) as first:
        port = urlsplit(first.url).port
        assert port is not None
        with pytest.raises(OSError, match="address already in use"):
            async with OfflineServer(echo, port=port, log=tmp_path / "access.log"):
                raise AssertionError("it listens twice")


@awaited
async def test_serving_goes_on_until_it_is_cancelled() -> None:
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(echo, ready=address.set_result))
    async with httpx.AsyncClient(proxy=await address) as client:
        assert (await client.get("http://a.example/")).status_code == 200
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


@given(
    time=st.floats(0, 4e9),
    elapsed=st.integers(0, 10**9),
    status=st.integers(0, 999),
    size=st.integers(0, 10**12),
    text=st.text(max_size=60),
)
def test_whatever_is_logged_is_one_line_of_ten_fields(
    time: float, elapsed: int, status: int, size: int, text: str
) -> None:
    line = squid_line(
        time=time, elapsed=elapsed, client=text, status=status, size=size, url=text, method=text,
        user=text, server=text, content_type=text,
    )  # fmt: skip
    assert line.isascii()
    assert SQUID.fullmatch(line)
    assert len(line.split()) == 10


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=40)), max_size=100))
def test_whatever_headers_were_recorded_those_passed_on_are_well_formed(given: list[tuple[str, str]]) -> None:
    passed = end_to_end([*given, ("ETag", "x" * (MAX_VALUE + 1)), ("Bad", "a\r\nInjected: 1")])
    assert len(passed) <= 64
    for name, value in passed:
        assert re.fullmatch(r"[!-~]+", name)
        assert ":" not in name
        assert "\r" not in value
        assert "\n" not in value
        assert name.lower() not in ("connection", "content-length", "transfer-encoding")


def test_plain_answers_are_text() -> None:
    assert plain(404, "no").headers == (("Content-Type", "text/plain; charset=utf-8"),)


def test_a_process_of_its_own_serves_the_synthetic_web(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with synthetic_server(5, sites=2, pages_per_site=8, topics=3, log=log) as server:
        with httpx.Client(proxy=server.url) as client:
            assert client.get("http://nowhere.example/").status_code == 404
        url = server.url
    assert log.read_text().count("\n") == 1
    with pytest.raises(httpx.ConnectError), httpx.Client() as client:
        client.get(url)


def test_a_process_that_ends_while_it_starts_says_why(tmp_path: Path) -> None:
    missing = tmp_path / "missing.warc.gz"
    with pytest.raises(
        ServerProcessError, match=r"status 1 before it served: .*No such file.*missing\.warc\.gz"
    ):
        ServerProcess.archive([missing])


def test_a_process_ends_when_its_parent_is_killed() -> None:
    program = (
        "import time\n"
        "from scentline_lab.synthetic.serve import synthetic_server\n"
        "server = synthetic_server(5, sites=1, pages_per_site=8, topics=1)\n"
        "print(server.url, flush=True)\n"
        "time.sleep(600)\n"
    )
    root = str(Path(__file__).parents[2] / "src")
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}
    ) as parent:
        assert parent.stdout is not None
        address = urlsplit(parent.stdout.readline().decode().strip())
        assert _listens(address.hostname, address.port)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        wait_for("the end of the server", lambda: not _listens(address.hostname, address.port))


def _listens(host: str | None, port: int | None) -> bool:
    try:
        with socket.create_connection((host, port or 0), timeout=PATIENCE):
            return True
    except ConnectionRefusedError:
        return False
