"""Documents that are not HTML, read as the events of markup: they are judged, teach and lead on as pages do.

Word's, OpenDocument's and EPUB's files are archives of XML, a feed is XML. A bounded part is unpacked and read.
Links within an archive are left out.
"""

import zlib
from collections.abc import Callable, Collection, Mapping
from io import BytesIO
from itertools import islice
from posixpath import dirname, join, normpath
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from lxml import etree

from scentline.agents.judge.decode import decode, kind_of
from scentline.agents.judge.markup import Markup, feed
from scentline.models.errors import ScentlineError
from scentline.models.formats import MEDIA_TYPES, PDF, ZIP, Format

#: Bytes that are unpacked of a document, and chapters that are read of a book.
MAX_BYTES, MAX_CHAPTERS = 10_000_000, 1_000
# Where PDF may begin, as Acrobat has it, and where a feed says what it is; and what an archive says, unpacked.
_HEAD = 1_024
_FEED = (b"<rss", b"<feed", b"<rdf:rdf")
_MARKS: Final[Mapping[Format, bytes]] = MappingProxyType({
    "docx": b"word/document", "odt": b"application/vnd.oasis.opendocument.text",
    "epub": b"application/epub+zip",
})  # fmt: skip
_BROKEN = (BadZipFile, zlib.error, etree.LxmlError, RuntimeError, EOFError, OSError, ValueError)
#: HTML's elements for those of word processors, by names without a namespace; a template's content is hidden.
_TAGS: Final = MappingProxyType(
    {"p": "p", "h": "h2", "a": "a", "hyperlink": "a", "tc": "td", "table-cell": "td"}
    | dict.fromkeys(("tab", "br", "cr", "s", "line-break"), "br")
    | dict.fromkeys(("instrText", "delText", "drawing", "pict", "tracked-changes", "annotation"), "template")
)
_PARSER: Final = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False,
    remove_comments=True, remove_pis=True,
)  # fmt: skip


class DocumentError(ScentlineError):
    """A document that can't be read; the text says why."""

    explains_itself = False


def format_of(body: bytes, content_type: str | None, formats: Collection[Format]) -> Format | None:
    """Return which of ``formats`` a body has; ``content_type`` is the HTTP header, the bytes decide."""
    kind, head = kind_of(content_type), body[:_HEAD]
    if "pdf" in formats and (PDF in head if kind in MEDIA_TYPES["pdf"] | {""} else body.startswith(PDF)):
        return "pdf"
    if "feed" in formats and kind in MEDIA_TYPES["feed"] | {""} and any(each in head.lower() for each in _FEED):
        return "feed"
    if body.startswith(ZIP):
        return next((each for each, mark in _MARKS.items() if each in formats and mark in body), None)
    return None


def read(body: bytes, form: Format, markup: Markup, links: int) -> None:
    """Tell ``markup`` of a document, with at most ``links`` links on a page; raises `DocumentError`."""
    try:
        if form == "pdf":
            # Imported here: it takes a while and 10 MB.
            from scentline.agents.judge.pdf import read as read_pdf

            read_pdf(body, markup, links)
        elif form == "feed":
            _feed(_xml(body.lstrip()), markup)
        else:
            _READERS[form](_Unpacked(body), markup)
            markup.base = markup.canonical = None
            markup.anchors = [anchor for anchor in markup.anchors if "://" in anchor.href]
    except _BROKEN as error:
        raise DocumentError(f"{form}: it is broken") from error
    markup.close()
    if not any(map(str.strip, markup.parts)):
        raise DocumentError(f"{form}: it has no text")


class _Unpacked:
    """The files of an archive by name, empty where there is none, `MAX_BYTES` of them in all."""

    def __init__(self, body: bytes) -> None:
        self._archive = ZipFile(BytesIO(body))
        self._left = MAX_BYTES
        self.names = self._archive.namelist()

    def __call__(self, name: str) -> bytes:
        try:
            found = self._archive.getinfo(name)
        except KeyError:
            return b""
        if found.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others unpack without a bound
            raise BadZipFile(name)
        with self._archive.open(found) as file:
            data = file.read(self._left)
        self._left -= len(data)
        return data


