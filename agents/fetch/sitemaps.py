"""The sitemaps that robots.txt names: which are due, one file after the other, within bounds; and their text.

The protocol is that of sitemaps.org/protocol.html, with the dates of news sitemaps.
"""

import asyncio
import io
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.fetch.body import gunzip
from agents.fetch.result import DAY, UNKNOWN, Answer, FetchError, Validators, unexpected
from models.dates import seconds_of
from models.url import canonical, host
from streams.settings import RevisitSettings

#: Files read of one host: sitemaps, indexes and redirects to them.
MAX_FILES = 100
#: Indexes within indexes that are read; the protocol knows none.
MAX_DEPTH = 2
#: URLs told at once.
BATCH = 200
#: Hosts, and files, of which it is known when they were read; and marks that are known of files in all.
_MAX_HOSTS = 10_000
_MAX_MARKS = 1_000_000
#: Dates of a file after which it is looked at whether they tell pages apart, and seconds in which most must not
#: lie: those are when the file was made.
_FEW = 10
_AT_ONCE = 3600.0


class Dated(NamedTuple):
    """A URL, and when what it leads to is said to have changed, in seconds since the epoch."""

    url: str
    time: float | None = None


Ask = Callable[[str, Validators], Awaitable[Answer]]
"""Fetches a sitemap in its server's turn, unless it is as known; raises `FetchError`."""

Tell = Callable[[Sequence[Dated]], Awaitable[None]]
"""Takes canonical URLs of one host, each with the time of a change that is worth a hint."""

#: Bytes of a sitemap that are read, before and after decompression; the protocol allows five times as much.
MAX_BYTES = 10_000_000
#: Of a sitemap's URLs, those that are looked at.
MAX_URLS = 50_000
_MAX_URL = 2_000
#: Elements within each other after which a sitemap is read no further: a parser with a target of its own bounds
#: them by nothing, and 10 MB of open ones take 400 MB. A sitemap with extensions has four or five.
MAX_NESTING = 100
# What no sitemap holds. Of a document type a few megabytes take hundreds, and in UTF-16 it could not be seen.
_NO_SITEMAP = (b"<!DOCTYPE", b"\0")
_GZIP = b"\x1f\x8b"
_STEP = 65_536
_BOM = b"\xef\xbb\xbf"

#: What stands for the URLs of a file, each with its date.
Marks = npt.NDArray[np.int64]


class _Known(NamedTuple):
    """What a file was when it was read: its version, its marks, its date in the index that led to it."""

    version: Validators
    marks: Marks
    dated: float | None
    time: float


class _Turn(NamedTuple):
    """When a host's sitemaps may be read again, and how long that is after they were."""

    due: float
    wait: float = 0.0


