"""Kept pages as one WACZ file (specs.webrecorder.net/wacz/1.1.1), which ReplayWeb.page opens.

It is a ZIP: a WARC, its index, the pages with title and text, and a list of these with their digests.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from struct import pack
from time import time
from typing import Any, BinaryIO
from urllib.parse import urlsplit
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from scentline.agents.judge.kept import Kept, information, kept
from scentline.agents.judge.question import Seen, Show
from scentline.agents.offline.archive import read
from scentline.models.url import address_of, identifier

VERSION, WARC = "1.1.1", "data.warc.gz"
_ARCHIVE, _INDEX, _PAGES = f"archive/{WARC}", "indexes/index.cdxj", "pages/pages.jsonl"
_HEAD = {"format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": True}


Shown = Callable[[Show], Seen | None]
#: Takes a file of the ZIP, a line for it, and the key by which its lines are sorted.
Later = Callable[[str, str, str], object]


def write(data: Path, wanted: Mapping[str, float], out: BinaryIO, software: str, show: Shown) -> int:
    """Write the kept pages, given by URL and time of fetch; return how many were kept.

    ``show`` says what a page shows, None where it can't be read. What waits for the end of the WARC, or must
    be sorted, lies in a temporary file.
    """
    with closing(sqlite3.connect("")) as waiting, ZipFile(out, "w") as file:
        waiting.execute("CREATE TABLE lines (place TEXT, line TEXT, key TEXT)")

        def later(*line: str) -> None:
            waiting.execute("INSERT INTO lines VALUES (?, ?, ?)", line)

        def lines(place: str) -> Iterator[bytes]:
            found = waiting.execute("SELECT line FROM lines WHERE place = ? ORDER BY key, rowid", (place,))
            return (f"{line}\n".encode() for (line,) in found)

        later(_PAGES, json.dumps(_HEAD), "")
        records = _archived(information(WARC, software), kept(data, wanted), show, later)
        resources = [
            _entry(file, _ARCHIVE, records, ZIP_STORED),
            _entry(file, _INDEX, lines(_INDEX)),
            _entry(file, _PAGES, lines(_PAGES)),
        ]
        package = {
            "profile": "data-package", "wacz_version": VERSION, "software": software,
            "created": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "resources": resources,
        }  # fmt: skip
        told = _entry(file, "datapackage.json", [json.dumps(package, indent=2).encode()])
        digest = {"path": told["path"], "hash": told["hash"]}
        _entry(file, "datapackage-digest.json", [json.dumps(digest).encode()])
        ((pages,),) = waiting.execute("SELECT count(*) - 1 FROM lines WHERE place = ?", (_PAGES,))
    return int(pages)


def _archived(first: bytes, records: Iterable[Kept], show: Shown, later: Later) -> Iterator[bytes]:
    """Yield the members of the WARC; lines of the index and of the pages are for ``later``."""
    yield first
    offset = len(first)
    for kind, url, date, digest, member in records:
        if kind == "response":
            _, answer = read(Path(WARC), BytesIO(member), 0)
            media = dict(answer.headers).get("content-type")
            stamp = "".join(sign for sign in date[:19] if sign.isdigit())
            entry = {
                "url": url, "mime": (media or "").partition(";")[0].strip(), "status": answer.status,
                "digest": digest, "length": len(member), "offset": offset, "filename": WARC,
            }  # fmt: skip
            line = f"{sort_key(url)} {stamp} {json.dumps(entry)}"
            later(_INDEX, line, line)
            seen = show(Show(url, answer.body, media))
            told = {} if seen is None else {"title": seen.title, "text": seen.text}
            page = {"id": identifier(url).hex(), "url": url, "ts": f"{date[:19]}Z", **told}
            later(_PAGES, json.dumps(page), "")
        yield member
        offset += len(member)


def _entry(file: ZipFile, path: str, content: Iterable[bytes], how: int = ZIP_DEFLATED) -> dict[str, Any]:
    """Write a file into the ZIP; return what the package says of it."""
    told = ZipInfo(path)
    told.compress_type = how
    # The time (APPNOTE, extended timestamp). Beside it, readers that know a file's place from the directory
    # alone, ReplayWeb.page's among them, look at the file's own head, which has the field of large files too.
    told.extra = pack("<HHBl", 0x5455, 5, 1, int(time()))
    digest, size = sha256(), 0
    with file.open(told, "w", force_zip64=True) as entry:
        for block in content:
            digest.update(block)
            size += entry.write(block)
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "hash": f"sha256:{digest.hexdigest()}",
        "bytes": size,
    }


def sort_key(url: str) -> str:
    """Return the key of a canonical URL in an index: its host reversed, without "www", all in lower case.

    >>> sort_key("https://www.Example.org:8080/A?b=1&a=2")
    'org,example:8080)/a?a=2&b=1'
    """
    parts = urlsplit(url.lower())
    name, query = parts.hostname or "", "&".join(sorted(parts.query.split("&")))
    host = name if address_of(name) else ",".join(reversed(name.removeprefix("www.").split(".")))
    return f"{host}{f':{parts.port}' if parts.port else ''}){parts.path}{f'?{query}' if query else ''}"
