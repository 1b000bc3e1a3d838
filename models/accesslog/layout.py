"""Custom formats, Apache's ``LogFormat`` and Squid's ``logformat``, compiled to one linear pattern each."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from scentline.models.accesslog.entry import MONTHS, Entry, LogLineError, entry_of, seconds_of, unescaped
from scentline.models.errors import ScentlineError

#: Parts of a point in time, and the pattern of each.
TIME_PARTS = {
    "year": r"\d{4}",
    "month": r"0[1-9]|1[0-2]",
    "month name": "|".join(MONTHS),
    "day": r"\d\d",
    "hour": r"[01]\d|2[0-3]",
    "minute": r"[0-5]\d",
    "second": r"[0-5]\d|60",
    "zone": r"[+-]\d\d:?[0-5]\d|Z",
    "epoch": r"\d{1,11}(?:\.\d{1,9})?",
    "epoch milliseconds": r"\d{1,14}",
    "epoch microseconds": r"\d{1,17}",
    "thousandths": r"\d{1,3}",
}
_CODES = {
    **{"Y": ("year",), "m": ("month",), "b": ("month name",), "d": ("day",), "H": ("hour",)},
    **{"M": ("minute",), "S": ("second",), "z": ("zone",), "s": ("epoch",)},
    "T": ("hour", ":", "minute", ":", "second"),
    "F": ("year", "-", "month", "-", "day"),
}
_DAY = ("year", "day")
_QUOTED = r'([^"\\]*+(?:\\.[^"\\]*+)*+)'


class FormatTextError(ScentlineError, ValueError):
    """A format text that can't be used; the message names the directive and what was expected."""

    explains_itself = False


class Field(msgspec.Struct, frozen=True):
    """A directive of a format text."""

    #: The field it gives, "" for none.
    name: str
    written: str
    #: Whether blanks pad it.
    padded: bool = False


def time_fields(text: str, written: str) -> list[str | Field]:
    """Return the literals and fields of a point in time in the format of ``strftime``.

    Raises `FormatTextError` for a code other than Y, m, b, d, H, M, S, z, s, T, F and %.
    """
    found: list[str | Field] = []
    for literal, code in re.findall(r"([^%]+)|%(.?)", text, re.DOTALL):
        if literal or code == "%":
            found.append(literal or "%")
        elif code not in _CODES:
            raise FormatTextError(
                f"{written}: %{code} is not read; expected %Y, %m, %b, %d, %H, %M, %S, %T, %F, %z or %s"
            )
        else:
            found += [part if part in (":", "-") else Field(part, written) for part in _CODES[code]]
    return found


class Dialect(NamedTuple):
    """The syntax of a server's format texts."""

    #: The name of a directive in errors.
    directive: str
    #: Matches literal text, or a directive with its code, argument and width.
    token: re.Pattern[str]
    #: The field of each code, "" for none.
    fields: Mapping[str, str]
    #: The codes of a header of the request and of the response.
    headers: tuple[str, str]
    #: The codes of a time whose argument is a ``strftime`` format, and the default of that.
    times: tuple[str, ...]
    default_time: str
    #: The fields of other arguments of a time.
    epochs: Mapping[str, str] = MappingProxyType({})


