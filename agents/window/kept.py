"""A kept copy as text: the process that reads the WARC records of copies, as the judge reads a page.

It answers one request after the other on standard input, until that ends.
Paragraphs are the text between HTML elements that are not inline; of plain text, the text between empty lines.
"""

import io
import re
import zlib
from collections.abc import Iterable
from itertools import groupby
from os import fsdecode
from pathlib import Path

import msgspec

from scentline.agents.judge.apart import alone, bound_cpu, bound_memory
from scentline.agents.judge.decode import decode
from scentline.agents.judge.markup import read as read_markup
from scentline.agents.judge.parse import is_plain, unread_of
from scentline.agents.judge.question import framed, received
from scentline.agents.offline.archive import ArchiveError, read
from scentline.agents.window.search import Phrase, Search
from scentline.streams.logging import printable

#: Characters of all paragraphs of a copy, and of one of them, at most; paragraphs.
MOST, LONGEST, PARAGRAPHS = 200_000, 20_000, 5_000
#: Characters of a title or a header.
LINE = 300
#: Seconds of CPU, and bytes of memory, that a copy may take.
CPU_SECONDS, MEMORY = 5, 500_000_000
#: The headers that are shown.
HEADERS = (
    "content-type", "content-language", "last-modified", "etag", "cache-control", "server", "x-robots-tag",
)  # fmt: skip

_RECORDS = 1 << 27
_EMPTY_LINES = re.compile(r"\n\s*\n")
_SPACE = re.compile(r"\s+")
_JOINERS = "\u200c\u200d"


class CopyRequest(msgspec.Struct, array_like=True, frozen=True):
    """A copy to be read."""

    #: The page that the copy must be of; empty for any.
    url: str
    #: Where its records lie.
    path: bytes
    offset: int
    length: int
    #: What is marked in its text.
    phrases: tuple[Phrase, ...] = ()


class CopyText(msgspec.Struct, frozen=True, tag="text"):
    """A copy as text."""

    url: str
    status: int
    headers: dict[str, str]
    title: str = ""
    #: Each paragraph in parts, of which every second one is marked.
    paragraphs: tuple[tuple[str, ...], ...] = ()
    #: Whether the copy has more text.
    cut: bool = False
    #: What the copy is where it is neither HTML nor text.
    unread: str = ""


class Unreadable(msgspec.Struct, frozen=True, tag="unreadable"):
    """Why there is no text of a copy."""

    reason: str


_decode = msgspec.msgpack.Decoder(CopyRequest).decode


def main() -> None:
    """Read copies, one after the other."""
    source, out = alone()
    bound_memory(MEMORY)
    while (data := received(source)) is not None:
        bound_cpu(CPU_SECONDS)
        failure = None
        try:
            answer = text_of(_decode(data))
        except Exception as error:  # whatever it is, it is this copy's
            answer = failure = Unreadable(f"it can't be read: {type(error).__name__}")
        out.write(framed(answer))
        out.flush()
        if failure is not None:
            return  # the next copy meets a process that has seen nothing


def text_of(request: CopyRequest) -> CopyText | Unreadable:
    """Return a kept copy as text, or why it can't be read."""
    path = Path(fsdecode(request.path))
    try:
        with path.open("rb") as file:
            file.seek(request.offset)
            found = file.read(min(request.length, _RECORDS))
        url, answer = read(path, io.BytesIO(_behind_request(found)), 0)
    except FileNotFoundError:
        return Unreadable("its file was dropped")
    except (OSError, ArchiveError, zlib.error):
        return Unreadable("its file is damaged")
    if request.url not in ("", url):
        return Unreadable("its file has another page there")
    headers = {name.lower(): value for name, value in answer.headers}
    shown_headers = {name: printable(headers[name], LINE) for name in HEADERS if name in headers}
    kind = headers.get("content-type")
    if unread := unread_of(answer.body, kind):
        return CopyText(url, answer.status, shown_headers, unread=printable(unread, LINE))
    title, pieces = _read(decode(answer.body, kind), is_plain(kind))
    paragraphs, cut = _bounded(pieces)
    marked = tuple(map(Search(phrases=request.phrases).parts, paragraphs))
    return CopyText(url, answer.status, shown_headers, shown(title)[:LINE], marked, cut)


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
    paragraphs = groupby(markup.parts, "\n".__eq__)
    return markup.title, ("".join(parts) for is_break, parts in paragraphs if not is_break)


def _bounded(pieces: Iterable[str]) -> tuple[list[str], bool]:
    """Return the paragraphs that are not empty, within the bounds, and whether there are more."""
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


if __name__ == "__main__":
    main()
