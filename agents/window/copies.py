"""Kept copies as text, read in a separate process, which a copy may crash; and the search in the newest.

The process reads the WARC records of copies as the judge reads a page, one request after the other from
standard input, until that ends. Paragraphs are the text between HTML elements that are not inline; in plain
text, between empty lines.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from io import BytesIO
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from scentline.agents.judge.apart import alone, bound_cpu, bound_memory
from scentline.agents.judge.question import framed, received
from scentline.agents.signals import command, environment
from scentline.agents.window.search import Phrase, Search
from scentline.models.formats import MEDIA_TYPES, Format
from scentline.models.records import UNREADABLE
from scentline.streams.logging import printable

#: Seconds allowed for a process.
SECONDS = 30.0
#: The newest copies that a search reads, in all and at a time; most pages that it finds.
LOOKED_AT, AT_A_TIME, MOST_FOUND = 300, 30, 50
#: Characters of an excerpt, and of its part before the match.
EXCERPT, BEFORE = 240, 60
#: Most characters of a copy's paragraphs, and of one of them; most paragraphs.
MOST, LONGEST, PARAGRAPHS = 200_000, 20_000, 5_000
#: Most characters of a title or a header.
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

    #: The copy's expected URL; empty for any.
    url: str
    #: The place of its records.
    path: bytes
    offset: int
    length: int
    #: What to mark in its text.
    phrases: tuple[Phrase, ...] = ()


class CopyText(msgspec.Struct, frozen=True, tag="text"):
    """A copy as text."""

    url: str
    status: int
    headers: dict[str, str]
    title: str = ""
    #: Each paragraph in parts; every second one is marked.
    paragraphs: tuple[tuple[str, ...], ...] = ()
    #: Whether the copy has more text.
    cut: bool = False
    #: What the copy is, if neither HTML nor text.
    unread: str = ""


class Unreadable(msgspec.Struct, frozen=True, tag="unreadable"):
    """Why a copy has no text."""

    reason: str


Answer: TypeAlias = CopyText | Unreadable

_decode_request = msgspec.msgpack.Decoder(CopyRequest).decode
_decode_answer = msgspec.msgpack.Decoder(Answer).decode


# reading copies


def read(requests: Sequence[CopyRequest]) -> list[Answer]:
    """Return copies as text, read by a process; one that crashes it is unreadable, another reads the rest."""
    found: list[Answer] = []
    while len(found) < len(requests):
        found += _read(requests[len(found) :])
    return found


def _read(requests: Sequence[CopyRequest]) -> list[Answer]:
    """Return the answers of one process: at least one."""
    from scentline.streams.settings import PREFIX  # which the process doesn't need

    inherited = {name: value for name, value in environment().items() if not name.startswith(PREFIX)}
    try:
        done = subprocess.run(  # noqa: S603 - this program
            command("scentline.agents.window.copies"), input=b"".join(map(framed, requests)), env=inherited,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False,
        )  # fmt: skip
        found, why = [*_answers(done.stdout)], "it ended the process that read it"
        ended = done.returncode != 0 or not found
    except subprocess.TimeoutExpired as error:
        found, why, ended = [*_answers(error.stdout or b"")], f"it took longer than {SECONDS:g} seconds", True
    return [*found, Unreadable(why)] if ended and len(found) < len(requests) else found


def _answers(out: bytes) -> Iterator[Answer]:
    source = BytesIO(out)
    while (data := received(source)) is not None:
        try:
            yield _decode_answer(data)
        except UNREADABLE:
            return


class FoundText(NamedTuple):
    """A page whose copy matches a search, and an excerpt of its text in parts."""

    url: str
    parts: tuple[str, ...]


@dataclass
class TextSearch:
    """The state of a search in the texts of the newest kept copies."""

    of: int  #: How many copies are searched, and whether there are older ones.
    older: bool
    read: int = 0
    found: list[FoundText] = field(default_factory=list)


def found_texts(
    data: Path, search: Search, begin: Callable[[Sequence[CopyRequest]], Future[list[Answer]]]
) -> Iterator[tuple[TextSearch, bool]]:
    """Yield the state of a search, and whether there is more to do now: not while copies are being read.

    ``begin`` has copies read (`read`) beside this thread. It omits copies that are kept after its
    start. The newest copy of a page counts.
    """
    from scentline.agents.judge.kept import newest_first

    copies = list(islice(newest_first(data, 2 * LOOKED_AT), LOOKED_AT + 1)) if search else []
    state, known = TextSearch(min(len(copies), LOOKED_AT), len(copies) > LOOKED_AT), set[str]()
    left = [
        CopyRequest("", os.fsencode(copy.path), copy.offset, copy.length, tuple(search.phrases))
        for copy in copies[:LOOKED_AT]
    ]
    yield state, bool(left)
    while left and len(state.found) < MOST_FOUND:
        reading = begin(left[:AT_A_TIME])
        while not reading.done():
            yield state, False
        for answer in reading.result():
            del left[0]
            state.read += 1
            if isinstance(answer, CopyText) and answer.url not in known:
                known.add(answer.url)
                marked = [parts for parts in answer.paragraphs if len(parts) > 1]
                if search.found_in(part for parts in marked for part in parts[1::2]):
                    state.found.append(FoundText(answer.url, excerpt_of(search, marked[0])))
        yield state, True


def excerpt_of(search: Search, marked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the part of a paragraph around its first marked words, marked again."""
    text, at = "".join(marked), len(marked[0])
    start = max(0, at - BEFORE)
    if start:
        start = text.find(" ", start, at) + 1 or start
    end = "…" if start + EXCERPT < len(text) else ""
    return search.parts(f"{'…' if start else ''}{text[start : start + EXCERPT]}{end}")


