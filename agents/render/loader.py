"""What a rendered page loads: the browser asks here for each request, which the pool of fetches makes, or not.

So a request of a script is checked as any other fetch: its spelling, its port, the address that is connected
to, and each step of a redirect. What the browser does not ask for here reaches nobody.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from scentline.agents.fetch.client import MOVED, fields
from scentline.agents.fetch.pool import Pool
from scentline.agents.fetch.result import Body, FetchError, read_body, unexpected
from scentline.agents.fetch.servers import Recent
from scentline.models.settings import FetchSettings, RenderSettings
from scentline.models.url import canonical, domain, host, origin

if TYPE_CHECKING:
    from playwright.async_api import Page, Request, Route

#: Types of requests that bring content, as Chromium names them.
_LOADED: Final = frozenset({"script", "xhr", "fetch"})
#: Registered domains of trackers and advertisements.
_LISTED: Final = """
    adnxs.com adsrvr.org amazon-adsystem.com amplitude.com chartbeat.com clarity.ms criteo.com demdex.net
    doubleclick.net facebook.net fullstory.com google-analytics.com googleadservices.com googlesyndication.com
    googletagmanager.com hotjar.com licdn.com mixpanel.com newrelic.com nr-data.net omtrdc.net onetrust.com
    optimizely.com outbrain.com quantserve.com segment.com segment.io sentry.io taboola.com
