"""Kept pages as a WACZ: what the format asks for, and a browser that replays it."""

import io
import json
import sys
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.operate.wacz import sort_key
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


def exported(cwd: Path) -> bytes:
    """Keep twelve pages, some twice, and export ten of them and one that is not kept."""
    store = Store(data := cwd / "scentline-data")
    for number in (*range(12), 3, 4):
        html = f"<title>Page {number}</title><h1>Tea</h1><p>{words(number)} <a href=/{number + 1}>on</a>"
        store.keep(replace(fetched(number, BEGAN + number), body=html.encode()))
    store.kept.close()
    tell(data, *(page(number, BEGAN + number, title=f"Page {number}") for number in (*range(9), 11, 12)))
    run = scentline(cwd, "export", "--format", "wacz", "--out", "site.wacz", "tea")
    assert run.stdout == "site.wacz: 10 pages\n"
    *_, said = run.stderr.splitlines()  # of a slow machine behind how far it had come
    assert said == "1 pages are not kept (see [keep]), or can't be read: what they hold is missing"
    return (cwd / "site.wacz").read_bytes()


def test_a_wacz_is_a_warc_its_sorted_index_its_pages_and_their_digests(tmp_path: Path) -> None:
    with ZipFile(io.BytesIO(exported(tmp_path))) as file:
        content = {each.filename: file.read(each) for each in file.infolist()}
        assert file.getinfo("archive/data.warc.gz").compress_type == ZIP_STORED
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
    for key, stamp, entry in (line.decode().split(" ", 2) for line in lines):
        told = json.loads(entry)
        (record,) = ArchiveIterator(io.BytesIO(warc[told["offset"] : told["offset"] + told["length"]]))
        url, digest = (
            record.rec_headers.get_header(f"WARC-{name}") for name in ("Target-URI", "Payload-Digest")
        )
        assert (key, stamp[:8], url, digest) == (sort_key(url), "20231114", told["url"], told["digest"])
        assert (told["mime"], told["status"], told["filename"]) == ("text/html", 200, "data.warc.gz")
    head, first, *others = map(json.loads, pages.splitlines())
    assert head["format"] == "json-pages-1.0"
    told = {"url": url_of(0), "title": "Page 0", "ts": "2023-11-14T22:13:20Z", "text": f"{words(0)} on"}
    assert first == {"id": first["id"], **told}
    assert len({first["id"], *(each["id"] for each in others)}) == 10
    said = complaint(tmp_path, "export", "--format", "wacz", "--out", "/dev/full")
    assert said == "--out /dev/full: can't be written: No space left on device"


#: The text of all documents in frames, in the shadows of elements too.
FRAMES = """(function walk(root) { return [...root.querySelectorAll("*")].map((each) => {
  const inner = each.shadowRoot || (each.tagName === "IFRAME" && each.contentDocument);
  return inner ? (inner.body ? inner.body.innerText : "") + walk(inner) : "";
}).join(" "); })(document)"""


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
