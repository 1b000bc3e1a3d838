"""The offline webs: archives, compared with warcio's own reading, and the server that answers from them."""

import asyncio
import gzip
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.offline.archive import Answer, Archive, ArchiveError
from scentline.agents.offline.serve import ServerProcess, serving, squid_line
from scentline.models.url import canonical
from tests.agents.loopback import awaited
from tests.cases import each_case
from tests.patience import PATIENCE, wait_for
from tests.shared import shared

HTML, LENGTH = ("Content-Type", "text/html"), ("Content-Length", "7")
Record = tuple[str, str, list[tuple[str, str]], bytes]


def write(path: Path, *records: Record, gz: bool = True) -> Path:
    written = (warc(*record) for record in records)
    path.write_bytes(b"".join(map(gzip.compress, written) if gz else written))
    return path


def warc(url: str, status: str, headers: list[tuple[str, str]], payload: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    block = f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + payload
    return warc_record("response", url, "application/http; msgtype=response", block)


def warc_record(kind: str, url: str, content_type: str, block: bytes) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def page(url: str, payload: bytes = b"<p>hello</p>") -> Record:
    return (url, "200 OK", [HTML], payload)


def pages(count: int) -> list[Record]:
    chance = random.Random(1)
    return [page(f"http://a.example/{number}", chance.randbytes(3000)) for number in range(count)]


def answered(path: Path, url: str) -> tuple[int, dict[str, str], bytes]:
    with Archive([path]) as archive:
        answer = archive.answer(url, {})
    return answer.status, dict(answer.headers), answer.body


def test_a_record_is_answered_with_its_status_headers_and_body(tmp_path: Path) -> None:
    moved = [("Location", "/y"), ("Connection", "close"), HTML]
    path = write(
        tmp_path / "a.warc.gz", ("http://a.example/x", "301 Moved", moved, b"moved"), page("http://b.example/")
    )
    assert answered(path, "http://a.example/x") == (301, {"Location": "/y", **dict([HTML])}, b"moved")
    for missing in ("http://a.example/y", "https://b.example/", "no url"):
        assert answered(path, missing)[0] == 404


@each_case("gz", [True, False])
def test_the_last_record_of_a_url_wins_whatever_its_spelling(tmp_path: Path, gz: bool) -> None:
    old, new = page("http://a.example/%7Ex", b"old"), page("http://A.example:80/~x", b"new")
    path = write(tmp_path / "a.warc", old, new, gz=gz)
    other = write(tmp_path / "b.warc", page("http://a.example/~x", b"newest"), gz=gz)
    assert answered(path, "http://a.example/~x")[2] == b"new"
    with Archive([path, other]) as archive:
        assert len(archive) == 1
        assert list(archive.urls()) == ["http://a.example/~x"]
        assert archive.answer("http://a.example/~x", {}).body == b"newest"


TEXT = b"<p>" + b"hello " * 100
PACKED = gzip.compress(TEXT)
CHUNKED = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (PACKED[:20], PACKED[20:])) + b"0\r\n\r\n"


@each_case(
    ("headers", "payload", "passed", "body"),
    [
        ([("Content-Encoding", "X-GZIP"), HTML], PACKED, [HTML], TEXT),
        ([("Transfer-Encoding", "Chunked"), ("Content-Encoding", "gzip"), LENGTH], CHUNKED, [], TEXT),
        ([("Content-Encoding", "gzip")], TEXT, [], TEXT),
        ([("Content-Encoding", "x-rot13")], b"uryyb", [("Content-Encoding", "x-rot13")], b"uryyb"),
    ],
)
def test_chunks_and_content_encodings_are_undone(
    tmp_path: Path, headers: list[tuple[str, str]], payload: bytes, passed: list[tuple[str, str]], body: bytes
) -> None:
    path = write(tmp_path / "a.warc.gz", ("http://a.example/", "200 OK", headers, payload))
    assert answered(path, "http://a.example/") == (200, dict(passed), body)


