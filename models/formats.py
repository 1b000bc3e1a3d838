"""The documents that are read as pages beside HTML and plain text: their media types and first bytes."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

#: ``feed`` is RSS and Atom.
Format: TypeAlias = Literal["pdf", "docx", "odt", "epub", "feed"]
#: Media types of feeds.
FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
MEDIA_TYPES: Final = MappingProxyType[Format, frozenset[str]]({
    "pdf": frozenset({"application/pdf", "application/x-pdf"}),
    "docx": frozenset({"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}),
    "odt": frozenset({"application/vnd.oasis.opendocument.text"}),
    "epub": frozenset({"application/epub+zip"}),
    "feed": FEED_TYPES | {"application/xml", "text/xml"},
})  # fmt: skip
#: How the files of PDF begin, and those of the others but feeds.
PDF, ZIP = b"%PDF-", b"PK\x03\x04"
#: Media types that say nothing of the bytes.
UNKNOWN: Final = frozenset({
    "application/octet-stream", "binary/octet-stream", "application/x-download", "application/force-download",
    "application/x-unknown", "unknown/unknown", "*/*",
})  # fmt: skip
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml", "text/plain"})


def readable(formats: Iterable[Format]) -> frozenset[str]:
    """Return the media types that may be those of pages: of a document, any that says nothing.

    >>> "application/pdf" in readable(["pdf"]), "application/pdf" in readable([])
    (True, False)
    """
    return _PAGES.union(*(MEDIA_TYPES[each] | UNKNOWN for each in formats))
