"""Reading logs: files, compressed files and standard input, line by line, whatever the lines' length."""

import gzip
import hashlib
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TextIO

import zstandard

from scentline.models.accesslog.entry import MAX_LINE
from scentline.models.accesslog.formats import SAMPLE
from scentline.models.errors import ScentlineError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_ZSTD = b"\x28\xb5\x2f\xfd"
#: Compressed bytes taken in one step. The least block has 4 and makes 128 KiB: at most 16 MiB come at once.
_STEP = 512


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class ZstdFile(io.RawIOBase):
    """The decompressed bytes of a file of any number of frames.

    Raises EOFError where the last frame is not complete and OSError where the data are damaged, as gzip does.
    """

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._started = False
        self._waiting = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill ``buffer`` as far as one step goes; return the bytes written, 0 at the end."""
        into = memoryview(buffer).cast("B")
        while not self._ready:
            if not self._step():
                return 0
        size = min(len(into), len(self._ready))
        into[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _step(self) -> bool:
        data = self._waiting or self._source.read(_STEP)
        self._waiting = b""
        if not data:
            if self._started:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            return False
        self._started = True
        try:
            self._ready = memoryview(self._frame.decompress(data))
        except zstandard.ZstdError as error:
            raise OSError(f"Not a Zstandard file, or damaged ({error})") from error
        if self._frame.eof:
            self._waiting = self._frame.unused_data
            self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._started = False
        return True


_GZIP = b"\x1f\x8b"
_MAGIC_BYTES = 4
_CHUNK = 65_536
_ROUNDS = 100_000


class LogFileError(ScentlineError):
    """A log that can't be read, or not to its end; the text names it, the line and the cause."""


class LogFile:
    """The lines of a log: a path, or "-" for standard input, also compressed with gzip or Zstandard.

    A context manager and, once, an iterator of (line number from 1, raw line). A line of more than 8,192 bytes
    comes as its first 8,193 and is never held as a whole. ``sample`` has the first lines, at most 20, ``first``
    the line that identifies the log; ``size`` is None where unknown. Raises `LogFileError`: at once for a log
    that can't be opened, and after its last whole line for damaged data.
    """

    def __init__(self, source: str) -> None:
        self.name = "standard input" if source == "-" else Path(source).name
        self.size: int | None = None
        self._source = self.name if source == "-" else source
        self._own = source != "-"
        self._lines: io.BufferedReader | gzip.GzipFile
        self.compressed = False
        try:
            self._raw = _opened(source)
        except OSError as error:
            raise LogFileError(f"log {source} can't be opened: {error.strerror}") from error
        try:
            if self._own:
                self.size = os.fstat(self._raw.fileno()).st_size
            self._lines = _unpacked(self._raw)
            self.compressed = self._lines is not self._raw
            lines = _whole_lines(self._lines.peek(_CHUNK))
            self.sample, self.first = lines[:SAMPLE], identifying(lines)
        except (EOFError, OSError, zlib.error) as error:
            self.close()
            raise LogFileError(f"log {self._source} can't be read: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        try:
            while line := self._lines.readline(MAX_LINE + 1):
                number += 1
                if not line.endswith(b"\n"):
                    self._pass_over_the_rest()
                yield number, line
        except (EOFError, OSError, zlib.error) as error:
            raise LogFileError(f"log {self._source} is broken after line {number}: {error}") from error

    @property
    def consumed(self) -> int:
        """How many of ``size`` bytes have been read (of a compressed file: compressed ones)."""
        return 0 if self.size is None else self._raw.tell()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._own:
            self._raw.close()

    def _pass_over_the_rest(self) -> None:
        while (rest := self._lines.readline(_CHUNK)) and not rest.endswith(b"\n"):
            pass


def identifying(lines: Iterable[bytes]) -> bytes | None:
    """Return the line that a log is known by, None where there is none yet.

    That is the first that is not empty and no head line: those of the W3C format may be the same in each log.
    """
    return next((line for line in lines if line.strip() and not line.startswith(b"#")), None)


def fingerprint(first_line: bytes) -> str:
    """Return the identity of a log: 24 hexadecimal digits made of its first line (`identifying`).

    A log that has grown, was renamed or compressed keeps it. The line tells of a user, so the digest is a
    slow one (tens of milliseconds): trying out every address a line might have had is not worth while.
    """
    line = first_line.rstrip(b"\r\n")[:MAX_LINE]
    return hashlib.pbkdf2_hmac("sha256", line, b"scentline log", _ROUNDS, 12).hex()


def _opened(source: str) -> io.BufferedReader:
    return _reader(sys.stdin) if source == "-" else io.BufferedReader(io.FileIO(source))


@cache
def _reader(stdin: TextIO) -> io.BufferedReader:
    """Return the one reader of standard input: what one log looked ahead at is there for the next.

    It is not Python's own: a process that ends while a thread waits for a line in that is aborted.
    """
    return io.BufferedReader(io.FileIO(stdin.fileno(), closefd=False))


def _unpacked(raw: io.BufferedReader) -> io.BufferedReader | gzip.GzipFile:
    start = raw.peek(_MAGIC_BYTES)
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    return io.BufferedReader(ZstdFile(raw), _CHUNK) if start.startswith(_ZSTD) else raw


def _whole_lines(start: bytes) -> list[bytes]:
    """Return the lines of a log's start without the last one when it may be cut off."""
    lines = start.split(b"\n")
    return lines[:-1] if len(lines) > 1 else [line for line in lines if line]
