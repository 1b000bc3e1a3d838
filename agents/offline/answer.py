"""Answers of an offline web: status, headers and body."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Headers: TypeAlias = tuple[tuple[str, str], ...]

MAX_HEADERS = 64
MAX_VALUE = 4000

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# RFC 9110, section 7.6.1, and the two that the server writes for the body it sends.
_NOT_FORWARDED = frozenset({
    "connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    "proxy-authenticate", "proxy-authorization", "content-length",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: ``status`` from 200 to 599, end-to-end ``headers`` in order, and the whole ``body``."""

    status: int
    headers: Headers = ()
    body: bytes = b""


#: Takes the requested absolute URL and the request's headers.
Answerer: TypeAlias = Callable[[str, Mapping[str, str]], Answer]


def plain(status: int, text: str) -> Answer:
    r"""Return an answer of one line of plain text.

    >>> plain(404, "no such page").body
    b'no such page\n'
    """
    return Answer(status, (("Content-Type", "text/plain; charset=utf-8"),), f"{text}\n".encode())


def end_to_end(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return the headers that a proxy may pass on: no hop-by-hop header, no length, none that is malformed.

    At most 64 are kept, and none whose value is over 4,000 bytes: clients refuse larger ones.

    >>> end_to_end([("Connection", "close, X-Hop"), ("X-Hop", "1"), ("Bad Name", "1"), ("ETag", '"a"')])
    (('ETag', '"a"'),)
    """
    given = list(headers)
    named = {
        name.strip().lower() for key, value in given if key.lower() == "connection" for name in value.split(",")
    }
    dropped = _NOT_FORWARDED | named
    kept = [(name, value) for name, value in given if name.lower() not in dropped and _sound(name, value)]
    return tuple(kept[:MAX_HEADERS])


def _sound(name: str, value: str) -> bool:
    return (
        _NAME.fullmatch(name) is not None
        and _CONTROL.search(value) is None
        and len(value.encode(errors="replace")) <= MAX_VALUE
    )