def _xml(data: bytes) -> Any:
    """Return the root of XML, as far as it can be read; raises ValueError where there is none."""
    # A document type of a few megabytes takes hundreds, and UTF-16 may hide one.
    root = None if b"<!DOCTYPE" in data or b"\0" in data else etree.fromstring(data, _PARSER)
    if root is None:
        raise ValueError("no XML")
    return root


def _title(markup: Markup, root: Any) -> None:
    """Tell of the first title that XML has."""
    if title := next((each.text for each in root.iter("{*}title") if each.text), ""):
        markup.start("title", {})
        markup.data(title)
        markup.end("title")


def _attribute(element: Any, name: str) -> str:
    """Return an attribute by its name without a namespace."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _docx(unpacked: _Unpacked, markup: Markup) -> None:
    name = next((name for name in unpacked.names if name.startswith(_MARKS["docx"].decode())), "")
    leads, styles = {}, {}
    if data := unpacked(f"word/_rels/{name.removeprefix('word/')}.rels"):
        leads = {each.get("Id"): each.get("Target", "") for each in _xml(data).iter("{*}Relationship")}
    if data := unpacked("word/styles.xml"):
        for style in _xml(data).iter("{*}style"):
            named = style.find("{*}name")
            styles[_attribute(style, "styleId")] = "" if named is None else _attribute(named, "val").lower()
    if data := unpacked("docProps/core.xml"):
        _title(markup, _xml(data))

    def heading(paragraph: Any) -> bool:
        style = paragraph.find("{*}pPr/{*}pStyle")
        return style is not None and styles.get(_attribute(style, "val"), "").startswith(("heading", "title"))

    _tell(markup, _xml(unpacked(name)), heading, lambda element: leads.get(_attribute(element, "id"), ""))


def _odt(unpacked: _Unpacked, markup: Markup) -> None:
    if data := unpacked("meta.xml"):
        _title(markup, _xml(data))
    _tell(markup, _xml(unpacked("content.xml")), lambda _: False, lambda element: _attribute(element, "href"))


def _tell(markup: Markup, root: Any, heading: Callable[[Any], bool], target: Callable[[Any], str]) -> None:
    """Tell of a text: which of its paragraphs are headings, and where a link leads, is asked."""
    body = root.find("{*}body")
    for event, element in etree.iterwalk(root if body is None else body, events=("start", "end")):
        if markup.full:
            return
        tag = _TAGS.get(element.tag.rpartition("}")[2], "span")
        if tag == "p" and heading(element):
            tag = "h2"
        if event == "start":
            markup.start(tag, {"href": target(element)} if tag == "a" else {})
            markup.data(element.text or "")
        else:
            markup.end(tag)
            markup.data(element.tail or "")


def _epub(unpacked: _Unpacked, markup: Markup) -> None:
    root = _xml(unpacked("META-INF/container.xml")).find(".//{*}rootfile")
    place = "" if root is None else root.get("full-path", "")
    package = _xml(unpacked(place))
    _title(markup, package)
    files = {item.get("id"): item.get("href", "") for item in package.iter("{*}item")}
    for chapter in islice(package.iter("{*}itemref"), MAX_CHAPTERS):
        name = normpath(join(dirname(place), unquote(files.get(chapter.get("idref"), ""))))
        feed(decode(unpacked(name), None), markup)


def _feed(root: Any, markup: Markup) -> None:
    """Tell of a feed: each entry's title is a heading and a link, its longest text follows."""
    _title(markup, root)
    for entry in root.iter("{*}item", "{*}entry"):
        if markup.full:
            return
        links = (each for each in entry.iterfind("{*}link") if each.get("rel", "alternate") == "alternate")
        href = next((found for each in links if (found := each.get("href") or (each.text or "").strip())), "")
        markup.start("h2", {})
        markup.start("a", {"href": href})
        markup.data(entry.findtext("{*}title") or "")
        markup.end("a")
        markup.end("h2")
        names = ("description", "summary", "encoded", "content")
        texts = ("".join(each.itertext()) for name in names for each in entry.iterfind(f"{{*}}{name}"))
        feed(max(texts, key=len, default=""), markup)


_READERS: Final[Mapping[Format, Callable[[_Unpacked, Markup], None]]] = MappingProxyType({
    "docx": _docx, "odt": _odt, "epub": _epub,
})  # fmt: skip
