"""Reading PDF as the events of markup: title, headings, text, and links at the words that they cover.

pdfium orders the characters of a page, and joins words that a line's end divides. No script is run, and no
embedded file read. What pdfium takes for a page has no bound but the process's (`agents.judge.apart`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from ctypes import byref, c_int, create_string_buffer
from itertools import chain, groupby, islice
from math import hypot
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pypdfium2 as pdfium
from pypdfium2 import raw

from scentline.agents.judge.documents import DocumentError
from scentline.agents.judge.markup import MAX_TEXT, MAX_TITLE, Markup
from scentline.models.url import MAX_LENGTH

MAX_PAGES = 500
#: Entries of an outline, and their levels.
MAX_OUTLINE, MAX_LEVELS = 2_000, 6
#: Characters of a line that may be a heading, and how many times as large as text it is without an entry; sizes
#: count as text's that so large a part of the commonest one's characters have.
MAX_LINE, LARGER, OFTEN = 200, 1.15, 0.2
#: Characters beside a link between two of its words: the spaces and line ends that pdfium inserts.
_GAP = 3

_LINE = re.compile(r"[^\w\r\n]*(\w)[^\r\n]*")
# pdfium writes U+0002 and U+FFFE for hyphens at line ends that divide a word.
_UNSEEN = dict.fromkeys(range(0x20), " ") | dict.fromkeys((0x02, 0xAD, 0xFFFE, 0xFFFF))
# Titles that programs make up.
_MADE_UP = re.compile(
    r"(?:untitled|title|document|slide|presentation|powerpoint presentation|microsoft (?:word|powerpoint)\b.*"
    r"|.*\.(?:docx?|odt|rtf|pptx?|xlsx?|tex|dvi|e?ps|pdf|indd|qxd|html?|txt))[ \d]*",
    re.IGNORECASE,
)


class _Line(NamedTuple):
    """A line as UTF-16 code units, the size of its first letter, and its parts with where they lead."""

    text: str
    size: float
    parts: list[tuple[str, str]]
    entry: bool  #: Whether the outline names it.


def read(body: bytes, markup: Markup, links: int) -> None:
    """Tell ``markup`` of at most `MAX_PAGES` pages, with at most ``links`` links; raises `DocumentError`."""
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
            if left <= 0:
                break
            pages.append(list(_lines(document, number, left, links, entries.get(number, frozenset()))))
            left -= sum(len(line.text) for line in pages[-1])
        _tell(markup, pages, _said(raw.FPDF_GetMetaText, document, b"Title"))


def _outline(document: Any) -> dict[int, set[str]]:
    """Return the entries of each page in the outline, as `_key` has them."""
    found: dict[int, set[str]] = {}
    for entry in islice(document.get_toc(MAX_LEVELS), MAX_OUTLINE):
        target = entry.get_dest()
        page = -1 if target is None else raw.FPDFDest_GetDestPageIndex(document, target)
        found.setdefault(page, set()).add(_key(_said(raw.FPDFBookmark_GetTitle, entry)))
    return found


def _key(line: str) -> str:
    """Return what a heading and its entry in an outline have in common: no numbers before it, no spaces."""
    return "".join(filter(str.isalnum, line[:MAX_LINE].casefold())).lstrip("0123456789")


def _lines(document: Any, number: int, most: int, links: int, entries: Iterable[str]) -> Iterator[_Line]:
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pdfium.PdfiumError:  # a broken page
        return
    handle, matrix = text_page.raw, raw.FS_MATRIX()
    codes = (raw.FPDFText_GetUnicode(handle, place) for place in range(min(text_page.count_chars(), most)))
    text = "".join(chr(code) if code < 0x110000 else " " for code in codes)
    spans = _spans(document, page, handle, len(text), links)
    for found in _LINE.finditer(text):
        line, first = found[0], found.start(1)
        raw.FPDFText_GetMatrix(handle, first, byref(matrix))
        size = raw.FPDFText_GetFontSize(handle, first) * hypot(matrix.c, matrix.d)
        yield _Line(line, round(size, 1), _parts(text, *found.span(), spans), _key(line) in entries)
    if without := [("", href) for start, _, href in spans if start == len(text)]:
        yield _Line("", 0.0, without, False)
    page.close()


def _parts(text: str, start: int, end: int, spans: list[tuple[int, int, str]]) -> list[tuple[str, str]]:
    """Return the parts of a line within links and between them."""
    found = []
    for first, last, href in spans:
        if first < end and last > start:
            found += [(text[start : max(first, start)], ""), (text[max(first, start) : min(last, end)], href)]
            start = min(last, end)
    return [*found, (text[start:end], "")]


def _spans(document: Any, page: Any, handle: Any, count: int, most: int) -> list[tuple[int, int, str]]:
    """Return the characters that links cover, in order and without overlaps, and their targets.

    A link that covers none, as one on a picture, is behind the last.
    """
    found: list[tuple[int, int, str]] = []
    middle = None
    place, link, box = c_int(), raw.FPDF_LINK(), raw.FS_RECTF()
    while len(found) < most and raw.FPDFLink_Enumerate(page, byref(place), byref(link)):
        href = _target(document, raw.FPDFLink_GetAction(link))
        if not href or not raw.FPDFLink_GetAnnotRect(link, byref(box)):
            continue
        edges = sorted((box.left, box.right)), sorted((box.bottom, box.top))
        middle = _middles(handle, count) if middle is None else middle
        (left, right), (bottom, top) = edges
        x, y = middle
        covered = np.flatnonzero((x >= left) & (x <= right) & (y >= bottom) & (y <= top))
        runs = np.split(covered, np.flatnonzero(np.diff(covered) > _GAP) + 1) if len(covered) else []
        found += [(int(run[0]), int(run[-1]) + 1, href) for run in runs] or [(count, count, href)]
    end, kept = 0, []
    for span in sorted(found):
        if span[0] >= end:
            kept.append(span)
            end = span[1]
    return kept


def _middles(handle: Any, count: int) -> Any:
    """Return the middles of characters, across and up."""
    box = raw.FS_RECTF()

    def middle(place: int) -> tuple[float, float]:
        raw.FPDFText_GetLooseCharBox(handle, place, byref(box))
        return (box.left + box.right) / 2, (box.bottom + box.top) / 2

    return np.array([middle(place) for place in range(count)]).reshape(count, 2).T


def _target(document: Any, action: Any) -> str:
    """Return where a link leads in the web, empty for another action."""
    if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
        return ""
    size = raw.FPDFAction_GetURIPath(document, action, None, 0)
    buffer = create_string_buffer(size)
    raw.FPDFAction_GetURIPath(document, action, buffer, size)
    return buffer.value.decode("utf-8", "replace") if size <= MAX_LENGTH else ""


def _said(call: Callable[..., int], *of: Any) -> str:
    """Return the text that a function of pdfium writes, on one line."""
    size = call(*of, None, 0)
    buffer = create_string_buffer(size)
    call(*of, buffer, size)
    text = buffer.raw[: min(max(0, size - 2), 2 * MAX_TITLE)].decode("utf-16-le", "surrogatepass")
    return " ".join(_seen(text).split())


def _seen(text: str) -> str:
    """Return the text of code units, without what nobody sees."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore").translate(_UNSEEN)


