"""Logs of one JSON object a line (Caddy, Traefik, nginx, Elastic's common schema), with named fields."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from scentline.models.accesslog.entry import MONTHS, NAMES, Entry, LogLineError, entry_of, seconds_of

#: The names of each field, of which the first found counts; a dot leads into an object.
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
_EPOCH = re.compile(r"\d{1,17}(?:\.\d{1,9})?", re.ASCII)
#: From here on a number counts milliseconds, from there on microseconds, then nanoseconds.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


class JsonLines:
    """Parses lines that are JSON objects; called with a line, it returns the entry.

    ``named`` are texts ``FIELD=NAME``, each with the name of a field instead of the usual ones (`DEFAULTS`). A
    name with dots is one name, or leads into objects; of a list the first value is taken. Raises ValueError for
    a text that names no field.

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
        if _EPOCH.fullmatch(value):
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