_HEADERS = {"referer": "referrer", "referrer": "referrer", "user-agent": "agent", "host": "host"}
_ESCAPES = {r"\"": '"', r"\t": "\t", r"\\": "\\"}
_MODIFIERS = r"(?:[<>]|!?\d{3}(?:,\d{3})*)*"
_APACHE = Dialect(
    "directive of Apache's LogFormat",
    re.compile(
        rf"(?P<literal>[^%]+)|%{_MODIFIERS}(?:\{{(?:begin:|end:)?(?P<argument>[^}}]*)\}})?"
        r"(?P<code>\^[A-Za-z]{2}|.?)",
        re.DOTALL,
    ),
    {
        **dict.fromkeys("AcCDefHIklLnOPRSTxX", ""),
        **{"a": "client", "h": "client", "u": "user", "r": "request", "m": "method", "U": "url", "q": "query"},
        **{"s": "status", "b": "size", "B": "size", "v": "host", "V": "host", "p": "port"},
    },
    ("i", "o"),
    ("t",),
    "[%d/%b/%Y:%H:%M:%S %z]",
    {
        **{"sec": "epoch", "msec": "epoch milliseconds", "usec": "epoch microseconds"},
        "msec_frac": "thousandths",
    },
)
_IGNORED = """
    sn err_code err_detail note >p >eui >la >lp >qos >nfmark la lp <a <A <p <la <lp <qos <nfmark
    tr dt tS ui us credentials <Hs <rm <ru <rs <rd <rP <rp rv >rv <rv et ea ha >ha
    Sh >st >sh <sh <sS <pt <tt io
"""
_SQUID_FIELDS = {  # "un" is the user that Squid settled on
    **dict.fromkeys(_IGNORED.split(), ""),
    **{">a": "client", ">A": "client", "un": "user", "ul": "user", "ue": "user", "ts": "epoch"},
    **{"tu": "thousandths", ">Hs": "status", "Hs": "status", "mt": "type", "rm": "method", ">rm": "method"},
    **{"ru": "url", ">ru": "url", "rp": "url", ">rp": "url", ">rs": "scheme", ">rd": "host", ">rP": "port"},
    **{"<st": "size", "st": "size", "Ss": "action"},
}
_SQUID_CODES = "|".join(map(re.escape, sorted({*_SQUID_FIELDS, "tl", "tg", ">h", "<h"}, key=len, reverse=True)))
_SQUID = Dialect(
    "code of Squid's logformat",
    re.compile(
        r"(?P<literal>[^%]+)|%%|%[\"\['#/]?-?(?P<width>\d*)(?:\{(?P<argument>[^}]*)\})?"
        rf"(?P<code>(?:ssl|tls|icap|adapt|transport|proxy_protocol)::[<>A-Za-z_]+|{_SQUID_CODES})"
        r"(?:\{(?P<behind>[^}]*)\})?|%\S{0,20}",
        re.DOTALL,
    ),
    _SQUID_FIELDS,
    (">h", "<h"),
    ("tl", "tg"),
    "%d/%b/%Y:%H:%M:%S %z",
)


def apache(text: str) -> "Layout":
    r"""Return the parser of an Apache ``LogFormat`` (mod_log_config); raises `FormatTextError`.

    >>> parse = apache(r'%h %l %u %t \"%r\" %>s %b')
    >>> parse('192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5').url
    '/a'
    >>> apache("%h %Q")
    Traceback (most recent call last):
    ...
    scentline.models.accesslog.layout.FormatTextError: %Q is no directive of Apache's LogFormat
    """
    return Layout(_tokens(re.sub(r'\\["t\\]', lambda escape: _ESCAPES[escape[0]], text), _APACHE))


def squid(text: str) -> "Layout":
    """Return the parser of a Squid ``logformat``; raises `FormatTextError`.

    >>> parse = squid("%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt")
    >>> parse("1286536309.586    921 192.0.2.7 TCP_MISS/200 507 GET http://example.org/ - "
    ...       "HIER_DIRECT/198.51.100.1 text/html").time
    1286536309.586
    """
    return Layout(_tokens(text, _SQUID))


def _tokens(text: str, dialect: Dialect) -> list[str | Field]:
    tokens: list[str | Field] = []
    for found in dialect.token.finditer(text):
        parts, written = found.groupdict(""), found[0]
        if parts["literal"] or written == "%%":
            tokens.append(parts["literal"] or "%")
            continue
        code, argument = parts["code"], parts["argument"] or parts.get("behind", "")
        if code in dialect.times and argument not in dialect.epochs:
            tokens += time_fields(argument or dialect.default_time, written)
            continue
        width = parts.get("width", "")
        field = Field(_name(code, argument, written, dialect), written, width > "" and width[0] != "0")
        before = tokens[-1] if tokens else ""
        if field.name == "query" and isinstance(before, Field):  # %U%q is one URL
            tokens[-1] = Field(before.name, before.written + written)
        else:
            tokens.append(field)
    return tokens


def _name(code: str, argument: str, written: str, dialect: Dialect) -> str:
    if code in dialect.times:
        return dialect.epochs[argument]
    if code == dialect.headers[0]:
        return _HEADERS.get(argument.lower(), "")
    if code == dialect.headers[1]:
        return "type" if argument.lower() == "content-type" else ""
    if code not in dialect.fields and not code.startswith("^") and "::" not in code:
        raise FormatTextError(f"{written} is no {dialect.directive}")
    return dialect.fields.get(code, "")


