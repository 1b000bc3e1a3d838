"""The format of a log: the one that is set, or the one that parses most of its first lines."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from scentline.models.accesslog import layout
from scentline.models.accesslog.apache import parse_combined, parse_common
from scentline.models.accesslog.entry import Entry, LogLineError, text_of
from scentline.models.accesslog.json_lines import JsonLines
from scentline.models.accesslog.layout import FormatTextError
from scentline.models.accesslog.squid import parse as parse_squid
from scentline.models.accesslog.w3c import W3C
from scentline.models.errors import ScentlineError

Parser: TypeAlias = Callable[[str], Entry]

#: How many of a log's first lines decide its format.
SAMPLE = 20

#: The formats that need nothing but the line; of two that parse the same lines the first one counts.
FORMATS: Mapping[str, Parser] = MappingProxyType(
    {"squid": parse_squid, "combined": parse_combined, "common": parse_common}
)
#: The formats that `recognise` knows.
RECOGNISED = (*FORMATS, "w3c", "json")


class LogFormatError(ScentlineError, ValueError):
    """A log of which no line is of a known format."""


def parsers(form: str = "auto", json_fields: Sequence[str] = ()) -> dict[str, Parser]:
    """Return new parsers by the names of their formats.

    ``form`` is "auto" for any that is recognised, a format's name, ``apache:`` or ``squid:`` and a description
    as in Apache's ``LogFormat`` or Squid's ``logformat``, or ``w3c:`` and the names of the fields.
    Raises `FormatTextError` where it is none of these.
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
