"""The W3C extended log file format (IIS, CloudFront, proxies): a ``#Fields`` line says what the lines hold."""

import re

from scentline.models.accesslog.entry import Entry, LogLineError, entry_of, seconds_of

#: The meaning of the fields, in lower case; others are ignored.
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

    ``fields`` are those of the first lines, as a ``#Fields`` line names them, for senders who leave it out.
    Times are in UTC. IIS writes blanks in the agent as "+".
    Raises ValueError where ``fields`` lack the client, the time, the method, the URL or the status.

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
        """Return whether a line is a directive, whose fields or date hold from now on."""
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
        """Set the fields' names, none where they do not suffice; return what is missing."""
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
