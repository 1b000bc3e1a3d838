"""The store of kept pages: numbered WARC files; beyond the bound the oldest or least important are dropped.

A page's records are appended with one write, so that a killed process leaves only the last of them cut short.
Each run of a crawl begins a file of its own. An index beside each file has the places and the importance of its
pages.
"""

import math
import struct
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from scentline.models.errors import ScentlineError
from scentline.models.url import IDENTIFIER_BYTES, identifier
from scentline.streams.logging import EventLog
from scentline.streams.settings import KeepSettings

log = EventLog("keep")

DIRECTORY = "kept"
#: The bound is cut into so many parts, each of which is dropped at once.
PARTS = 16


class KeepingError(ScentlineError):
    """Pages can't be kept; the text names the directory and says why."""


#: An entry of an index: a page's importance, the offset and length of its records in the file, its identifier
#: and the time it was judged at. The last two are zero for a visit that found a page unchanged.
_ENTRY = struct.Struct(f"<dQQ{IDENTIFIER_BYTES}sd")
_PAGE = struct.calcsize("<dQQ")


class _Entry(NamedTuple):
    """An entry of an index."""

    importance: float
    offset: int
    length: int
    page: bytes
    judged: float


class _Kept(NamedTuple):
    """Records in the store, the least important first, the oldest of equals first."""

    importance: float
    path: Path
    entry: _Entry


class Copy(NamedTuple):
    """Where the records of a page lie that was judged at the time ``judged``."""

    path: Path
    offset: int
    length: int
    judged: float


class KeptPages:
    """Keeps the records of pages in the data directory ``data``."""

    def __init__(self, data: Path, settings: KeepSettings) -> None:
        self._directory = data / DIRECTORY
        self._settings = settings
        self._file: FileIO | None = None
        self._index: FileIO | None = None
        self._sizes: dict[Path, int] = {}

    def keep(
        self,
        url: str,
        record: bytes,
        unkept: str = "",
        *,
        judged: float | None = None,
        priority: float = 0.0,
        links: int = 0,
    ) -> None:
        """Keep a page's records, if it has any; raises `KeepingError` where nothing can be kept.

        ``unkept`` says why a page that should have records has none. ``judged`` is the time of judging, None
        for a visit that found the page unchanged. ``priority`` is the page's score when it was chosen.
        """
        if unkept:
            log.warning("a page can't be kept", url=url, reason=unkept)
        if not record:
            return
        try:
            page = bytes(IDENTIFIER_BYTES) if judged is None else identifier(url)
            self._append(record, _Entry(self._worth(priority, links), 0, len(record), page, judged or 0.0))
        except OSError as error:
            raise KeepingError(f"keeping pages in {self._directory}: {error.strerror}") from error

    def _worth(self, priority: float, links: int) -> float:
        return {"age": -math.inf, "links": float(links), "priority": priority}[self._settings.by]

    def _append(self, records: bytes, entry: _Entry) -> None:
        if len(records) > self._settings.max_bytes:
            return
        self._write(records, entry)
        if sum(self._sizes.values()) <= self._settings.max_bytes:
            return
        if self._settings.by == "age":
            self._drop()
        else:
            self._drop_least()

    def _write(self, records: bytes, entry: _Entry) -> None:
        part = self._settings.max_bytes // PARTS
        if self._file is None or self._sizes[Path(self._file.name)] + len(records) > part:
            self._begin()
        assert self._file is not None and self._index is not None
        path = Path(self._file.name)
        try:
            _write_all(self._file, records)
        except OSError:
            self._file.truncate(self._sizes[path])  # half a record would end what readers can read
            raise
        _write_all(self._index, _ENTRY.pack(*entry._replace(offset=self._sizes[path])))
        self._sizes[path] += len(records)

    def _begin(self) -> None:
        self.close()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._sizes:
            self._sizes = {path: path.stat().st_size for path in files(self._directory)}
        last = max((int(path.name.partition(".")[0]) for path in self._sizes), default=0)
        path = self._directory / f"{last + 1:08d}.warc.gz"
        # Unbuffered: what did not fit on the disk is not tried again when the file is closed.
        self._file = path.open("xb", buffering=0)
        self._index = _index(path).open("wb", buffering=0)
        self._sizes[path] = 0

    def _drop(self) -> None:
        """Drop the oldest files while there are too many bytes, but not the one being written."""
        for path in sorted(self._sizes)[:-1]:
            if sum(self._sizes.values()) <= self._settings.max_bytes:
                return
            self._remove(path)

    def _drop_least(self) -> None:
        """Drop the least important pages, a part of the bound at once (Cho 1998, section 3, limited buffer).

        The other pages of their files go to new ones: files change only at their ends. A page is in both for a
        while, and after a crash it stays so: that is the same page twice.
        """
        self.close()
        pages = sorted(page for path in self._sizes for page in _pages(path, self._sizes[path]))
        excess = sum(self._sizes.values()) - self._settings.max_bytes * (PARTS - 1) // PARTS
        dropped: set[_Kept] = set()
        for page in pages:
            if excess <= 0:
                break
            dropped.add(page)
            excess -= page.entry.length
        for path in sorted({page.path for page in dropped}):
            rest = [page for page in pages if page.path == path and page not in dropped]
            with path.open("rb") as file:
                for entry in sorted((page.entry for page in rest), key=lambda entry: entry.offset):
                    file.seek(entry.offset)
                    self._write(file.read(entry.length), entry)
            self._remove(path)

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        _index(path).unlink(missing_ok=True)
        del self._sizes[path]

    def close(self) -> None:
        """Close the file."""
        for file in (self._file, self._index):
            if file is not None:
                file.close()
        self._file = self._index = None


