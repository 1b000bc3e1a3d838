"""Kept pages as one WACZ file (specs.webrecorder.net/wacz/1.1.1), which ReplayWeb.page opens.

It is a ZIP: a WARC, its index, the pages with title and text, and a list of these with their digests.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from errno import ENOSPC
from hashlib import sha256
from io import BytesIO
from struct import pack
from time import time
from typing import Any, BinaryIO
from urllib.parse import urlsplit
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from warcio.archiveiterator import ArchiveIterator

from scentline.agents.judge.warc import information
from scentline.models.url import address_of, identifier

_WARC = "data.warc.gz"
_INDEX, _PAGES = "indexes/index.cdxj", "pages/pages.jsonl"
_HEAD = {"format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": True}


class Wacz:
    """A WACZ file that is being written.

    What has to wait for the end of the WARC, or to be sorted, waits in a temporary file.
    """

    def __init__(self, out: BinaryIO, software: str) -> None:
        self._software = software
        self._zip = ZipFile(out, "w")
        self._warc = _Entry(self._zip, f"archive/{_WARC}", ZIP_STORED)
        self._waiting = sqlite3.connect("")
        self._waiting.execute("CREATE TABLE lines (place TEXT, line TEXT, key TEXT)")
        self._later(_PAGES, json.dumps(_HEAD), "")
        self._warc.write(information(_WARC, software))

    def add(self, records: bytes, title: str, text: str | None) -> None:
        """Add a page: its records (`agents.judge.warc`), title and text; None where that is not known."""
        found = ArchiveIterator(BytesIO(records))
        for record in found:
            if record.rec_type == "response":
                offset, header = self._warc.size + found.get_record_offset(), record.rec_headers.get_header
                url, date, media = header("WARC-Target-URI"), header("WARC-Date"), record.http_headers
                entry = {
                    "url": url, "mime": (media.get_header("content-type") or "").partition(";")[0].strip(),
                    "status": int(media.get_statuscode()), "digest": header("WARC-Payload-Digest"),
                    "length": found.get_record_length(), "offset": offset, "filename": _WARC,
                }  # fmt: skip
                stamp = "".join(sign for sign in date[:19] if sign.isdigit())
                line = f"{sort_key(url)} {stamp} {json.dumps(entry)}"
                self._later(_INDEX, line, line)
                page = {"id": identifier(url).hex(), "url": url, "ts": f"{date[:19]}Z", "title": title}
                self._later(_PAGES, json.dumps(page if text is None else page | {"text": text}), "")
        self._warc.write(records)

    def close(self) -> None:
        """Write the rest."""
        with self._zip, closing(self._waiting):
            listed = (self._file(name, self._lines(name)) for name in (_INDEX, _PAGES))
            resources = [self._warc.close(), *listed]
            package = {
                "profile": "data-package", "wacz_version": "1.1.1", "software": self._software,
                "created": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "resources": resources,
            }  # fmt: skip
            told = self._file("datapackage.json", [json.dumps(package, indent=2).encode()])
            digest = {"path": told["path"], "hash": told["hash"]}
            self._file("datapackage-digest.json", [json.dumps(digest).encode()])

    def _later(self, *line: str) -> None:
        """Keep a line of a file, given with its place and the key by which the file is sorted."""
        try:
            self._waiting.execute("INSERT INTO lines VALUES (?, ?, ?)", line)
        except sqlite3.Error as error:
            raise OSError(ENOSPC, f"in the directory of temporary files: {error}") from error

    def _lines(self, place: str) -> Iterator[bytes]:
        asked = "SELECT line FROM lines WHERE place = ? ORDER BY key, rowid"
        return (f"{line}\n".encode() for (line,) in self._waiting.execute(asked, (place,)))

    def _file(self, path: str, content: Iterable[bytes]) -> dict[str, Any]:
        entry = _Entry(self._zip, path, ZIP_DEFLATED)
        for block in content:
            entry.write(block)
        return entry.close()


class _Entry:
    """A file in the ZIP, one at a time, and what the package says of it."""

    def __init__(self, file: ZipFile, path: str, how: int) -> None:
        told = ZipInfo(path)
        told.compress_type = how
        # The time (APPNOTE, extended timestamp). Without any field in the directory, ReplayWeb.page takes the
        # file's own head to have none either; but that has the one of large files.
        told.extra = pack("<HHBl", 0x5455, 5, 1, int(time()))
        self._path, self._digest, self.size = path, sha256(), 0
        self._entry = file.open(told, "w", force_zip64=True)

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self.size += self._entry.write(data)

    def close(self) -> dict[str, Any]:
        self._entry.close()
        name, digest = self._path.rpartition("/")[2], f"sha256:{self._digest.hexdigest()}"
        return {"name": name, "path": self._path, "hash": digest, "bytes": self.size}


def sort_key(url: str) -> str:
    """Return the key of a canonical URL in an index: its host reversed, without "www", all in lower case.

    >>> sort_key("https://www.Example.org:8080/A?b=1&a=2")
    'org,example:8080)/a?a=2&b=1'
    """
    parts = urlsplit(url.lower())
    name, query = parts.hostname or "", "&".join(sorted(parts.query.split("&")))
    host = name if address_of(name) else ",".join(reversed(name.removeprefix("www.").split(".")))
    return f"{host}{f':{parts.port}' if parts.port else ''}){parts.path}{f'?{query}' if query else ''}"
