"""Formats of logs: Squid's native one, the common and combined ones, W3C's, and custom ones.

- The common one is ``host ident user [time] "request" status size``; the combined one ends with
  ``"referrer" "agent"`` (Apache, nginx, Squid). Additions at the end are ignored.
- Squid's native one is ``time elapsed client action/code size method URL user hierarchy/from type``.
- In W3C's extended one (IIS, CloudFront, proxies) a ``#Fields`` line names the fields.

If the format of a log is not set, it is the one that parses most of the first lines.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from scentline.models.accesslog import layout
from scentline.models.accesslog.entry import (
    MONTHS,
    Entry,
    JsonLines,
    LogLineError,
    cut_short,
    entry_of,
    request_of,
    seconds_of,
    text_of,
    unescaped,
)
from scentline.models.accesslog.layout import FormatTextError
from scentline.models.errors import ScentlineError

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


# Fields hold no white space and are separated by it: matching is linear, without backtracking. Text after the
# content type (headers, with log_mime_hdrs) is ignored. Elapsed time is negative if the clock was set
# back.
_SQUID_LINE = re.compile(
    r"\s*+(\d{1,11}+(?:\.\d{1,9}+)?+)\s++-?\d{1,18}+\s++(\S++)\s++([^\s/]++)/(\d{3})\s++(\d{1,18}+|-)"
    r"\s++(\S++)\s++(\S++)\s++(\S++)\s++[^\s/]++/\S*+\s++(-(?!\S)|[^\s/]++/\S++)(?:\s.*)?",
    re.ASCII | re.DOTALL,
)


def parse_squid(line: str) -> Entry:
    """Return the entry of a line of Squid's native format; raises `LogLineError`.

    >>> entry = parse_squid("1286536309.586 921 192.0.2.7 TCP_MISS/200 507 GET http://example.org/ - "
    ...               "HIER_DIRECT/198.51.100.1 text/html;charset=utf-8")
    >>> entry.time, entry.method, entry.url, entry.status, entry.content_type
    (1286536309.586, 'GET', 'http://example.org/', 200, 'text/html')
    """
    found = _SQUID_LINE.fullmatch(line)
    if found is None:
        raise LogLineError("not a line of Squid's native format")
    time, client, action, code, size, method, url, user, kind = found.groups()
    return Entry(
        client,
        None if user == "-" else user,
        float(time),
        method,
        url,
        int(code),
        0 if size == "-" or cut_short(action) else int(size),
        None if kind == "-" else kind.partition(";")[0].lower(),
    )


#: The fields of an entry by W3C's names in lower case; others are ignored.
_MEANING = {
    **{"c-ip": "client", "cs-username": "user", "cs-method": "method", "cs-uri": "url", "cs-uri-stem": "stem"},
    **{"cs-uri-query": "query", "cs-uri-scheme": "scheme", "cs-host": "host", "cs(host)": "host"},
    **{"cs-uri-port": "port", "sc-status": "status", "sc-bytes": "size", "rs(content-type)": "type"},
    **{"sc(content-type)": "type", "cs(referer)": "referrer", "cs(user-agent)": "agent"},
    **{"date": "date", "time": "time"},
}
_NEEDED = ("time", "method", "status")
_DIRECTIVE = re.compile(
    r"#\s?(Version|Fields|Software|Start-Date|End-Date|Date|Remark):\s*(.*)", re.I | re.DOTALL
)
_VALUE = re.compile(r'"((?:[^"]|"")*+)"(?!\S)|(\S+)')
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(\.\d{1,9})?)?", re.ASCII)


class W3C:
    """Parses a log line by line: `directive` comes first; called with any other line, it returns the entry.

    ``fields`` are the initial fields, as in a ``#Fields`` line, for senders that leave it out.
    Times are in UTC. IIS writes blanks in the agent as "+".
    Raises ValueError if ``fields`` lack the client, the time, the method, the URL or the status.

    >>> log = W3C()
    >>> log.directive("#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status")
    True
    >>> log("2015-05-17 10:05:03 192.0.2.7 GET /a b=1 200").url
    '/a?b=1'
    """

    def __init__(self, fields: str = "") -> None:
        self._names: list[str] = []
        self._date = ""
        if fields:
            missing = self._name(fields)
            if missing:
                raise ValueError(f"no field for the {missing}; expected one, such as c-ip, time, cs-method")

    def directive(self, line: str) -> bool:
        """Apply a directive, whose fields or date hold from now on; return whether the line is one."""
        found = _DIRECTIVE.fullmatch(line)
        if found is None:
            return False
        kind, value = found[1].lower(), found[2]
        if kind == "fields":
            self._name(value)
        elif kind in ("date", "start-date"):
            self._date = value.split(" ", 1)[0]
        return True

    def __call__(self, line: str) -> Entry:
        """Return the entry of a line; raises `LogLineError`."""
        names = self._names
        if not names:
            raise LogLineError("no #Fields line with client, time, method, URL and status before it")
        if '"' in line:
            values = [quoted.replace('""', '"') or plain for quoted, plain in _VALUE.findall(line)]
        else:
            values = line.split()
        if len(values) != len(names):
            raise LogLineError(f"{len(values)} fields, where #Fields names {len(names)}")
        fields: dict[str, str | None] = dict(zip(names, values, strict=True))
        time = self._time(fields.get("date") or self._date, fields["time"] or "")
        if "url" not in fields:
            fields["url"] = fields["stem"]
        if fields.get("agent"):
            fields["agent"] = str(fields["agent"]).replace("+", " ")
        return entry_of(time, fields)

    def _name(self, text: str) -> str:
        """Set the fields' names, none if one is missing; return the first that is."""
        names = [_MEANING.get(name.lower(), "") for name in text.split()]
        absent = [name for name in _NEEDED if name not in names]
        if "client" not in names and "user" not in names:
            absent.append("client")
        if "url" not in names and "stem" not in names:
            absent.append("URL")
        self._names = [] if absent else names
        return absent[0] if absent else ""

    @staticmethod
    def _time(date: str, time: str) -> float:
        day, clock = _DATE.fullmatch(date), _TIME.fullmatch(time)
        if day is None or clock is None:
            raise LogLineError("no date and time")
        hour, minute, second, fraction = clock.groups()
        year, month, day_of = map(int, day.groups())
        whole = seconds_of(year, month, day_of, int(hour), int(minute), int(second or 0))
        return whole + float(fraction or 0)


