"""Why fetches of a host brought no page, in few words of our own: counted within a bound."""

import re
from typing import Final

import msgspec

#: Causes that are told apart of a host; those that come later count as `REST`.
MOST_CAUSES = 12
#: All other causes.
REST = "other"
_STATUS = re.compile(r"status ([1-5][0-9]{2})$")
# What the reasons of fetcher and judge begin with, and what each comes to. The longest that fits counts.
_CAUSES: Final = {
    "no content": "HTTP 204",
    "timeout": "timed out",
    "dns": "name not found",
    "connection": "no connection",
    "proxy": "proxy not reached",
    "tls": "TLS failed",
    "certificate": "certificate not trusted",
    "broken": "broken answer",
    "body cut short": "broken answer",
    "body over": "too large",
    "compressed over": "too large",
    "over": "took too much to read",
    "it ended the process": "took too much to read",
    "its answer": "took too much to read",
    "content encoding": "unknown content encoding",
    "content type": "not HTML or text",
    "not HTML": "not HTML or text",
    "X-Robots-Tag": "asks not to be indexed",
    "the page asks": "asks not to be indexed",
    "robots.txt": "robots.txt forbids",
    "robots.txt ": "robots.txt not to be had",
    "address": "address not allowed",
    "host denied": "host not allowed",
    "port": "port not allowed",
    "contact": "no contact in fetch.user_agent",
    "url": "no URL to ask for",
    "redirect": "redirect that is not followed",
    "soft 404": "soft 404",
    "near-duplicate": "near-duplicate",
    "quarantined": "quarantined",
    "error": "error of the fetcher",
}
#: All that `cause_of` returns, but for HTTP's statuses.
KNOWN: Final = frozenset({REST, *_CAUSES.values()})
_LONGEST_FIRST: Final = sorted(_CAUSES, key=len, reverse=True)


def cause_of(reason: str) -> str:
    """Return what the reason of a page that is missing comes to; nothing of a stranger is in it.

    >>> cause_of("status 404"), cause_of("content type image/png"), cause_of("robots.txt status 503")
    ('HTTP 404', 'not HTML or text', 'robots.txt not to be had')
    >>> cause_of("a demon")
    'other'
    """
    status = _STATUS.match(reason)
    if status is not None:
        return f"HTTP {status[1]}"
    begins = next((words for words in _LONGEST_FIRST if reason.startswith(words)), None)
    return REST if begins is None else _CAUSES[begins]


class Cause(msgspec.Struct, array_like=True):
    """How often something was the cause, when last, and the identifier of the page then."""

    count: int = 0
    time: float = 0.0
    page: bytes = b""


def count_cause(causes: dict[str, Cause], cause: str, time: float, page: bytes) -> None:
    """Count a cause, as `REST` where there are as many others; no count is lost."""
    if cause not in causes and len(causes) >= MOST_CAUSES - (REST not in causes):
        cause = REST
    found = causes.setdefault(cause, Cause())
    found.count += 1
    if time >= found.time:
        found.time, found.page = time, page
