"""The common log format and the combined one, which ends with referrer and agent (Apache, nginx, Squid).

``host ident user [time] "request" status size ["referrer" ["agent"]]``, with whatever a server adds behind.
"""

import re
from datetime import date

from models.accesslog.entry import Entry, LogLineError

# A quoted field ends at the first quote that no backslash escapes: it has one way to match, so that matching
# is linear. Unquoted additions may follow anywhere after the size; quoted ones only after the agent.
_QUOTED = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
_ADDED = r'(?: [^"].*| )?'
_LINE = re.compile(
    r'(\S+) \S+ (""|[^"\[]+) '
    r"\[(\d\d)/([A-Z][a-z][a-z])/(\d{4}):([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) ([+-])(\d\d)([0-5]\d)\] "
    rf"{_QUOTED} (\d{{3}}|-) (\d{{1,18}}|-)"
    rf"(?: {_QUOTED}(?: {_QUOTED}(?: .*)?|{_ADDED})|{_ADDED})",
    re.ASCII | re.DOTALL,
)
_MONTHS = {
    **{"Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6},
    **{"Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12},
}
_EPOCH = date(1970, 1, 1).toordinal()
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)


def parse_combined(line: str) -> Entry:
    """Return the entry of a line with referrer and agent; raises `LogLineError`.

    >>> entry = parse_combined('192.0.2.7 - - [17/May/2015:10:05:03 +0200] "GET /a HTTP/1.1" 200 5 '
    ...                        '"http://example.org/" "Mozilla/5.0" TCP_MISS:HIER_DIRECT')
    >>> entry.time, entry.url, entry.referrer, entry.agent
    (1431849903.0, '/a', 'http://example.org/', 'Mozilla/5.0')
    """
    entry = parse_common(line)
    if entry.agent is None:
        raise LogLineError("no referrer and agent at the end, as the combined format has")
    return entry


def parse_common(line: str) -> Entry:
    """Return the entry of a line, with or without referrer and agent; raises `LogLineError`.

    No request at all ("-", as after a time-out) gives method and URL "-"; one that is not a method and a URL
    (such as the first bytes of a TLS handshake) is an error. A referrer of "-" or "" is None.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        raise LogLineError("not a line of the common or combined format")
    client, user, *time, request, status, size, referrer, agent = found.groups()
    method, url = _request(request)
    return Entry(
        client,
        None if user in ("-", '""') else user,
        _seconds(*time),
        method,
        url,
        0 if status == "-" else int(status),
        0 if size == "-" else int(size),
        None,
        None if referrer in (None, "-", "") else _unescaped(referrer),
        None if agent is None else _unescaped(agent),
    )


def _request(request: str) -> tuple[str, str]:
    if request == "-":
        return "-", "-"
    method, _, rest = request.partition(" ")
    url, _, protocol = rest.rpartition(" ")
    if not protocol.startswith("HTTP/"):  # HTTP/0.9 names no protocol
        url = rest
    if not url or not method.replace("-", "").isalpha():
        raise LogLineError("request is not a method and a URL")
    return method, _unescaped(url)


def _seconds(
    day: str, month: str, year: str, hour: str, minute: str, second: str, sign: str, hours: str, minutes: str
) -> float:
    try:
        days = date(int(year), _MONTHS[month], int(day)).toordinal() - _EPOCH
    except (ValueError, KeyError) as error:
        raise LogLineError("no such day") from error
    local = days * 86400 + int(hour) * 3600 + int(minute) * 60 + int(second)
    offset = int(hours) * 3600 + int(minutes) * 60
    return float(local + offset if sign == "-" else local - offset)


def _unescaped(field: str) -> str:
    return _ESCAPE.sub(_character, field) if "\\" in field else field


def _character(match: re.Match[str]) -> str:
    r"""Return what an escape stands for; the byte ``\x22`` is written ``%22``, as everywhere in an entry."""
    digits: str | None = match[1]
    return match[2] if digits is None else f"%{digits.upper()}"
