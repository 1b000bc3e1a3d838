"""The records of kept pages, found by URL and time of judging in the indexes beside the WARC files."""

from contextlib import suppress
from pathlib import Path

import numpy as np

from scentline.agents.judge.kept import DIRECTORY, files, index
from scentline.models.url import IDENTIFIER_BYTES, identifier

# `kept.ENTRY` for numpy.
_DTYPE = np.dtype([
    ("worth", "<f8"), ("offset", "<u8"), ("length", "<u8"), ("page", f"S{IDENTIFIER_BYTES}"), ("judged", "<f8"),
])  # fmt: skip


class Records:
    """The records of pages that were kept when this was made, in 50 bytes of memory each. A crawl may go on."""

    def __init__(self, data: Path) -> None:
        self._files = files(data / DIRECTORY)
        tables = [np.frombuffer(index(path), _DTYPE) for path in self._files]
        entries = np.concatenate([np.empty(0, _DTYPE), *tables])
        order = np.argsort(entries["page"], kind="stable")
        self._entries = entries[order]
        self._pages = self._entries["page"].copy()
        self._numbers = np.repeat(np.arange(len(tables), dtype=np.uint32), [*map(len, tables)])[order]

    def of(self, url: str, judged: float) -> bytes | None:
        """Return the records of a page as judged at a time; None where it is not, or no longer, kept."""
        page = identifier(url)
        for place in range(*(int(self._pages.searchsorted(page, side)) for side in ("left", "right"))):
            entry = self._entries[place]
            if entry["judged"] == judged:
                with suppress(OSError), self._files[self._numbers[place]].open("rb") as file:
                    file.seek(int(entry["offset"]))
                    return bytes(file.read(int(entry["length"])))
        return None
