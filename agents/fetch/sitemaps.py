"""The sitemaps that robots.txt names, and the feeds that pages name: which are due, one after the other."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scentline.agents.fetch.listings import FEED_TYPES, Dated, Listing, feed_of, read
from scentline.agents.fetch.result import DAY, Answer, Ask, FetchError, unexpected
from scentline.agents.fetch.servers import Recent
from scentline.models.records import Version
from scentline.models.settings import RevisitSettings
from scentline.models.url import canonical, host

MAX_FILES = 100  #: Files read of one host: sitemaps, indexes and redirects to them.
MAX_DEPTH = 2  #: Indexes within indexes that are read; the protocol knows none.
MAX_FEEDS = 10  #: Feeds of a host that are read.
BATCH = 200  #: URLs told at once.
#: Hosts, and files, that are remembered; and marks of files in all.
_MAX_HOSTS, _MAX_MARKS = 10_000, 1_000_000
_NEWS = 30 * DAY  #: Seconds after which a change is no news: most pages were visited since.
#: Where more than half of at least so many dates lie within these seconds, in a sitemap and in a feed, they say
#: when the file was made.
_FEW, _AT_ONCE, _AT_ONCE_IN_FEED = 10, 3600.0, 60.0

Kind: TypeAlias = Literal["sitemap", "feed"]
#: Publishes canonical URLs of one host that a file lists, each with the time of a change worth a hint.
Publish = Callable[[Kind, Sequence[Dated]], Awaitable[None]]
#: A host, and the files of it that are read in one go: the sitemaps that it names, or its feeds.
_Task: TypeAlias = tuple[str, Kind]
#: Hashes of the URLs of a file, each with its date.
Marks = npt.NDArray[np.int64]
_NO_MARKS: Marks = np.empty(0, np.int64)


class _Known(NamedTuple):
    """A file when it was read."""

    version: Version | None
    marks: Marks
    dated: float | None  #: Its date in the index that led to it.
    time: float

    def holds(self, dated: float | None, now: float) -> bool:
        if dated is None or self.dated is None:
            return False
        return dated <= self.dated and now < self.time + DAY  # many indexes never bring their dates up to date


class _Found(NamedTuple):
    """The content of a file."""

    kind: Kind = "sitemap"
    fresh: Sequence[Dated] = ()  #: URLs to be published, of all that are ``listed``.
    listed: int = 0
    more: Sequence[Dated] = ()  #: Files to be read after it.
    version: Version | None = None
    marks: Marks = _NO_MARKS


class Sitemaps:
    """Reads the sitemaps of hosts, once a day each, at most ``limit`` URLs of each.

    A sitemap counts only on the host whose robots.txt names it, and only for the URLs of that host. A URL is
    published again when its date changes, as far as hosts and files are remembered.

    In a crawl that keeps up, by ``revisit``, they are read again sooner while they bring anything: on average
    one file of a host in the shortest time between two visits. Dates of changes are published too, and the
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
        #: When files may be read again, and the wait that began when they were.
        self._turns: Recent[_Task, tuple[float, float]] = Recent(_MAX_HOSTS)
        self._feeds: Recent[str, tuple[str, ...]] = Recent(_MAX_HOSTS)
        self._files: Recent[str, _Known] = Recent(_MAX_HOSTS, lambda known: len(known.marks), _MAX_MARKS)
        self._open: set[_Task] = set()

    @property
    def reading(self) -> bool:
        """Whether any host's files are still to be read."""
        return bool(self._open)

    def announce(self, url: str, files: tuple[str, ...], kind: Kind = "sitemap") -> None:
        """Have files of a URL's host read, unless such are in hand or were read lately."""
        task, now = (host(url), kind), self._clock()
        due, wait = self._turns.get(task, (now, 0.0))
        own = tuple(file for file in files if host(file) == task[0])
        if task in self._open or now < due or len(self._open) >= _MAX_HOSTS or not own:
            return
        self._turns[task] = now + DAY, wait  # a day, in case the host is in trouble
        self._open.add(task)
        self._due.put_nowait((task, own))

    def asked(self, url: str, media_type: str) -> None:
        """Have the feeds of a page's host read, as `announce`; the page may be one by its media type."""
        if self._revisit is not None:
            self._fed(url, url if media_type in FEED_TYPES else None)

    def seen(self, url: str, body: bytes) -> None:
        """Have the feed read that a page names."""
        if self._revisit is not None and (feed := feed_of(body)) is not None:
            self._fed(url, canonical(feed, url))

    def _fed(self, url: str, feed: str | None) -> None:
        name = host(url)
        feeds = self._feeds.get(name, ())
        if feed is not None and host(feed) == name and feed not in feeds and len(feeds) < MAX_FEEDS:
            feeds = self._feeds[name] = (*feeds, feed)
        if feeds:
            self.announce(url, feeds, "feed")

    def stop(self, name: str) -> None:
        """Read no more of a host's files for now."""
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
        """Read a host's files, those of an index after it, until the bounds are reached or the host fails."""
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
            self._files[file.url] = _Known(version, found.marks, file.time, begun)
            if depth < MAX_DEPTH:
                waiting.extend((one, depth + 1) for one in found.more if one.url not in seen)
                seen.update(one.url for one in found.more)
        if self._revisit is not None:
            shortest, (_, before) = self._revisit.shortest_seconds, self._turns.get(task, (0.0, 0.0))
            wait = min(max(asked * shortest if news else 2 * before, shortest), DAY)
            self._turns[task] = begun + wait, wait

    async def _found(self, name: str, url: str, left: int) -> _Found | None:
        """Read one file of a host, ``left`` URLs of it; None where the host is to be left alone for now."""
        known = self._files.get(url)
        try:
            answer = await self._ask(url, None if known is None else known.version)
            if answer.status >= 500 or answer.status == 429:
                return None
            if answer.status == 304 and known is not None:
                return _Found(version=known.version, marks=known.marks)
            if answer.status != 200:
                return _Found(more=() if answer.target is None else _own([Dated(answer.target)], name, url))
            marks = _NO_MARKS if known is None else known.marks
            # Up to a second of work.
            return await asyncio.to_thread(self._read, answer, name, url, left, marks)
        except FetchError as error:
            return None if error.kind == "retry" else _Found()
        except Exception as error:
            unexpected("sitemap", url, error)
            return None

    def _read(self, answer: Answer, name: str, url: str, left: int, known: Marks) -> _Found:
        """Return the content of a file, without what is ``known``, and with the dates worth a hint."""
        found = read(answer.body)
        listed = _own(found.urls, name, url)[:left]
        now = self._clock()
        listed = [Dated(one.url) for one in listed] if self._revisit is None else believed(found, listed, now)
        marks = np.fromiter(map(hash, listed), np.int64, len(listed))
        fresh = [listed[place] for place in np.flatnonzero(~np.isin(marks, known)).tolist()]
        if self._revisit is not None:
            fresh = [one if (one.time or 0.0) > now - _NEWS else Dated(one.url) for one in fresh]
        more = _own(found.files, name, url)
        return _Found("feed" if found.feed else "sitemap", fresh, len(listed), more, answer.version, marks)


def believed(listing: Listing, listed: Sequence[Dated], now: float) -> list[Dated]:
    """Return a listing's pages with the dates at which they changed.

    None counts where more than half of many lie within an hour, in a feed within a minute: then the file was
    made, or pages were moved. Dates in the future never count.
    """
    dates = [one.time for one in listed if one.time is not None and one.time <= now]
    span = _AT_ONCE_IN_FEED if listing.feed else _AT_ONCE
    last = max(dates, default=0.0)
    if len(dates) >= _FEW and 2 * sum(date > last - span for date in dates) > len(dates):
        now = -1.0
    return [one if one.time is not None and one.time <= now else Dated(one.url) for one in listed]


def _own(urls: Iterable[Dated], name: str, base: str) -> list[Dated]:
    """Return the host's own URLs in canonical form, each once, with its last date."""
    found: dict[str, float | None] = {}
    for one in urls:
        url = canonical(one.url, base)
        if url is not None and host(url) == name:
            found[url] = max((time for time in (found.get(url), one.time) if time is not None), default=None)
    return [Dated(*one) for one in found.items()]
