"""What a fetch comes to: a page, another URL to go to, or the reason why there is neither."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from traceback import extract_tb
from typing import Final, NamedTuple, TypeAlias

import msgspec

from scentline.models.errors import ScentlineError
from scentline.streams.facts import Failed, Postponed, Redirected, Revisited
from scentline.streams.logging import EventLog
from scentline.streams.records import NOT_MODIFIED, FetchedPage, FetchOrder, Version

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
#: Redirects that are for good.
_PERMANENT: Final = frozenset({301, 308})
#: What outcomes mean for a judged page: it is gone, or may no longer be fetched.
_FATES: Final = {
    **dict.fromkeys(("3xx", "4xx", "broken", "size", "type"), "gone"),
    **dict.fromkeys(("robots", "address"), "refused"),
}
#: Failures that stop requests to the whole host for a while.
OVERLOADED: Final = frozenset({"status 429", "status 503"})
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


def fact_of(
    order: FetchOrder, result: Unchanged | Moved | Failure | Early, now: float
) -> Failed | Redirected | Postponed | Revisited:
    """Return what the frontier gets of a fetch without a page."""
    url, number, crawl_delay, server = order.url, order.order, result.crawl_delay, result.server
    overloaded = isinstance(result, Failure) and result.reason in OVERLOADED
    if order.revisit is not None or isinstance(result, Unchanged):
        return _revisited(order, result, now, overloaded=overloaded)
    if isinstance(result, Early):
        return Postponed(url, number, now, result.wait, crawl_delay, server, result.robots)
    if isinstance(result, Moved):
        return Redirected(url, number, result.target, now, crawl_delay, result.elapsed, server, order.silent)
    return Failed(
        url, number, result.kind, result.reason, now, result.retry_after, overloaded, crawl_delay=crawl_delay,
        elapsed=result.elapsed, server=server, silent=order.silent, unanswered=result.unanswered,
    )  # fmt: skip


def _revisited(
    order: FetchOrder, result: Unchanged | Moved | Failure | Early, now: float, *, overloaded: bool
) -> Revisited:
    again = order.revisit is not None and order.revisit.again
    outcome, wait, target, reason = "unchanged", None, "", ""
    if isinstance(result, Early):
        outcome, wait = "early", result.wait
    elif isinstance(result, Moved):
        target = result.target
        outcome, reason = ("moved", "") if result.status in _PERMANENT else ("failed", "redirect for now")
    elif isinstance(result, Failure):
        fate = _FATES.get(outcome_of(result), "failed") if again else "failed"
        outcome = "retry" if result.kind == "retry" else fate
        wait, reason = result.retry_after, result.reason
    return Revisited(
        order.url, order.order, outcome, now, wait=wait, target=target, overloaded=overloaded,
        crawl_delay=result.crawl_delay, elapsed=result.elapsed, server=result.server, again=again,
        reason=reason, unanswered=isinstance(result, Failure) and result.unanswered,
        robots=isinstance(result, Early) and result.robots,
    )  # fmt: skip


def known_version(order: FetchOrder) -> Version | None:
    """Return the version of an order's page that is known, None where there is none."""
    return None if order.revisit is None else order.revisit.version


def page_of(order: FetchOrder, result: Fetched | Unchanged, now: float, body: bytes = b"") -> FetchedPage:
    """Return a page as the judge gets it, to judge or, if it has not changed, to keep."""
    if isinstance(result, Fetched):
        status, headers = result.status, result.headers
        crawl_delay, nofollow = result.crawl_delay, result.nofollow
    else:
        version = known_version(order) or Version()
        told = {"etag": version.etag, "last-modified": version.last_modified}
        headers = {name: value for name, value in told.items() if value}
        status, crawl_delay, nofollow = NOT_MODIFIED, None, False
    return FetchedPage(
        order=order, status=status, headers=headers, body=body, time=now, elapsed=result.elapsed,
        crawl_delay=crawl_delay, nofollow=nofollow, server=result.server,
    )  # fmt: skip
