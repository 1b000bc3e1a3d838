"""The records of kept pages, found by URL and time of judging in the indexes beside the WARC files."""

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from scentline.agents.judge.kept import DIRECTORY, ENTRY, files, index_of
from scentline.models.url import identifier

# `kept.ENTRY` for numpy, with the identifier in two numbers.
_DTYPE = np.dtype([
    ("worth", "<f8"), ("offset", "<u8"), ("length", "<u8"), ("page", "<u8"), ("rest", "<u4"), ("judged", "<f8"),
])  # fmt: skip
_GZIP = 31  # window bits


class Records:
    """The records of pages that were kept when this was made, in 50 bytes of memory each. A crawl may go on."""

    def __init__(self, data: Path) -> None:
        self._files = files(data / DIRECTORY)
        tables = [_table(path) for path in self._files]
        entries = np.concatenate([np.empty(0, _DTYPE), *tables])
        order = np.argsort(entries["page"], kind="stable")
        self._entries = entries[order]
        self._pages = self._entries["page"].copy()
        self._numbers = np.repeat(np.arange(len(tables), dtype=np.uint32), [*map(len, tables)])[order]

    def of(self, url: str, judged: float) -> bytes | None:
        """Return the records of a page as judged at a time; None where it is not, or no longer, kept."""
        page = identifier(url)
        key, rest = int.from_bytes(page[:8], "little"), int.from_bytes(page[8:], "little")
        place = int(self._pages.searchsorted(np.uint64(key)))
        while place < len(self._pages) and self._pages[place] == key:
            entry = self._entries[place]
            if entry["rest"] == rest and entry["judged"] == judged:
                with suppress(OSError), self._files[self._numbers[place]].open("rb") as file:
                    file.seek(int(entry["offset"]))
                    return bytes(file.read(int(entry["length"])))
            place += 1
        return None


def _table(path: Path) -> Any:
    found = b""
    with suppress(FileNotFoundError):
        found = index_of(path).read_bytes()
    return np.frombuffer(found, _DTYPE, len(found) // ENTRY.size)


def body_of(records: bytes) -> tuple[bytes, str | None]:
    """Return the body in a page's records (`agents.judge.warc`), without encodings, and its Content-Type.

    Raises `zlib.error` or `ValueError` for damaged ones.
    """
    block, rest = b"", records
    for _ in range(2):  # the response follows the request
        member = zlib.decompressobj(_GZIP)
        block, rest = member.decompress(rest), member.unused_data
    head, _, body = block.partition(b"\r\n\r\n")[2].partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    kind = fields.get(b"content-type")
    return body.removesuffix(b"\r\n\r\n"), None if kind is None else kind.decode("latin-1").strip()