def test_a_record_of_no_response_is_a_bad_gateway(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for status in ("ready when you are", "103 Early Hints"):
        path = write(tmp_path / "a.warc.gz", ("http://a.example/", status, [HTML], b""))
        assert answered(path, "http://a.example/")[0] == 502
    assert "found status 103" in caplog.text
    changing = write(tmp_path / "b.warc", *pages(3), gz=False)
    with Archive([changing]) as archive:
        write(changing, page("http://other.example/"), gz=False)
        for number in (0, 2):
            assert archive.answer(f"http://a.example/{number}", {}).status == 502


def test_other_records_and_targets_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    http = "application/http; msgtype=response"
    records = [
        warc_record("warcinfo", "a.warc.gz", "application/warc-fields", b"software: test\r\n"),
        warc_record("response", "dns:a.example", "text/dns", b"20240101\r\na.example. 300 IN A 192.0.2.1\r\n"),
        warc_record("request", "http://a.example/asked", http, b"GET /asked HTTP/1.1\r\n\r\n"),
        warc_record("response", "<http://a.example/>", http, b"HTTP/1.1 200 OK\r\n\r\n<p>x"),
        warc_record("revisit", "http://a.example/", http, b"HTTP/1.1 200 OK\r\n\r\n"),
    ]
    path.write_bytes(b"".join(map(gzip.compress, records)))
    with Archive([path]) as archive:
        assert list(archive.urls()) == ["http://a.example/"]
        assert archive.answer("http://a.example/", {}).body == b"<p>x"


NOTES = b"just notes\n"
#: Two good records, as they lie in a file.
TWO = b"".join(warc(*record) for record in pages(2))
ENDLESS = rf"byte {len(TWO)}: .*: its headers have more than 1048576 bytes"


@each_case(
    ("content", "why"),
    [
        *((content, r"byte 0: expected a WARC record: .") for content in (
            b"", NOTES, gzip.compress(NOTES), b"\x1f\x8b\x00", b"WARC/1.0\r\n\r\nx")),
        *((TWO + b"WARC/1.0\r\n" + head, ENDLESS) for head in (
            b"a" * 2_000_000, b"a: b\r\n" * 400_000, b"a: b\r\n c" * 400_000)),
        (gzip.compress(TWO), r"byte \d+: .*non-chunked gzip"),
    ],
)  # fmt: skip
def test_what_is_no_warc_file_is_an_error_that_names_the_byte(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match=rf"notes\.txt, {why}"):
        Archive([path])


@each_case(("gz", "at"), [(True, 0), (True, 700), (False, 0)])
def test_damage_in_the_middle_is_an_error_that_names_the_byte(tmp_path: Path, gz: bool, at: int) -> None:
    path = write(tmp_path / "a.warc", *pages(5), gz=gz)
    start = offsets(path)[2]
    content = bytearray(path.read_bytes())
    content[start + at : start + at + 60] = bytes(60)
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match=rf"a\.warc, byte {start}: expected a WARC record: ."):
        Archive([path])


@each_case(("gz", "left"), product([True, False], [3, 12, 40, 150, 400, 2000]))
def test_a_last_record_that_is_cut_short_is_left_out_and_told(tmp_path: Path, gz: bool, left: int) -> None:
    path = write(tmp_path / "a.warc", *pages(3), gz=gz)
    start = offsets(path)[2]
    path.write_bytes(path.read_bytes()[: start + left])
    with Archive([path]) as archive:
        assert set(archive.urls()) == {"http://a.example/0", "http://a.example/1"}
        assert archive.answer("http://a.example/1", {}).status == 200
        (warning,) = archive.warnings
    assert f"a.warc, byte {start}:" in warning


