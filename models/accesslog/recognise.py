"""Which format a log has."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from models.accesslog.combined import parse_combined, parse_common
from models.accesslog.entry import Entry, LogLineError, text_of
from models.accesslog.squid import parse as parse_squid

#: How many of a log's first lines are looked at.
SAMPLE = 20

#: Name to parser; of two that read the same lines the first is meant.
FORMATS: Mapping[str, Callable[[str], Entry]] = MappingProxyType(
    {"squid": parse_squid, "combined": parse_combined, "common": parse_common}
)


class LogFormatError(ValueError):
    """A log of which no line is of a known format."""


def recognise(lines: Sequence[bytes]) -> str:
    """Return the name of the format that reads most of ``lines``, a log's first ones.

    Raises `LogFormatError` when none reads any.

    >>> recognise([b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5'])
    'common'
    """
    looked_at = lines[:SAMPLE]
    read = {name: sum(_reads(parse, line) for line in looked_at) for name, parse in FORMATS.items()}
    best = max(read, key=read.__getitem__)
    if read[best] == 0:
        raise LogFormatError(
            f"log format not recognised: none of the first {len(looked_at)} lines is of a known format "
            f"({', '.join(FORMATS)})"
        )
    return best


def _reads(parse: Callable[[str], Entry], line: bytes) -> bool:
    try:
        parse(text_of(line))
    except LogLineError:
        return False
    return True
