"""Spaces of URLs without end, told by the URL alone.

The rules are those that large crawlers came to: Heritrix's PathologicalPathDecideRule and
TooManyPathSegmentsDecideRule, Nutch's regex-urlfilter. What looks like a page here and is none all the same is
found out by its pages (`models.traps.barren`).
"""

import re
from collections import Counter
from typing import NamedTuple

#: Longest run of segments whose repetition is looked for.
RUN = 4
#: Years between which a date in a URL may lie: beyond them a calendar goes on without events.
YEARS = (1500, 2100)

_DATES = re.compile(
    r"/(\d{4})[/-](?:0?[1-9]|1[0-2])(?=[/-]|\Z)"  # /2031/05 and /2031-05-12
    r"|[?&](?:year|yr|jahr|annee|ano|anno)=(\d{4,6})(?=&|\Z)"
    r"|[?&][\w.%-]{0,40}(?:date|month|day|week)=(\d{4,6})-\d{1,2}(?=[-&]|\Z)",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[A-Za-z]")


class Bounds(NamedTuple):
    """What a URL may have: segments of its path, parameters of its query, and repetitions of either.

    ``repeats`` is how often in a row a run of segments makes a trap; a segment, or the name of a parameter, may
    be there as often in all, and no more.
    """

    segments: int = 20
    repeats: int = 3
    parameters: int = 20


def trap(url: str, bounds: Bounds) -> str:
    """Return why a canonical URL belongs to a space without end; empty where it seems to be a page.

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


def _repeated(segments: list[str], times: int) -> str:
    """Say which run of segments stands ``times`` times in a row, or which segment is there more than so often.

    Numbers, as in dates, may be.
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
    for found in _DATES.finditer(url):
        year = int(found[1] or found[2] or found[3])
        if not YEARS[0] <= year <= YEARS[1]:
            return f"a calendar, the year {year}"
    return ""
