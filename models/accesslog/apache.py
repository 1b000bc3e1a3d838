"""Formats described as in Apache's ``LogFormat`` (mod_log_config), and two that have names.

The common log format is ``host ident user [time] "request" status size``; the combined one (Apache, nginx,
Squid) ends with ``"referrer" "agent"``. Whatever a server adds behind is passed over.
"""

import re

from scentline.models.accesslog.entry import Entry, LogLineError
from scentline.models.accesslog.fields import MONTHS, request_of, seconds_of, unescaped
from scentline.models.accesslog.layout import Field, FormatTextError, Layout, time_fields

#: What the directives tell; those that are known and tell nothing of use are passed over.
_TOLD = {
    **{"a": "client", "h": "client", "u": "user", "r": "request", "m": "method", "U": "url", "q": "query"},
    **{"s": "status", "b": "size", "B": "size", "v": "host", "V": "host", "p": "port"},
}
_PASSED = frozenset("AcCDefHIklLnOPRSTxX")
_HEADERS = {"referer": "referrer", "referrer": "referrer", "user-agent": "agent", "host": "host"}
_MODIFIERS = r"(?:[<>]|!?\d{3}(?:,\d{3})*)*"
_TOKEN = re.compile(rf"([^%]+)|(%{_MODIFIERS}(?:\{{([^}}]*)\}})?(\^[A-Za-z]{{2}}|.?))", re.DOTALL)
_DEFAULT_TIME = "[%d/%b/%Y:%H:%M:%S %z]"
_EPOCHS = {"sec": "epoch", "msec": "epoch milliseconds", "usec": "epoch microseconds"}
_ESCAPES = {r"\"": '"', r"\t": "\t", r"\\": "\\"}


def layout(text: str) -> Layout:
    r"""Return the reader of the lines that a ``LogFormat`` describes; raises `FormatTextError`.

    >>> read = layout(r'%h %l %u %t \"%r\" %>s %b')
    >>> read('192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5').url
    '/a'
    >>> layout("%h %Q")
    Traceback (most recent call last):
    ...
    scentline.models.accesslog.layout.FormatTextError: %Q is no directive of Apache's LogFormat
    """
    text = re.sub(r'\\["t\\]', lambda escape: _ESCAPES[escape[0]], text)
    tokens: list[str | Field] = []
    for literal, written, argument, code in _TOKEN.findall(text):
        if literal or written == "%%":
            tokens.append(literal or "%")
        elif code == "t":
            tokens += _time(argument, written)
        else:
            tokens.append(Field(_name(code, argument, written), written))
    return Layout(_joined(tokens))


def _time(argument: str, written: str) -> list[str | Field]:
    if argument in _EPOCHS:
        return [Field(_EPOCHS[argument], written)]
    if argument == "msec_frac":
        return [Field("thousandths", written)]
    argument = argument.removeprefix("begin:").removeprefix("end:")
    return time_fields(argument or _DEFAULT_TIME, written)


def _name(code: str, argument: str, written: str) -> str:
    if code == "i":
        return _HEADERS.get(argument.lower(), "")
    if code == "o":
        return "type" if argument.lower() == "content-type" else ""
    if code not in _TOLD and code not in _PASSED and not code.startswith("^"):
        raise FormatTextError(f"{written} is no directive of Apache's LogFormat")
    return _TOLD.get(code, "")


def _joined(tokens: list[str | Field]) -> list[str | Field]:
    """Return the tokens with ``%U%q``, which have nothing between them, as one URL."""
    found: list[str | Field] = []
    for token in tokens:
        before = found[-1] if found else ""
        if isinstance(token, Field) and token.name == "query" and isinstance(before, Field):
            found[-1] = Field(before.name, before.written + token.written)
        else:
            found.append(token)
    return found


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
