"""The bodies of kept pages, found by URL and time of judging in the indexes beside the WARC files."""

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scentline.agents.judge.kept import DIRECTORY, ENTRY, files, index_of
from scentline.models.url import identifier

# `kept.ENTRY` for numpy, the identifier in two numbers, and behind it the number of the file.
_DTYPE = np.dtype([
    ("worth", "<f8"), ("offset", "<u8"), ("length", "<u8"), ("page", "<u8"), ("rest", "<u4"), ("judged", "<f8"),
])  # fmt: skip
_GZIP = 31  # window bits


class Body(NamedTuple):
    """A kept body without encodings, and its Content-Type."""

    content: bytes
    content_type: str | None


class Bodies:
    """The bodies that were kept when this was made: 48 bytes of memory each. A crawl may go on."""

    def __init__(self, data: Path) -> None:
        self._files = files(data / DIRECTORY)
        tables = [_table(path) for path in self._files]
        entries = np.concatenate([np.empty(0, _DTYPE), *tables])
        order = np.argsort(entries["page"], kind="stable")
        self._entries = entries[order]
        self._numbers = np.repeat(np.arange(len(tables), dtype=np.uint32), [*map(len, tables)])[order]

    def of(self, url: str, judged: float) -> Body | None:
        """Return the body of a page as judged at a time; None where it is not, or no longer, kept."""
        with suppress(zlib.error):
            return None if (found := self.records(url, judged)) is None else response_of(found)
        return None

    def records(self, url: str, judged: float) -> bytes | None:
        """Return the records of a page as judged at a time, likewise."""
        page = identifier(url)
        key, rest = (int.from_bytes(part, "little") for part in (page[:8], page[8:]))
        keys = self._entries["page"]
        first, last = (np.searchsorted(keys, np.uint64(key), side) for side in ("left", "right"))
        for place in range(first, last):
            entry = self._entries[place]
            if entry["rest"] == rest and entry["judged"] == judged:
                with suppress(OSError), self._files[self._numbers[place]].open("rb") as file:
                    file.seek(int(entry["offset"]))
                    found: bytes = file.read(int(entry["length"]))
                    return found
        return None


def _table(path: Path) -> Any:
    found = b""
    with suppress(FileNotFoundError):
        found = index_of(path).read_bytes()
    return np.frombuffer(found, _DTYPE, len(found) // ENTRY.size)


def response_of(records: bytes) -> Body:
    """Return the body in a page's records (`agents.judge.warc`): the response is the second of them."""
    block, rest = b"", records
    for _ in range(2):
        member = zlib.decompressobj(_GZIP)
        block, rest = member.decompress(rest), member.unused_data
    _, _, message = block.partition(b"\r\n\r\n")
    head, _, body = message.partition(b"\r\n\r\n")
    fields = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    kinds = (value for name, _, value in fields if name.lower() == b"content-type")
    kind = next(kinds, None)
    return Body(body.removesuffix(b"\r\n\r\n"), None if kind is None else kind.decode("latin-1").strip())
