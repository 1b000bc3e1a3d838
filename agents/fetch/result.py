"""The result of a fetch: a page, a redirect, or the reason why there is neither; and how bodies are read.

Bodies are read in bounded memory: the size is checked before and after each step of decompression.
"""

import zlib
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from scentline.models.errors import EventLog, ScentlineError, cause
from scentline.models.facts import Early, Kind, Missing, Moved, Rendering, Same
from scentline.models.records import HostAnswer, Rendered, Version

DAY = 86_400.0
_VALIDATOR = 200  # Characters of a version.
#: Outcomes of fetches without a page, and how the reasons of each begin: the longest match counts.
_REASONS: Final = {
    "3xx": ("redirect",),
    "4xx": ("status 4",),
    "5xx": ("status 5",),
    "robots": ("robots.txt", "X-Robots-Tag"),
    "robots_unreachable": ("robots.txt ",),
    "address": ("address", "host denied", "port"),
    "contact": ("contact",),
    "timeout": ("timeout",),
    "dns": ("dns",),
    "connection": ("connection", "proxy"),
    "tls": ("tls", "certificate"),
    "broken": ("broken", "body cut short"),
    "size": ("body over", "compressed over", "over"),
    "type": ("content type", "content encoding"),
    "rendering": ("rendering",),
    "error": ("error", "robots.txt error"),
}
_OUTCOMES: Final = {begin: outcome for outcome, begins in _REASONS.items() for begin in begins}
_LONGEST_FIRST: Final = sorted(_OUTCOMES, key=len, reverse=True)
#: Every word that `outcome_of` returns.
OUTCOMES: Final = ("2xx", "unchanged", *_REASONS, "early", "other")
#: Statuses that ask for a pause of a whole host.
_OVERLOADED: Final = frozenset({"status 429", "status 503"})

ENCODINGS: Final = "gzip, deflate"  #: What can be decompressed in bounded memory, as an Accept-Encoding.
MAX_MEMBERS = 10_000  #: Members of one gzip body: each has a cost of its own, however little it holds.
GZIP_HEAD: Final = b"\x1f\x8b"
_STEP: Final = 65_536
_ANY_RATIO: Final = 100_000  # Bytes of a body below which its ratio is ignored.
log = EventLog("web")


class Body(msgspec.Struct, frozen=True):
    """A page as received."""

    status: int
    headers: dict[str, str]  #: Those that later steps read, in lower case, cut to 1,000 characters.
    body: bytes  #: Without its content encoding.
    nofollow: bool = False  #: An X-Robots-Tag forbids following the page's links.
    rendered: Rendered | None = None  #: How a browser rendered it; then ``body`` is in UTF-8.


NoPage: TypeAlias = Moved | Missing | Same | Early
#: The result of a fetch; a `Moved` leads to a canonical URL.
Result: TypeAlias = Body | NoPage
_OUTCOME_OF: Final = {Body: "2xx", Same: "unchanged", Moved: "3xx", Early: "early"}


class Ended(NamedTuple):
    """The end of a fetch: its result, what it showed of the host, and what a rendering in vain took."""

    result: Result
    host: HostAnswer = HostAnswer()
    rendering: Rendering | None = None


class Answer(NamedTuple):
    """The answer to a request for robots.txt or a sitemap."""

    status: int
    target: str | None  #: The canonical URL of a redirect.
    body: bytes  #: Empty unless the status is 200.
    version: Version | None = None
    retry_after: float | None = None  #: In seconds.


#: Fetches a robots.txt, sitemap or feed, unless it is unchanged; raises `FetchError`.
Ask: TypeAlias = Callable[[str, Version | None], Awaitable[Answer]]


def version_of(headers: Mapping[str, str]) -> Version | None:
    """Return the version (RFC 9110, 8.8) in headers, named in lower case; overlong values count as none.

    >>> version_of({"etag": "x" * 1000, "last-modified": "yesterday"})
    Version(etag=None, last_modified='yesterday')
    """
    etag, modified = (
        value if value.isascii() and value.isprintable() and len(value) <= _VALIDATOR else ""
        for value in (headers.get(name, "") for name in ("etag", "last-modified"))
    )
    return Version(etag or None, modified or None) if etag or modified else None


def validators(
    known: Version | None, etag: str = "If-None-Match", modified: str = "If-Modified-Since"
) -> dict[str, str]:
    """Return the known version as header fields: of a conditional request, if not named otherwise."""
    given = {} if known is None else {etag: known.etag, modified: known.last_modified}
    return {name: value for name, value in given.items() if value}


