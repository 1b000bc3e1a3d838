"""What a fetch brought: a page, another URL to go to, or the reason why there is neither."""

from email.utils import parsedate_to_datetime
from typing import TypeAlias

import msgspec

DAY = 86_400.0


class Fetched(msgspec.Struct, frozen=True, tag="fetched"):
    """A page: ``body`` is free of its content encoding, ``elapsed`` is in seconds.

    ``headers`` are those that later steps read, in lower case, their values cut to 1,000 characters.
    ``crawl_delay`` is what the host's robots.txt asks for, in seconds between two fetches.
    """

    url: str
    status: int
    headers: dict[str, str]
    body: bytes
    elapsed: float
    crawl_delay: float | None = None


class Moved(msgspec.Struct, frozen=True, tag="moved"):
    """A redirect to the canonical URL ``target``, which has not been asked for."""

    url: str
    target: str
    status: int
    crawl_delay: float | None = None


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    """No page. ``kind`` and ``retry_after`` are those of `streams.records.Failed`.

    ``reason`` is a fixed word or two, with a detail where one helps; it never holds a URL.
    """

    kind: str
    reason: str
    retry_after: float | None = None
    crawl_delay: float | None = None


Result: TypeAlias = Fetched | Moved | Failure


class FetchError(Exception):
    """A fetch that can't go on."""

    def __init__(self, kind: str, reason: str, retry_after: float | None = None) -> None:
        super().__init__(kind, reason, retry_after)
        self.kind = kind
        self.reason = reason
        self.retry_after = retry_after

    def failure(self, crawl_delay: float | None = None) -> Failure:
        """Return the error as a fetch's result."""
        return Failure(self.kind, self.reason, self.retry_after, crawl_delay)


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
