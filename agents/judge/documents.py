"""Documents that are not HTML, read as the events of markup: they are judged, teach and lead on as pages do.

Word's, OpenDocument's and EPUB's files are archives of XML, a feed is XML. A bounded part is unpacked and read.
Links within an archive are left out.
"""

import re
import zlib
from collections.abc import Collection, Mapping
from html.entities import html5
from io import BytesIO
from itertools import islice
from posixpath import dirname, join, normpath
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from lxml import etree

from scentline.agents.judge.decode import binary, decode, kind_of
from scentline.agents.judge.markup import Markup, TracedMarkup, feed
from scentline.models.errors import ScentlineError
from scentline.models.formats import MEDIA_TYPES, PDF, ZIP, Format

#: Bytes that are unpacked of a document, and chapters that are read of a book.
MAX_BYTES, MAX_CHAPTERS = 10_000_000, 1_000
# Where PDF may begin, as Acrobat has it, and where a feed says what it is; and what an archive says, unpacked.
_HEAD = 1_024
_FEED = (b"<rss", b"<feed", b"<rdf:rdf")
_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z0-9]+;)")
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


def format_of(body: bytes, content_type: str | None, formats: Collection[Format]) -> Format | None:
    """Return which of ``formats`` a body has; ``content_type`` is the HTTP header, the bytes decide."""
    kind, head = kind_of(content_type), body[:_HEAD]
    found: Format | None = None
    if PDF in (head if kind in MEDIA_TYPES["pdf"] | {""} else body[: len(PDF)]):
        found = "pdf"
    elif body.startswith(ZIP):
        found = next((each for each, mark in _MARKS.items() if mark in body), None)
    elif kind in MEDIA_TYPES["feed"] | {""} and any(mark in head.lower() for mark in _FEED):
        found = "feed"
    return found if found in formats else None


def read(body: bytes, form: Format, links: int, agent: str = "", *, paths: bool = False) -> Markup:
    """Return the content of a document as `agents.judge.markup.read` does; raises `DocumentError`."""
    markup = TracedMarkup(links, agent) if paths else Markup(links, agent)
    try:
        if form == "pdf":
            # Imported here: it takes a while and 10 MB.
            from scentline.agents.judge.pdf import read as read_pdf

            read_pdf(body, markup, links)
        elif form == "feed":
            _feed(_xml(_ENTITY.sub(_numbered, body.lstrip())), markup)
        else:
            _READERS[form](_Unpacked(body), markup)
            markup.base = markup.canonical = None
            markup.anchors = [anchor for anchor in markup.anchors if "://" in anchor.href]
    except _BROKEN as error:
        raise DocumentError(f"{form}: it is broken") from error
    markup.close()
    if not any(map(str.strip, markup.parts)):
        raise DocumentError(f"{form}: it has no text")
    return markup


def _numbered(entity: re.Match[bytes]) -> bytes:
    """Return an entity of HTML, which XML does not know, in numbers; any other as it is."""
    signs = html5.get(entity[1].decode())
    return entity[0] if signs is None else b"".join(b"&#%d;" % ord(sign) for sign in signs)


class _Unpacked:
    """The files of an archive by name, `MAX_BYTES` of them in all; one that is missing is empty."""

    def __init__(self, body: bytes) -> None:
        self._archive = ZipFile(BytesIO(body))
        self._left = MAX_BYTES
        self.names = frozenset(self._archive.namelist())

    def data(self, name: str) -> bytes:
        """Return a file; raises what `ZipFile` raises."""
        if name not in self.names:
            return b""
        found = self._archive.getinfo(name)
        if found.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others unpack without a bound
            raise BadZipFile(name)
        with self._archive.open(found) as file:
            data = file.read(self._left)
        self._left -= len(data)
        return data

    def xml(self, name: str) -> Any:
        """Return the root of a file."""
        data = self.data(name)
        return _xml(data) if data else etree.Element("missing")


def _xml(data: bytes) -> Any:
    """Return the root of XML, as far as it can be read; raises ValueError where there is none."""
    # One with declarations, unlike RSS 0.91's, may take a hundred times its size. UTF-16 may hide it.
    data = re.sub(rb"<!DOCTYPE[^][<>]*>", b"", data, count=1)
    root = None if b"<!DOCTYPE" in data or b"\0" in data else etree.fromstring(data, _PARSER)
    if root is None:
        raise ValueError("no XML")
    return root


def _title(root: Any) -> str:
    """Return the first title that XML has, empty without one."""
    return next((each.text for each in root.iter("{*}title") if each.text), "")


def _attribute(element: Any, name: str) -> str:
    """Return an attribute by its name without a namespace."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _docx(unpacked: _Unpacked, markup: Markup) -> None:
    name = min((name for name in unpacked.names if name.startswith("word/document")), default="")
    related = unpacked.xml(f"word/_rels/{name.removeprefix('word/')}.rels").iter("{*}Relationship")
    styles = unpacked.xml("word/styles.xml").iterfind(".//{*}style/{*}name")
    heads = (each for each in styles if _attribute(each, "val").lower().startswith(("heading", "title")))
    markup.title = _title(unpacked.xml("docProps/core.xml"))
    _tell(
        markup, unpacked.xml(name), {each.get("Id"): each.get("Target", "") for each in related},
        {_attribute(each.getparent(), "styleId") for each in heads},
    )  # fmt: skip


def _odt(unpacked: _Unpacked, markup: Markup) -> None:
    markup.title = _title(unpacked.xml("meta.xml"))
    _tell(markup, unpacked.xml("content.xml"), {}, ())


def _tell(markup: Markup, root: Any, targets: Mapping[str, str], headings: Collection[str]) -> None:
    """Tell of a text, with the ``targets`` of links by identifier, and the styles that are ``headings``."""
    body = root.find("{*}body")
    for event, element in etree.iterwalk(root if body is None else body, events=("start", "end")):
        if markup.full:
            return
        tag = _TAGS.get(element.tag.rpartition("}")[2], "span")
        style = element.find("{*}pPr/{*}pStyle") if tag == "p" and headings else None
        if style is not None and _attribute(style, "val") in headings:
            tag = "h2"
        if event == "start":
            target = targets.get(_attribute(element, "id"), _attribute(element, "href"))
            markup.start(tag, {"href": target} if tag == "a" else {})
            markup.data(element.text or "")
        else:
            markup.end(tag)
            markup.data(element.tail or "")


def _epub(unpacked: _Unpacked, markup: Markup) -> None:
    root = unpacked.xml("META-INF/container.xml").find(".//{*}rootfile")
    place = "" if root is None else root.get("full-path", "")
    package = unpacked.xml(place)
    files = {item.get("id"): item.get("href", "") for item in package.iter("{*}item")}
    for chapter in islice(package.iter("{*}itemref"), MAX_CHAPTERS):
        name = normpath(join(dirname(place), unquote(files.get(chapter.get("idref"), ""))))
        if not binary(data := unpacked.data(name)):  # such as an encrypted one
            feed(decode(data, None), markup)
    markup.title = _title(package) or markup.title


def _feed(root: Any, markup: Markup) -> None:
    """Tell of a feed: each entry's title is a heading and a link, its longest text follows."""
    for entry in root.iter("{*}item", "{*}entry"):
        if markup.full:
            break
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
    markup.title = _title(root)


_READERS: Final = MappingProxyType({"docx": _docx, "odt": _odt, "epub": _epub})