class Sitemaps:
    """Hosts whose sitemaps are to be read, once a day each, at most ``limit`` URLs of each.

    A sitemap counts only on the host whose robots.txt names it, and only for the URLs of that host. When a
    host's were read is known of the last 10,000, and of as many files what they were; a URL is told again where
    its date is another. ``clock`` returns seconds since the epoch.

    In a crawl that keeps up, by ``revisit``, they are read again sooner while they bring anything: a host is
    asked for one file in the shortest time between two visits, on average. Then dates of changes are told too.
    """

    def __init__(
        self, ask: Ask, limit: int, clock: Callable[[], float], revisit: RevisitSettings | None = None
    ) -> None:
        self._ask = ask
        self._limit = limit
        self._clock = clock
        self._revisit = revisit
        self._due: deque[tuple[str, tuple[str, ...]]] = deque()
        self._ready = asyncio.Event()
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self._files = _Files()
        self._open: set[str] = set()

    @property
    def reading(self) -> bool:
        """Whether any host's sitemaps are still to be read."""
        return bool(self._open)

    def announce(self, origin: str, files: tuple[str, ...]) -> None:
        """Have the sitemaps of an origin read, unless those of its host are, or were a short while ago."""
        name = host(origin)
        now = self._clock()
        turn = self._turns.get(name)
        if name in self._open or (turn is not None and now < turn.due) or len(self._open) >= _MAX_HOSTS:
            return
        own = tuple(url for url in files if host(url) == name)
        if not own:
            return
        # A day, should the host be in trouble.
        self._give_turn(name, _Turn(now + DAY, turn.wait if turn is not None else 0.0))
        self._open.add(name)
        self._due.append((name, own))
        self._ready.set()

    def _give_turn(self, name: str, turn: _Turn) -> None:
        self._turns.pop(name, None)
        self._turns[name] = turn
        if len(self._turns) > _MAX_HOSTS:
            self._turns.popitem(last=False)

    def stop(self, name: str) -> None:
        """Read no more of a host's sitemaps for now: it asked to be left alone."""
        self._open.discard(name)

    async def work(self, tell: Tell) -> None:
        """Read what is due and tell of the URLs, for ever; several may work side by side."""
        while True:
            while not self._due:
                self._ready.clear()
                await self._ready.wait()
            name, files = self._due.popleft()
            try:
                await self._walk(name, files, tell)
            finally:
                self._open.discard(name)

    async def _walk(self, name: str, files: tuple[str, ...], tell: Tell) -> None:
        """Read a host's files, those of an index after it, until the bounds are reached or the host fails."""
        begun = self._clock()
        left, asked, news = self._limit, 0, False
        waiting = deque((Dated(url), 0) for url in files)
        seen = set(files)
        while waiting and left > 0 and asked < MAX_FILES:
            if name not in self._open:
                return
            file, depth = waiting.popleft()
            if self._files.is_as_before(file, begun):
                continue
            asked += 1
            found = await self._file(name, file, left)
            if found is None:
                return
            left -= found.listed
            news = news or bool(found.fresh)
            for start in range(0, len(found.fresh), BATCH):
                await tell(found.fresh[start : start + BATCH])
            self._files.remember(file, found, begun)
            if depth < MAX_DEPTH:
                waiting.extend((one, depth + 1) for one in found.more if one.url not in seen)
                seen.update(one.url for one in found.more)
        if self._revisit is not None:
            turn = self._turns.get(name, _Turn(0.0))
            wait = max(asked, 1) * self._revisit.shortest_seconds if news else 2 * turn.wait
            wait = min(max(wait, self._revisit.shortest_seconds), DAY)
            self._give_turn(name, _Turn(begun + wait, wait))

    async def _file(self, name: str, file: Dated, left: int) -> "_Found | None":
        """Read one file of a host, ``left`` URLs of it; None where the host is to be left alone for now."""
        try:
            return await self._found(name, file.url, left)
        except FetchError as error:
            return None if error.kind == "retry" else _Found()
        except Exception as error:
            unexpected("sitemap", file.url, error)
            return None

    async def _found(self, name: str, url: str, left: int) -> "_Found | None":
        known = self._files.get(url)
        answer = await self._ask(url, UNKNOWN if known is None else known.version)
        if answer.status >= 500 or answer.status == 429:
            return None
        if answer.status == 304 and known is not None:
            return _Found(version=known.version, marks=known.marks)
        if answer.status != 200:
            return _Found(more=() if answer.target is None else _own([Dated(answer.target)], name))
        span = None
        if self._revisit is not None:
            now = self._clock()
            # What changed longer ago than the longest time between two visits is no news.
            span = now - self._revisit.longest_seconds, now
        marks = _NO_MARKS if known is None else known.marks
        # Up to a second of work, which must not hold up the others.
        return await asyncio.to_thread(_read, answer, name, left, marks, span)


_NO_MARKS: Marks = np.empty(0, np.int64)


class _Found(NamedTuple):
    """What a file came to: URLs to be told, of those ``listed``; files to be read after it; what it was."""

    fresh: Sequence[Dated] = ()
    listed: int = 0
    more: Sequence[Dated] = ()
    version: Validators = UNKNOWN
    marks: Marks = _NO_MARKS


