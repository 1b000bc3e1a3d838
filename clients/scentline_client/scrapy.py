"""Scrapy on Scentline's frontier: ``ADDONS = {"scentline_client.scrapy.Addon": 500}``; the spider is unchanged.

What `start()` yields become seeds, the requests that a callback yields the links to follow, and its items what
the page is worth. Needs SCENTLINE_URL and SCENTLINE_TOKEN_FILE; SCENTLINE_CA and SCENTLINE_CERTIFICATE (PEM
files) for TLS. A request that is no plain GET stays in Scrapy's own queues and goes first: DOWNLOAD_DELAY,
retries and redirects hold for those alone, the frontier says when any other page is asked for.
"""

import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import Scheduler as Local
from scrapy.exceptions import CloseSpider, IgnoreRequest, NotConfigured
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.settings import BaseSettings
from scrapy.utils.defer import deferred_from_coro
from twisted.python.failure import Failure

from scentline_client.link import LINKS, NAME, Door, Key, Link, Order, found_in, headers_of, memo_of

#: In the meta of a request: the order that it is for.
ORDER = "scentline_order"
#: The downloader's slot for orders: the frontier has seen to the delay between requests to a host.
SLOT = "scentline"
#: Meta of an order's request, by which Scrapy leaves retries, redirects and delays to the frontier.
OURS = {
    "dont_retry": True, "dont_redirect": True, "download_slot": SLOT, "autothrottle_dont_adjust_delay": True,
}  # fmt: skip
#: What Scrapy adds to meta, also in a copy that a spider passes on.
PASSING = frozenset({ORDER, "download_latency", "download_timeout", "link_text"})
TEXT = 1_000  #: Characters of a link's text at most.
CALLS = ("callback", "errback")  #: Methods of the spider that a request names.
#: By the name of an exception, or of one of its bases or causes, why there is no response.
REASONS = {
    "Timeout": "timeout", "CannotResolveHost": "dns", "DNSLookup": "dns", "SSL": "tls", "Cancelled": "size",
    "DataLoss": "broken", "Failed": "broken", "Connect": "connection",
}  # fmt: skip


class Addon:
    """Puts the frontier in the place of Scrapy's scheduler."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Set the scheduler, the middleware and the slot; raises `NotConfigured` without SCENTLINE_URL."""
        if not settings.get("SCENTLINE_URL") or not settings.get("SCENTLINE_TOKEN_FILE"):
            raise NotConfigured("SCENTLINE_URL or SCENTLINE_TOKEN_FILE is not set")
        _link(settings)  # raises what can't be one here: once the spider is open, Scrapy can't close it
        settings.set("SCHEDULER", Scheduler, "addon")
        settings["SPIDER_MIDDLEWARES"].set(Outcome, 10, "addon")  # nearest to the engine
        slot = {"concurrency": _most(settings), "delay": 0, "jitter": 0}
        at = max(settings.getpriority("DOWNLOAD_SLOTS") or 0, settings.getpriority("ADDONS") or 0)
        settings.set("DOWNLOAD_SLOTS", {**settings.getdict("DOWNLOAD_SLOTS"), SLOT: slot}, at)


def _link(settings: BaseSettings) -> Link:
    names = ("SCENTLINE_URL", "SCENTLINE_TOKEN_FILE", "SCENTLINE_CA", "SCENTLINE_CERTIFICATE")
    return Link(*(settings.get(name) for name in names))


def _most(settings: BaseSettings) -> int:
    return settings.getint("CONCURRENT_REQUESTS") or 64