# the reading process


def main() -> None:
    """Read copies, one after the other."""
    source, out = alone()
    bound_memory(MEMORY)
    while (data := received(source)) is not None:
        bound_cpu(CPU_SECONDS)
        failure = None
        try:
            answer = text_of(_decode_request(data))
        except Exception as error:  # any error is the copy's
            answer = failure = Unreadable(f"it can't be read: {type(error).__name__}")
        out.write(framed(answer))
        out.flush()
        if failure is not None:
            return  # the next copy gets a fresh process


def text_of(request: CopyRequest) -> CopyText | Unreadable:
    """Return a kept copy as text, or why it can't be read."""
    # Imported on use: the window itself reads no page.
    from scentline.agents.judge.documents import format_of
    from scentline.agents.judge.parse import unread_of
    from scentline.agents.offline.archive import ArchiveError
    from scentline.agents.offline.archive import read as read_records

    path = Path(os.fsdecode(request.path))
    try:
        with path.open("rb") as file:
            file.seek(request.offset)
            found = file.read(min(request.length, _RECORDS))
        url, answer = read_records(path, BytesIO(found), 0)
    except FileNotFoundError:
        return Unreadable("its file was dropped")
    except (OSError, ArchiveError):
        return Unreadable("its file is damaged")
    if request.url not in ("", url):
        return Unreadable("its file has another page there")
    headers = {name.lower(): value for name, value in answer.headers}
    shown_headers = {name: printable(headers[name], LINE) for name in HEADERS if name in headers}
    kind = headers.get("content-type")
    form = format_of(answer.body, kind, tuple(MEDIA_TYPES))
    if not form and (unread := unread_of(answer.body, kind)):
        return CopyText(url, answer.status, shown_headers, unread=printable(unread, LINE))
    title, pieces = _title_and_pieces(answer.body, kind, form)
    paragraphs, cut = _bounded(pieces)
    marked = tuple(map(Search(phrases=request.phrases).parts, paragraphs))
    return CopyText(url, answer.status, shown_headers, shown(title)[:LINE], marked, cut)


def _title_and_pieces(body: bytes, kind: str | None, form: Format | None) -> tuple[str, Iterable[str]]:
    """Return a copy's title and the pieces of its text; raises `DocumentError`."""
    from scentline.agents.judge.decode import decode
    from scentline.agents.judge.documents import read as read_document
    from scentline.agents.judge.markup import read as read_markup
    from scentline.agents.judge.parse import is_plain

    if not form and is_plain(kind):
        return "", _EMPTY_LINES.split(decode(body, kind))
    markup = read_document(body, form, 0) if form else read_markup(decode(body, kind), 0, "")
    paragraphs = groupby(markup.parts, "\n".__eq__)
    return markup.title, ("".join(parts) for is_break, parts in paragraphs if not is_break)


def _bounded(pieces: Iterable[str]) -> tuple[list[str], bool]:
    """Return the non-empty paragraphs within the bounds, and whether there are more."""
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
