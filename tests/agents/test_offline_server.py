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

from scentline.agents.offline.answer import MAX_VALUE, Answer, end_to_end
from scentline.agents.offline.process import ServerProcess, ServerProcessError
from scentline.agents.offline.serve import OfflineServer
from scentline.agents.offline.squidlog import squid_line
from scentline_lab.synthetic.serve import synthetic_server
from tests.agents.commands import ROOT
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


@awaited
async def test_each_answered_request_is_one_squid_line_there_before_its_answer(tmp_path: Path) -> None:
    log, before = tmp_path / "access.log", time.time()
    async with OfflineServer(echo, log=log) as server, httpx.AsyncClient(proxy=server.url) as client:
        await client.get("http://a.example/x?y=1")
        await client.head("http://a.example/untyped")
        await client.post("http://b.example/")
        lines = [SQUID.fullmatch(line) for line in log.read_text().splitlines()]
    fields = [line.groups() for line in lines if line is not None]
    assert all(before - 1 <= int(line[0]) <= time.time() for line in fields)
    assert [(line[5], *line[7:9], *line[11:]) for line in fields] == [
        ("200", "GET", "http://a.example/x?y=1", "a.example", "text/html"),
        ("200", "HEAD", "http://a.example/untyped", "a.example", "-"),
        ("405", "POST", "http://b.example/", "b.example", "text/plain"),
    ]
    said = {(line[3], line[4], line[9], line[10]) for line in fields}
    assert said == {("127.0.0.1", "TCP_MISS", "-", "HIER_DIRECT")}


@awaited
async def test_a_port_that_is_taken_is_an_error_and_leaves_nothing_open(tmp_path: Path) -> None:
    async with OfflineServer(echo) as first:
        port = urlsplit(first.url).port or 0
        with pytest.raises(OSError, match="address already in use"):
            async with OfflineServer(echo, port=port, log=tmp_path / "access.log"):
                raise AssertionError("it listens twice")


@awaited
async def test_clients_of_a_proxy_and_of_an_origin_are_answered() -> None:
    url = "http://caf-e.example:81/a%20b//c?q=%41"
    async with OfflineServer(echo) as server, httpx.AsyncClient(proxy=server.url) as client:
        found, head = await client.get(url), await client.head(url)
        assert (found.text, found.headers.get_list("X-A"), head.content) == (url, ["1", "2"], b"")
        assert {**head.headers, "date": ""} == {**found.headers, "date": ""}
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            refused = await client.request(method, "http://a.example/")
            assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")
        assert (await client.get("http://a.example/broken")).status_code == 500
        untyped = await client.get("http://a.example/untyped")
        assert (untyped.headers["Content-Type"], untyped.content) == ("", b"\x00\x01")


HOST, LONG = b" HTTP/1.1\r\nHost: a.example\r\n", b"a" * 9000
MANY = b"GET http://a.example/%d" + HOST


@each_case(
    ("request", "status", "end"),
    [
        (
            b"GET http://A.example/x/../%7Ey HTTP/1.1\r\nHost: b.example\r\n",
            b"200",
            b"http://A.example/x/../%7Ey",
        ),
        (b"GET /x?y=1 HTTP/1.1\r\nHost: a.example:8080\r\n", b"200", b"http://a.example:8080/x?y=1"),
        (b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n", b"501", b""),
        (b"GET http://a.example/" + LONG + HOST, b"400", b""),
        (b"GET /" + HOST + b"X: " + LONG + b"\r\n", b"400", b""),
        (MANY % 1 + b"\r\n" + MANY % 2 + b"\r\n" + MANY % 3, b"200", b"http://a.example/3"),
    ],
)
@awaited
async def test_a_request_is_answered_as_the_client_wrote_it_within_bounds(
    request: bytes, status: bytes, end: bytes
) -> None:
    async with OfflineServer(echo) as server:
        parts = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(request + b"Connection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        writer.close()
        await writer.wait_closed()
    assert answer.splitlines()[0].split()[1] == status
    assert answer.endswith(end)
    assert answer.count(b"HTTP/1.") == request.count(b" HTTP/1.1")


@given(
    st.floats(0, 4e9), st.integers(0, 10**9), st.integers(0, 999), st.integers(0, 10**12), st.text(max_size=60)
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
    why = r"status 1 before it served: .*No such file.*missing\.warc\.gz"
    with pytest.raises(ServerProcessError, match=why):
        ServerProcess.archive([tmp_path / "missing.warc.gz"])


SERVES = """
import time
from scentline_lab.synthetic.serve import synthetic_server
server = synthetic_server(5, sites=1, pages_per_site=8, topics=1)
print(server.url, flush=True)
time.sleep(600)
"""


def test_a_process_ends_when_its_parent_is_killed() -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", SERVES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=variables, text=True) as parent:
        assert parent.stdout is not None
        address = urlsplit(parent.stdout.readline().strip())
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
