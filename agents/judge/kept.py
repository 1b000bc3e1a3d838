"""The store of kept pages: numbered WARC files; beyond the bound the oldest or least important are dropped.

A page's records are appended with one write, so that a killed process leaves only the last of them cut short.
Each run of a crawl begins a file of its own. An index beside each file has the offsets and the importance of
its pages.
"""

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from scentline.models.errors import EventLog, ScentlineError
from scentline.models.url import IDENTIFIER_BYTES, identifier
from scentline.streams.settings import KeepSettings

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

log = EventLog("keep")

DIRECTORY = "kept"
#: Parts of the bound; one part is dropped at once.
PARTS = 16


class KeepingError(ScentlineError):
    """Pages can't be kept; the text names the directory and says why."""


#: An entry of an index: a page's importance, the offset and length of its records in the file, its identifier
#: and the time it was judged at. The last two are zero for a visit that found a page unchanged.
ENTRY = struct.Struct(f"<dQQ{IDENTIFIER_BYTES}sd")
_VISIT = bytes(IDENTIFIER_BYTES)


class Copy(NamedTuple):
    """The stored records of a page, or of a visit to it; sorts by importance, then the oldest first."""

    importance: float
    path: Path
    offset: int
    length: int
    page: bytes
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
        settings = self._settings
        if not record or len(record) > settings.max_bytes:
            return
        worth = {"age": -math.inf, "links": float(links), "priority": priority}[settings.by]
        page = _VISIT if judged is None else identifier(url)
        try:
            self._write(record, worth, page, judged or 0.0)
            if sum(self._sizes.values()) > settings.max_bytes:
                self._drop() if settings.by == "age" else self._drop_least()
        except OSError as error:
            raise KeepingError(f"keeping pages in {self._directory}: {error.strerror}") from error

    def _write(self, records: bytes, importance: float, page: bytes, judged: float) -> None:
        part = self._settings.max_bytes // PARTS
        if self._file is None or self._sizes[Path(self._file.name)] + len(records) > part:
            self._begin()
        assert self._file is not None and self._index is not None
        path = Path(self._file.name)
        offset = self._sizes[path]
        try:
            _write_all(self._file, records)
        except OSError:
            self._file.truncate(offset)  # readers would stop at half a record
            raise
        _write_all(self._index, ENTRY.pack(importance, offset, len(records), page, judged))
        self._sizes[path] += len(records)

    def _begin(self) -> None:
        self.close()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._sizes:
            self._sizes = {path: path.stat().st_size for path in files(self._directory)}
        last = max((int(path.name.partition(".")[0]) for path in self._sizes), default=0)
        path = self._directory / f"{last + 1:08d}.warc.gz"
        # Unbuffered: closing the file does not retry what did not fit on the disk.
        self._file = path.open("xb", buffering=0)
        self._index = index_of(path).open("wb", buffering=0)
        self._sizes[path] = 0

    def _drop(self) -> None:
        """Drop the oldest files while over the bound, except the one being written."""
        for path in sorted(self._sizes)[:-1]:
            if sum(self._sizes.values()) <= self._settings.max_bytes:
                return
            self._remove(path)

    def _drop_least(self) -> None:
        """Drop the least important pages, a part of the bound at once (Cho 1998, section 3, limited buffer).

        The other pages of their files move to new ones, since files are append-only. A page is in both for a
        while, and stays so after a crash: that is the same page twice.
        """
        self.close()
        kept = [copy for path, size in self._sizes.items() for copy in _entries(path) or [_unknown(path, size)]]
        excess = sum(self._sizes.values()) - self._settings.max_bytes * (PARTS - 1) // PARTS
        dropped: set[Copy] = set()
        for copy in sorted(kept):
            if excess <= 0:
                break
            dropped.add(copy)
            excess -= copy.length
        for path in sorted({copy.path for copy in dropped}):
            with path.open("rb") as file:
                for copy in kept:
                    if copy.path == path and copy not in dropped:
                        file.seek(copy.offset)
                        self._write(file.read(copy.length), copy.importance, copy.page, copy.judged)
            self._remove(path)

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        index_of(path).unlink(missing_ok=True)
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
    """Return the copies of a page, its newest version first; a file may have been dropped meanwhile."""
    sought = identifier(url)
    found = [copy for path in files(data / DIRECTORY) for copy in _entries(path, sought)]
    return sorted(found, key=lambda copy: copy.judged, reverse=True)


