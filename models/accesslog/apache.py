"""The common and the combined log format (Apache, nginx, Squid).

The common one is ``host ident user [time] "request" status size``; the combined one ends with
``"referrer" "agent"``. What a server adds at the end is ignored.
"""

import re

from scentline.models.accesslog.entry import MONTHS, Entry, LogLineError, request_of, seconds_of, unescaped

# A quoted field ends at the first quote that no backslash escapes: it has one way to match, so that matching
# is linear. Unquoted additions may follow anywhere after the size; quoted ones only after the agent.
_QUOTED = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
_ADDED = r'(?: [^"].*| )?'
_LINE = re.compile(
    r'(\S+) \S+ (""|[^"\[]+) '
    r"\[(\d\d)/([A-Z][a-z][a-z])/(\d{4}):([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) ([+-]\d\d[0-5]\d)\] "
    rf"{_QUOTED} (\d{{3}}|-) (\d{{1,18}}|-)"
    rf"(?: {_QUOTED}(?: {_QUOTED}(?: .*)?|{_ADDED})|{_ADDED})",
    re.ASCII | re.DOTALL,
)


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
    client, user, day, month, year, hour, minute, second, zone, request, status, size, referrer, agent = (
        found.groups()
    )
    method, url = request_of(request)
    if month not in MONTHS:
        raise LogLineError("no such day")
    return Entry(
        client,
        None if user in ("-", '""') else user,
        seconds_of(int(year), MONTHS[month], int(day), int(hour), int(minute), int(second), zone),
        method,
        url,
        0 if status == "-" else int(status),
        0 if size == "-" else int(size),
        None,
        None if referrer in (None, "-", "") else unescaped(referrer),
        None if agent is None else unescaped(agent),
    )