class Scheduler(Local):  # type: ignore[misc]
    """Sends plain GET requests to the frontier, and gets them back in its order; queues all others itself."""

    def open(self, spider: Spider) -> Any:
        """Begin to lease."""
        crawler, settings = self.crawler, self.crawler.settings
        self.door = Door(_link(settings), _most(settings), self._arrived, self._busy)
        self.starting = True  #: Whether start() may yield more.
        self._ready: deque[Request] = deque()
        self._links: dict[str, dict[str, Any]] | None = None
        self._page = ""
        self._passing = PASSING if settings.getint("DEPTH_LIMIT") else PASSING | {"depth"}
        crawler.get_spider_middleware(Outcome).scheduler = self
        crawler.signals.connect(self._response_received, signals.response_received)
        crawler.signals.connect(self._idle, signals.spider_idle)
        self.door.start()
        return super().open(spider)

    def close(self, reason: str) -> Any:
        """Give back what is held."""
        return deferred_from_coro(self._close(reason))

    async def _close(self, reason: str) -> None:
        super().close(reason)
        await self.door.close()
        for name, count in self.door.counts.items():
            self.stats.set_value(f"scentline/{name}", count)
        for name, found in self.door.figures.get("predicates", {}).items():
            self.stats.set_value(f"scentline/hits/{name}", found["hits"])
            self.stats.set_value(f"scentline/harvest_rate/{name}", found["hits"] / max(1, found["pages"]))

    # the queue, as the engine sees it

    def has_pending_requests(self) -> bool:
        """Return whether the crawl goes on."""
        return not self.door.over or super().has_pending_requests()

    def next_request(self) -> Request | None:
        """Return a request of Scrapy's own, else one that the frontier ordered."""
        ordered = self._ready and not self.door.over  # else nobody wants it any more
        return super().next_request() or (self._ready.popleft() if ordered else None)

    def enqueue_request(self, request: Request) -> bool:
        """Take an order that arrived, or a request of the spider: to the frontier, if it is a plain GET."""
        if self.door.held.get(_key(request)) is False:
            self._ready.append(request)
            return True
        if ORDER in request.meta:  # copied by the spider
            for name in (ORDER, *OURS):
                request.meta.pop(name, None)
        memo = self._memo(request)
        if memo is None:
            self.door.counts["local"] += 1
            return super().enqueue_request(request)
        found = {"url": request.url, "text": str(request.meta.get("link_text", ""))[:TEXT], "memo": memo}
        if self._links is None or (len(self._links) == LINKS and request.url not in self._links):
            self.door.discover(**found, seed=self._page == "", parent=self._page)
        else:
            self._links.setdefault(request.url, found)
        return not self.door.over

    def follow(self, request: Request, page: str, links: dict[str, dict[str, Any]] | None) -> None:
        """Take a request of a page's callback, by way of the engine, whose extensions may drop it."""
        self._page, self._links = page, links
        try:
            self.crawler.engine.crawl(request)
        finally:
            self._page, self._links = "", None

    def _memo(self, request: Request) -> str | None:
        """Return what makes a request again from its URL, or None for one that stays here."""
        first = "is_start_request" in request.meta and not self._page
        kept = {name: value for name, value in request.meta.items() if name not in self._passing}
        headers = dict(request.headers.to_unicode_dict())
        headers.pop("Referer", None)  # each page's own: every link would need a memo
        calls = {name: getattr(request, name) for name in CALLS}
        names = {name: getattr(call, "__name__", "") for name, call in calls.items() if call is not None}
        if (
            type(request) is not Request or request.method != "GET" or request.body or request.cookies
            or (request.dont_filter and not first) or not request.url.startswith(("http://", "https://"))
            or any(getattr(self.spider, name, None) != calls[which] for which, name in names.items())
            or "retry_times" in kept or "redirect_times" in kept  # goes on with one that was made here
        ):  # fmt: skip
            return None
        given = names | {"cb_kwargs": request.cb_kwargs, "meta": kept, "headers": headers}
        return memo_of(given)

    # orders

    def _arrived(self, order: Order) -> None:
        """Pass an order to the engine, which it wakes, as a request."""
        try:
            request = self._request(order, json.loads(order["memo"] or "{}"))
        except (AttributeError, TypeError, ValueError):  # the memo of another crawler
            request = self._request(order, {})
        self.crawler.engine.crawl(request)
        if request not in self._ready:  # dropped on the way, as by the offsite middleware
            self.end(request, reason="failed")

    def _request(self, order: Order, memo: dict[str, Any]) -> Request:
        """Return the request for an order; raises for what is no memo of `_memo`."""
        callback, errback = (getattr(self.spider, memo[name]) if name in memo else None for name in CALLS)
        return Request(
            order["url"], callback, errback=partial(self._failed, errback), dont_filter=True,
            cb_kwargs=memo.get("cb_kwargs"), headers={**memo.get("headers", {}), **order["conditions"]},
            meta={**memo.get("meta", {}), **OURS, ORDER: (order["url"], order["order"])},
        )  # fmt: skip

    def end(self, request: Request, response: Response | None = None, **answer: Any) -> None:
        """Tell what became of an order, if its request is for one that is held."""
        if response is not None:
            lines = {str(name, "latin-1"): b"\n".join(each) for name, each in response.headers.items()}
            headers = headers_of({name: str(each, "latin-1") for name, each in lines.items()})
            answer |= {"status": response.status, "headers": headers, "target": headers.get("location", "")}
            if not request.meta.get("proxy"):  # else the address is the proxy's
                answer["server"] = str(response.ip_address or "")
        self.door.settle(_key(request), elapsed=request.meta.get("download_latency", 0.0), **answer)

    def _failed(self, errback: Callable[[Failure], Any] | None, failure: Failure) -> Any:
        response = getattr(failure.value, "response", None)  # of a status that the spider does not take
        if isinstance(response, Response):
            self.end(failure.request, response)
        else:
            self.end(failure.request, reason=_reason(failure.value))
        return failure if errback is None else errback(failure)

    # news

    def _response_received(self, response: Response, request: Request) -> None:
        if request.url.endswith("/robots.txt") and request.meta.get("dont_obey_robotstxt"):
            url = request.meta.get("redirect_urls", [request.url])[0]
            self.door.saw_robots(url, response.status, _text(response))

    def _busy(self) -> bool:
        active = self.crawler.engine.downloader.active
        return self.starting or len(self) > 0 or any(ORDER not in request.meta for request in active)

    def _idle(self) -> None:
        raise CloseSpider(f"scentline: {self.door.lost or self.door.state}")


