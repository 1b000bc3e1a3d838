"""Formats that a text with directives describes: literal text and fields, compiled to one linear pattern."""

import re
from collections.abc import Sequence

import msgspec

from scentline.models.accesslog.entry import Entry, LogLineError
from scentline.models.accesslog.fields import MONTHS, entry_of, seconds_of, unescaped
from scentline.models.errors import ScentlineError

#: Parts of a point in time, which have a form of their own.
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
    """A format's description that can't be used; the text names the directive and what was expected."""

    explains_itself = False


class Field(msgspec.Struct, frozen=True):
    """A directive: what it means ("" where it is passed over), how it is written, whether blanks pad it."""

    name: str
    written: str
    padded: bool = False


def time_fields(text: str, written: str) -> list[str | Field]:
    """Return the literals and fields of a point in time as ``strftime`` describes it.

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


class Layout:
    """Reads the lines of a format given as literals and fields; called with a line, it returns its entry.

    Raises `FormatTextError` where two fields have nothing between them, or where client, time, request, method
    or status are missing.
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
    """Return the tokens with adjacent literals joined and each name given once, to the first that has it."""
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
