"""One line of an access log of any format, and what the formats share: named fields, times, escapes."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any
from urllib.parse import quote

import msgspec

from scentline.models.errors import ScentlineError

MAX_LINE = 8192
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")


class LogLineError(ScentlineError, ValueError):
    """A line that does not fit its format; the text never quotes the line, which would identify its user."""

    explains_itself = False


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One request of a log; ``method`` and ``url`` are "-" if no request came."""

    #: The client's address.
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
    """Return whether a Squid action means that the client did not get the whole response.

    >>> cut_short("TCP_MISS_ABORTED"), cut_short("TCP_MISS")
    (True, False)
    """
    return action.endswith(("_ABORTED", "_TIMEDOUT"))


def text_of(line: bytes) -> str:
    r"""Return a raw line as ASCII text without its line end, for a format's parser.

    Bytes beyond ASCII, valid UTF-8 or not, are percent-encoded, as in a URL. Raises
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

    "-" and "" are absent. A path becomes absolute if the fields name the host.

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
    """Return method and URL of a request line, "-" twice if none came; raises `LogLineError`.

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
    """Return text with non-ASCII characters percent-encoded as UTF-8, as in a URL.

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


#: The names of each field; the first one found counts, and a dot leads into an object.
DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "client": (
        *("client", "client_ip", "remote_addr", "remote_ip", "clientip", "ClientHost", "request.client_ip"),
        *("request.remote_ip", "client.ip", "source.ip", "client.address", "source.address", "remote_host"),
    ),
    "user": ("user", "remote_user", "username", "ClientUsername", "user_id", "user.name"),
    "time": ("time", "timestamp", "@timestamp", "ts", "time_iso8601", "time_local", "StartUTC", "msec"),
    "request": ("request", "request_line"),
    "method": ("method", "request_method", "RequestMethod", "request.method", "http.request.method", "verb"),
    "scheme": ("scheme", "RequestScheme", "url.scheme"),
    "host": ("host", "http_host", "vhost", "RequestHost", "request.host", "url.domain"),
    "port": ("url.port",),
    "url": ("url", "uri", "request_uri", "RequestPath", "request.uri", "url.full", "url.original", "url.path"),
    "query": ("query", "query_string", "url.query"),
    "status": ("status", "status_code", "DownstreamStatus", "response", "http.response.status_code"),
    "size": ("size", "bytes", "body_bytes_sent", "bytes_sent", "DownstreamContentSize",
             "http.response.body.bytes"),
    "action": ("action",),
    "type": ("content_type", "mime_type", "resp_headers.Content-Type", "http.response.mime_type"),
    "referrer": ("referrer", "referer", "http_referer", "request_Referer", "request.headers.Referer",
                 "http.request.referrer"),
    "agent": ("agent", "user_agent", "http_user_agent", "request_User-Agent", "request.headers.User-Agent",
              "user_agent.original"),
}  # fmt: skip
_WITHOUT_QUERY = frozenset({"url.path", "query"})
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)([.,]\d{1,9})?)?"
    r"\s?(Z|[+-]\d\d:?[0-5]\d)?",
    re.ASCII,
)
_CLF = re.compile(
    r"\[?(\d\d)/([A-Z][a-z]{2})/(\d{4}):([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) ([+-]\d\d[0-5]\d)\]?", re.ASCII
)
_SINCE_EPOCH = re.compile(r"\d{1,17}(?:\.\d{1,9})?", re.ASCII)
#: The least number that counts nanoseconds, microseconds and milliseconds, and their units in a second.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


class JsonLines:
    """Parses lines that are JSON objects; called with a line, it returns the entry.

    ``named`` are texts ``FIELD=NAME``, each of which replaces the usual names of a field (`DEFAULTS`). A name
    with dots is one name, or leads into objects; of a list the first value counts. Raises ValueError for a text
    that names no field.

    >>> read = JsonLines(["url=page"])
    >>> read('{"ts": 1431857103.5, "client": "::1", "method": "GET", "page": "/a", "status": 200}').url
    '/a'
    """

    def __init__(self, named: Iterable[str] = ()) -> None:
        names = dict(DEFAULTS)
        for text in named:
            field, equals, name = (part.strip() for part in text.partition("="))
            if not equals or not name or field not in names:
                raise ValueError(f"{text!r} is not FIELD=NAME with one of the fields {', '.join(names)}")
            names[field] = (name,)
            if field == "url":
                names["query"] = DEFAULTS["query"] if name in _WITHOUT_QUERY else ()
        self._names = {field: [(name, name.split(".")) for name in found] for field, found in names.items()}
        self._decode = msgspec.json.Decoder(dict[str, Any]).decode

    def __call__(self, line: str) -> Entry:
        """Return the entry of a line; raises `LogLineError`."""
        if not line.startswith("{"):
            raise LogLineError("not a JSON object")
        try:
            found = self._decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise LogLineError("not a JSON object") from error
        fields: dict[str, str | None] = {name: _text(self._found(found, name)) for name in NAMES}
        url = fields["url"]
        if url is not None and "?" in url:
            fields["query"] = None
        if not (fields["request"] or (fields["method"] and url)):
            raise LogLineError("neither a request nor a method and a URL")
        return entry_of(_time(self._found(found, "time")), fields)

    def _found(self, line: Mapping[str, Any], field: str) -> Any:
        for name, path in self._names[field]:
            value = line.get(name)
            if value is None and len(path) > 1:
                value = line
                for part in path:
                    value = value.get(part) if isinstance(value, dict) else None
            if value is not None and not isinstance(value, dict):
                return value
        return None


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _time(value: Any) -> float:
    if isinstance(value, str):
        value = value.strip()
        if _SINCE_EPOCH.fullmatch(value):
            value = float(value)
        else:
            return _spelled(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e20:
        raise LogLineError("no time")
    for least, unit in _UNITS:
        if value >= least:
            return float(value) / unit
    return float(value)


def _spelled(text: str) -> float:
    iso = _ISO.fullmatch(text)
    if iso is not None:
        year, month, day, hour, minute, second, fraction, zone = iso.groups()
        whole = seconds_of(
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0), zone or "Z"
        )
        return whole + (float(f"0.{fraction[1:]}") if fraction else 0.0)
    clf = _CLF.fullmatch(text)
    if clf is None or clf[2] not in MONTHS:
        raise LogLineError("no time")
    day, _, year, hour, minute, second, zone = clf.groups()
    return seconds_of(int(year), MONTHS[clf[2]], int(day), int(hour), int(minute), int(second), zone)