def _tell(markup: Markup, pages: list[list[_Line]], title: str) -> None:
    """Tell of lines as text and headings: those that the outline names, and those larger than most text."""
    sizes = Counter[float]()
    for line in chain.from_iterable(pages):
        sizes[line.size] += len(line.text)
    most = max(sizes.values(), default=0)
    usual = max((size for size, count in sizes.items() if count >= OFTEN * most), default=0.0)

    def rank(line: _Line) -> float:
        heads = (line.entry or line.size > LARGER * usual) and len(line.text) <= MAX_LINE
        return line.size if heads and any(map(str.isalpha, line.text)) else 0.0

    ranked = [[(size, list(lines)) for size, lines in groupby(page, rank)] for page in pages]
    if not title or _MADE_UP.fullmatch(title):
        size, lines = max(next(filter(None, ranked), []), key=itemgetter(0), default=(0.0, []))
        title = " ".join(_seen(line.text) for line in lines) if size else ""
    markup.start("title", {})
    markup.data(title)
    markup.end("title")
    for heading, lines in chain.from_iterable(ranked):
        tag = "h2" if heading else "div"
        markup.start(tag, {})
        _tell_lines(markup, lines)
        markup.end(tag)


def _tell_lines(markup: Markup, lines: Iterable[_Line]) -> None:
    """Tell of lines; a link may go on from one to the next."""
    leads = ""
    for part, href in ((part, href) for line in lines for part, href in (*line.parts, (" ", ""))):
        if href != leads and (href or part.strip()):
            if leads:
                markup.end("a")
            if href:
                markup.start("a", {"href": href})
            leads = href
        markup.data(_seen(part))
    if leads:
        markup.end("a")
