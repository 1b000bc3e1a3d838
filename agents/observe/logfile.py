"""Reading logs line by line, of any length: files, compressed or not, and files still written to."""

import asyncio
import gzip
import hashlib
import io
import os
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TextIO, TypeVar

import zstandard

from scentline.models.accesslog.entry import MAX_LINE
from scentline.models.accesslog.formats import SAMPLE
from scentline.models.errors import ScentlineError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

T = TypeVar("T")
NumberedLine = tuple[int, bytes]  #: A line and its number, from 1.

_ZSTD, _GZIP, _MAGIC_BYTES = b"\x28\xb5\x2f\xfd", b"\x1f\x8b", 4
#: Compressed bytes per step. The smallest block has 4 and makes 128 KiB: at most 16 MiB come at once.
_STEP = 512
#: Bytes read at once of a log, and of one that is still written to.
_BLOCK, _CHUNK = 65_536, 1_048_576
_ROUNDS = 100_000
#: Blocks of lines that may be queued before the thread that reads them waits.
WAITING = 20


class LogFileError(ScentlineError):
    """A log that can't be read, or not to its end; the text names it, the line and the cause."""


class _Splitter:
    """Numbers the whole lines of a log that comes in blocks; cuts off those longer than ``MAX_LINE``.

    Such a line is never held as a whole.
    """

    def __init__(self) -> None:
        self.line = 0
        self.rest = b""
        self._cut = False

    def whole(self, block: bytes) -> list[NumberedLine]:
        """Return the lines that end in a block, and the one that begins in it if that is too long."""
        *ended, rest = (self.rest + block).split(b"\n")
        if self._cut and ended:  # the end of a line whose beginning was returned
            self._cut = False
            del ended[0]
        lines = [text + b"\n" if len(text) <= MAX_LINE else text[: MAX_LINE + 1] for text in ended]
        if self._cut:
            rest = b""
        elif len(rest) > MAX_LINE:
            lines.append(rest[: MAX_LINE + 1])
            self._cut, rest = True, b""
        self.rest = rest
        first, self.line = self.line + 1, self.line + len(lines)
        return list(enumerate(lines, first))

    def last(self) -> list[NumberedLine]:
        """Return the last line if it has no end; nothing more may come."""
        rest, self.rest = self.rest, b""
        return [(self.line + 1, rest)] if rest else []


