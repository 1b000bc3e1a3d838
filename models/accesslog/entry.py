"""One line of an access log, whatever its format, and what the formats share: named fields, times, escapes."""

import re
from collections.abc import Mapping
from datetime import date
from urllib.parse import quote

import msgspec

from scentline.models.errors import ScentlineError

MAX_LINE = 8192
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")


class LogLineError(ScentlineError, ValueError):
    """A line that is not of its format; the text never quotes the line, which would show who its user was."""

    explains_itself = False


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One request of a log; ``method`` and ``url`` are "-" where no request came."""

    #: Its address.
    client: str
    #: The authenticated user.
    user: str | None
    #: Seconds since the epoch.
    time: float
    method: str
    #: As written: absolute, or a path in the log of a single site.
    url: str
    #: 0 without an answer.
    status: int
    #: Bytes, 0 where unknown.
    size: int
    content_type: str | None = None
    referrer: str | None = None
    agent: str | None = None


def cut_short(action: str) -> bool:
    """Return whether Squid says that an answer did not reach its client as a whole.

    >>> cut_short("TCP_MISS_ABORTED"), cut_short("TCP_MISS")
    (True, False)
    """
    return action.endswith(("_ABORTED", "_TIMEDOUT"))


def text_of(line: bytes) -> str:
    r"""Return a raw line as ASCII text without its line end, for a format's parser.

    Bytes beyond ASCII, valid UTF-8 or not, are percent-encoded, which is what they mean in a URL. Raises
    `LogLineError` for an empty line and for one of more than 8,192 bytes.

    >>> text_of(b"GET /caf\xc3\xa9 \xff\r\n")
    'GET /caf%C3%A9 %FF'
    """
    line = line.rstrip(b"\r\n")
    if not line:
        raise LogLineError("empty line")
    if len(line) > MAX_LINE:
        raise LogLineError(f"more than {MAX_LINE} bytes")
    if not line.isascii():
        line = _BEYOND_ASCII.sub(lambda match: b"%%%02X" % ord(match[0]), line)
    return line.decode("ascii")


#: The names of a format's fields; all others are ignored.
NAMES = (
    *("client", "user", "request", "method", "scheme", "host", "port", "url", "query"),
    *("status", "size", "action", "type", "referrer", "agent"),
)
_ABSENT = ("", "-")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_STATUS = re.compile(r"\d{1,3}", re.ASCII)
_METHOD = re.compile(r"[A-Za-z-]{1,32}")
_PORTS = {"http": "80", "https": "443"}


def entry_of(time: float, fields: Mapping[str, str | None]) -> Entry:
    """Return the entry of fields by their `NAMES`; raises `LogLineError`.

    "-" and "" are absent. A path becomes absolute where the fields name the host.

    >>> entry_of(0.0, {"client": "::1", "method": "GET", "host": "a.org", "url": "/b", "query": "c=1",
    ...                "status": "200"}).url
    'http://a.org/b?c=1'
    """
    found = {name: value for name, value in fields.items() if value is not None and value not in _ABSENT}
    client, user = found.get("client", ""), found.get("user")
    if not client and user is None:
        raise LogLineError("neither client nor user")
    method, url = _requested(found)
    return Entry(
        client,
        user,
        time,
        method,
        url,
        _number(found.get("status"), _STATUS, "status"),
        0 if cut_short(found.get("action", "")) else _number(found.get("size"), _NUMBER, "size"),
        found["type"].partition(";")[0].strip().lower() if "type" in found else None,
        ascii_of(found["referrer"]) if "referrer" in found else None,
        found.get("agent"),
    )


def request_of(request: str) -> tuple[str, str]:
    """Return method and URL of a request line, "-" twice where none came; raises `LogLineError`.

    >>> request_of("GET /a b HTTP/1.1")
    ('GET', '/a b')
    """
    if request == "-":
        return "-", "-"
    method, _, rest = request.partition(" ")
    url, _, protocol = rest.rpartition(" ")
    if not protocol.startswith("HTTP/"):  # HTTP/0.9 names no protocol
        url = rest
    if not url or not method.replace("-", "").isalpha():
        raise LogLineError("request is not a method and a URL")
    return method, unescaped(url)


def unescaped(field: str) -> str:
    r"""Return a quoted field without its escapes; the byte ``\x22`` is written ``%22``, as in every entry."""
    return _ESCAPE.sub(_character, field) if "\\" in field else field


def ascii_of(text: str) -> str:
    """Return text with all beyond ASCII percent-encoded as UTF-8, as in a URL.

    >>> ascii_of("/caf\u00e9")
    '/caf%C3%A9'
    """
    return text if text.isascii() else "".join(c if c.isascii() else quote(c, errors="replace") for c in text)


def _requested(found: Mapping[str, str]) -> tuple[str, str]:
    if "request" in found:
        method, url = request_of(found["request"])
    else:
        method, url = found.get("method", "-"), found.get("url", "-")
        if method != "-" and _METHOD.fullmatch(method) is None:
            raise LogLineError("no such method")
    if "query" in found:
        url = f"{url}?{found['query'].removeprefix('?')}"
    if url.startswith("/") and "host" in found:
        url = f"{_site(found)}{url}"
    return method, ascii_of(url)


def _site(found: Mapping[str, str]) -> str:
    port = found.get("port", "")
    scheme = found.get("scheme", "").lower()
    if scheme not in _PORTS:
        scheme = "https" if port == _PORTS["https"] else "http"
    host = found["host"]
    if port and port != _PORTS[scheme] and ":" not in host:
        host = f"{host}:{port}"
    return f"{scheme}://{host}"


def _number(text: str | None, pattern: re.Pattern[str], name: str) -> int:
    if text is None:
        return 0
    if pattern.fullmatch(text) is None:
        raise LogLineError(f"{name} is not a number")
    return int(text)


def _character(match: re.Match[str]) -> str:
    digits: str | None = match[1]
    return match[2] if digits is None else f"%{digits.upper()}"


MONTHS = {
    **{"Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6},
    **{"Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12},
}
_EPOCH = date(1970, 1, 1).toordinal()


def seconds_of(year: int, month: int, day: int, hour: int, minute: int, second: int, zone: str = "Z") -> float:
    """Return a local time in seconds since the epoch; ``zone`` is "Z", "+0200" or "+02:00".

    Raises `LogLineError` for a day that does not exist.

    >>> seconds_of(2015, 5, 17, 12, 5, 3, "+0200")
    1431857103.0
    """
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError as error:
        raise LogLineError("no such day") from error
    local = days * 86400 + hour * 3600 + minute * 60 + second
    if zone in ("Z", "+0000"):
        return float(local)
    offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return float(local + offset if zone[0] == "-" else local - offset)
