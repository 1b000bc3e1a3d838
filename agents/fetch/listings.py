"""Listings of pages with the times of their changes: sitemaps, their indexes, and feeds of RSS and Atom.

Sitemaps: sitemaps.org/protocol.html, with the dates of news sitemaps. Feeds: RSS 0.9 to 2.0, RSS 1.0 (RDF) with
the dates of Dublin Core, Atom (RFC 4287). All are read by one parser within the same bounds.
"""

import io
import re
from collections.abc import Mapping
from contextlib import suppress
from html import unescape
from itertools import islice
from typing import Any, NamedTuple

from scentline.agents.fetch.result import FetchError, gunzip
from scentline.models.dates import seconds_of

#: Bytes of a listing that are read, before and after decompression; the protocol allows five times as much.
MAX_BYTES = 10_000_000
MAX_URLS = 50_000  #: Of a listing's URLs, those that are looked at.
_MAX_URL = 2_000
#: Elements within each other after which a listing is read no further: a parser with a target of its own bounds
#: them by nothing, and 10 MB of open ones take 400 MB. A sitemap with extensions has four or five.
MAX_NESTING = 100
# What makes a listing unread: of a document type a few megabytes take hundreds, and UTF-16 may hide one.
_UNREAD = (b"<!DOCTYPE", b"\0")
_GZIP = b"\x1f\x8b"
_STEP = 65_536
MOST_LONE = 200_000  #: Ampersands and sections of CDATA of a text that is rewritten (`_escaped`).
_LONE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_BOM = b"\xef\xbb\xbf"

_FEEDS = frozenset({"rss", "rdf", "feed"})  # The outermost elements of feeds.
# The elements that tell of pages or files, in feeds and in others, each with that of its URL.
_ENTRIES = {True: {"item": "link", "entry": "link"}, False: {"url": "loc", "sitemap": "loc"}}
# Elements of dates, by those that they stand in.
_DATES = {
    "url": {"lastmod"},
    "news": {"publication_date"},
    "sitemap": {"lastmod"},
    "item": {"pubdate", "date", "modified", "updated"},
    "entry": {"updated", "published", "modified", "issued"},
}

#: Media types of feeds.
FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
# Bytes of a page in which it names its feeds, and what names one.
_HEAD = 65_536
_LINK = re.compile(rb"<link\b([^<>]{1,1000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\b([a-z]{1,20})\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


class Dated(NamedTuple):
    """A URL, and when what it leads to is said to have changed, in seconds since the epoch."""

    url: str
    time: float | None = None


class Listing:
    """The content of a sitemap or a feed, spelled as it came; takes the events of lxml's parser.

    A URL or a date counts by the element that it stands in.
    """

    def __init__(self) -> None:
        self.urls: list[Dated] = []  #: Of pages.
        self.files: list[Dated] = []  #: Of the files that an index names.
        self.feed = False
        self.open: list[str] = []  #: The elements that are open, by name.
        self._text: list[str] | None = None
        self._entries = _ENTRIES[False]
        # Of the page or file that is read: among which it is, where there, and its last date so far.
        self._into: list[Dated] | None = None
        self._place: int | None = None
        self._time: float | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        name = tag.rpartition("}")[2].lower()
        within = self.open[-1] if self.open else ""
        if not within:
            self.feed = name in _FEEDS
            self._entries = _ENTRIES[self.feed]
        self.open.append(name)
        self._text = None
        if name in self._entries:
            self._into = self.files if name == "sitemap" else self.urls
            self._place = self._time = None
        elif self._into is not None and (name == self._entries.get(within) or name in _DATES.get(within, ())):
            self._text = []
            # Of Atom: a link to the page itself says so, or nothing.
            if name == "link" and attributes.get("rel", "alternate") == "alternate":
                self._text.append(attributes.get("href", ""))

    def data(self, text: str) -> None:
        """Take a part of an element's text."""
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        """Close an element: its text is a URL or a date."""
        name = self.open.pop()
        if name in self._entries:
            self._into = None
        elif self._text is not None and self._into is not None:
            text = "".join(self._text).strip()
            if name not in ("loc", "link"):
                self._dated(seconds_of(text))
            elif self._place is None and 0 < len(text) <= _MAX_URL:
                self._place = len(self._into)
                self._into.append(Dated(text, self._time))
        self._text = None

    def _dated(self, time: float | None) -> None:
        if time is not None and (self._time is None or time > self._time):
            self._time = time
            if self._into is not None and self._place is not None:
                self._into[self._place] = self._into[self._place]._replace(time=time)

    def close(self) -> None:
        """Do nothing at the end: lxml calls it."""


def feed_of(body: bytes) -> str | None:
    """Return the feed that a page's HTML names first, as it is spelled; None where it names none.

    Further ones are of comments or of parts of the site, most often.
    """
    head = body[:_HEAD]
    if not any(kind.encode() in head for kind in FEED_TYPES):
        return None
    for found in _LINK.finditer(head):
        attributes = {
            name.lower(): unescape("".join(value))
            for name, *value in _ATTRIBUTE.findall(found[1].decode("utf-8", "replace"))
        }
        if attributes.get("type", "").strip().lower() in FEED_TYPES:
            relations = attributes.get("rel", "").lower().split()
            if "alternate" in relations and "nofollow" not in relations and "href" in attributes:
                return attributes["href"]
    return None


def read(body: bytes) -> Listing:
    """Read a sitemap in XML or as lines of text, or a feed, compressed or not; at most `MAX_URLS` of it.

    Never raises: what is broken is read as far as it goes, what is no listing is an empty one.
    """
    if body.startswith(_GZIP):
        try:
            body = gunzip(body, MAX_BYTES)
        except FetchError:
            return Listing()
    text = body.removeprefix(_BOM).lstrip()
    if text.startswith(b"<"):
        return _xml(text)
    found = Listing()
    for line in islice(io.BytesIO(text), MAX_URLS):
        if line.startswith((b"http://", b"https://")) and len(line) <= _MAX_URL:
            found.urls.append(Dated(line.decode("utf-8", "replace").strip()))
    return found


def _xml(text: bytes) -> Listing:
    if any(mark in text for mark in _UNREAD):
        return Listing()
    # Imported where it is used: few crawls read any, and it takes 4 MB.
    from lxml import etree

    found = Listing()
    parser: Any = etree.XMLParser(
        target=found,  # type: ignore[arg-type]  # the stubs know no other target than their own protocol
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        recover=True,
        huge_tree=False,
    )
    text = _escaped(text)
    with suppress(etree.XMLSyntaxError):  # as far as it goes
        for start in range(0, len(text), _STEP):
            parser.feed(text[start : start + _STEP])
            if len(found.urls) + len(found.files) >= MAX_URLS or len(found.open) > MAX_NESTING:
                break
        else:
            parser.close()
    del found.urls[MAX_URLS:], found.files[MAX_URLS:]
    return found


def _escaped(text: bytes) -> bytes:
    """Return XML in which an ampersand that begins no entity of XML's own is text.

    libxml2 goes on behind one that it does not know, such as `&nbsp;`, and loses all that come later. A text
    with more of them than `MOST_LONE` stays as it is: it would take much more memory.
    """
    if text.count(b"&") + text.count(b"<![CDATA[") > MOST_LONE:
        return text
    first, *others = text.split(b"<![CDATA[")
    found = [_LONE.sub(b"&amp;", first)]
    for part in others:
        inside, end, outside = part.partition(b"]]>")
        found += (b"<![CDATA[", inside, end, _LONE.sub(b"&amp;", outside))
    return b"".join(found)