class LogFile:
    """The lines of a log: a path, or "-" for standard input, also compressed with gzip or Zstandard.

    A context manager and, once, an iterator of (line number from 1, raw line). A line of more than 8,192 bytes
    is cut to its first 8,193. ``sample`` has the first lines, at most 20, ``first`` the line that identifies
    the log; ``size`` is None where unknown. Raises `LogFileError`: at once for a log that can't be opened,
    after the last whole line for damaged data.
    """

    def __init__(self, source: str) -> None:
        self.name = "standard input" if source == "-" else Path(source).name
        self.size: int | None = None
        self._source = self.name if source == "-" else source
        self._own = source != "-"
        try:
            self._raw: io.BufferedReader = _opened(source) if self._own else _reader(sys.stdin)
        except OSError as error:
            raise LogFileError(f"log {source} can't be opened: {error.strerror}") from error
        try:
            if self._own:
                self.size = os.fstat(self._raw.fileno()).st_size
            self._bytes = _unpacked(self._raw)
            self.compressed = self._bytes is not self._raw
            lines = _whole_lines(self._bytes.peek(_BLOCK))
            self.sample, self.first = lines[:SAMPLE], identifying(lines)
        except (EOFError, OSError, zlib.error) as error:
            self.close()
            raise LogFileError(f"log {self._source} can't be read: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[NumberedLine]:
        return (line for block in self.blocks() for line in block)

    def blocks(self) -> Iterator[list[NumberedLine]]:
        """Yield the lines as they come, one block of the file at a time."""
        split = _Splitter()
        try:
            while block := self._bytes.read1(_BLOCK):
                yield split.whole(block)
            yield split.last()
        except (EOFError, OSError, zlib.error) as error:
            raise LogFileError(f"log {self._source} is broken after line {split.line}: {error}") from error

    @property
    def consumed(self) -> int:
        """How many of ``size`` bytes have been read (of a compressed file: compressed ones)."""
        return 0 if self.size is None else self._raw.tell()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._own:
            self._raw.close()


def identifying(lines: Iterable[bytes]) -> bytes | None:
    """Return the line that identifies a log, None where there is none yet.

    That is the first neither empty nor a head line: those of the W3C format may be the same in each log.
    """
    return next((line for line in lines if line.strip() and not line.startswith(b"#")), None)


def fingerprint(first_line: bytes) -> str:
    """Return the identity of a log: 24 hexadecimal digits made of its first line (`identifying`).

    A log that grows, is renamed or compressed keeps it. The line identifies a user, so the digest is slow
    (tens of milliseconds): trying every address that the line may have had does not pay.
    """
    line = first_line.rstrip(b"\r\n")[:MAX_LINE]
    return hashlib.pbkdf2_hmac("sha256", line, b"scentline log", _ROUNDS, 12).hex()


def _opened(source: str) -> io.BufferedReader:
    return io.BufferedReader(io.FileIO(source))


@cache
def _reader(stdin: TextIO) -> io.BufferedReader:
    """Return the one reader of standard input: what one log read ahead stays there for the next.

    It is not Python's own, with which a process that ends while a thread waits for a line is aborted.
    """
    return io.BufferedReader(io.FileIO(stdin.fileno(), closefd=False))


def _unpacked(raw: io.BufferedReader) -> io.BufferedReader | gzip.GzipFile:
    start = raw.peek(_MAGIC_BYTES)
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    return io.BufferedReader(_ZstdFile(raw), _BLOCK) if start.startswith(_ZSTD) else raw


def _whole_lines(start: bytes) -> list[bytes]:
    """Return the lines of a log's start without the last one when it may be cut off."""
    lines = start.split(b"\n")
    return lines[:-1] if len(lines) > 1 else [line for line in lines if line]


class _Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _ZstdFile(io.RawIOBase):
    """The decompressed bytes of a file of any number of frames.

    Raises EOFError where the last frame is not complete and OSError where the data are damaged, as gzip does.
    """

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._within = False
        self._waiting = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Fill ``buffer`` from one step; return the number of bytes written, 0 at the end."""
        into = memoryview(buffer).cast("B")
        while not self._ready:
            data = self._waiting or self._source.read(_STEP)
            if not data and self._within:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            if not data:
                return 0
            self._ready = memoryview(self._decompressed(data))
        size = min(len(into), len(self._ready))
        into[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _decompressed(self, data: bytes) -> bytes:
        try:
            found = self._frame.decompress(data)
        except zstandard.ZstdError as error:
            raise OSError(f"Not a Zstandard file, or damaged ({error})") from error
        self._within, self._waiting = not self._frame.eof, self._frame.unused_data
        if self._frame.eof:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        return found


# what is still written to


async def arriving(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield items as they come; raises their iterator's error after them.

    A thread of its own iterates: it may wait for the next item for any time, and does not keep the program from
    ending.
    """
    loop, room = asyncio.get_running_loop(), threading.Semaphore(WAITING)
    #: Each with an item; the last one with none, and with the error if one was raised.
    arrived: asyncio.Queue[tuple[list[T], Exception | None]] = asyncio.Queue()

    def tell(item: list[T], error: Exception | None = None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(arrived.put_nowait, (item, error))

    def read() -> None:
        try:
            for item in items:
                room.acquire()
                tell([item])
        except Exception as error:
            tell([], error)
        else:
            tell([])

    threading.Thread(target=read, name="live log", daemon=True).start()
    while (found := await arrived.get())[0]:
        room.release()
        yield found[0][0]
    if found[1] is not None:
        raise found[1]


class Tail:
    """Reads a plain file from its start, as far as it is written, and continues at each call of `read`.

    The file stays open when it is renamed. A line counts once it has its end; one of more than 8,192 bytes is
    cut to its first 8,193. ``first`` is the line that identifies the log, None until it is there. Raises
    `LogFileError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first: bytes | None = None
        self._first_at = 0
        self._split = _Splitter()
        self._position = 0
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise LogFileError(f"log {path} can't be opened: {error.strerror}") from error
        self._place = _place(os.fstat(self._file.fileno()))

    def read(self) -> list[NumberedLine] | None:
        """Return the new whole lines, of at most about a megabyte; None once the file was truncated.

        An empty list says that there are no more for now.
        """
        lines: list[NumberedLine] = []
        try:
            while not lines and (data := self._file.read(_CHUNK)):
                # Checked after the read: bytes of a file that was truncated before it are not used.
                if self._truncated():
                    return None
                start = self._split.rest
                lines = self._split.whole(data)
                if self.first is None and (first := identifying(line for _, line in lines)):
                    self._first_at = self._position - len(start) + (b"\n" + start + data).find(b"\n" + first)
                    self.first = first
                self._position += len(data)
            return None if not lines and self._truncated() else lines
        except OSError as error:
            raise LogFileError(
                f"log {self.path} is broken after line {self._split.line}: {error.strerror}"
            ) from error

    def last(self) -> list[NumberedLine]:
        """Return the file's last line if it has no end, once the file is no longer written to."""
        return self._split.last()

    @property
    def moved(self) -> bool:
        """Whether the path now has another file, or none."""
        try:
            return _place(self.path.stat()) != self._place
        except OSError:
            return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _truncated(self) -> bool:
        """Return whether the file is shorter than what was read, or begins with another line."""
        number = self._file.fileno()
        if os.fstat(number).st_size < self._position:
            return True
        return self.first is not None and os.pread(number, len(self.first), self._first_at) != self.first


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
