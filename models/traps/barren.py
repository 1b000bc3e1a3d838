"""Spaces of URLs without end, told by their pages: URLs that differ in numbers only, and bring nothing.

A calendar, a counter, a shop's every combination of filters: the crawl asks for some, and then for no more.
"""

import re

import msgspec

from models.url import identifier

_DIGITS = re.compile(r"[0-9]+")
# A pattern that ends with a year and a month, and perhaps a day: as path, or as value of a parameter.
_DATED = re.compile(r"/0(?:[/-]0){1,2}/?\Z|[?&][^&=]*=0-0(?:-0)?(?=&|\Z)|[?&]month=0(?=&|\Z)", re.IGNORECASE)


class Barren(msgspec.Struct, array_like=True):
    """How many pages of a space brought nothing, in a row.

    ``copies`` are those that were like another page, or said that there is none, or had no words but those of
    others in the space; ``misses`` are those that satisfied no predicate.
    """

    copies: int = 0
    misses: int = 0

    def copied(self) -> None:
        """Count a page that is no page of its own."""
        self.copies += 1
        self.misses += 1

    def judged(self, hit: bool, repeated: bool = False) -> None:
        """Count a judged page: whether it satisfied a predicate, and whether only numbers were new in it."""
        self.copies = self.copies + 1 if repeated else 0
        self.misses = 0 if hit else self.misses + 1


def pattern(url: str) -> str | None:
    """Return a canonical URL with its numbers behind the host replaced; None where there are none.

    >>> pattern("http://h2.org/cal/2031/05?day=12")
    'http://h2.org/cal/0/0?day=0'
    >>> pattern("http://h2.org/about") is None
    True
    """
    start = url.index("/", url.index("://") + 3)
    replaced, numbers = _DIGITS.subn("0", url[start:])
    return url[:start] + replaced if numbers else None


def dated(name: str) -> bool:
    """Tell whether a pattern is that of a calendar's days or months, not of what happened on them.

    >>> dated("http://h.org/cal/0/0/0"), dated("http://h.org/0/0/0/report-0.html")
    (True, False)
    """
    return _DATED.search(name) is not None


def space(url: str) -> bytes | None:
    """Return the 12 bytes that stand for a URL's pattern; None where it has no numbers."""
    found = pattern(url)
    return None if found is None else identifier(found)