def files(directory: Path) -> list[Path]:
    """Return the files of kept pages, the oldest first."""
    return sorted(directory.glob("[0-9]*.warc.gz"))


def copies(data: Path, url: str) -> list[Copy]:
    """Return where a page is kept, its newest version first; a file may have been dropped meanwhile."""
    sought, found = identifier(url), []
    for path in files(data / DIRECTORY):
        entries = _entries(path)
        at = entries.find(sought)
        while at >= 0:
            if at % _ENTRY.size == _PAGE:
                entry = _Entry(*_ENTRY.unpack_from(entries, at - _PAGE))
                found.append(Copy(path, entry.offset, entry.length, entry.judged))
            at = entries.find(sought, at + 1)
    return sorted(found, key=lambda copy: copy.judged, reverse=True)


def kept_in(path: Path, start: int, most: int) -> list[Copy | None]:
    """Return so many entries of a file's index from the one numbered ``start``; None for a visit's."""
    found = (_Entry(*fields) for fields in _ENTRY.iter_unpack(_entries(path, start, most)))
    return [
        Copy(path, entry.offset, entry.length, entry.judged) if any(entry.page) else None for entry in found
    ]


def entries_in(path: Path) -> int:
    """Return how many entries a file's index has."""
    try:
        return _index(path).stat().st_size // _ENTRY.size
    except FileNotFoundError:
        return 0


def _index(path: Path) -> Path:
    return path.with_name(f"{path.name.partition('.')[0]}.index")


def _pages(path: Path, size: int) -> list[_Kept]:
    """Return the pages of a file; one without an index counts as one page of no importance."""
    entries = [_Entry(*fields) for fields in _ENTRY.iter_unpack(_entries(path))]
    if not entries:
        return [_Kept(-math.inf, path, _Entry(-math.inf, 0, size, bytes(IDENTIFIER_BYTES), 0.0))]
    return [_Kept(entry.importance, path, entry) for entry in entries]


def _entries(path: Path, start: int = 0, most: int | None = None) -> bytes:
    """Return the whole entries of a file's index."""
    try:
        with _index(path).open("rb") as file:
            file.seek(start * _ENTRY.size)
            found = file.read(-1 if most is None else most * _ENTRY.size)
    except FileNotFoundError:
        return b""
    return found[: len(found) // _ENTRY.size * _ENTRY.size]


def _write_all(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
