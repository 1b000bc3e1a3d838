"""Fetching a page: robots.txt first, then the page, within limits, as one `Result`."""

import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext

import httpx
import msgspec

from scentline.agents.fetch.guard import product
from scentline.agents.fetch.pool import Pool, errors
from scentline.agents.fetch.result import (
    Answer,
    Body,
    Ended,
    FetchError,
    Result,
    read_body,
    retry_after,
    unexpected,
    validators,
    version_of,
)  # fmt: skip
from scentline.agents.fetch.robots import MAX_BYTES as MAX_ROBOTS
from scentline.agents.fetch.robots import Robots, directives
from scentline.agents.fetch.servers import PATIENCE_SECONDS, Held, Recent, Servers, TooEarlyError
from scentline.agents.fetch.sitemaps import LISTING_BYTES, Sitemaps
from scentline.models.facts import Early, Moved, Same
from scentline.models.formats import PDF, UNKNOWN, ZIP, Format, readable
from scentline.models.frontier.politeness import LONGEST_CRAWL_DELAY
from scentline.models.records import RobotsTxt, Version
from scentline.models.settings import FetchSettings, RevisitSettings
from scentline.models.url import canonical, host

#: Headers that later steps read, and how many characters of each are kept.
KEPT = ("content-type", "content-language", "etag", "last-modified", "link", "x-robots-tag")
KEPT_LENGTH = 1000

MOVED, _PERMANENT = frozenset({300, 301, 302, 303, 307, 308}), frozenset({301, 308})
# The statuses below 500 that say nothing about the page: proxy authentication required, request timeout, too
# early, too many requests.
_PASSING = frozenset({407, 408, 425, 429})
_NOT_A_TYPE = re.compile(r"[^a-z0-9.+/-]")
_MOST_DELAYS = 100_000  # Hosts whose delays are remembered.


class Client:
    """Fetches pages over one pool of connections, as an asynchronous context manager.

    ``clock`` returns seconds since the epoch. ``revisit`` sets when pages are revisited, if they are,
    ``formats`` the documents that are read beside HTML and text.
    """

    def __init__(
        self,
        settings: FetchSettings,
        clock: Callable[[], float],
        revisit: RevisitSettings | None = None,
        formats: Collection[Format] = (),
    ) -> None:
        self._settings = settings
        self._formats = formats
        self._clock = clock
        self._keeps_up = revisit is not None
        self._agent = product(settings.user_agent)
        self._pool = Pool(settings, formats)
        self._delays: Recent[str, float] = Recent(_MOST_DELAYS)  # of hosts, for their sitemaps and feeds
        self.servers = Servers(time.monotonic)
        self.sitemaps = Sitemaps(self._sitemap, settings.sitemap_urls, clock, revisit)
        self.robots = Robots(self._robots_txt, settings, clock)
        if settings.sitemaps:
            self.robots.announce = self.sitemaps.announce

    @property
    def slots(self) -> int:
        """How many pages are fetched at the same time."""
        return self._settings.connections

    async def __aenter__(self) -> "Client":
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.robots.close()
        await self._pool.__aexit__()

    async def fetch(
        self, url: str, known: Version | None = None, delay: float = 0.0, robots: RobotsTxt | None = None
    ) -> Ended:
        """Fetch the canonical ``url``; nothing that a server does raises.

        With a ``known`` version the request is conditional. ``delay`` is the seconds between two requests to
        the host, if more than in the settings, ``robots`` its robots.txt, if unknown here. A fetch takes
        ``settings.timeout_seconds`` at most, as much for robots.txt, and some for a look-up and a short delay.
        """
        with Held(self.servers, max(self._settings.delay_seconds, delay)) as held:
            try:
                ended = Ended(await self._fetch(url, known, held, robots))
            except FetchError as error:
                ended = error.ended
            except TooEarlyError as error:
                ended = Ended(Early(error.seconds))
            except Exception as error:  # a bug, here or in a library: it ends this fetch, not the crawl
                ended = unexpected("page", url, error).ended
        elapsed = 0.0 if held.asked is None else (held.answered or time.perf_counter()) - held.asked
        server = "" if self._pool.proxy(host(url)) else held.server
        crawl_delay = ended.host.crawl_delay if held.crawl_delay is None else held.crawl_delay
        told = msgspec.structs.replace(
            ended.host, crawl_delay=crawl_delay, elapsed=elapsed, server=server, requests=held.requests
        )
        return ended._replace(host=told)

    async def _fetch(self, url: str, known: Version | None, held: Held, robots: RobotsTxt | None) -> Result:
        with errors():
            self._pool.check(url)  # before its name is looked up and its robots.txt requested
        self._delays[host(url)] = held.delay
        if robots is not None:
            await self.robots.take_up(robots)
        await self._take(url, held)
        if self._settings.robots:
            held.crawl_delay = await self.robots.allow(url)
            held.delay = max(held.delay, min(held.crawl_delay or 0.0, LONGEST_CRAWL_DELAY))
            await self._take(url, held)
        if held.addresses:
            await self.servers.start(held.addresses, held.delay)
        held.asked = time.perf_counter()
        return await self._page(url, known, held)

    async def _take(self, url: str, held: Held) -> None:
        if held.delay:
            await held.take(await self._addresses(url))

    async def _addresses(self, url: str) -> Sequence[str]:
        name = host(url)
        return (name,) if self._pool.proxy(name) else await self._pool.resolver.addresses(name)

    async def _page(self, url: str, known: Version | None, held: Held) -> Result:
        asked = validators(known)
        async with self._pool.open(url, asked) as response:
            status, headers = response.status_code, fields(response)
            if self._keeps_up and status in (200, 304):
                self.sitemaps.seen(url, media_type(headers))
            if status == 304 and asked:
                return Same()
            if status in MOVED and "location" in headers:
                return moved(url, status, headers["location"])
            check(status, headers, self._clock(), self._formats)
            tags = (value for name, value in response.headers.raw if name.lower() == b"x-robots-tag")
            nofollow = forbids_links(map(_decoded, tags), self._agent)
            sent = response.aiter_raw()
            chunks = _documents(sent) if media_type(headers) in UNKNOWN else sent
            content = await self._body(chunks, headers, self._settings.max_bytes)
        if self._keeps_up:
            self.sitemaps.seen(url, "", content)
        kept = {name: headers[name][:KEPT_LENGTH] for name in KEPT if name in headers}
        return Body(status, kept, content, nofollow=nofollow)

    async def _robots_txt(self, url: str, known: Version | None) -> Answer:
        # The fetch holds the server, or has no delay; the steps of a redirect must not take for ever.
        delay = min(self._settings.delay_seconds, PATIENCE_SECONDS)
        if delay:
            await self.servers.start(await self._addresses(url), delay)
        return await self._file(url, known, MAX_ROBOTS, cut=True)

    async def _sitemap(self, url: str, known: Version | None) -> Answer:
        delay = max(self._settings.delay_seconds, self._delays.get(host(url), 0.0))
        if self._settings.robots:
            try:
                delay = max(delay, min(await self.robots.allow(url) or 0.0, LONGEST_CRAWL_DELAY))
            except FetchError as error:
                raise FetchError("refused", "robots.txt") from error
        async with self.servers.turn(await self._addresses(url), delay) if delay else nullcontext():
            return await self._file(url, known, LISTING_BYTES)

    async def _file(self, url: str, known: Version | None, limit: int, *, cut: bool = False) -> Answer:
        async with self._pool.open(url, validators(known)) as response:
            status, headers = response.status_code, fields(response)
            if status == 200:
                content = await self._body(response.aiter_raw(), headers, limit, cut=cut)
                return Answer(status, None, content, version_of(headers))
            location = headers.get("location") if status in MOVED else None
            leads_to = None if location is None else canonical(location, url)
            wait = retry_after(headers.get("retry-after"), self._clock())
            return Answer(status, leads_to, b"", retry_after=wait)

    async def _body(
        self, chunks: AsyncIterator[bytes], headers: dict[str, str], limit: int, *, cut: bool = False
    ) -> bytes:
        length = headers.get("content-length", "")
        if not cut and length.isascii() and length.isdigit() and int(length[:20]) > limit:
            raise FetchError("unfit", f"body over {limit} bytes")
        coding = headers.get("content-encoding", "")
        return await read_body(chunks, coding, limit, self._settings.max_ratio, cut=cut)


