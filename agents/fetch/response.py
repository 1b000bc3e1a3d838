"""The head of a response: what it says before the body is read."""

import re
from collections.abc import Mapping

import httpx

from scentline.agents.fetch.result import FetchError, retry_after
from scentline.models.url import canonical

#: The media types that are read as pages.
READABLE = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
#: Headers that later steps read, and how many characters of each are kept.
KEPT = ("content-type", "content-language", "etag", "last-modified", "link", "x-robots-tag")
KEPT_LENGTH = 1000

_MOVED = frozenset({300, 301, 302, 303, 307, 308})
# Of the statuses below 500, those that say nothing about the page: a proxy that wants to know who asks, a
# slow request, a request too early, too many requests.
_PASSING = frozenset({407, 408, 425, 429})
_NOT_A_TYPE = re.compile(r"[^a-z0-9.+/-]")


def fields(response: httpx.Response) -> dict[str, str]:
    """Return a response's headers, their names in lower case; the values of several of a name are joined."""
    found: dict[str, str] = {}
    for name, value in response.headers.raw:
        key, text = name.decode("latin-1").lower(), _decoded(value)
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def values(response: httpx.Response, name: str) -> list[str]:
    """Return the values of the headers of a name, in lower case, one by one."""
    return [_decoded(value) for key, value in response.headers.raw if key.decode("latin-1").lower() == name]


def _decoded(value: bytes) -> str:
    # A header has no encoding (RFC 9110, 5.5). What is no UTF-8 is one byte a character, which never fails.
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def kept(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that later steps read."""
    return {name: headers[name][:KEPT_LENGTH] for name in KEPT if name in headers}


def location(status: int, headers: Mapping[str, str]) -> str | None:
    """Return where a redirect leads, as it is written; None for what is no redirect."""
    return headers.get("location") if status in _MOVED else None


def target(url: str, written: str) -> str:
    """Return the canonical URL that a redirect of ``url`` leads to; `FetchError` where it leads nowhere."""
    found = canonical(written, url)
    if found is None or found == url:
        raise FetchError("gone", "redirect to itself" if found else "redirect to no page")
    return found


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a response, empty where it says none.

    >>> media_type({"content-type": "text/plain, Text/HTML; charset=utf-8"})
    'text/html'
    """
    # Of several, the last, as browsers have it (MIME Sniffing standard, 4.4).
    return headers.get("content-type", "").rpartition(",")[2].partition(";")[0].strip().lower()


def check(status: int, headers: Mapping[str, str], now: float) -> None:
    """Raise `FetchError` unless the response is a page; ``now`` is in seconds since the epoch."""
    if status >= 500 or status in _PASSING:
        raise FetchError("retry", f"status {status}", retry_after(headers.get("retry-after"), now))
    if status != 200:
        raise FetchError("gone", "no content" if status == 204 else f"status {status}")
    kind = media_type(headers)
    # What is no media type at all says nothing; the bytes will.
    if "/" in kind and kind not in READABLE:
        raise FetchError("refused", f"content type {_NOT_A_TYPE.sub('', kind)[:60]}")
