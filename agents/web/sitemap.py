"""The text of a sitemap: the URLs that it lists, or the sitemaps that an index lists.

The protocol is that of sitemaps.org/protocol.html.
"""

import io
from itertools import islice
from typing import Any

from lxml import etree

from agents.web.body import gunzip
from agents.web.result import FetchError

#: Bytes of a sitemap that are read, before and after decompression; the protocol allows five times as much.
MAX_BYTES = 10_000_000
#: Of a sitemap's URLs, those that are looked at.
MAX_URLS = 50_000
_MAX_URL = 2_000
#: Elements within each other after which a sitemap is read no further: a parser with a target of its own bounds
#: them by nothing, and 10 MB of open ones take 400 MB. A sitemap with extensions has four or five.
MAX_DEPTH = 100
# What no sitemap holds. Of a document type a few megabytes take hundreds, and in UTF-16 it could not be seen.
_NO_SITEMAP = (b"<!DOCTYPE", b"\0")
_GZIP = b"\x1f\x8b"
_STEP = 65_536
_BOM = b"\xef\xbb\xbf"


class Sitemap:
    """What a sitemap holds: ``urls`` of pages, and ``sitemaps`` where it is an index. Spelled as they came."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.sitemaps: list[str] = []


def read(body: bytes, limit: int = MAX_URLS) -> Sitemap:
    r"""Read a sitemap in XML or as lines of text, compressed or not; at most ``limit`` URLs of it.

    Never raises: what is broken is read as far as it goes, what is no sitemap is an empty one.

    >>> read(b"http://example.org/a\nhttp://example.org/b\n").urls
    ['http://example.org/a', 'http://example.org/b']
    """
    if body.startswith(_GZIP):
        try:
            body = gunzip(body, MAX_BYTES)
        except FetchError:
            return Sitemap()
    text = body.removeprefix(_BOM).lstrip()
    return _xml(text, limit) if text.startswith(b"<") else _lines(text, limit)


def _lines(text: bytes, limit: int) -> Sitemap:
    found = Sitemap()
    for line in islice(io.BytesIO(text), limit):
        if line.startswith((b"http://", b"https://")) and len(line) <= _MAX_URL:
            found.urls.append(line.decode("utf-8", "replace").strip())
    return found


def _xml(text: bytes, limit: int) -> Sitemap:
    if any(mark in text for mark in _NO_SITEMAP):
        return Sitemap()
    target = _Target()
    parser: Any = etree.XMLParser(
        target=target,  # type: ignore[arg-type]  # the stubs know no other target than their own protocol
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        recover=True,
        huge_tree=False,
    )
    try:
        for start in range(0, len(text), _STEP):
            parser.feed(text[start : start + _STEP])
            if len(target.found.urls) + len(target.found.sitemaps) >= limit or target.depth > MAX_DEPTH:
                break
        else:
            parser.close()
    except etree.XMLSyntaxError:
        pass  # as far as it goes
    del target.found.urls[limit:], target.found.sitemaps[limit:]
    return target.found


class _Target:
    """Takes the parser's events: a <loc> counts by the element that it stands in."""

    def __init__(self) -> None:
        self.found = Sitemap()
        self._open: list[str] = []
        self._text: list[str] | None = None

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self._open)

    def start(self, tag: str, attributes: object) -> None:
        self._open.append(tag.rpartition("}")[2].lower())
        if self._open[-1] == "loc":
            self._text = []

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        if self._text is not None and self._open[-1] == "loc":
            url = "".join(self._text).strip()
            into = {"url": self.found.urls, "sitemap": self.found.sitemaps}.get("".join(self._open[-2:-1]))
            if into is not None and len(url) <= _MAX_URL:
                into.append(url)
        self._text = None
        self._open.pop()

    def close(self) -> None:
        """Take note of the end."""