def test_a_process_serves_archives_and_tells_of_a_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    many = write(tmp_path / "a b.warc", page("http://a.example/1"), page("http://a.example/2"), gz=False)
    cut = write(tmp_path / "cut.warc", *pages(2), gz=False)
    cut.write_bytes(cut.read_bytes()[:-500])
    with ServerProcess.archive([many, cut]) as server, httpx.Client(proxy=server.url) as client:
        assert client.get("http://a.example/2").text == "<p>hello</p>"
    assert "cut.warc" in caplog.text


@each_case("name", ["wikispeedia/pages.warc.gz", "webkb/pages.warc.gz"])
@awaited
async def test_crawled_over_http_the_pages_are_those_that_warcio_reads(name: str) -> None:
    path = shared(name)
    expected = sampled(path, 50)

    with Archive([path]) as archive:
        assert archive.warnings == []
        assert set(expected) <= set(archive.urls())
        async with serving(archive.answer) as server, httpx.AsyncClient(proxy=server) as client:
            missing = await client.get(f"{next(iter(expected))}/no/such/page")
            assert missing.status_code == 404
            for url, (status, kind, body) in expected.items():
                got = await client.get(url)
                assert (got.status_code, got.headers["Content-Type"], got.content) == (status, kind, body)


def sampled(path: Path, count: int) -> dict[str, tuple[int, str, bytes]]:
    """Return what warcio reads: status, content type and body of some pages, the last of each URL."""
    found: dict[str, tuple[int, str, bytes]] = {}
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            url = canonical(record.rec_headers.get_header("WARC-Target-URI"))
            if url is not None and record.rec_type == "response":
                http, body = record.http_headers, record.content_stream().read()
                found[url] = int(http.get_statuscode()), http.get_header("Content-Type") or "", body
    return {url: found[url] for url in random.Random(1).sample(sorted(found), count)}


def offsets(path: Path) -> list[int]:
    with path.open("rb") as file:
        records = ArchiveIterator(file)
        return [records.get_record_offset() for _ in records]


# the server

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
    async with serving(echo, log=log) as server, httpx.AsyncClient(proxy=server) as client:
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
    assert {(*line[3:5], *line[9:11]) for line in fields} == {("127.0.0.1", "TCP_MISS", "-", "HIER_DIRECT")}


@awaited
async def test_a_port_that_is_taken_is_an_error_and_leaves_nothing_open(tmp_path: Path) -> None:
    async with serving(echo) as first:
        port = urlsplit(first).port or 0
        with pytest.raises(OSError, match="address already in use"):
            async with serving(echo, port=port, log=tmp_path / "access.log"):
                raise AssertionError("it listens twice")


@awaited
async def test_clients_of_a_proxy_and_of_an_origin_are_answered() -> None:
    url = "http://caf-e.example:81/a%20b//c?q=%41"
    async with serving(echo) as server, httpx.AsyncClient(proxy=server) as client:
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
async def test_a_request_is_answered_as_it_was_written(request: bytes, status: bytes, end: bytes) -> None:
    async with serving(echo) as server:
        parts = urlsplit(server)
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
def test_what_is_logged_is_ten_fields(time: float, elapsed: int, status: int, size: int, text: str) -> None:
    line = squid_line(
        time=time, elapsed=elapsed, client=text, status=status, size=size, url=text, method=text,
        server=text, content_type=text,
    )  # fmt: skip
    assert line.isascii()
    assert SQUID.fullmatch(line)
    assert len(line.split()) == 10


SERVES = """
import time
from scentline_lab.synthetic.web import synthetic_server
server = synthetic_server(5, 1, 8, 1)
print(server.url, flush=True)
time.sleep(600)
"""


def test_a_process_ends_when_its_parent_is_killed() -> None:
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", SERVES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=variables, text=True) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        assert listens(url)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        wait_for("the end of the server", lambda: not listens(url))


def listens(url: str) -> bool:
    try:
        with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port or 0), timeout=PATIENCE):
            return True
    except ConnectionRefusedError:
        return False