"""
_TRACKERS: Final = frozenset(_LISTED.split())
_AT_ONCE: Final = 6  # Requests, as browsers make to one host.
_ASKED: Final = 10  # Requests that a page may begin, for each that is made.
_MOST_SCRIPTS, _SCRIPT_BYTES, _SCRIPT_SECONDS = 1000, 64_000_000, 300.0  # Scripts kept, and for how long.
QUIET_SECONDS: Final = 0.1  #: Seconds without a request after which no more is expected.
#: Headers that are sent on to other sites; and those that are not to the page's own, since they are the pool's.
_SENT: Final = frozenset({"accept", "content-type", "origin", "referer"})
_OURS: Final = frozenset({
    "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
})  # fmt: skip
#: Headers of an answer that are about its transfer.
_FRAMING: Final = frozenset({"connection", "content-encoding", "content-length", "transfer-encoding"})


class _Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Scripts(Recent[str, tuple[float, _Answer]]):
    """Scripts and when they are loaded again, by their URLs: the pages of a site have the same ones."""

    def __init__(self) -> None:
        super().__init__(_MOST_SCRIPTS, lambda script: len(script[1].body), _SCRIPT_BYTES)


class Loader:
    """Answers a browser's requests for one page, within the page's bounds."""

    def __init__(
        self, pool: Pool, fetch: FetchSettings, bounds: RenderSettings, scripts: Scripts, url: str, page: Body
    ) -> None:
        self._pool, self._fetch, self._scripts = pool, fetch, scripts
        self.url, self._document = url, page
        self._site = domain(host(url))
        self._left, self._bytes = bounds.requests, bounds.max_bytes
        self._most = _ASKED * bounds.requests
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._loading: set[asyncio.Task[None]] = set()
        self.begun = 0  #: Requests of any kind that the page has begun.
        self._served = False
        self.requests = 1  #: Requests to the page's own site, the one for the page included.
        self.moved = ""  #: The canonical URL that a script went to.
        self.over = asyncio.Event()  #: Set when it did, or when the page asks without end.

    async def attach(self, page: "Page") -> None:
        """Answer all requests of a page and of what it opens."""
        self._page = page
        await page.context.route("**/*", self._take)

    async def quiet(self) -> int:
        """Wait until nothing is loaded any more, and return how many requests there were."""
        seen = -1
        while seen < self.begun or self._loading:
            seen = self.begun
            if self._loading:
                await asyncio.wait(self._loading)
            await asyncio.sleep(QUIET_SECONDS)
        return seen

    async def close(self) -> None:
        """End the requests in flight, and make no more."""
        self._most = 0
        for task in self._loading:
            task.cancel()
        await asyncio.gather(*self._loading, return_exceptions=True)

    async def _take(self, route: "Route") -> None:
        from playwright.async_api import Error

        task = asyncio.current_task()
        assert task is not None
        self.begun += 1
        self._loading.add(task)
        try:
            if self.begun > self._most:
                self.over.set()
                raise asyncio.CancelledError  # without an answer, which would only bring the next request
            await self._answer(route)
        except Exception as error:
            if not isinstance(error, Error):  # which says that the page is gone
                unexpected("rendering", self.url, error)
            raise asyncio.CancelledError from None  # so ends Playwright's wait, too
        finally:
            self._loading.discard(task)

    async def _answer(self, route: "Route") -> None:
        request = route.request
        if request.is_navigation_request():
            await self._navigate(route)
        elif request.resource_type == "stylesheet":
            # A script may wait for a style sheet that it wants, but shows nothing else for it.
            await route.fulfill(content_type="text/css", body="")
        elif (found := await self._load(request)) is not None:
            await route.fulfill(status=found.status, headers=found.headers, body=found.body)
        else:
            await route.abort()

    async def _navigate(self, route: "Route") -> None:
        request = route.request
        if request.frame != self._page.main_frame:
            await route.abort()  # its text would be no part of the page's
        elif not self._served:
            self._served = True
            kind = self._document.headers["content-type"].replace("application/xhtml+xml", "text/html")
            await route.fulfill(content_type=kind, body=self._document.body)
        else:
            target = canonical(request.url)
            if target and target != self.url and request.method == "GET":
                self.moved = target
                self.over.set()
            await route.abort("aborted")  # for any other reason an error page would replace the document

    async def _load(self, request: "Request") -> _Answer | None:
        url, method = canonical(request.url), request.method
        if url is None or request.resource_type not in _LOADED or domain(host(url)) in _TRACKERS:
            return None
        content = b"" if method == "GET" else request.post_data_buffer or b""
        if method != "GET" and not (method == "POST" and self._own(url)):
            return None
        script = request.resource_type == "script"
        until, kept = self._scripts.get(url, (0.0, None))
        if script and until > time.monotonic():
            return kept
        try:
            async with self._turns:
                found, place = await self._asked(method, url, request.headers, content), url
                for _ in range(self._fetch.redirects):
                    if method != "GET" or found.status not in MOVED or "location" not in found.headers:
                        break
                    place = canonical(found.headers["location"], place) or ""
                    found = await self._asked(method, place, request.headers)
        except FetchError:
            return None
        if script and _same_for_all(found):
            self._scripts[url] = time.monotonic() + _SCRIPT_SECONDS, found
        # Playwright has the browser take every answer for one that the page may read.
        own, allowed = origin(self.url), found.headers.get("access-control-allow-origin")
        return found if script or origin(place) == own or allowed in ("*", own) else None

    async def _asked(self, method: str, url: str, given: Mapping[str, str], content: bytes = b"") -> _Answer:
        """Make one request; raises `FetchError`, also beyond the page's bounds."""
        own = self._own(url)
        if not own and self._pool.logins.headers(url):
            raise FetchError("refused", "host denied")  # a page must not use what another site lets us do
        names = given.keys() - _OURS if own else given.keys() & _SENT
        headers = {name: given[name] for name in names if given[name].isascii() and name[:4] != "sec-"}
        self._left -= 1
        if self._left < 0:
            raise FetchError("unfit", "over the requests of a page")
        self.requests += own
        async with self._pool.open(url, headers, method, content) as response:
            told = {name: value for name, value in fields(response).items() if name not in _FRAMING}
            if cookies := response.headers.get_list("set-cookie"):
                told["set-cookie"] = "\n".join(cookies)
            coding = response.headers.get("content-encoding", "")
            chunks = self._counted(response.aiter_raw())
            body = await read_body(chunks, coding, self._fetch.max_bytes, self._fetch.max_ratio)
        return _Answer(response.status_code, told, body)

    async def _counted(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            self._bytes -= len(chunk)
            if self._bytes < 0:
                raise FetchError("unfit", "over the bytes of a page")
            yield chunk

    def _own(self, url: str) -> bool:
        return domain(host(url)) == self._site


def _same_for_all(answer: _Answer) -> bool:
    """Return whether an answer may be given to other pages for a while."""
    control = answer.headers.get("cache-control", "").lower()
    never = any(word in control for word in ("no-store", "no-cache", "private", "max-age=0"))
    varies = answer.headers.get("vary", "").lower() not in ("", "accept-encoding")
    return answer.status == 200 and not (never or varies or "set-cookie" in answer.headers)
