"""Sitemaps that robots.txt names, and feeds that pages name: which are due, and the pages that they list.

Sitemaps: sitemaps.org/protocol.html, with the dates of news sitemaps. Feeds: RSS 0.9 to 2.0, RSS 1.0 (RDF) with
the dates of Dublin Core, Atom (RFC 4287). All are read by one parser within the same bounds.
"""

import asyncio
import codecs
import io
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from html import unescape
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scentline.agents.fetch.result import DAY, GZIP_HEAD, Answer, Ask, FetchError, inflated, unexpected
from scentline.agents.fetch.servers import Recent
from scentline.models.dates import seconds_of
from scentline.models.formats import FEED_TYPES
from scentline.models.records import Version
from scentline.models.settings import RevisitSettings
from scentline.models.url import canonical, host

#: Bytes of a listing that are read, before and after decompression; the protocol allows five times as much.
LISTING_BYTES = 10_000_000
MAX_URLS = 50_000  #: URLs read of a listing, at most.
_MAX_URL = 2_000
#: Nested elements after which a listing is read no further: a parser with a custom target does not bound them,
#: and 10 MB of open ones take 400 MB. A sitemap with extensions has four or five.
MAX_NESTING = 100
# Listings with these are not read: a document type of a few megabytes takes hundreds, and UTF-16 may hide one.
_UNREAD = (b"<!DOCTYPE", b"\0")
MOST_LONE = 200_000  #: Ampersands and sections of CDATA of a text that is rewritten (`_escaped`).
_LONE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")

# The elements of pages and files, in feeds (True) and in sitemaps, each with that of its URL.
_ENTRIES = {True: {"item": "link", "entry": "link"}, False: {"url": "loc", "sitemap": "loc"}}
# Elements of dates, by their parents.
_DATES = {
    "url": {"lastmod"},
    "news": {"publication_date"},
    "sitemap": {"lastmod"},
    "item": {"pubdate", "date", "modified", "updated"},
    "entry": {"updated", "published", "modified", "issued"},
}

# Bytes of a page that are searched for feeds, and of XML that are parsed at once; and what names a feed.
_HEAD = 65_536
_LINK = re.compile(rb"<link\b([^<>]{1,1000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\b([a-z]{1,20})\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)


class Dated(NamedTuple):
    """A URL, and the stated time of its content's last change, in seconds since the epoch."""

    url: str
    time: float | None = None


class Listing:
    """The content of a sitemap or a feed, as spelled; receives the events of lxml's parser."""

    def __init__(self) -> None:
        self.urls: list[Dated] = []  #: Of pages.
        self.files: list[Dated] = []  #: Of the files that an index names.
        self.feed = False
        self.open: list[str] = []  #: The names of the open elements.
        self._text: list[str] | None = None
        self._entries = _ENTRIES[False]
        # Of the current page or file: its list, its place there, and its last date so far.
        self._into: list[Dated] | None = None
        self._place: int | None = None
        self._time: float | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        name = tag.rpartition("}")[2].lower()
        within = self.open[-1] if self.open else ""
        if not within:
            self.feed = name in ("rss", "rdf", "feed")
            self._entries = _ENTRIES[self.feed]
        self.open.append(name)
        self._text = None
        if name in self._entries:
            self._into = self.files if name == "sitemap" else self.urls
            self._place = self._time = None
        elif self._into is not None and (name == self._entries.get(within) or name in _DATES.get(within, ())):
            self._text = []
            # In Atom a link to the page itself is an alternate, or has no relation.
            if name == "link" and attributes.get("rel", "alternate") == "alternate":
                self._text.append(attributes.get("href", ""))

    def data(self, text: str) -> None:
        """Add a part of an element's text."""
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
                self._time = _last(self._time, seconds_of(text))
                if self._place is not None:
                    self._into[self._place] = Dated(self._into[self._place].url, self._time)
            elif self._place is None and 0 < len(text) <= _MAX_URL:
                self._place = len(self._into)
                self._into.append(Dated(text, self._time))
        self._text = None

    def close(self) -> None:
        """Do nothing at the end: lxml calls it."""


def feed_of(body: bytes) -> str | None:
    """Return the first feed that a page's HTML names, as spelled; None without one.

    Further ones are mostly of comments or of parts of the site.
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

    Never raises: a broken listing is read as far as it goes, anything else is an empty one.
    """
    if body.startswith(GZIP_HEAD):
        try:
            body = inflated(body, LISTING_BYTES, gzip=True)
        except FetchError:
            return Listing()
    text = body.removeprefix(codecs.BOM_UTF8).lstrip()
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
        resolve_entities=False, no_network=True, load_dtd=False, recover=True, huge_tree=False,
    )  # fmt: skip
    text = _escaped(text)
    with suppress(etree.XMLSyntaxError):  # as far as it goes
        for start in range(0, len(text), _HEAD):
            parser.feed(text[start : start + _HEAD])
            if len(found.urls) + len(found.files) >= MAX_URLS or len(found.open) > MAX_NESTING:
                break
        else:
            parser.close()
    del found.urls[MAX_URLS:], found.files[MAX_URLS:]
    return found