class _Files:
    """What files were when they were read: of 10,000 at most, with a million marks in all."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._marks = 0

    def get(self, url: str) -> _Known | None:
        """Return what a file was, None where that is not known."""
        return self._known.get(url)

    def is_as_before(self, file: Dated, now: float) -> bool:
        """Return whether a file need not be asked for: its index has no later date for it, and it was this day.

        Many an index has dates that are never brought up to date.
        """
        known = self._known.get(file.url)
        if known is None or known.dated is None or file.time is None:
            return False
        return file.time <= known.dated and now < known.time + DAY

    def remember(self, file: Dated, found: _Found, now: float) -> None:
        """Remember what a file was."""
        self._forget(file.url)
        # What it leads to may have changed where an index has not.
        version = UNKNOWN if found.more else found.version
        self._known[file.url] = _Known(version, found.marks, file.time, now)
        self._marks += len(found.marks)
        while len(self._known) > _MAX_HOSTS or self._marks > _MAX_MARKS:
            self._forget(next(iter(self._known)))

    def _forget(self, url: str) -> None:
        known = self._known.pop(url, None)
        self._marks -= 0 if known is None else len(known.marks)


def _read(answer: Answer, name: str, left: int, known: Marks, span: tuple[float, float] | None) -> _Found:
    """Return what a file of a host says that is not ``known``, with dates within the ``span``."""
    found = read(answer.body)
    listed = _own(found.urls, name)[:left]
    marks = np.fromiter(map(hash, listed), np.int64, len(listed))
    fresh = [listed[place] for place in np.flatnonzero(~np.isin(marks, known)).tolist()]
    told = () if span is None else believed(listed, *span)
    fresh = [one if one.time in told else Dated(one.url) for one in fresh]
    return _Found(fresh, len(listed), _own(found.sitemaps, name), answer.validators, marks)


def believed(listed: Iterable[Dated], begin: float, end: float) -> set[float]:
    """Return those dates of a file's pages that are later than ``begin``, and not than ``end``.

    None where more than half of many lie within an hour: that is when the file was made, or pages were moved.
    What a site says of the future counts for nothing.
    """
    dates = [one.time for one in listed if one.time is not None and one.time <= end]
    last = max(dates, default=0.0)
    if len(dates) >= _FEW and 2 * sum(date > last - _AT_ONCE for date in dates) > len(dates):
        return set()
    return {date for date in dates if date > begin}


def _own(urls: Iterable[Dated], name: str) -> list[Dated]:
    """Return those URLs that are of the host, in their canonical form, each once, with its last date."""
    found: dict[str, float | None] = {}
    for one in urls:
        url = canonical(one.url)
        if url is not None and host(url) == name:
            found[url] = max((time for time in (found.get(url), one.time) if time is not None), default=None)
    return [Dated(*one) for one in found.items()]


class Sitemap:
    """What a sitemap holds: ``urls`` of pages, and ``sitemaps`` where it is an index. Spelled as they came."""

    def __init__(self) -> None:
        self.urls: list[Dated] = []
        self.sitemaps: list[Dated] = []


def read(body: bytes, limit: int = MAX_URLS) -> Sitemap:
    r"""Read a sitemap in XML or as lines of text, compressed or not; at most ``limit`` URLs of it.

    Never raises: what is broken is read as far as it goes, what is no sitemap is an empty one.

    >>> [found.url for found in read(b"http://example.org/a\nhttp://example.org/b\n").urls]
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
            found.urls.append(Dated(line.decode("utf-8", "replace").strip()))
    return found


def _xml(text: bytes, limit: int) -> Sitemap:
    if any(mark in text for mark in _NO_SITEMAP):
        return Sitemap()
    # Imported where it is used: few crawls read sitemaps, and it takes 4 MB.
    from lxml import etree

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
            if len(target.found.urls) + len(target.found.sitemaps) >= limit or target.depth > MAX_NESTING:
                break
        else:
            parser.close()
    except etree.XMLSyntaxError:
        pass  # as far as it goes
    del target.found.urls[limit:], target.found.sitemaps[limit:]
    return target.found


class _Target:
    """Takes the parser's events: a <loc> or a date counts by the elements that it stands in."""

    def __init__(self) -> None:
        self.found = Sitemap()
        self._open: list[str] = []
        self._text: list[str] | None = None
        self._place: int | None = None  # of what is read, among those of its kind
        self._time: float | None = None

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self._open)

    def start(self, tag: str, attributes: object) -> None:
        name = tag.rpartition("}")[2].lower()
        self._open.append(name)
        if name in _LISTS:
            self._place = self._time = None
        elif name in _READ:
            self._text = []

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        name = self._open.pop()
        if name in _LISTS:
            self._place = self._time = None
        if self._text is not None and name in _READ:
            # A page's own, or what is said of it as news.
            within = self._open[-2 if name == "publication_date" else -1 :][:1]
            into = {"url": self.found.urls, "sitemap": self.found.sitemaps}.get("".join(within))
            if into is not None:
                self._take(into, name, "".join(self._text).strip())
        self._text = None

    def _take(self, into: list[Dated], name: str, text: str) -> None:
        """Take what an element of a page or file says, in any order."""
        if name == "loc":
            if len(text) <= _MAX_URL:
                self._place = len(into)
                into.append(Dated(text, self._time))
        elif (time := seconds_of(text)) is not None:
            self._time = time if self._time is None else max(self._time, time)
            if self._place is not None:
                into[self._place] = into[self._place]._replace(time=self._time)

    def close(self) -> None:
        """Take note of the end."""


#: Elements whose text is read, and those that they are told of.
_READ = frozenset({"loc", "lastmod", "publication_date"})
_LISTS = frozenset({"url", "sitemap"})
