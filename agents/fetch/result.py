"""The result of a fetch: a page, another URL to go to, or the reason why there is neither."""

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
log = EventLog("web")


class _Result(msgspec.Struct, frozen=True, kw_only=True):
    #: Seconds between two fetches that the host's robots.txt demands.
    crawl_delay: float | None = None
    #: Seconds from the request to the result.
    elapsed: float = 0.0
    #: The address of the server; empty where hosts are told apart by their names only.
    server: str = ""


class Fetched(_Result, frozen=True):
    """A page."""

    url: str
    status: int
    #: Those that later steps read, in lower case, their values cut to 1,000 characters.
    headers: dict[str, str]
    #: Without its content encoding.
    body: bytes
    #: An X-Robots-Tag forbids to follow the page's links.
    nofollow: bool = False


class Unchanged(_Result, frozen=True):
    """The server has no other version of the page than the known one (304)."""

    url: str


class Moved(_Result, frozen=True):
    """A redirect to the canonical URL ``target``, which was not followed."""

    url: str
    target: str
    status: int


class Failure(_Result, frozen=True):
    """No page; ``kind`` and ``retry_after`` are those of `Failed`."""

    kind: str
    #: A fixed word or two, with a detail where one helps; never a URL.
    reason: str
    retry_after: float | None = None
    #: It says nothing of the host: the network, or this crawler, may be at fault.
    unanswered: bool = False


class Early(_Result, frozen=True):
    """No request was sent: the server may not be requested for ``wait`` seconds."""

    wait: float
    #: The frontier's copy of robots.txt has to come first.
    robots: bool = False


Result: TypeAlias = Fetched | Unchanged | Moved | Failure | Early


class Validators(NamedTuple):
    """The known version of a resource (RFC 9110, 8.8), as its server named it.

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
        """Return the header fields that request another version only; without one the answer is a 304."""
        given = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in given.items() if value}


#: Nothing is known.
UNKNOWN = Validators()


class Answer(NamedTuple):
    """The answer to a request for robots.txt or a sitemap."""

    status: int
    #: The canonical URL of a redirect.
    target: str | None
    #: Empty but for a status of 200.
    body: bytes
    validators: Validators = UNKNOWN
    #: In seconds.
    retry_after: float | None = None


def validators(headers: Mapping[str, str]) -> Validators:
    """Return the version that a response's headers, in lower case, name; overlong ones count as none."""
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

    def failure(self) -> Failure:
        """Return the error as a fetch's result."""
        return Failure(self.kind, self.reason, self.retry_after, self.unanswered)


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