def _escaped(text: bytes) -> bytes:
    """Return XML in which an ampersand that begins none of XML's own entities is escaped.

    libxml2 skips an entity that it does not know, such as `&nbsp;`, and loses all that come later. A text with
    more than `MOST_LONE` of them stays as it is: it would take much more memory.
    """
    if text.count(b"&") + text.count(b"<![CDATA[") > MOST_LONE:
        return text
    first, *others = text.split(b"<![CDATA[")
    found = [_LONE.sub(b"&amp;", first)]
    for part in others:
        inside, end, outside = part.partition(b"]]>")
        found += (b"<![CDATA[", inside, end, _LONE.sub(b"&amp;", outside))
    return b"".join(found)


MAX_FILES = 100  #: Files read of one host: sitemaps, indexes and redirects to them.
#: Indexes within indexes that are read, though the protocol has none; feeds of a host; URLs published at once.
MAX_DEPTH, MAX_FEEDS, BATCH = 2, 10, 200
#: Hosts, and files, that are remembered; and marks of files in all.
_MAX_HOSTS, _MAX_MARKS = 10_000, 1_000_000
_NEWS = 30 * DAY  #: Seconds after which a change is not news: most pages were visited since.
#: If more than half of at least so many dates lie within these seconds, in a sitemap and in a feed, they date
#: the file.
_FEW, _AT_ONCE, _AT_ONCE_IN_FEED = 10, 3600.0, 60.0

Kind: TypeAlias = Literal["sitemap", "feed"]
#: Publishes canonical URLs of one host that a file lists, each with the time of a change worth a hint.
Publish = Callable[[Kind, Sequence[Dated]], Awaitable[None]]
#: A host, and the files of it that are read in one go: the sitemaps that it names, or its feeds.
_Task: TypeAlias = tuple[str, Kind]
#: Hashes of the URLs of a file, each with its date.
_Marks: TypeAlias = npt.NDArray[np.int64]


class _File(NamedTuple):
    """The content of a file, as it was read."""

    kind: Kind = "sitemap"
    fresh: Sequence[Dated] = ()  #: URLs to be published, of all that are ``listed``.
    listed: int = 0
    more: Sequence[Dated] = ()  #: Files to be read after it.
    version: Version | None = None
    marks: _Marks = np.empty(0, np.int64)
    dated: float | None = None  #: Its date in the index that led to it.
    time: float = 0.0

    def holds(self, dated: float | None, now: float) -> bool:
        if dated is None or self.dated is None:
            return False
        return dated <= self.dated and now < self.time + DAY  # many indexes never update their dates


