"""The store of kept pages: WARC files that follow each other, the oldest dropped beyond the bound.

A page's records are appended with one write, so that a process killed at any moment leaves at most the last of
them cut short. Each run of a crawl begins a file of its own.
"""

from io import FileIO
from pathlib import Path

from models.errors import ScentlineError
from streams.logging import EventLog
from streams.settings import KeepSettings

log = EventLog("keep")

DIRECTORY = "kept"
#: Parts that the bound is cut into: as much is dropped at once.
PARTS = 16


class KeepingError(ScentlineError):
    """Pages can't be kept; the text names the directory and says why."""


class KeptPages:
    """Keeps the records of pages in the data directory ``data``."""

    def __init__(self, data: Path, settings: KeepSettings) -> None:
        self._directory = data / DIRECTORY
        self._settings = settings
        self._file: FileIO | None = None
        self._sizes: dict[Path, int] = {}

    def keep(self, url: str, record: bytes, unkept: str = "") -> None:
        """Keep a page's records, if it has any; raises `KeepingError` where nothing can be kept.

        ``unkept`` says why a page that should have records has none: it is told of.
        """
        if unkept:
            log.warning("a page can't be kept", url=url, reason=unkept)
        if not record:
            return
        try:
            self._append(record)
        except OSError as error:
            raise KeepingError(f"keeping pages in {self._directory}: {error.strerror}") from error

    def _append(self, records: bytes) -> None:
        if len(records) > self._settings.max_bytes:
            return
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
        self._sizes[path] += len(records)
        self._drop()

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
            path.unlink(missing_ok=True)
            del self._sizes[path]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def files(directory: Path) -> list[Path]:
    """Return the files of kept pages, the oldest first."""
    return sorted(directory.glob("[0-9]*.warc.gz"))


def _write_all(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
