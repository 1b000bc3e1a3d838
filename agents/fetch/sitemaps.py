"""The sitemaps that robots.txt names: which are due, one file after the other, within bounds; and their text.

The protocol is that of sitemaps.org/protocol.html.
"""

import asyncio
import io
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from agents.fetch.body import gunzip
from agents.fetch.result import DAY, UNKNOWN, Answer, FetchError, Validators, unexpected
from models.url import canonical, host

#: Files read of one host: sitemaps, indexes and redirects to them.
MAX_FILES = 100
#: Indexes within indexes that are read; the protocol knows none.
MAX_DEPTH = 2
#: URLs told at once.
BATCH = 200
_MAX_HOSTS = 10_000

T = TypeVar("T")

Ask = Callable[[str, Validators], Awaitable[Answer]]
"""Fetches a sitemap in its server's turn, unless it is as known; raises `FetchError`."""

Tell = Callable[[list[str]], Awaitable[None]]
"""Takes canonical URLs of one host."""

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


class _File(NamedTuple):
    """What a file came to: the URLs it lists, the files to be read after it, its version where it was had."""

    urls: Sequence[str] = ()
    more: Sequence[str] = ()
    version: Validators | None = None


class Sitemaps:
    """Hosts whose sitemaps are to be read, once a day each, at most ``limit`` URLs of each.

    A sitemap counts only on the host whose robots.txt names it, and only for the URLs of that host. When a
    host's were read is known of the last 10,000, and of as many files the version. ``clock`` returns seconds.
    """

    def __init__(self, ask: Ask, limit: int, clock: Callable[[], float]) -> None:
        self._ask = ask
        self._limit = limit
        self._clock = clock
        self._due: deque[tuple[str, tuple[str, ...]]] = deque()
        self._ready = asyncio.Event()
        self._times: OrderedDict[str, float] = OrderedDict()
        self._versions: OrderedDict[str, Validators] = OrderedDict()
        self._open: set[str] = set()

    @property
    def reading(self) -> bool:
        """Whether any host's sitemaps are still to be read."""
        return bool(self._open)

    def announce(self, origin: str, files: tuple[str, ...]) -> None:
        """Have the sitemaps of an origin read, unless those of its host are, or were in the last hours."""
        name = host(origin)
        own = tuple(url for url in files if host(url) == name)
        now = self._clock()
        if not own or name in self._open or now < self._times.get(name, -DAY) + DAY / 2:
            return
        if len(self._open) >= _MAX_HOSTS:
            return
        _remember(self._times, name, now)
        self._open.add(name)
        self._due.append((name, own))
        self._ready.set()

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
        left = self._limit
        waiting = deque((url, 0) for url in files)
        seen = set(files)
        versions: dict[str, Validators] = {}
        for _ in range(MAX_FILES):
            if name not in self._open:
                return
            if not waiting or left <= 0:
                break
            url, depth = waiting.popleft()
            found = await self._file(name, url, depth)
            if found is None:
                return
            if found.version is not None:
                versions[url] = found.version
            urls = list(found.urls[:left])
            left -= len(urls)
            for start in range(0, len(urls), BATCH):
                await tell(urls[start : start + BATCH])
            waiting.extend((one, depth + 1) for one in found.more if one not in seen)
            seen.update(found.more)
        # Not before: an index is known to be as it was only if all that it lists was read.
        for url, version in versions.items():
            _remember(self._versions, url, version)

    async def _file(self, name: str, url: str, depth: int) -> _File | None:
        """Read one file of a host, so deep within indexes; None where the host is to be left alone for now."""
        try:
            return await self._found(name, url, depth)
        except FetchError as error:
            return None if error.kind == "retry" else _File()
        except Exception as error:
            unexpected("sitemap", url, error)
            return None

    async def _found(self, name: str, url: str, depth: int) -> _File | None:
        answer = await self._ask(url, self._versions.get(url, UNKNOWN))
        if answer.status >= 500 or answer.status == 429:
            return None
        if answer.status != 200:
            return _File(more=() if answer.target is None else _own([answer.target], name))
        # Up to a second of work, which must not hold up the others.
        urls, inner = await asyncio.to_thread(_read, answer.body, name)
        return _File(urls, inner if depth < MAX_DEPTH else (), answer.validators)


def _read(body: bytes, name: str) -> tuple[list[str], list[str]]:
    found = read(body)
    return _own(found.urls, name), _own(found.sitemaps, name)


def _own(urls: list[str], name: str) -> list[str]:
    """Return those URLs that are of the host, in their canonical form, each once."""
    found = (canonical(url) for url in urls)
    return list(dict.fromkeys(url for url in found if url is not None and host(url) == name))


def _remember(known: OrderedDict[str, T], name: str, value: T) -> None:
    known.pop(name, None)
    known[name] = value
    if len(known) > _MAX_HOSTS:
        known.popitem(last=False)


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