class Layout:
    """Parses lines of a format given as literals and fields; called with a line, it returns its entry.

    Raises `FormatTextError` if two fields have nothing between them, or if client, time, request, method or
    status are missing.
    """

    def __init__(self, tokens: Sequence[str | Field]) -> None:
        merged = _merged(tokens)
        self._names = [token.name for token in merged if isinstance(token, Field) and token.name]
        _check(self._names)
        self._pattern = re.compile(_pattern(merged), re.ASCII | re.DOTALL)
        self._epoch = next((name for name in self._names if name.startswith("epoch")), None)

    def __call__(self, line: str) -> Entry:
        """Return the entry of a line; raises `LogLineError`."""
        found = self._pattern.fullmatch(line)
        if found is None:
            raise LogLineError("not a line of the format that is set")
        fields = dict(zip(self._names, found.groups(), strict=True))
        time = self._time(fields)
        for name, value in fields.items():
            if "\\" in value and name != "request":
                fields[name] = unescaped(value)
        return entry_of(time, fields)

    def _time(self, fields: dict[str, str]) -> float:
        fraction = int(fields.get("thousandths", 0)) / 1000
        match self._epoch:
            case "epoch":
                return float(fields["epoch"]) + fraction
            case "epoch milliseconds":
                return int(fields["epoch milliseconds"]) / 1e3
            case "epoch microseconds":
                return int(fields["epoch microseconds"]) / 1e6
        month = MONTHS[fields["month name"]] if "month name" in fields else int(fields["month"])
        hour, minute, second = (int(fields.get(name, 0)) for name in ("hour", "minute", "second"))
        year, day, zone = int(fields["year"]), int(fields["day"]), fields.get("zone", "Z")
        return seconds_of(year, month, day, hour, minute, second, zone) + fraction


def _merged(tokens: Sequence[str | Field]) -> list[str | Field]:
    """Return the tokens with adjacent literals joined, and each name only at its first field."""
    merged: list[str | Field] = []
    seen: set[str] = set()
    for token in tokens:
        if isinstance(token, str):
            if merged and isinstance(merged[-1], str):
                merged[-1] += token
            else:
                merged.append(token)
            continue
        merged.append(
            Field("", token.written, token.padded)
            if token.name in seen and token.name not in TIME_PARTS
            else token
        )
        seen.add(token.name)
    return merged


def _check(names: Sequence[str]) -> None:
    dated = any(name.startswith("epoch") for name in names) or (
        all(part in names for part in _DAY) and ("month" in names or "month name" in names)
    )
    for what, there in (
        ("client or user", "client" in names or "user" in names),
        ("time", dated),
        ("URL", "request" in names or "url" in names),
        ("method", "request" in names or "method" in names),
        ("status", "status" in names),
    ):
        if not there:
            raise FormatTextError(f"no directive for the {what}; expected one")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FormatTextError(f"two directives for the {twice} of the time; expected one")


def _pattern(tokens: Sequence[str | Field]) -> str:
    parts = []
    for place, token in enumerate(tokens):
        if isinstance(token, str):
            parts.append(re.escape(token))
            continue
        before = tokens[place - 1] if place else ""
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        value = _value(token, before, after)
        parts.append(rf"\ *+{value}\ *" if token.padded else value)
    return "".join(parts)


def _value(field: Field, before: str | Field, after: str | Field) -> str:
    """Return the pattern of a field: it ends where the literal after it begins, so it has one way to match."""
    if field.name in TIME_PARTS:
        return f"({TIME_PARTS[field.name]})"
    if isinstance(after, Field):
        raise FormatTextError(f"nothing stands between {field.written} and {after.written}; expected a blank")
    if isinstance(before, str) and before.endswith('"') and after.startswith('"'):
        value = _QUOTED
    elif len(after) == 1 or not after:
        value = f"([^{re.escape(after)}]*+)" if after else "(.*+)"
    else:
        value = f"((?:(?!{re.escape(after)}).)*+)"
    return value if field.name else f"(?:{value[1:-1]})"
