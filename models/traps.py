"""Crawler traps: endless spaces of URLs, and soft 404s.

The URL alone reveals some spaces. The rules are those of large crawlers: Heritrix's PathologicalPathDecideRule
and TooManyPathSegmentsDecideRule, Nutch's regex-urlfilter.

Their pages reveal others: URLs that differ only in numbers, and bring nothing. A calendar, a counter, a shop's
every combination of filters: the crawl requests some, and then no more.

Soft 404s are pages that say there is no page, although the status is a success. Bar-Yossef, Broder, Kumar and
Tomkins, Sic transit gloria telae (WWW 2004), section 3, request a page that can't exist; here the page's own
words must do, so that no server gets such requests.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from scentline.models.url import identifier

#: Longest run of segments that is checked for repetition.
RUN = 4
#: First and last year of a date in a URL: beyond them a calendar goes on without events.
YEARS = (1500, 2100)

_IN_PATH = r"/(\d{4})[/-](?:0?[1-9]|1[0-2])(?=[/-]|\Z)"  # /2031/05 and /2031-05-12
_PATH_DATES = re.compile(_IN_PATH)
_DATES = re.compile(
    rf"{_IN_PATH}|[?&](?:year|yr|jahr|annee|ano|anno)=(\d{{4,6}})(?=&|\Z)"
    r"|[?&][\w.%-]{0,40}(?:date|month|day|week)=(\d{4,6})-\d{1,2}(?=[-&]|\Z)",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[A-Za-z]")


class Bounds(NamedTuple):
    """Bounds of a URL: segments of its path, parameters of its query, and repetitions of either.

    A run of segments ``repeats`` times in a row is a trap, and so is a segment or a parameter's name that
    occurs more often than that.
    """

    segments: int = 20
    repeats: int = 3
    parameters: int = 20


def trap(url: str, bounds: Bounds) -> str:
    """Return why a canonical URL belongs to an endless space; empty if it looks like a page.

    >>> trap("http://example.org/a/b/a/b/a/b/", Bounds())
    '3 times in a row the path segments a/b'
    >>> trap("http://example.org/wiki/2024/05/12/A_B", Bounds())
    ''
    """
    path, _, query = url.partition("?")
    segments = path.count("/") - 2
    if segments > bounds.segments:
        return f"{segments} path segments, expected at most {bounds.segments}"
    if segments >= bounds.repeats:
        repeated = _repeated(path.split("/")[3:], bounds.repeats)
        if repeated:
            return repeated
    return (_query(query, bounds) if query else "") or _date(url)


def traps(urls: Iterable[str], bounds: Bounds) -> dict[str, str]:
    """Return those of canonical URLs that belong to endless spaces, and why."""
    return {url: why for url in urls if (why := trap(url, bounds))}


def _repeated(segments: list[str], times: int) -> str:
    """Return which run of segments occurs ``times`` times in a row, or which segment more often; else empty.

    Numbers, as in dates, may repeat.
    """
    if len(set(segments)) == len(segments):
        return ""
    for segment, count in Counter(filter(_LETTER.search, segments)).most_common(1):
        if count > times:
            return f"{count} times the path segment {segment}"
    for length in range(1, min(RUN, len(segments) // times) + 1):
        for start in range(len(segments) - times * length + 1):
            run = segments[start : start + length]
            if segments[start : start + times * length] == run * times and _LETTER.search("".join(run)):
                return f"{times} times in a row the path segments {'/'.join(run)}"
    return ""


def _query(query: str, bounds: Bounds) -> str:
    count = query.count("&") + 1
    if count > bounds.parameters:
        return f"{count} parameters, expected at most {bounds.parameters}"
    if "%2525" in query:
        return "a query escaped three times over"
    if count == 1:
        return ""
    pairs = [pair for pair in query.split("&") if "=" in pair]
    if len(set(pairs)) < len(pairs):
        return "a parameter repeated with its value"
    for name, times in Counter(pair.partition("=")[0] for pair in pairs).most_common(1):
        if times > bounds.repeats:
            return f"{times} times the parameter {name}"
    return ""


def _date(url: str) -> str:
    dates = _DATES if "=" in url else _PATH_DATES
    if dates.search(url) is None:  # most URLs: two thirds of the time
        return ""
    for found in dates.finditer(url):
        year = int(next(filter(None, found.groups())))
        if not YEARS[0] <= year <= YEARS[1]:
            return f"a calendar, the year {year}"
    return ""


_DIGITS = re.compile(r"[0-9]+")
# A pattern that ends with a year and a month, and perhaps a day: as path, or as value of a parameter.
_DATED = re.compile(r"/0(?:[/-]0){1,2}/?\Z|[?&][^&=]*=0-0(?:-0)?(?=&|\Z)|[?&]month=0(?=&|\Z)", re.IGNORECASE)


class Barren(msgspec.Struct, array_like=True):
    """The number of useless pages of a space in a row.

    ``copies`` are duplicates, soft 404s, and pages without words that are new in the space; ``misses`` are
    pages that satisfied no predicate.
    """

    copies: int = 0
    misses: int = 0

    def copied(self) -> None:
        """Count a duplicate or a soft 404."""
        self.copies += 1
        self.misses += 1

    def judged(self, hit: bool, repeated: bool = False) -> None:
        """Count a judged page: whether it satisfied a predicate, and whether only numbers were new in it."""
        self.copies = self.copies + 1 if repeated else 0
        self.misses = 0 if hit else self.misses + 1


def pattern(url: str) -> str | None:
    """Return a canonical URL with the numbers after its host replaced by 0; None if there are none.

    >>> pattern("http://h2.org/cal/2031/05?day=12")
    'http://h2.org/cal/0/0?day=0'
    >>> pattern("http://h2.org/about") is None
    True
    """
    start = url.index("/", url.index("://") + 3)
    replaced, numbers = _DIGITS.subn("0", url[start:])
    return url[:start] + replaced if numbers else None


def dated(name: str) -> bool:
    """Return whether a pattern is that of a calendar's days or months, not of events on them.

    >>> dated("http://h.org/cal/0/0/0"), dated("http://h.org/0/0/0/report-0.html")
    (True, False)
    """
    return _DATED.search(name) is not None


def space(url: str) -> bytes | None:
    """Return the 12-byte identifier of a URL's pattern; None if it has no numbers."""
    found = pattern(url)
    return None if found is None else identifier(found)


