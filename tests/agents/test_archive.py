"""The archive: WARC records answered under their own URLs, compared with warcio's own reading."""

import asyncio
import gzip
import logging
import random
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.offline.archive import Archive
from scentline.agents.offline.process import ServerProcess
from scentline.agents.offline.serve import OfflineServer
from scentline.agents.offline.warc import ArchiveError
from scentline.models.url import canonical
from tests.cases import each_case
from tests.shared import shared

HTML, LENGTH = ("Content-Type", "text/html"), ("Content-Length", "7")
Record = tuple[str, str, list[tuple[str, str]], bytes]


def write(path: Path, *records: Record, gz: bool = True) -> Path:
    """Write response records: URL, status line, headers, payload."""
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
    rng = random.Random(1)
    return [page(f"http://a.example/{k}", rng.randbytes(3000)) for k in range(count)]


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
        (
            [("Transfer-Encoding", "Chunked"), ("Content-Encoding", "gzip"), ("Content-Length", "7")],
            CHUNKED,
            [],
            TEXT,
        ),
        ([("Content-Encoding", "gzip")], TEXT, [], TEXT),
        ([("Content-Encoding", "x-rot13")], b"uryyb", [("Content-Encoding", "x-rot13")], b"uryyb"),
    ],
)
def test_chunks_and_content_encodings_are_undone(
    tmp_path: Path, headers: list[tuple[str, str]], payload: bytes, passed: list[tuple[str, str]], body: bytes
) -> None:
    path = write(tmp_path / "a.warc.gz", ("http://a.example/", "200 OK", headers, payload))
    assert answered(path, "http://a.example/") == (200, dict(passed), body)


def test_a_record_that_is_no_servable_response_is_a_bad_gateway(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
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


def test_a_process_of_its_own_serves_archives_tells_its_progress_and_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    many = write(tmp_path / "a b.warc", *(page(f"http://a.example/{k}") for k in range(1001)), gz=False)
    cut = write(tmp_path / "cut.warc", *pages(2), gz=False)
    cut.write_bytes(cut.read_bytes()[:-500])
    seen: list[tuple[Path, int]] = []
    with (
        caplog.at_level(logging.WARNING),
        ServerProcess.archive([many, cut], progress=lambda file, count: seen.append((file, count))) as server,
        httpx.Client(proxy=server.url) as client,
    ):
        assert client.get("http://a.example/1000").text == "<p>hello</p>"
    assert seen == [(many, 1000)]
    assert "cut.warc" in caplog.text


@each_case("name", ["wikispeedia/pages.warc.gz", "webkb/pages.warc.gz"])
def test_crawled_over_http_the_pages_are_those_that_warcio_reads(name: str) -> None:
    path = shared(name)
    expected = sampled(path, 50)

    async def run() -> dict[str, tuple[int, str, bytes]]:
        with Archive([path]) as archive:
            assert archive.warnings == []
            assert set(expected) <= set(archive.urls())
            async with OfflineServer(archive.answer) as server, httpx.AsyncClient(proxy=server.url) as client:
                missing = await client.get(f"{next(iter(expected))}/no/such/page")
                assert missing.status_code == 404
                found = {url: await client.get(url) for url in expected}
        return {url: (got.status_code, got.headers["Content-Type"], got.content) for url, got in found.items()}

    assert asyncio.run(run()) == expected


def sampled(path: Path, count: int) -> dict[str, tuple[int, str, bytes]]:
    """Return what warcio reads: status, content type and body of some pages, the last of each URL."""
    found: dict[str, tuple[int, str, bytes]] = {}
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            url = canonical(record.rec_headers.get_header("WARC-Target-URI"))
            if url is not None and record.rec_type == "response":
                found[url] = read(record)
    return {url: found[url] for url in random.Random(1).sample(sorted(found), count)}


def read(record: Any) -> tuple[int, str, bytes]:
    http = record.http_headers
    return int(http.get_statuscode()), http.get_header("Content-Type") or "", record.content_stream().read()


def offsets(path: Path) -> list[int]:
    with path.open("rb") as file:
        records = ArchiveIterator(file)
        return [records.get_record_offset() for _ in records]