def newest_first(data: Path, most: int) -> Iterator[Copy]:
    """Yield kept pages, the newest first: of each file those among its last ``most`` entries."""
    for path in reversed(files(data / DIRECTORY)):
        yield from (copy for copy in reversed(_entries(path, last=most)) if copy.page != _VISIT)


def index_of(path: Path) -> Path:
    """Return the file's index."""
    return path.with_name(f"{path.name.partition('.')[0]}.index")


def index(path: Path) -> bytes:
    """Return the whole entries in a file's index, as `ENTRY` has them; none without an index."""
    try:
        found = index_of(path).read_bytes()
    except FileNotFoundError:
        return b""
    return found[: len(found) // ENTRY.size * ENTRY.size]


def _unknown(path: Path, size: int) -> Copy:
    """Return a file without an index as one page of no importance."""
    return Copy(-math.inf, path, 0, size, _VISIT, 0.0)


def _entries(path: Path, page: bytes = b"", last: int = 0) -> list[Copy]:
    """Return a file's index entries in order: all, the ``last`` ones, or those of a ``page``."""
    found = index(path)
    if page not in found:
        return []
    entries = ENTRY.iter_unpack(found[-last * ENTRY.size :])
    return [Copy(worth, path, *rest) for worth, *rest in entries if page in (b"", rest[2])]


def _write_all(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


# as one WARC file

_BLOCK = 65536
#: The types of kept records, and the header with the time of their page's outcome.
_TYPES = dict.fromkeys(("request", "response", "metadata"), "WARC-Date") | {"revisit": "WARC-Refers-To-Date"}


def export(data: Path, wanted: Mapping[str, float], out: BinaryIO, software: str) -> int:
    """Write the kept records of pages, given by URL and time of fetch; return how many pages were kept.

    Later visits that found a page unchanged are included. A crawl may be running: records that it has yet to
    write, or drops meanwhile, are left out.
    """
    # Imported here: a crawl writes records that another process made.
    from scentline.agents.judge.warc import date_of, information
    from scentline.agents.offline.archive import target_url

    out.write(information("matches.warc.gz", software))
    dates: dict[str, str] = {}
    for url, time in wanted.items():
        with suppress(ValueError):  # nothing was kept of such a time
            dates[url] = date_of(time)
    written: set[tuple[str, str, str]] = set()
    for path in files(data / DIRECTORY):
        for offset, record in _records(path):
            url, kind = target_url(record), record.rec_type
            date, told = (record.rec_headers.get_header(name) for name in ("WARC-Date", _TYPES.get(kind, "")))
            if date and told and dates.get(url) == told and (url, kind, date) not in written:
                written.add((url, kind, date))
                out.write(_member(path, offset))
    return sum(kind == "response" for _, kind, _ in written)


def _records(path: Path) -> Iterator[tuple[int, "ArcWarcRecord"]]:
    from scentline.agents.offline.archive import ArchiveError, CutShortError, records

    try:
        with path.open("rb") as file:
            yield from records(path, file)
    except (FileNotFoundError, CutShortError):
        return
    except ArchiveError as error:
        if path.stat().st_size:  # else the crawl has just begun it
            log.warning("a file of kept pages can't be read completely", reason=str(error))


def _member(path: Path, offset: int) -> bytes:
    found = bytearray()
    member = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        file.seek(offset)
        while not member.eof and (block := file.read(_BLOCK)):
            member.decompress(block)
            found += block
    return bytes(found[: len(found) - len(member.unused_data)])