#: Most words of a soft 404: an article on missing pages has more.
MOST_WORDS = 200
#: First characters, checked if a page has no title.
_OPENING = 60

# Part of a title between separators, as servers and content systems write it in several languages.
_SAYS = re.compile(
    r"(?:(?:http\s)?(?:error|fehler|erreur|errore)\s:?\s?404\b.{0,40}"
    r"|404\s?[:.!-]?\s?(?:error|fehler|not found|page not found|file not found|seite nicht gefunden)?\b.{0,20}"
    r"|(?:oops[,!.]*\s?)?(?:the |this |requested |web)*(?:page|file|document|object|url)"
    r"(?: you (?:requested|were looking for|are looking for))?"
    r" (?:was |could |can |is |has )?(?:not be|cannot be|can't be|not|no longer|does not|doesn't)"
    r" (?:found|available|exists?)\b.{0,20}"
    r"|not found|seite (?:wurde )?nicht gefunden|page (?:introuvable|non trouvée)|p[aá]gina no encontrada"
    r"|pagina non trovata|página não encontrada|pagina niet gevonden|страница не найдена)[.!]*",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"\s[|–—:·»«-]+\s|\s?[|·»«]\s?|:\s")


def says_missing(title: str, text: str) -> bool:
    """Return whether a page is a soft 404, by its title and text, both with single spaces.

    >>> says_missing("Page not found | Example", "Try the search.")
    True
    >>> says_missing("Lost and not found: a novel", "It begins in winter.")
    False
    """
    if len(text.split(" ", MOST_WORDS)) > MOST_WORDS:
        return False
    if title:
        return any(_SAYS.fullmatch(part.strip()) for part in (title, *_SEPARATORS.split(title)))
    return _SAYS.match(text[:_OPENING]) is not None and len(text) <= 4 * _OPENING
