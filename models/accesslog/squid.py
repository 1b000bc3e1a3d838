"""Squid's logs: those that a ``logformat`` describes, and the native one.

That is ``time elapsed client action/code size method URL user hierarchy/from type``.
"""

import re

from scentline.models.accesslog.entry import Entry, LogLineError, cut_short
from scentline.models.accesslog.layout import Field, FormatTextError, Layout, time_fields

#: What the codes tell; "un" is the user that Squid settled on.
_TOLD = {
    **{">a": "client", ">A": "client", "un": "user", "ul": "user", "ue": "user", "ts": "epoch"},
    **{"tu": "thousandths", ">Hs": "status", "Hs": "status", "mt": "type", "rm": "method", ">rm": "method"},
    **{"ru": "url", ">ru": "url", "rp": "url", ">rp": "url", ">rs": "scheme", ">rd": "host", ">rP": "port"},
    **{"<st": "size", "st": "size", "Ss": "action"},
}
_SILENT = """
    sn err_code err_detail note >p >eui >la >lp >qos >nfmark la lp <a <A <p <la <lp <qos <nfmark
    tr dt tS ui us credentials <Hs <rm <ru <rs <rd <rP <rp rv >rv <rv et ea ha >ha
    Sh >st >sh <sh <sS <pt <tt io
"""
_PASSED = frozenset(_SILENT.split())
_HEADERS = {"referer": "referrer", "user-agent": "agent", "host": "host"}
_CODES = "|".join(
    re.escape(code) for code in sorted({*_TOLD, *_PASSED, "tl", "tg", ">h", "<h"}, key=len, reverse=True)
)
_TOKEN = re.compile(
    r"([^%]+)|(%%)|(%([\"\['#/]?)-?(\d*)(?:\{([^}]*)\})?"
    rf"((?:ssl|tls|icap|adapt|transport|proxy_protocol)::[<>A-Za-z_]+|{_CODES})(?:\{{([^}}]*)\}})?)|(%\S{{0,20}})",
    re.DOTALL,
)
_DEFAULT_TIME = "%d/%b/%Y:%H:%M:%S %z"


def layout(text: str) -> Layout:
    """Return the reader of the lines that a ``logformat`` describes; raises `FormatTextError`.

    >>> read = layout("%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt")
    >>> read("1286536309.586    921 192.0.2.7 TCP_MISS/200 507 GET http://example.org/ - "
    ...      "HIER_DIRECT/198.51.100.1 text/html").time
    1286536309.586
    >>> layout("%>a %Q")
    Traceback (most recent call last):
    ...
    scentline.models.accesslog.layout.FormatTextError: %Q is no code of Squid's logformat
    """
    tokens: list[str | Field] = []
    for literal, percent, written, _, width, first, code, second, unknown in _TOKEN.findall(text):
        if unknown:
            raise FormatTextError(f"{unknown} is no code of Squid's logformat")
        if literal or percent:
            tokens.append(literal or "%")
        elif code in ("tl", "tg"):
            tokens += time_fields(first or second or _DEFAULT_TIME, written)
        else:
            padded = bool(width) and not width.startswith("0")
            tokens.append(Field(_name(code, first or second), written, padded))
    return Layout(tokens)


def _name(code: str, argument: str) -> str:
    if code == ">h":
        return _HEADERS.get(argument.lower(), "")
    if code == "<h":
        return "type" if argument.lower() == "content-type" else ""
    return _TOLD.get(code, "")


# Fields hold no white space and are parted by it: matching is linear, and gives nothing back. What follows the
# content type (headers, with log_mime_hdrs) is passed over. Elapsed time is negative where the clock was set
# back.
_LINE = re.compile(
    r"\s*+(\d{1,11}+(?:\.\d{1,9}+)?+)\s++-?\d{1,18}+\s++(\S++)\s++([^\s/]++)/(\d{3})\s++(\d{1,18}+|-)"
    r"\s++(\S++)\s++(\S++)\s++(\S++)\s++[^\s/]++/\S*+\s++(-(?!\S)|[^\s/]++/\S++)(?:\s.*)?",
    re.ASCII | re.DOTALL,
)


def parse(line: str) -> Entry:
    """Return the entry of a line of Squid's native format; raises `LogLineError`.

    >>> entry = parse("1286536309.586 921 192.0.2.7 TCP_MISS/200 507 GET http://example.org/ - "
    ...               "HIER_DIRECT/198.51.100.1 text/html;charset=utf-8")
    >>> entry.time, entry.method, entry.url, entry.status, entry.content_type
    (1286536309.586, 'GET', 'http://example.org/', 200, 'text/html')
    """
    found = _LINE.fullmatch(line)
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