def moved(url: str, status: int, location: str) -> Moved:
    """Return the redirect of a canonical URL; raises `FetchError` where ``location`` leads to no other page."""
    target = canonical(location, url)
    if target is None or target == url:
        raise FetchError("gone", "redirect to itself" if target else "redirect to no page")
    return Moved(target, status in _PERMANENT)


def fields(response: httpx.Response) -> dict[str, str]:
    """Return a response's headers by name in lower case; the values of a repeated name are joined."""
    found: dict[str, str] = {}
    for name, value in response.headers.raw:
        key, text = name.decode("latin-1").lower(), _decoded(value)
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _decoded(value: bytes) -> str:
    # A header has no encoding (RFC 9110, 5.5). Latin-1 never fails.
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a response, empty if it names none."""
    # The last of several, as in browsers (MIME Sniffing standard, 4.4).
    return headers.get("content-type", "").rpartition(",")[2].partition(";")[0].strip().lower()


def forbids_links(tags: Iterable[str], agent: str) -> bool:
    """Return whether X-Robots-Tag headers forbid following a page's links to ``agent``, a product token.

    Raises `FetchError` where they forbid the page.
    """
    asks = directives(tags, agent)
    if "noindex" in asks:
        raise FetchError("refused", "X-Robots-Tag noindex")
    return "nofollow" in asks


async def _documents(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a body of an unknown type; raises `FetchError` unless it begins as a document does."""
    begun = False
    async for chunk in chunks:
        if not begun and not any(mark.startswith(chunk[:4]) for mark in (PDF, ZIP)):
            raise FetchError("unfit", "content type unknown, and no document")
        begun = True
        yield chunk


def check(status: int, headers: Mapping[str, str], now: float, formats: Collection[Format]) -> None:
    """Raise `FetchError` unless the response may be a page; ``now`` is in seconds since the epoch."""
    if status >= 500 or status in _PASSING:
        raise FetchError("retry", f"status {status}", retry_after=retry_after(headers.get("retry-after"), now))
    if status != 200:
        raise FetchError("gone", "no content" if status == 204 else f"status {status}")
    kind = media_type(headers)
    # An invalid media type says nothing: the bytes decide.
    if "/" in kind and kind not in readable(formats):
        raise FetchError("unfit", f"content type {_NOT_A_TYPE.sub('', kind)[:60]}")
