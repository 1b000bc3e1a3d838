"""Reading Zstandard files piece by piece, in bounded memory, and noticing where one ends early."""

import io
from typing import TYPE_CHECKING, Protocol

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAGIC = b"\x28\xb5\x2f\xfd"
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
