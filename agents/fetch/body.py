"""Reading a body in bounded memory: the size is checked before and after each step of decompression."""

import zlib
from collections.abc import AsyncIterable

from scentline.agents.fetch.result import FetchError

ENCODINGS = "gzip, deflate"
"""What can be decompressed in bounded memory, as Accept-Encoding says it."""

#: Members of one gzip body: each has a cost of its own, however little it holds.
MAX_MEMBERS = 10_000

_GZIP_HEAD = b"\x1f\x8b"
_STEP = 65_536
# Bytes of a body below which its ratio says nothing.
_ANY_RATIO = 100_000


async def read(
    chunks: AsyncIterable[bytes], encoding: str, limit: int, ratio: int, *, cut: bool = False
) -> bytes:
    """Return the body in ``chunks`` without its content encoding (the header's value).

    More than ``limit`` bytes, on the wire or decompressed, raise an "unfit" `FetchError` as soon as they
    show; with ``cut`` the first ``limit`` bytes are returned instead. So does a body of more than 100 kB that
    is over ``ratio`` times as large as what was sent, cut or not. Broken data raise "retry".
    """
    decoder = _decoder(encoding)
    received = 0
    body = bytearray()
    async for chunk in chunks:
        received += len(chunk)
        full = decoder.feed(chunk, body, limit) or received > limit
        if len(body) > _ANY_RATIO and len(body) > ratio * received:
            raise FetchError("unfit", f"compressed over {ratio} to 1")
        if full and not cut:
            raise FetchError("unfit", f"body over {limit} bytes")
        if full:
            break
    else:
        decoder.finish()
    return bytes(memoryview(body)[:limit])


class _Identity:
    """A body that is not encoded."""

    def feed(self, chunk: bytes, body: bytearray, limit: int) -> bool:
        """Append to ``body``; return whether it has grown over ``limit``."""
        body += chunk[: limit + 1 - len(body)]
        return len(body) > limit

    def finish(self) -> None:
        """Raise `FetchError` if the body is not complete."""


def gunzip(data: bytes, limit: int) -> bytes:
    """Return the first ``limit`` bytes of what ``data`` holds in gzip; raises `FetchError`.

    >>> import gzip
    >>> gunzip(gzip.compress(b"text"), 3)
    b'tex'
    """
    body = bytearray()
    decoder = _Zlib(gzip=True)
    # In pieces: at each member's end the rest of what was fed is copied.
    for start in range(0, len(data), _STEP):
        if decoder.feed(data[start : start + _STEP], body, limit):
            break
    else:
        decoder.finish()
    return bytes(memoryview(body)[:limit])


class _Zlib(_Identity):
    """Gzip, also of several members, or deflate with and without the zlib header."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._stream: zlib._Decompress | None = None
        self._held = b""
        self._members = 0
        self._over = False

    def feed(self, chunk: bytes, body: bytearray, limit: int) -> bool:
        data = self._held + chunk
        self._held = b""
        while data and not self._over and len(body) <= limit:
            if self._stream is not None:
                data = self._inflate(self._stream, data, body, limit)
            elif len(data) < 2:
                self._held, data = data, b""
            else:
                self._begin(data)
        return len(body) > limit

    def finish(self) -> None:
        if self._stream is not None or (self._held and not self._members):
            raise FetchError("retry", "body cut short")

    def _begin(self, data: bytes) -> None:
        if self._members and not (self._gzip and data.startswith(_GZIP_HEAD)):
            self._over = True  # what follows the end is passed over, as browsers do
        elif self._members >= MAX_MEMBERS:
            raise FetchError("unfit", f"over {MAX_MEMBERS} gzip members")
        elif self._gzip:
            self._stream = zlib.decompressobj(wbits=31)
        else:
            self._stream = zlib.decompressobj(wbits=15 if _has_zlib_header(data) else -15)

    def _inflate(self, stream: "zlib._Decompress", data: bytes, body: bytearray, limit: int) -> bytes:
        """Append at most ``limit`` + 1 bytes in all to ``body``; return what of ``data`` is left."""
        full = True
        # A full step may have left output in the stream though all its input is taken.
        while full and not stream.eof and len(body) <= limit:
            room = min(_STEP, limit + 1 - len(body))
            try:
                step = stream.decompress(data, room)
            except zlib.error as error:
                raise FetchError("retry", "broken compression") from error
            body += step
            data = stream.unconsumed_tail
            full = len(step) == room
        if stream.eof:
            self._stream = None
            self._members += 1
            return stream.unused_data
        return data


def _decoder(encoding: str) -> _Identity:
    codings = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if not codings:
        return _Identity()
    if codings in (["gzip"], ["x-gzip"]):
        return _Zlib(gzip=True)
    if codings == ["deflate"]:
        return _Zlib(gzip=False)
    raise FetchError("unfit", "content encoding")


def _has_zlib_header(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
