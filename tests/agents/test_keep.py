"""Kept pages: WARC files that others read, within their bound, and out of them the pages asked for."""

import io
import logging
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.judge import kept as module
from scentline.agents.judge.kept import DIRECTORY, PARTS, KeptPages, copies, export, files, newest_first
from scentline.agents.judge.warc import Packing, packed
from scentline.agents.offline.archive import Archive
from scentline.models.page import Page, Verdict
from scentline.models.records import FetchedPage, HostAnswer, Revisit
from scentline.streams.settings import KeepSettings
from tests.agents.judging import an_order
from tests.cases import each_case

YES: Verdict = {"tea": True, "ski": False}


def fetched(number: int, time: float = 5.5, **headers: str) -> FetchedPage:
    kept = {"content-type": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return FetchedPage(
        order=an_order(url_of(number), depth=2), status=200, headers=kept, body=f"<p>{number}".encode() * 50,
        time=time, host=HostAnswer(elapsed=0.25),
    )  # fmt: skip


def url_of(number: int) -> str:
    return f"http://a.org/{number}?q=a%20b"


def again(number: int, time: float, judged: float, verdict: Verdict = YES) -> FetchedPage:
    """Return a page that a server says is as it was when it was judged."""
    page, revisit = fetched(number, time), Revisit(again=True, verdict=verdict, judged=judged)
    return replace(page, order=replace(page.order, revisit=revisit), status=304, body=b"")


class Store:
    """What keeps pages in a directory, and what makes their records."""

    def __init__(self, data: Path, **settings: object) -> None:
        given = KeepSettings.model_validate(settings)
        self.kept, self.packing = KeptPages(data, given), Packing(given.pages, "Scentline (test)")

    def keep(self, page: FetchedPage, title: str = "Tea", priority: float = 0.0, links: int = 0) -> None:
        url = page.order.url
        if page.status == 304:
            record, unkept = self.packing.again(page, None)
        else:
            record, unkept = self.packing.record(page, page.body, Page(url, title), YES)
        judged = page.time if page.status == 200 else None
        self.kept.keep(url, record, unkept, judged=judged, priority=priority, links=links)


Stores = Callable[..., Store]


@pytest.fixture
def a_store() -> Iterator[Stores]:
    """Give what opens a store; all are closed in the end."""
    with ExitStack() as opened:

        def make(data: Path, **settings: object) -> Store:
            store = Store(data, **settings)
            opened.callback(store.kept.close)
            return store

        yield make


def exported(data: Path, wanted: dict[str, float]) -> tuple[int, bytes]:
    out = io.BytesIO()
    return export(data, wanted, out, "a test"), out.getvalue()


def records(data: bytes) -> list[tuple[str, str, bytes]]:
    """Return the type, the URL and the payload of each record, as warcio reads them."""
    found = ArchiveIterator(io.BytesIO(data), check_digests="raise")
    url = "WARC-Target-URI"
    return [(one.rec_type, one.rec_headers.get_header(url) or "", one.content_stream().read()) for one in found]


def test_a_kept_page_is_a_request_a_response_and_metadata(a_store: Stores, tmp_path: Path) -> None:
    page = replace(fetched(1, content_encoding="gzip", server="a\r\nb: c"), items=("Cup", "A\r\nb: c"))
    a_store(tmp_path).keep(page, title="Tea\r\nx: y")
    (path,) = files(tmp_path / DIRECTORY)
    with path.open("rb") as file:
        found = [(record, record.content_stream().read()) for record in ArchiveIterator(file)]
    (request, _), (response, body), (metadata, text) = found
    assert [record.rec_type for record, _ in found] == ["request", "response", "metadata"]
    assert {record.rec_headers.protocol for record, _ in found} == {"WARC/1.1"}
    dates = {record.rec_headers.get_header("WARC-Date") for record, _ in found}
    assert dates == {"1970-01-01T00:00:05.500000Z"}
    identifier = response.rec_headers.get_header("WARC-Record-ID")
    for record in (request, metadata):
        assert record.rec_headers.get_header("WARC-Concurrent-To") == identifier
        assert record.rec_headers.get_header("WARC-Target-URI") == "http://a.org/1?q=a%20b"
    assert request.http_headers.statusline == "/1?q=a%20b HTTP/1.1"
    assert request.http_headers.get_header("User-Agent") == "Scentline (test)"
    assert request.http_headers.get_header("Host") == "a.org"
    assert body == fetched(1).body
    server, length = ("server", "a\\r\\nb: c"), ("content-length", str(len(body)))
    assert response.http_headers.headers == [("content-type", "text/html"), server, length]
    said = ["fetchTimeMs: 250", "hopsFromSeed: 2", "title: Tea\\r\\nx: y", "predicate: tea"]
    said += ["item: Cup", "item: A\\r\\nb: c"]
    assert text.decode().splitlines() == said


def test_a_page_that_changed_comes_out_with_the_visits_that_showed_it(a_store: Stores, tmp_path: Path) -> None:
    store = a_store(tmp_path)
    page = fetched(1, time=7.5)
    visits = again(1, 8.5, 7.5), again(1, 9.5, 7.5), again(1, 9.5, 7.5)
    for old in (fetched(1), again(1, 6.5, 5.5), page, page, *visits):  # some twice, as after a crash
        store.keep(replace(old, body=old.body and f"<p>{old.time}".encode()))
    url = page.order.url
    number, data = exported(tmp_path, {url: 7.5})
    assert number == 1
    assert [(kind, body) for kind, _, body in records(data)[1:] if kind != "metadata"] == [
        ("request", b""), ("response", b"<p>7.5"), ("revisit", b""), ("revisit", b""),
    ]  # fmt: skip
    with Archive(files(tmp_path / DIRECTORY)) as archive:
        assert archive.warnings == []
        assert archive.answer(url, {}).body == b"<p>7.5"


def test_the_oldest_pages_are_dropped_beyond_the_bound(a_store: Stores, tmp_path: Path) -> None:
    most = 40_000
    store = a_store(tmp_path, max_bytes=most)
    for number in range(100):
        store.keep(fetched(number))
    sizes = [path.stat().st_size for path in files(tmp_path / DIRECTORY)]
    assert most * (PARTS - 2) / PARTS < sum(sizes) <= most
    kept = [number for number in range(100) if exported(tmp_path, {url_of(number): 5.5})[0]]
    assert kept == list(range(kept[0], 100))
    assert kept[0] > 0


@pytest.mark.parametrize("by", ["priority", "links"])
def test_the_least_important_pages_are_dropped_beyond_it(a_store: Stores, tmp_path: Path, by: str) -> None:
    most, worth = 40_000, Random(1).sample(range(100), 100)
    store = a_store(tmp_path, max_bytes=most)
    store.keep(fetched(1000), priority=1000, links=1000)  # by a run that had no use for an index: worth nothing
    size = files(tmp_path / DIRECTORY)[0].stat().st_size
    expected = [(-1, size, 1000)]
    for number in range(100):
        if number % 30 == 0:  # as after a restart
            store.kept.close()
            store = a_store(tmp_path, max_bytes=most, by=by)
        page, other = fetched(number), 100 - worth[number]
        priority, links = (worth[number], other) if by == "priority" else (other, worth[number])
        store.keep(page, priority=priority, links=links)
        record, _ = store.packing.record(page, page.body, Page(page.order.url, "Tea"), YES)
        expected.append((worth[number], len(record), number))
        if sum(size for _, size, _ in expected) > most:
            expected.sort(reverse=True)
            while sum(size for _, size, _ in expected) > most * (PARTS - 1) // PARTS:
                expected.pop()
    found = records(b"".join(path.read_bytes() for path in files(tmp_path / DIRECTORY)))
    bodies = sorted(body for kind, _, body in found if kind == "response")
    assert bodies == sorted(fetched(number).body for _, _, number in expected)
    assert sum(path.stat().st_size for path in files(tmp_path / DIRECTORY)) <= most
    assert all(exported(tmp_path, {url_of(number): 5.5})[0] for _, _, number in expected)


def test_a_page_that_a_crash_left_out_of_the_index_goes_with_its_file(a_store: Stores, tmp_path: Path) -> None:
    store = a_store(tmp_path, max_bytes=40_000, by="priority")
    store.keep(fetched(1), priority=9.0)
    store.keep(fetched(2), priority=9.0)
    store.kept.close()
    (index,) = (tmp_path / DIRECTORY).glob("*.index")
    index.write_bytes(index.read_bytes()[:-5])
    store = a_store(tmp_path, max_bytes=40_000, by="priority")
    for number in range(3, 90):
        store.keep(fetched(number), priority=float(number))
    kept = [number for number in range(90) if exported(tmp_path, {url_of(number): 5.5})[0]]
    assert kept == list(range(kept[0], 90))
    assert kept[0] > 9
    indexes = {path.stem for path in (tmp_path / DIRECTORY).glob("*.index")}
    assert indexes == {path.name.partition(".")[0] for path in files(tmp_path / DIRECTORY)}


@pytest.mark.parametrize("by", ["age", "priority"])
def test_a_page_is_found_by_its_url_the_newest_version_first(a_store: Stores, tmp_path: Path, by: str) -> None:
    store, chance = a_store(tmp_path, max_bytes=40_000, by=by), Random(2)
    for time in range(120):
        store.keep(fetched(time % 50, float(time)), priority=chance.random())
        store.keep(again(time % 50, time + 0.5, float(time)))
    kept = 0
    for number in range(51):
        url = url_of(number)
        found = copies(tmp_path, url)
        times = [copy.judged for copy in found]
        assert times == sorted(set(times), reverse=True)
        assert len(found) == exported_versions(tmp_path, url)
        for copy in found:
            with copy.path.open("rb") as file:
                file.seek(copy.offset)
                bodies = {kind: body for kind, _, body in records(file.read(copy.length))}
            assert bodies["response"] == fetched(number).body
        kept += len(found)
    assert 0 < kept < 120
    times = [copy.judged for copy in newest_first(tmp_path, 1000)]
    assert len(times) == kept, "no visit is among them"
    assert by != "age" or times == sorted(times, reverse=True)
    assert len([*newest_first(tmp_path, 1)]) <= len(files(tmp_path / DIRECTORY)), "of each file the last entry"
    (*_, last) = files(tmp_path / DIRECTORY)
    index = last.with_name(last.name.replace("warc.gz", "index"))
    index.write_bytes(index.read_bytes()[:-1])
    assert sum(len(copies(tmp_path, url_of(number))) for number in range(50)) in (kept, kept - 1)


def exported_versions(data: Path, url: str) -> int:
    found = b"".join(path.read_bytes() for path in files(data / DIRECTORY))
    return sum(kind == "response" and target == url for kind, target, _ in records(found))


def test_the_bound_holds_over_restarts_and_for_a_page_larger_than_it(a_store: Stores, tmp_path: Path) -> None:
    for number in range(12):
        store = a_store(tmp_path, max_bytes=5_000)
        store.keep(fetched(number))
        store.kept.close()
    assert sum(path.stat().st_size for path in files(tmp_path / DIRECTORY)) <= 5_000
    tiny = tmp_path / "tiny"
    a_store(tiny, max_bytes=10).keep(fetched(1))
    assert files(tiny / DIRECTORY) == []


def test_a_file_that_was_cut_short_gives_what_is_whole(a_store: Stores, tmp_path: Path) -> None:
    store = a_store(tmp_path)
    store.keep(fetched(1))
    (path,) = files(tmp_path / DIRECTORY)
    whole = path.stat().st_size
    store.keep(fetched(2))
    store.kept.close()
    path.write_bytes(path.read_bytes()[: whole + 100])
    a_store(tmp_path).keep(fetched(3))
    written, data = exported(tmp_path, {url_of(number): 5.5 for number in (1, 2, 3)})
    assert written == 2
    assert [url for kind, url, _ in records(data) if kind == "response"] == [url_of(1), url_of(3)]


def test_a_directory_that_can_t_be_written_to_is_named(a_store: Stores, tmp_path: Path) -> None:
    (tmp_path / DIRECTORY).write_text("a file")
    with pytest.raises(module.KeepingError, match="keeping pages in"):
        a_store(tmp_path).keep(fetched(1))


#: What breaks a library that would write a header beyond ASCII as a parameter (RFC 8187).
FOREIGN = [
    "<http://a.org/café>; rel=shortlink", "é;a=b", "text/html; charset=é", "a=\N{SNOWMAN}; b", "\xff", "\ud800",
    "a\r\nInjected: 1", "\r\n\r\n<p>", "\0", "", " ", ";=", "é" * 1000, "\N{RIGHT-TO-LEFT OVERRIDE}x",
]  # fmt: skip
texts = st.text(max_size=40) | st.sampled_from(FOREIGN)


@given(st.dictionaries(texts, texts, max_size=6), texts, texts)
@example({"link": FOREIGN[0], "etag": FOREIGN[1], "content-type": FOREIGN[2]}, "Bot/1 (é; a=b)", "é;a=b")
def test_every_record_is_read_back_whatever_it_holds(headers: dict[str, str], agent: str, title: str) -> None:
    page = replace(fetched(1), headers=headers)
    data = packed(page, page.body, Page(page.order.url, title), YES, agent)
    found = list(ArchiveIterator(io.BytesIO(data), check_digests="raise"))
    assert [record.rec_type for record in found] == ["request", "response", "metadata"]
    assert [payload for _, _, payload in records(data)][:2] == [b"", page.body]
    assert packed(page, page.body, Page(page.order.url, title), YES, agent) == data
    rest, members = data, 0
    while rest:
        member = zlib.decompressobj(wbits=31)
        assert member.decompress(rest).startswith(b"WARC/1.1\r\n")
        rest, members = member.unused_data, members + 1
    assert members == 3
    request, response = (
        record.http_headers.headers for record in ArchiveIterator(io.BytesIO(data)) if record.http_headers
    )
    assert [name for name, _ in request] == ["Host", "User-Agent"]
    assert response[-1] == ("content-length", str(len(page.body)))
    for name, value in request + response:
        assert (name + value).isascii()
    known = dict(response)
    for name, value in headers.items():
        written = name in known and value.isprintable() and "%" not in value
        assert not written or unquote(known[name]) == value.strip()


@each_case(
    "change",
    [*({"time": time} for time in (float("nan"), 1e300, float("inf"), -1e18)),
     *({"host": HostAnswer(elapsed=seconds)} for seconds in (float("inf"), float("nan"))),
     *({"url": url} for url in ("", "x", "http://[", "http://a.org/\r\nX: y", "http://a.org/é"))],
)  # fmt: skip
def test_what_no_record_can_hold_is_not_kept(caplog: pytest.LogCaptureFixture, change: dict[str, Any]) -> None:
    caplog.clear()
    page, changed = fetched(1), dict(change)
    page.order = replace(page.order, url=changed.pop("url", url_of(1)))
    with TemporaryDirectory() as directory, caplog.at_level(logging.WARNING, "scentline.keep"):
        store = Store(Path(directory))
        store.keep(replace(page, **changed))
        store.keep(fetched(2))
        store.kept.close()
        wanted = {page.order.url: change.get("time", 5.5), url_of(2): 5.5}
        assert exported(Path(directory), wanted)[0] == 1
    (line,) = (vars(record)["fields"] for record in caplog.records)
    assert line["reason"] in {"ValueError", "OverflowError"}


@each_case(
    ("pages", "verdict", "kept"),
    [("none", YES, False), ("matches", YES, True), ("matches", {"tea": False}, False), ("all", {}, True)],
)
def test_which_pages_and_visits_are_kept_is_a_setting(pages: str, verdict: Verdict, kept: bool) -> None:
    packing, page = Packing(pages, "a test"), fetched(1)
    assert bool(packing.record(page, page.body, Page(page.order.url), verdict)[0]) is kept
    assert bool(packing.again(again(1, 9.5, 5.5, verdict), None)[0]) is kept
    assert packing.again(again(1, 9.5, 0.0), None) == (b"", ""), "it was not kept before"