class FetchError(ScentlineError):
    """A fetch that can't go on; ``ended`` has its `Missing`, and what it showed of the host."""

    explains_itself = False

    def __init__(self, kind: Kind, reason: str, **told: Any) -> None:
        super().__init__(kind, reason)
        self.kind, self.reason = kind, reason
        self.ended = Ended(Missing(kind, reason), HostAnswer(overloaded=reason in _OVERLOADED, **told))


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds of a Retry-After header, from 0 to a day; None without a valid one."""
    if value is None:
        return None
    value = value.strip()[:40]
    if value.isascii() and value.isdigit():
        return min(float(value), DAY)
    try:
        wait = parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return min(max(wait, 0.0), DAY)


def outcome_of(result: Result) -> str:
    """Return the outcome of a fetch, one of `OUTCOMES`."""
    if not isinstance(result, Missing):
        return _OUTCOME_OF[type(result)]
    begins = (begin for begin in _LONGEST_FIRST if result.reason.startswith(begin))
    return _OUTCOMES.get(next(begins, ""), "other")


def unexpected(step: str, url: str, error: Exception) -> FetchError:
    """Log an error of a ``step``, and return it as a failed attempt."""
    # Without a parser: the error may be an invalid URL.
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    log.error("a fetch failed unexpectedly", step=step, host=host, error=cause(error))
    return FetchError("retry", f"error {type(error).__name__}", unanswered=True)


async def read_body(
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
        if decoder is None:
            body += chunk[: limit - len(body)]
        else:
            decoder.feed(chunk, body, limit)
        full = max(len(body), received) > limit
        if len(body) > _ANY_RATIO and len(body) > ratio * received:
            raise FetchError("unfit", f"compressed over {ratio} to 1")
        if full and not cut:
            raise FetchError("unfit", f"body over {limit} bytes")
        if full:
            break
    else:
        if decoder is not None:
            decoder.finish()
    return bytes(memoryview(body)[:limit])


def inflated(data: bytes, limit: int, *, gzip: bool) -> bytes:
    """Return the first ``limit`` bytes of ``data``, decompressed by gzip or deflate; raises `FetchError`."""
    body = bytearray()
    decoder = _Zlib(gzip=gzip)
    # In pieces: at each member's end the rest of what was fed is copied.
    for start in range(0, len(data), _STEP):
        decoder.feed(data[start : start + _STEP], body, limit)
        if len(body) > limit:
            break
    else:
        decoder.finish()
    return bytes(memoryview(body)[:limit])


class _Zlib:
    """Gzip, also of several members, or deflate with and without the zlib header."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._stream: zlib._Decompress | None = None
        self._held = b""
        self._members = 0
        self._over = False

    def feed(self, chunk: bytes, body: bytearray, limit: int) -> None:
        """Append to ``body``, until it has grown over ``limit``."""
        data = self._held + chunk
        self._held = b""
        while data and not self._over and len(body) <= limit:
            if self._stream is not None:
                data = self._inflate(self._stream, data, body, limit)
            elif len(data) < 2:
                self._held, data = data, b""
            else:
                self._begin(data)

    def finish(self) -> None:
        """Raise `FetchError` if the body is not complete."""
        if self._stream is not None or (self._held and not self._members):
            raise FetchError("retry", "body cut short")

    def _begin(self, data: bytes) -> None:
        if self._members and not (self._gzip and data.startswith(GZIP_HEAD)):
            self._over = True  # what follows the end is ignored, as in browsers
        elif self._members >= MAX_MEMBERS:
            raise FetchError("unfit", f"over {MAX_MEMBERS} gzip members")
        elif self._gzip:
            self._stream = zlib.decompressobj(wbits=31)
        else:
            has_header = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._stream = zlib.decompressobj(wbits=15 if has_header else -15)

    def _inflate(self, stream: "zlib._Decompress", data: bytes, body: bytearray, limit: int) -> bytes:
        """Append at most ``limit`` + 1 bytes in all to ``body``; return the rest of ``data``."""
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


def _decoder(encoding: str) -> _Zlib | None:
    codings = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if not codings:
        return None
    if codings not in (["gzip"], ["x-gzip"], ["deflate"]):
        raise FetchError("unfit", "content encoding")
    return _Zlib(gzip=codings != ["deflate"])
