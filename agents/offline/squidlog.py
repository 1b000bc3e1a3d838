"""Writing access logs in Squid's native format.

The format is Squid's own ``%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt``.
"""

import re

_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+")


def squid_line(
    *,
    time: float,
    elapsed: int,
    client: str,
    status: int,
    size: int,
    url: str,
    method: str = "GET",
    result: str = "TCP_MISS",
    user: str = "-",
    hierarchy: str = "HIER_DIRECT",
    server: str = "-",
    content_type: str | None = None,
) -> str:
    """Return one line, without its end: ``time`` in seconds since the epoch, ``elapsed`` in milliseconds.

    Whatever would break the line (spaces, controls, what is not ASCII) is percent-encoded.

    >>> squid_line(time=1.5, elapsed=12, client="10.0.0.1", status=200, size=99, url="http://a.example/",
    ...            server="192.0.2.7", content_type="text/html; charset=utf-8")
    '1.500     12 10.0.0.1 TCP_MISS/200 99 GET http://a.example/ - HIER_DIRECT/192.0.2.7 text/html'
    """
    seconds, milliseconds = divmod(round(time * 1000), 1000)
    return (
        f"{seconds}.{milliseconds:03d} {elapsed:6d} {_field(client)} {_field(result)}/{status:03d} {size} "
        f"{_field(method)} {_field(url)} {_field(user)} {_field(hierarchy)}/{_field(server)} "
        f"{_media_type(content_type)}"
    )


def _field(text: str) -> str:
    return _UNPRINTABLE.sub(_escaped, text) or "-"


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode(errors="replace"))


def _media_type(content_type: str | None) -> str:
    found = _MEDIA_TYPE.match((content_type or "").strip())
    return found[0] if found else "-"