Parser: TypeAlias = Callable[[str], Entry]

#: Number of first lines that decide a log's format.
SAMPLE = 20

#: The formats that need only the line; of two that parse the same lines the first one counts.
FORMATS: Mapping[str, Parser] = MappingProxyType(
    {"squid": parse_squid, "combined": parse_combined, "common": parse_common}
)
#: The formats that `recognise` knows.
RECOGNISED = (*FORMATS, "w3c", "json")


class LogFormatError(ScentlineError, ValueError):
    """A log without a line of a known format."""


def parsers(form: str = "auto", json_fields: Sequence[str] = ()) -> dict[str, Parser]:
    """Return new parsers by the names of their formats.

    ``form`` is "auto" for any that is recognised, a format's name, ``apache:`` or ``squid:`` and a description
    as in Apache's ``LogFormat`` or Squid's ``logformat``, or ``w3c:`` and the names of the fields.
    Raises `FormatTextError` if it is none of these.
    """
    kind, colon, text = form.partition(":")
    if not colon:
        every: dict[str, Parser] = {**FORMATS, "w3c": W3C(), "json": JsonLines(json_fields)}
        if form == "auto":
            return every
        if form in every:
            return {form: every[form]}
    elif kind in ("apache", "squid"):
        return {form: (layout.apache if kind == "apache" else layout.squid)(text)}
    elif kind == "w3c":
        return {form: W3C(text)}
    raise FormatTextError(
        f"expected auto, {', '.join(RECOGNISED)}, apache:LOGFORMAT, squid:LOGFORMAT or w3c:FIELDS"
    )


def recognise(lines: Sequence[bytes], known: Mapping[str, Parser] | None = None) -> str:
    """Return the name of the format that parses most of ``lines``, a log's first ones.

    Raises `LogFormatError` when none of the ``known`` parsers (by default all) parses any.

    >>> recognise([b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5'])
    'common'
    """
    looked_at = lines[:SAMPLE]
    tried = parsers() if known is None else known
    read = {name: sum(_reads(parse, line) for line in looked_at) for name, parse in tried.items()}
    best = max(read, key=read.__getitem__)
    if read[best] == 0:
        raise LogFormatError(
            f"log format not recognised: none of the first {len(looked_at)} lines is of a known format "
            f"({', '.join(tried)})"
        )
    return best


def _reads(parse: Parser, line: bytes) -> bool:
    try:
        text = text_of(line)
        if isinstance(parse, W3C) and parse.directive(text):
            return True
        parse(text)
    except LogLineError:
        return False
    return True
