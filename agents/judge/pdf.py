"""Reading PDF as the events of markup: title, headings, text, and links at the words that they cover.

pdfium orders the characters of a page, and joins words that a line's end divides. No script is run, and no
embedded file read. What pdfium takes for a page has no bound but the process's (`agents.judge.apart`).
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from ctypes import byref, c_int, create_string_buffer
from itertools import chain, groupby, islice
from math import hypot
from operator import itemgetter
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pypdfium2 as pdfium
from pypdfium2 import raw

from scentline.agents.judge.documents import DocumentError
from scentline.agents.judge.markup import MAX_TEXT, MAX_TITLE, Markup

MAX_PAGES = 500
#: Entries of an outline, and their levels.
MAX_OUTLINE, MAX_LEVELS = 2_000, 6
#: Characters of a line that may be a heading, and how many times as large as text it is without an entry; sizes
#: count as text's that so large a part of the commonest one's characters have.
MAX_LINE, LARGER, OFTEN = 200, 1.15, 0.2

_LINE = re.compile(r"[^\w\r\n]*(\w)[^\r\n]*")
# pdfium writes U+0002 and U+FFFE for hyphens at line ends that divide a word.
_UNSEEN = dict.fromkeys(range(0x20), " ") | dict.fromkeys((0x02, 0xAD, 0xFFFE, 0xFFFF))
# Old fonts have no accented letters: an accent stands before its letter, and an i under one has no dot.
_BARE, _MARKS = "´¨ˆ˜ˇ˘˙˚¸¯˝", "\u0301\u0308\u0302\u0303\u030c\u0306\u0307\u030a\u0327\u0304\u030b"
_ACCENTED = re.compile(f"([{_BARE}])([AaCcEeIiNnOoRrSsUuYyZzı])")
# Titles that programs make up.
_MADE_UP = re.compile(
    r"(untitled|title|document|slide|presentation|microsoft (word|powerpoint)\b.*|.*\.[a-z]{2,4})[ \d]*", re.I
)


class _Line(NamedTuple):
    """A line, the size of its first letter, and its parts with where they lead, as code units of UTF-16."""

    text: str
    size: float
    parts: list[tuple[str, str]]
    entry: bool  #: Whether the outline names it.


def read(body: bytes, markup: Markup, links: int) -> None:
    """Tell ``markup`` of a document, with at most ``links`` links on a page; raises `DocumentError`."""
    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        locked = error.err_code == raw.FPDF_ERR_PASSWORD
        raise DocumentError("pdf: it needs a password" if locked else "pdf: it is broken") from error
    with document:
        entries = _outline(document)
        pages: list[list[_Line]] = []
        left = MAX_TEXT
        for number in range(min(len(document), MAX_PAGES)):
            if left > 0:
                pages.append(list(_lines(document, number, left, links, entries.get(number, ()))))
                left -= sum(len(line.text) for line in pages[-1])
        _tell(markup, pages, _line(raw.FPDF_GetMetaText, document, b"Title"))


def _outline(document: Any) -> dict[int, set[str]]:
    """Return the entries of each page in the outline, as `_key` has them."""
    found: dict[int, set[str]] = {}
    for entry in islice(document.get_toc(MAX_LEVELS), MAX_OUTLINE):
        target = entry.get_dest()
        page = -1 if target is None else raw.FPDFDest_GetDestPageIndex(document, target)
        found.setdefault(page, set()).add(_key(_line(raw.FPDFBookmark_GetTitle, entry)))
    return found


def _key(line: str) -> str:
    """Return what a heading and its entry in an outline have in common: no numbers before it, no spaces."""
    return "".join(filter(str.isalnum, line[:MAX_LINE].casefold())).lstrip("0123456789")


def _lines(document: Any, number: int, most: int, links: int, entries: Container[str]) -> Iterator[_Line]:
    """Yield the lines of a page; links that cover no text, as on pictures, are in the last."""
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pdfium.PdfiumError:  # a broken page
        return
    handle, matrix = text_page.raw, raw.FS_MATRIX()
    codes = (raw.FPDFText_GetUnicode(handle, place) for place in range(min(text_page.count_chars(), most)))
    text = "".join(chr(code) if code < 0x110000 else " " for code in codes)
    targets, covers = _links(document, page, handle, len(text), links)
    for found in _LINE.finditer(text):
        line, first = found[0], found.start(1)
        raw.FPDFText_GetMatrix(handle, first, byref(matrix))
        size = raw.FPDFText_GetFontSize(handle, first) * hypot(matrix.c, matrix.d)
        runs = groupby(zip(covers[slice(*found.span())], line, strict=True), itemgetter(0))
        parts = [("".join(sign for _, sign in run), targets[link]) for link, run in runs]
        yield _Line(line, round(size, 1), parts, _key(line) in entries)
    if bare := set(range(1, len(targets))).difference(covers):
        yield _Line("", 0.0, [("", targets[link]) for link in sorted(bare)], False)
    page.close()


def _links(document: Any, page: Any, handle: Any, count: int, most: int) -> tuple[list[str], list[int]]:
    """Return the targets of links, and the place among them of the link that covers each character.

    The first target is empty: no link.
    """
    targets, areas = [""], []
    place, link, box = c_int(), raw.FPDF_LINK(), raw.FS_RECTF()
    while len(targets) <= most and raw.FPDFLink_Enumerate(page, byref(place), byref(link)):
        action = raw.FPDFLink_GetAction(link)
        if raw.FPDFLink_GetAnnotRect(link, byref(box)) and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            target = _written(raw.FPDFAction_GetURIPath, document, action)
            targets.append(target.rstrip(b"\0").decode("utf-8", "replace"))
            areas.append((*sorted((box.left, box.right)), *sorted((box.bottom, box.top))))
    covers = np.zeros(count, np.int32)
    if areas:
        middles = []
        for char in range(count):
            raw.FPDFText_GetLooseCharBox(handle, char, byref(box))
            middles.append((box.left + box.right, box.bottom + box.top))
        x, y = np.array(middles).reshape(count, 2).T / 2
        for number, (left, right, bottom, top) in enumerate(areas, 1):
            covers[(x >= left) & (x <= right) & (y >= bottom) & (y <= top)] = number
    return targets, covers.tolist()


def _written(call: Callable[..., int], *of: Any) -> bytes:
    """Return what a function of pdfium writes, with zeros at its end."""
    size = call(*of, None, 0)
    buffer = create_string_buffer(size)
    call(*of, buffer, size)
    return buffer.raw


def _line(call: Callable[..., int], *of: Any) -> str:
    """Return the beginning of a text that a function of pdfium writes, on one line."""
    return " ".join(_seen(_written(call, *of)[: 2 * MAX_TITLE].decode("utf-16-le", "ignore")).split())


def _seen(text: str) -> str:
    """Return the text of code units with accented letters, without what nobody sees."""
    seen = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore").translate(_UNSEEN)
    return _ACCENTED.sub(lambda a: normalize("NFC", a[2].replace("ı", "i") + _MARKS[_BARE.index(a[1])]), seen)


def _tell(markup: Markup, pages: list[list[_Line]], title: str) -> None:
    """Tell of lines as text and headings: those that the outline names, and those larger than most text."""
    sizes = Counter[float]()
    for line in chain.from_iterable(pages):
        sizes[line.size] += len(line.text)
    often = OFTEN * max(sizes.values(), default=0)
    usual = max((size for size, count in sizes.items() if count >= often), default=0.0)

    def rank(line: _Line) -> float:
        heads = (line.entry or line.size > LARGER * usual) and len(line.text) <= MAX_LINE
        return line.size if heads and any(map(str.isalpha, line.text)) else 0.0

    if not title or _MADE_UP.fullmatch(title):
        ranked = ((size, list(lines)) for size, lines in groupby(next(filter(None, pages), ()), rank))
        size, lines = max(ranked, key=itemgetter(0), default=(0.0, []))
        title = " ".join(_seen(line.text) for line in lines) if size else ""
    markup.title = title
    for heads, block in chain.from_iterable(groupby(page, rank) for page in pages):
        tag = "h2" if heads else "div"
        markup.start(tag, {})
        _tell_lines(markup, block)
        markup.end(tag)


def _tell_lines(markup: Markup, lines: Iterable[_Line]) -> None:
    """Tell of lines; a link may go on from one to the next."""
    leads = ""
    for part, href in chain.from_iterable((*line.parts, (" ", "")) for line in lines):
        if href != leads and (href or part.strip()):
            if leads:
                markup.end("a")
            if href:
                markup.start("a", {"href": href})
            leads = href
        markup.data(_seen(part))
    if leads:
        markup.end("a")
