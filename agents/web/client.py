"""Asking the web for a page: robots.txt first, then the page, within limits; what came is one `Result`."""

import re
import time
from collections.abc import Callable

import httpx

from agents.web import body
from agents.web.pool import Pool
from agents.web.result import Fetched, FetchError, Moved, Result, retry_after
from agents.web.robots import MAX_BYTES, Robots, RobotsAnswer
from models.url import canonical
from streams.settings import FetchSettings

#: The media types that are read as pages.
READABLE = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
_KEPT = ("content-type", "content-language", "etag", "last-modified", "link", "x-robots-tag")
_VALUE = 1000
_MOVED = frozenset({300, 301, 302, 303, 307, 308})
# Of the statuses below 500, those that say nothing about the page: a proxy that wants to know who asks, a
# slow request, a request too early, too many requests.
_PASSING = frozenset({407, 408, 425, 429})
_NOT_A_TYPE = re.compile(r"[^a-z0-9.+/-]")


class Client:
    """Fetches pages over one pool of connections, as an asynchronous context manager.

    ``settings.allow`` names what may be asked beside the open internet. ``clock`` returns seconds since
    the epoch; robots.txt files age by it, and dates in Retry-After are counted from it.
    """

    def __init__(self, settings: FetchSettings, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._pool = Pool(settings)
        self._robots = Robots(self._robots_txt, settings, clock)

    async def __aenter__(self) -> "Client":
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._robots.close()
        await self._pool.__aexit__()

    async def fetch(self, url: str) -> Result:
        """Return what asking for the canonical ``url`` brought; nothing that a server does raises.

        Takes at most ``settings.timeout_seconds``, and as much again where robots.txt must be fetched first.
        """
        delay = None
        try:
            if self._settings.robots:
                decision = await self._robots.allowed(url)
                if decision.failure is not None:
                    return decision.failure
                delay = decision.crawl_delay
            return await self._page(url, delay)
        except FetchError as error:
            return error.failure(delay)

    async def _page(self, url: str, delay: float | None) -> Result:
        start = time.perf_counter()
        async with self._pool.open(url) as response:
            status, headers = response.status_code, _fields(response)
            if status in _MOVED and "location" in headers:
                return Moved(url, _target(url, headers["location"]), status, delay)
            self._check(status, headers)
            content = await _body(response, headers, self._settings.max_bytes)
        elapsed = time.perf_counter() - start
        kept = {name: headers[name][:_VALUE] for name in _KEPT if name in headers}
        return Fetched(url, status, kept, content, elapsed, delay)

    def _check(self, status: int, headers: dict[str, str]) -> None:
        """Raise `FetchError` unless the response is a page."""
        if status >= 500 or status in _PASSING:
            wait = retry_after(headers.get("retry-after"), self._clock())
            raise FetchError("retry", f"status {status}", wait)
        if status != 200:
            raise FetchError("gone", "no content" if status == 204 else f"status {status}")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        # What is no media type at all says nothing; the bytes will.
        if "/" in kind and kind not in READABLE:
            raise FetchError("refused", f"content type {_NOT_A_TYPE.sub('', kind)[:60]}")

    async def _robots_txt(self, url: str) -> RobotsAnswer:
        async with self._pool.open(url) as response:
            status, headers = response.status_code, _fields(response)
            if status == 200:
                return RobotsAnswer(status, None, await _body(response, headers, MAX_BYTES, cut=True))
            target = None
            if status in _MOVED and "location" in headers:
                target = canonical(headers["location"], url)
            return RobotsAnswer(status, target, b"")


def _fields(response: httpx.Response) -> dict[str, str]:
    # httpx works out the encoding of all headers anew at each look-up.
    return dict(response.headers.items())


async def _body(response: httpx.Response, headers: dict[str, str], limit: int, *, cut: bool = False) -> bytes:
    length = headers.get("content-length", "")
    if not cut and length.isascii() and length.isdigit() and int(length[:20]) > limit:
        raise FetchError("refused", f"body over {limit} bytes")
    return await body.read(response.aiter_raw(), headers.get("content-encoding", ""), limit, cut=cut)


def _target(url: str, location: str) -> str:
    target = canonical(location, url)
    if target is None or target == url:
        raise FetchError("gone", "redirect to itself" if target else "redirect to no page")
    return target
