"""Reading the sitemaps that robots.txt names: which are due, one file after the other, within bounds."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from agents.web.result import DAY, UNKNOWN, Answer, FetchError, Validators
from agents.web.sitemap import read
from agents.web.unexpected import unexpected
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
