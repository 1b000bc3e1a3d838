"""The store of kept pages: WARC files that follow each other; beyond the bound the oldest or least are dropped.

A page's records are appended with one write, so that a process killed at any moment leaves at most the last of
them cut short. Each run of a crawl begins a file of its own. Where the least important pages are dropped, an
index beside each file says where its pages are and what each is worth.
"""

import math
import struct
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from models.errors import ScentlineError
from streams.logging import EventLog
from streams.settings import KeepSettings

log = EventLog("keep")

DIRECTORY = "kept"
#: Parts that the bound is cut into: as much is dropped at once.
PARTS = 16


class KeepingError(ScentlineError):
    """Pages can't be kept; the text names the directory and says why."""


#: A line of an index: what a page is worth, its offset in the file, its length.
_ENTRY = struct.Struct("<dQQ")


class _Kept(NamedTuple):
    """A page in the store; the least sorts first, of equals the oldest."""

    importance: float
    path: Path
    offset: int
    length: int


class KeptPages:
    """Keeps the records of pages in the data directory ``data``."""

    def __init__(self, data: Path, settings: KeepSettings) -> None:
        self._directory = data / DIRECTORY
        self._settings = settings
        self._file: FileIO | None = None
        self._sizes: dict[Path, int] = {}

    def keep(self, url: str, record: bytes, unkept: str = "", *, priority: float = 0.0, links: int = 0) -> None:
        """Keep a page's records, if it has any; raises `KeepingError` where nothing can be kept.

        ``unkept`` says why a page that should have records has none: it is told of. ``priority`` is what the
        page was chosen with, ``links`` the number of its links.
        """
        if unkept:
            log.warning("a page can't be kept", url=url, reason=unkept)
        if not record:
            return
        try:
            self._append(record, float(links) if self._settings.by == "links" else priority)
        except OSError as error:
            raise KeepingError(f"keeping pages in {self._directory}: {error.strerror}") from error

    def _append(self, records: bytes, importance: float) -> None:
        if len(records) > self._settings.max_bytes:
            return
        self._write(records, importance)
        if sum(self._sizes.values()) <= self._settings.max_bytes:
            return
        if self._settings.by == "age":
            self._drop()
        else:
            self._drop_least()

    def _write(self, records: bytes, importance: float) -> None:
        part = self._settings.max_bytes // PARTS
        if self._file is None or self._sizes[Path(self._file.name)] + len(records) > part:
            self._begin()
        assert self._file is not None
        path = Path(self._file.name)
        try:
            _write_all(self._file, records)
        except OSError:
            self._file.truncate(self._sizes[path])  # half a record would end what readers can read
            raise
        if self._settings.by != "age":
            with _index(path).open("ab") as index:
                index.write(_ENTRY.pack(importance, self._sizes[path], len(records)))
        self._sizes[path] += len(records)

    def _begin(self) -> None:
        """Begin the next file."""
        self.close()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._sizes:
            self._sizes = {path: path.stat().st_size for path in files(self._directory)}
        last = max((int(path.name.partition(".")[0]) for path in self._sizes), default=0)
        path = self._directory / f"{last + 1:08d}.warc.gz"
        # Unbuffered: what did not fit on the disk is not tried again when the file is closed.
        self._file = path.open("xb", buffering=0)
        self._sizes[path] = 0

    def _drop(self) -> None:
        """Drop the oldest files while there are too many bytes, but not the one being written."""
        for path in sorted(self._sizes)[:-1]:
            if sum(self._sizes.values()) <= self._settings.max_bytes:
                return
            self._remove(path)

    def _drop_least(self) -> None:
        """Drop the least important pages, a part of the bound at once (Cho 1998, section 3, limited buffer).

        What else is in their files goes to new ones: a file that is read never changes but at its end. A page
        is in both for a while, and after a crash it stays so: that is the same page twice.
        """
        self.close()
        pages = sorted(page for path in self._sizes for page in _pages(path, self._sizes[path]))
        excess = sum(self._sizes.values()) - self._settings.max_bytes * (PARTS - 1) // PARTS
        dropped: set[_Kept] = set()
        for page in pages:
            if excess <= 0:
                break
            dropped.add(page)
            excess -= page.length
        for path in sorted({page.path for page in dropped}):
            rest = [page for page in pages if page.path == path and page not in dropped]
            with path.open("rb") as file:
                for page in sorted(rest, key=lambda page: page.offset):
                    file.seek(page.offset)
                    self._write(file.read(page.length), page.importance)
            self._remove(path)

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        _index(path).unlink(missing_ok=True)
        del self._sizes[path]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def files(directory: Path) -> list[Path]:
    """Return the files of kept pages, the oldest first."""
    return sorted(directory.glob("[0-9]*.warc.gz"))


def _index(path: Path) -> Path:
    return path.with_name(f"{path.name.partition('.')[0]}.index")


def _pages(path: Path, size: int) -> list[_Kept]:
    """Return the pages of a file; one without an index is as a page that is worth nothing."""
    try:
        entries = _index(path).read_bytes()
    except FileNotFoundError:
        return [_Kept(-math.inf, path, 0, size)]
    whole = entries[: len(entries) // _ENTRY.size * _ENTRY.size]
    return [_Kept(importance, path, *place) for importance, *place in _ENTRY.iter_unpack(whole)]


def _write_all(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
