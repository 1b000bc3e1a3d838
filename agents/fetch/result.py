"""What a fetch brought: a page, another URL to go to, or the reason why there is neither.

Every result tells ``crawl_delay``, what the host's robots.txt asks for in seconds between two fetches,
``elapsed``, the seconds that asking took, and ``server``, which stands for the address that was asked: empty
where hosts are told apart by nothing but their names.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from traceback import extract_tb
from typing import Final, NamedTuple, TypeAlias

import msgspec

from scentline.models.errors import ScentlineError
from scentline.streams.logging import EventLog

DAY = 86_400.0
_VALIDATOR = 200
#: Of a reason's first words, what they come to. The longest that fits counts.
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
log = EventLog("web")


class Fetched(msgspec.Struct, frozen=True, tag="fetched"):
    """A page: ``body`` is free of its content encoding.

    ``headers`` are those that later steps read, in lower case, their values cut to 1,000 characters;
    ``nofollow`` says that an X-Robots-Tag forbids to follow the page's links.
    """

    url: str
    status: int
    headers: dict[str, str]
    body: bytes
    elapsed: float
    crawl_delay: float | None = None
    nofollow: bool = False
    server: str = ""


class Unchanged(msgspec.Struct, frozen=True, tag="unchanged"):
    """The page is as it was: the server has no other version than the one that is known (304)."""

    url: str
    crawl_delay: float | None = None
    elapsed: float = 0.0
    server: str = ""


class Moved(msgspec.Struct, frozen=True, tag="moved"):
    """A redirect to the canonical URL ``target``, which has not been asked for."""

    url: str
    target: str
    status: int
    crawl_delay: float | None = None
    elapsed: float = 0.0
    server: str = ""


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    """No page. ``kind`` and ``retry_after`` are those of `streams.facts.Failed`.

    ``reason`` is a fixed word or two, with a detail where one helps; it never holds a URL. One that is
    ``unanswered`` says nothing of the host: the network, or this crawler, may be to blame.
    """

    kind: str
    reason: str
    retry_after: float | None = None
    crawl_delay: float | None = None
    elapsed: float = 0.0
    server: str = ""
    unanswered: bool = False


class Early(msgspec.Struct, frozen=True, tag="early"):
    """Nothing was asked: the server may not be asked for ``wait`` seconds.

    With ``robots`` what the frontier keeps of robots.txt has to be had first.
    """

    wait: float
    crawl_delay: float | None = None
    elapsed: float = 0.0
    server: str = ""
    robots: bool = False


Result: TypeAlias = Fetched | Unchanged | Moved | Failure | Early


class Validators(NamedTuple):
    """Which version of a resource is known (RFC 9110, 8.8), as its server told it.

    >>> Validators('"1"', None).headers()
    {'If-None-Match': '"1"'}
    """

    etag: str | None = None
    last_modified: str | None = None

    @property
    def known(self) -> bool:
        """Whether anything is known, so that another version can be asked for."""
        return bool(self.etag or self.last_modified)

    def headers(self) -> dict[str, str]:
        """Return the header fields that ask for another version only; the answer is a 304 if there is none."""
        given = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in given.items() if value}


#: Nothing is known.
UNKNOWN = Validators()


class Answer(NamedTuple):
    """A file that is no page, as it came: robots.txt or a sitemap.

    ``target`` is the canonical URL of a redirect, ``body`` is empty but for a status of 200, ``retry_after``
    is in seconds.
    """

    status: int
    target: str | None
    body: bytes
    validators: Validators = UNKNOWN
    retry_after: float | None = None


def validators(headers: Mapping[str, str]) -> Validators:
    """Return what a response's headers, in lower case, say of its version; overlong ones say nothing."""
    found = (headers.get(name, "") for name in ("etag", "last-modified"))
    etag, modified = (
        value if value.isascii() and value.isprintable() and len(value) <= _VALIDATOR else None
        for value in found
    )
    return Validators(etag or None, modified or None)


class FetchError(ScentlineError):
    """A fetch that can't go on; ``unanswered`` is as in `Failure`."""

    explains_itself = False

    def __init__(
        self, kind: str, reason: str, retry_after: float | None = None, *, unanswered: bool = False
    ) -> None:
        super().__init__(kind, reason, retry_after)
        self.kind = kind
        self.reason = reason
        self.retry_after = retry_after
        self.unanswered = unanswered

    def failure(self, crawl_delay: float | None = None) -> Failure:
        """Return the error as a fetch's result."""
        return Failure(self.kind, self.reason, self.retry_after, crawl_delay, unanswered=self.unanswered)


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, from none to a day; None if it says nothing.

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
    """Return what came of a fetch, one of `OUTCOMES`.

    >>> outcome_of(Failure("gone", "status 404")), outcome_of(Failure("retry", "robots.txt status 503"))
    ('4xx', 'robots_unreachable')
    """
    match result:
        case Fetched():
            return "2xx"
        case Unchanged():
            return "unchanged"
        case Moved():
            return "3xx"
        case Early():
            return "early"
        case Failure():
            begins = next((words for words in _LONGEST_FIRST if result.reason.startswith(words)), None)
            return "other" if begins is None else _REASONS[begins]


def unexpected(step: str, url: str, error: Exception) -> FetchError:
    """Write an error line of the ``step`` that failed; return what its fetch comes to: an attempt that failed.

    The line names the host, the exception's type and the line of code: an exception's text may hold a query
    string, or whatever a stranger wrote.
    """
    kind = type(error).__name__
    frames = extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    # By hand: what asked for this may be that the URL is none.
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    log.error("a fetch failed unexpectedly", step=step, host=host, error=kind, where=where)
    return FetchError("retry", f"error {kind}", unanswered=True)