class Outcome:
    """The middleware nearest to the engine: sees what the spider makes of a page."""

    scheduler: Scheduler

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Let the spider start no faster than the frontier takes its seeds."""
        async for one in start:
            yield one
            await self.scheduler.door.room()
        self.scheduler.starting = False

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass items on, and requests to the scheduler; tell of the page once its callback has ended."""
        scheduler, ended = self.scheduler, time.monotonic()
        mine = scheduler.door.held.get(_key(response.request)) is False
        items: dict[str, None] = {}
        links: dict[str, dict[str, Any]] | None = {} if mine and response.status == 200 else None
        try:
            async for one in result:
                if isinstance(one, Request):
                    scheduler.follow(one, response.url, links)
                    await scheduler.door.room()
                else:
                    items["item" if type(one) is dict else type(one).__name__[:NAME]] = None
                    yield one
        finally:
            if mine:
                text = None if isinstance(response, HtmlResponse) else _text(response)
                body = response.body if response.status == 200 else b""
                found = found_in(items, (links or {}).values(), body, text)
                scheduler.end(response.request, response, ended=ended, **found)


def _text(response: Response) -> str:
    return response.text if isinstance(response, TextResponse) else ""


def _key(request: Request) -> Key:
    return request.meta.get(ORDER) or ("", "")


def _reason(error: BaseException | None) -> str:
    """Return why there is no response, in the door's words."""
    if isinstance(error, IgnoreRequest):
        return "robots" if "robots.txt" in str(error) else "failed"
    said = ""
    while error is not None:
        said += f" {type(error).__mro__} {error}"
        error = error.__cause__
    return next((reason for name, reason in REASONS.items() if name in said), "failed")