class Sitemaps:
    """Reads the sitemaps of hosts, once a day each, at most ``limit`` URLs of each.

    A sitemap counts only on the host whose robots.txt names it, and only for the URLs of that host. A URL is
    published again when its date changes, as far as hosts and files are remembered.

    In a crawl that keeps up, by ``revisit``, they are read again sooner while they bring news: on average one
    file of a host in the shortest time between two visits. Dates of changes are published too, and the
    feeds that pages name are read, each on the host of its page, for the URLs of that host.
    """

    def __init__(
        self, ask: Ask, limit: int, clock: Callable[[], float], revisit: RevisitSettings | None = None
    ) -> None:
        self._ask = ask
        self._limit = limit
        self._clock = clock
        self._revisit = revisit
        self._due: asyncio.Queue[tuple[_Task, tuple[str, ...]]] = asyncio.Queue()
        #: When files may be read again, and the wait set by the last reading.
        self._turns: Recent[_Task, tuple[float, float]] = Recent(_MAX_HOSTS)
        self._feeds: Recent[str, tuple[str, ...]] = Recent(_MAX_HOSTS)
        self._files: Recent[str, _File] = Recent(_MAX_HOSTS, lambda known: len(known.marks), _MAX_MARKS)
        self._open: set[_Task] = set()

    @property
    def reading(self) -> bool:
        """Whether any host's files are still to be read."""
        return bool(self._open)

    def announce(self, url: str, files: tuple[str, ...], kind: Kind = "sitemap") -> None:
        """Queue files of a URL's host, unless some are in hand or were read recently."""
        task, now = (host(url), kind), self._clock()
        due, wait = self._turns.get(task, (now, 0.0))
        own = tuple(file for file in files if host(file) == task[0])
        if task in self._open or now < due or len(self._open) >= _MAX_HOSTS or not own:
            return
        self._turns[task] = now + DAY, wait  # a day, in case the host is in trouble
        self._open.add(task)
        self._due.put_nowait((task, own))

    def seen(self, url: str, media_type: str, body: bytes = b"") -> None:
        """Queue the feeds of a page's host, as `announce`: those known, and one that the page is or names."""
        name, named = host(url), url if media_type in FEED_TYPES else feed_of(body)
        feed = None if named is None else canonical(named, url)
        feeds = self._feeds.get(name, ())
        if feed is not None and host(feed) == name and feed not in feeds and len(feeds) < MAX_FEEDS:
            feeds = self._feeds[name] = (*feeds, feed)
        if feeds:
            self.announce(url, feeds, "feed")

    def stop(self, name: str) -> None:
        """Stop reading a host's files for now."""
        self._open -= {(name, "sitemap"), (name, "feed")}

    async def work(self, publish: Publish) -> None:
        """Read due files and publish their URLs, for ever; several may work side by side."""
        while True:
            task, files = await self._due.get()
            try:
                await self._walk(task, files, publish)
            finally:
                self._open.discard(task)

    async def _walk(self, task: _Task, files: tuple[str, ...], publish: Publish) -> None:
        """Read a host's files, an index before its files, until the bounds are reached or the host fails."""
        begun = self._clock()
        left, asked, news = self._limit, 0, False
        waiting = deque((Dated(url), 0) for url in files)
        seen = set(files)
        while waiting and left > 0 and asked < MAX_FILES:
            if task not in self._open:
                return
            file, depth = waiting.popleft()
            known = self._files.get(file.url)
            if known is not None and known.holds(file.time, begun):
                continue
            asked += 1
            found = await self._found(task[0], file.url, left)
            if found is None:
                return
            left -= found.listed
            news = news or bool(found.fresh)
            for start in range(0, len(found.fresh), BATCH):
                await publish(found.kind, found.fresh[start : start + BATCH])
            # The files that an index leads to may change while it does not.
            version = None if found.more else found.version
            self._files[file.url] = _File(version=version, marks=found.marks, dated=file.time, time=begun)
            if depth < MAX_DEPTH:
                waiting.extend((one, depth + 1) for one in found.more if one.url not in seen)
                seen.update(one.url for one in found.more)
        if self._revisit is not None:
            shortest, (_, before) = self._revisit.shortest_seconds, self._turns.get(task, (0.0, 0.0))
            wait = min(max(asked * shortest if news else 2 * before, shortest), DAY)
            self._turns[task] = begun + wait, wait

    async def _found(self, name: str, url: str, left: int) -> _File | None:
        """Read one file of a host, ``left`` URLs of it; None if the host needs a pause."""
        known = self._files.get(url, _File())
        try:
            answer = await self._ask(url, known.version)
            if answer.status >= 500 or answer.status == 429:
                return None
            if answer.status == 304:
                return known
            if answer.status != 200:
                return _File(more=() if answer.target is None else _own([Dated(answer.target)], name, url))
            # Up to a second of work.
            return await asyncio.to_thread(self._read, answer, name, url, left, known.marks)
        except FetchError as error:
            return None if error.kind == "retry" else _File()
        except Exception as error:
            unexpected("sitemap", url, error)
            return None

    def _read(self, answer: Answer, name: str, url: str, left: int, known: _Marks) -> _File:
        """Return the content of a file, less the ``known`` entries, and with the dates worth a hint."""
        found = read(answer.body)
        listed = _own(found.urls, name, url)[:left]
        now = self._clock()
        listed = [Dated(one.url) for one in listed] if self._revisit is None else believed(found, listed, now)
        marks = np.fromiter(map(hash, listed), np.int64, len(listed))
        fresh = [listed[place] for place in np.flatnonzero(~np.isin(marks, known)).tolist()]
        if self._revisit is not None:
            fresh = [one if (one.time or 0.0) > now - _NEWS else Dated(one.url) for one in fresh]
        more = _own(found.files, name, url)
        return _File("feed" if found.feed else "sitemap", fresh, len(listed), more, answer.version, marks)


def believed(listing: Listing, listed: Sequence[Dated], now: float) -> list[Dated]:
    """Return a listing's pages with their credible dates of change.

    No date counts if more than half of many lie within an hour, in a feed within a minute: then the file was
    made, or pages were moved. Dates in the future never count.
    """
    dates = [one.time for one in listed if one.time is not None and one.time <= now]
    span = _AT_ONCE_IN_FEED if listing.feed else _AT_ONCE
    last = max(dates, default=0.0)
    if len(dates) >= _FEW and 2 * sum(date > last - span for date in dates) > len(dates):
        now = -1.0
    return [one if one.time is not None and one.time <= now else Dated(one.url) for one in listed]


def _last(*times: float | None) -> float | None:
    return max((time for time in times if time is not None), default=None)


def _own(urls: Iterable[Dated], name: str, base: str) -> list[Dated]:
    """Return the host's own URLs in canonical form, each once, with its last date."""
    found: dict[str, float | None] = {}
    for one in urls:
        url = canonical(one.url, base)
        if url is not None and host(url) == name:
            found[url] = _last(found.get(url), one.time)
    return [Dated(*one) for one in found.items()]
