"""What a fetch comes to: a page, another URL to go to, or the reason why there is neither."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from traceback import extract_tb
from typing import Final, NamedTuple, TypeAlias

import msgspec
import zstandard

from scentline.models.errors import ScentlineError
from scentline.streams.facts import Early, Fetched, Kind, Missing, Moved, Same
from scentline.streams.logging import EventLog
from scentline.streams.records import NOT_MODIFIED, FetchedPage, FetchOrder, HostAnswer, Version

DAY = 86_400.0
_VALIDATOR = 200
#: Outcomes by the first words of a reason. The longest that fits counts.
_REASONS: Final = {
    "status 4": "4xx",
    "status 5": "5xx",
    "redirect": "3xx",
    "robots.txt": "robots",
    "robots.txt ": "robots_unreachable",
    "X-Robots-Tag": "robots",
    "address": "address",
    "host denied": "address",
    "port": "address",
    "contact": "contact",
    "timeout": "timeout",
    "dns": "dns",
    "connection": "connection",
    "proxy": "connection",
    "tls": "tls",
    "certificate": "tls",
    "broken": "broken",
    "body cut short": "broken",
    "body over": "size",
    "compressed over": "size",
    "over": "size",
    "content type": "type",
    "content encoding": "type",
    "error": "error",
    "robots.txt error": "error",
}
_LONGEST_FIRST: Final = sorted(_REASONS, key=len, reverse=True)
#: Every word that `outcome_of` returns.
OUTCOMES: Final = tuple(dict.fromkeys(("2xx", "unchanged", "3xx", *_REASONS.values(), "early", "other")))
#: Statuses with which a whole host asks to be left alone for a while.
_OVERLOADED: Final = frozenset({"status 429", "status 503"})
_compress = zstandard.ZstdCompressor(level=1).compress
log = EventLog("web")


class Body(msgspec.Struct, frozen=True):
    """A page, as it came."""

    status: int
    #: Those that later steps read, in lower case, their values cut to 1,000 characters.
    headers: dict[str, str]
    #: Without its content encoding.
    body: bytes
    #: An X-Robots-Tag forbids to follow the page's links.
    nofollow: bool = False


#: What a fetch comes to; a `Moved` leads to a canonical URL.
Result: TypeAlias = Body | Moved | Missing | Same | Early


class Ended(NamedTuple):
    """The end of a fetch: what it came to, and what it told of the host."""

    result: Result
    host: HostAnswer = HostAnswer()


class Answer(NamedTuple):
    """The answer to a request for robots.txt or a sitemap."""

    status: int
    #: The canonical URL of a redirect.
    target: str | None
    #: Empty but for a status of 200.
    body: bytes
    version: Version | None = None
    #: In seconds.
    retry_after: float | None = None


def version_of(headers: Mapping[str, str]) -> Version | None:
    """Return the version (RFC 9110, 8.8) that a response's headers, in lower case, name; None without one.

    Overlong values count as none.

    >>> version_of({"etag": "x" * 1000, "last-modified": "yesterday"})
    Version(etag=None, last_modified='yesterday')
    """
    etag, modified = (
        value if value.isascii() and value.isprintable() and len(value) <= _VALIDATOR else ""
        for value in (headers.get(name, "") for name in ("etag", "last-modified"))
    )
    return Version(etag or None, modified or None) if etag or modified else None


def conditions(known: Version | None) -> dict[str, str]:
    """Return the header fields that request another version than the known one; else the answer is a 304.

    >>> conditions(Version('"1"'))
    {'If-None-Match': '"1"'}
    """
    known = known or Version()
    given = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in given.items() if value}


class FetchError(ScentlineError):
    """A fetch that can't go on; ``kind`` and ``reason`` are those of `Missing`, the others of `HostAnswer`."""

    explains_itself = False

    def __init__(
        self, kind: Kind, reason: str, retry_after: float | None = None, *, unanswered: bool = False
    ) -> None:
        super().__init__(kind, reason, retry_after)
        self.kind: Kind = kind
        self.reason = reason
        self.retry_after = retry_after
        self.unanswered = unanswered

    def ended(self) -> Ended:
        """Return the error as the end of a fetch."""
        overloaded = self.reason in _OVERLOADED
        told = HostAnswer(retry_after=self.retry_after, overloaded=overloaded, unanswered=self.unanswered)
        return Ended(Missing(self.kind, self.reason), told)


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds of a Retry-After header, from none to a day; None if it says nothing.

    >>> retry_after("120", 0.0)
    120.0
    >>> retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 20.0)
    40.0
    >>> retry_after("tomorrow", 0.0) is None
    True
    """
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
    """Return the outcome of a fetch, one of `OUTCOMES`.

    >>> outcome_of(Missing("gone", "status 404")), outcome_of(Missing("retry", "robots.txt status 503"))
    ('4xx', 'robots_unreachable')
    """
    match result:
        case Body():
            return "2xx"
        case Same():
            return "unchanged"
        case Moved():
            return "3xx"
        case Early():
            return "early"
        case Missing():
            begins = next((words for words in _LONGEST_FIRST if result.reason.startswith(words)), None)
            return "other" if begins is None else _REASONS[begins]


def unexpected(step: str, url: str, error: Exception) -> FetchError:
    """Log an error of a ``step``, and return it as a failed attempt.

    The log line has the host, the exception's type and the line of code, but not its text, which may hold a
    query string, or anything that a stranger wrote.
    """
    kind = type(error).__name__
    frames = extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    # Not by a parser: the error may be that the URL is none.
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    log.error("a fetch failed unexpectedly", step=step, host=host, error=kind, where=where)
    return FetchError("retry", f"error {kind}", unanswered=True)


def known_version(order: FetchOrder) -> Version | None:
    """Return the version of an order's page that is known, None where there is none."""
    return None if order.revisit is None else order.revisit.version


def fact_of(order: FetchOrder, result: Moved | Missing | Same | Early, host: HostAnswer, now: float) -> Fetched:
    """Return what the frontier gets of a fetch without a page."""
    return Fetched(order.url, order.order, order.visit, now, host, result, order.silent)


def page_of(order: FetchOrder, result: Body | Same, host: HostAnswer, now: float) -> FetchedPage:
    """Return a page as the judge gets it, to judge or, if it has not changed, to keep."""
    if isinstance(result, Body):
        return FetchedPage(
            order=order, status=result.status, headers=result.headers, body=_compress(result.body), time=now,
            host=host, nofollow=result.nofollow,
        )  # fmt: skip
    version = known_version(order) or Version()
    told = {"etag": version.etag, "last-modified": version.last_modified}
    headers = {name: value for name, value in told.items() if value}
    return FetchedPage(order=order, status=NOT_MODIFIED, headers=headers, body=b"", time=now, host=host)
