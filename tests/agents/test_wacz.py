"""Kept pages as a WACZ: what the format asks for, and a browser that replays it."""

import io
import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.judge.kept import copies
from scentline.agents.operate.wacz import Wacz, sort_key
from tests.agents.commands import complaint, scentline
from tests.agents.test_export import page, tell
from tests.agents.test_keep import Store, fetched, url_of
from tests.patience import PATIENCE, wait_for
from tests.webs.serving import Exchange, serving
from tests.window.browser import Browser

BEGAN = 1_700_000_000.25
REPLAY = Path(sys.prefix) / "replaywebpage" / "package"


def words(number: int) -> str:
    return f"The tea of number {number} is brewed slowly, as ever."


def archived(data: Path, numbers: Sequence[int]) -> bytes:
    """Keep twelve pages, some twice, and return a WACZ of those with the numbers; that of 7 has no text."""
    store, out = Store(data), io.BytesIO()
    for number in (*range(12), 3, 4):
        html = f"<title>Page {number}</title><h1>Tea</h1><p>{words(number)} <a href=/{number + 1}>on</a>"
        store.keep(replace(fetched(number, BEGAN + number), body=html.encode()))
    store.kept.close()
    file = Wacz(out, "a test")
    for number in numbers:
        copy = copies(data, url_of(number))[0]
        records = copy.path.read_bytes()[copy.offset : copy.offset + copy.length]
        file.add(records, f"Page {number}", None if number == 7 else words(number))
    file.close()
    return out.getvalue()


def test_a_wacz_is_a_warc_its_sorted_index_its_pages_and_their_digests(tmp_path: Path) -> None:
    data = archived(tmp_path, (*range(9), 11))
    with ZipFile(io.BytesIO(data)) as file:
        assert file.testzip() is None
        content = {each.filename: file.read(each) for each in file.infolist()}
        assert file.getinfo("archive/data.warc.gz").compress_type == ZIP_STORED
        assert all(each.date_time and each.extra for each in file.infolist())
    digest = json.loads(content.pop("datapackage-digest.json"))
    package = json.loads(listed := content.pop("datapackage.json"))
    assert digest == {"path": "datapackage.json", "hash": f"sha256:{sha256(listed).hexdigest()}"}
    assert (package["profile"], package["wacz_version"]) == ("data-package", "1.1.1")
    assert {each["path"]: (each["hash"], each["bytes"]) for each in package["resources"]} == {
        name: (f"sha256:{sha256(found).hexdigest()}", len(found)) for name, found in content.items()
    }
    warc, index, pages = content.values()
    records = list(ArchiveIterator(io.BytesIO(warc), check_digests="raise"))
    kinds = ["warcinfo", *["request", "response", "metadata"] * 10]
    assert [record.rec_type for record in records] == kinds
    lines = index.splitlines()
    assert lines == sorted(lines) and len(lines) == 10
    for line in lines:
        key, stamp, entry = line.decode().split(" ", 2)
        told = json.loads(entry)
        (record,) = ArchiveIterator(io.BytesIO(warc[told["offset"] : told["offset"] + told["length"]]))
        assert record.rec_headers.get_header("WARC-Target-URI") == told["url"]
        assert record.rec_headers.get_header("WARC-Payload-Digest") == told["digest"]
        assert (told["mime"], told["status"], told["filename"]) == ("text/html", 200, "data.warc.gz")
        assert (key, stamp[:8]) == (sort_key(told["url"]), "20231114")
    head, *shown = map(json.loads, pages.splitlines())
    assert head["format"] == "json-pages-1.0"
    first, unread = shown[0], shown[7]
    assert (first["url"], first["title"], first["ts"]) == (url_of(0), "Page 0", "2023-11-14T22:13:20Z")
    assert first["text"] == words(0)
    assert (unread["url"], unread["title"], "text" in unread) == (url_of(7), "Page 7", False)
    assert len({each["id"] for each in shown}) == 10


def exported(cwd: Path) -> bytes:
    """Keep pages, ten of those that are told of, and export them."""
    archived(cwd / "scentline-data", ())
    tell(cwd / "scentline-data", *(page(number, BEGAN + number) for number in (*range(10), 12)))
    run = scentline(cwd, "export", "--format", "wacz", "--out", "site.wacz", "tea")
    assert run.stdout == "site.wacz: 10 pages\n"
    assert run.stderr == "1 pages are not kept any more, or can't be read: what they hold is missing\n"
    return (cwd / "site.wacz").read_bytes()


def test_an_export_is_whole_or_one_line_says_why_not(tmp_path: Path) -> None:
    with ZipFile(io.BytesIO(exported(tmp_path))) as file:
        assert words(7) in file.read("pages/pages.jsonl").decode()
    said = complaint(tmp_path, "export", "--format", "wacz", "--out", "/dev/full")
    assert said == "--out /dev/full: can't be written: No space left on device"


#: The text of all documents in frames, in the shadows of elements too.
FRAMES = """(function walk(root) {
  let text = "";
  for (const element of root.querySelectorAll("*")) {
    if (element.shadowRoot) text += walk(element.shadowRoot);
    const inner = element.tagName === "IFRAME" && element.contentDocument;
    if (inner && inner.body) text += inner.body.innerText + walk(inner);
  }
  return text;
})(document)"""


@pytest.mark.timeout(3 * PATIENCE)
def test_a_wacz_is_replayed_in_a_browser(tmp_path: Path, browser: Browser) -> None:
    if not REPLAY.exists():
        pytest.skip(f"no ReplayWeb.page in {REPLAY}; `make replay` fetches it")
    data = exported(tmp_path)

    async def answer(exchange: Exchange) -> None:
        file = REPLAY / (exchange.path.strip("/") or "index.html")
        if exchange.path == "/site.wacz":
            first, _, last = exchange.headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")
            begin = int(first) if first else max(len(data) - int(last), 0)
            part = data[begin : int(last) + 1 if first and last else len(data)]
            place = f"bytes {begin}-{begin + len(part) - 1}/{len(data)}"
            exchange.send(206, part, "application/wacz", Content_Range=place, Accept_Ranges="bytes")
        elif file.is_file():
            kind = {".js": "text/javascript", ".html": "text/html"}.get(file.suffix, "image/svg+xml")
            exchange.send(200, file.read_bytes(), kind)
        else:
            exchange.send(404)

    with serving(answer) as served:
        place = "url=http%3A%2F%2Fa.org%2F6%3Fq%3Da%2520b&ts=20231114221326"
        browser.open(f"{served.origin}/?source={served.origin}/site.wacz#view=pages&{place}")
        wait_for("the page's text", lambda: words(6) in str(browser.run(FRAMES)))
        browser.open("about:blank")
