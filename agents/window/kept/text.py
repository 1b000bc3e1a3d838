"""A kept copy as text: what stands in its WARC record, read as the judge reads a page, without its markup.

Paragraphs are what HTML elements that are not inline have between them, of plain text what stands between empty
lines.
"""

import io
import re
import zlib
from collections.abc import Iterable, Iterator
from os import fsdecode
from pathlib import Path

import msgspec

from scentline.agents.judge.decode import decode
from scentline.agents.judge.markup import read as read_markup
from scentline.agents.judge.parse import is_plain, unread_of
from scentline.agents.offline.warc import ArchiveError, read
from scentline.agents.window.index.search import Asked, Phrase
from scentline.streams.logging import printable

#: Characters of all paragraphs of a copy, and of one of them, at most; paragraphs.
MOST, LONGEST, PARAGRAPHS = 200_000, 20_000, 5_000
#: Characters of a title or a header.
LINE = 300
#: Bytes of a copy's records.
_RECORDS = 1 << 27
#: The headers that are told of.
HEADERS = (
    "content-type",
    "content-language",
    "last-modified",
    "etag",
    "cache-control",
    "server",
    "x-robots-tag",
)

_EMPTY_LINES = re.compile(r"\n\s*\n")
_SPACE = re.compile(r"\s+")
_JOINERS = "\u200c\u200d"


class Wanted(msgspec.Struct, array_like=True, frozen=True):
    """A copy that is to be read: where its records lie, and what of it is to be marked.

    With a ``url`` the copy is to be one of that page.
    """

    url: str
    path: bytes
    offset: int
    length: int
    phrases: tuple[Phrase, ...] = ()


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A copy as text: each paragraph is in parts, of which every second one is marked.

    ``unread`` says what it is where it is neither HTML nor text; ``cut`` tells that there is more of it.
    """

    url: str
    status: int
    headers: dict[str, str]
    title: str = ""
    paragraphs: tuple[tuple[str, ...], ...] = ()
    cut: bool = False
    unread: str = ""


class Unreadable(msgspec.Struct, frozen=True, tag="unreadable"):
    """There is no text of a copy, and why."""

    reason: str


def text_of(wanted: Wanted) -> Text | Unreadable:
    """Return a kept copy as text, or why it can't be read."""
    path = Path(fsdecode(wanted.path))
    try:
        with path.open("rb") as file:
            file.seek(wanted.offset)
            found = file.read(min(wanted.length, _RECORDS))
        url, answer = read(path, io.BytesIO(_behind_request(found)), 0)
    except FileNotFoundError:
        return Unreadable("its file was dropped")
    except (OSError, ArchiveError, zlib.error):
        return Unreadable("its file is damaged")
    if wanted.url not in ("", url):
        return Unreadable("its file has another page there")
    headers = {name.lower(): value for name, value in answer.headers}
    told = {name: printable(headers[name], LINE) for name in HEADERS if name in headers}
    kind = headers.get("content-type")
    if unread := unread_of(answer.body, kind):
        return Text(url, answer.status, told, unread=printable(unread, LINE))
    title, pieces = _read(decode(answer.body, kind), is_plain(kind))
    paragraphs, cut = _bounded(pieces)
    asked = Asked(phrases=wanted.phrases)
    return Text(url, answer.status, told, shown(title)[:LINE], tuple(map(asked.parts, paragraphs)), cut)


def _behind_request(records: bytes) -> bytes:
    """Return a copy's records without that of the request, which comes first."""
    member = zlib.decompressobj(wbits=31)
    member.decompress(records, _RECORDS)
    return member.unused_data


def _read(text: str, plain: bool) -> tuple[str, Iterable[str]]:
    """Return the title and the paragraphs of a page."""
    if plain:
        return "", _EMPTY_LINES.split(text)
    markup = read_markup(text, 0, "")
    return markup.title, _joined(markup.parts)


def _joined(parts: Iterable[str]) -> Iterator[str]:
    """Yield the text between line breaks that elements leave."""
    gathered: list[str] = []
    for part in parts:
        if part == "\n":
            yield "".join(gathered)
            gathered = []
        else:
            gathered.append(part)
    yield "".join(gathered)


def _bounded(pieces: Iterable[str]) -> tuple[list[str], bool]:
    """Return paragraphs that are not empty, as far as they are shown, and whether there are more."""
    found: list[str] = []
    rest = MOST
    for piece in pieces:
        text = shown(piece[: 2 * LONGEST])
        if not text:
            continue
        most = min(rest, LONGEST)
        found.append(text[:most])
        rest -= len(found[-1])
        if len(text) > most or rest <= 0 or len(found) >= PARAGRAPHS:
            return found, True
    return found, False


def shown(text: str) -> str:
    r"""Return a text on one line, without control characters and those that change its direction.

    >>> shown("It is \u202egpj.exe \n so")
    'It is gpj.exe so'
    """
    line = _SPACE.sub(" ", text).strip()
    if line.isprintable():
        return line
    return "".join(sign for sign in line if sign.isprintable() or sign in _JOINERS)
