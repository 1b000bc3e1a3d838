"""Dates of sitemaps and feeds: W3C's profile of ISO 8601, and the format of e-mail.

W3C: https://www.w3.org/TR/NOTE-datetime. E-mail: RFC 822 and its successors, which RSS 2.0 requires.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache

#: Longest date, in characters.
_MAX_LENGTH = 64
# A blank instead of the T, a zone without a colon and no zone at all are common.
_W3C = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?"
    r"\s?([Zz]|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
)


def seconds_of(text: str) -> float | None:
    """Return a date in seconds since the epoch; for a day, a month or a year its beginning.

    Without a zone it is UTC. None if the text is not a date, or is before the epoch.
    """
    text = text.strip()
    return _seconds_of(text) if 0 < len(text) <= _MAX_LENGTH else None


@lru_cache(1024)  # the URLs of a sitemap often share their dates
def _seconds_of(text: str) -> float | None:
    try:
        found = _w3c(text) or parsedate_to_datetime(text)
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        seconds = found.timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds >= 0 else None


def _w3c(text: str) -> datetime | None:
    """Return a date in W3C's profile; None for another form, ValueError for a date that does not exist."""
    found = _W3C.fullmatch(text)
    if found is None:
        return None
    parts = found.groups()
    year, month, day = (int(part or 1) for part in parts[:3])
    hour, minute, second = (int(part or 0) for part in parts[3:6])
    return datetime(year, month, day, hour, minute, second, tzinfo=_zone(found[7] or "Z"))


def _zone(text: str) -> timezone:
    if text in "Zz":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)
