"""Crawlee on Scentline's frontier: ``ParselCrawler(request_manager=await Frontier.open(url, token_file=...))``.

What the crawler is run with become seeds, what a handler adds the links to follow, and the data that it pushes
what the page is worth: an item "item", or one with the name of its dataset. A request that is no plain GET goes
to a queue in memory, and is served first. The frontier says when a page is asked for, and asked for again.
"""

import asyncio
import json
import logging
import time
import uuid
from collections import deque
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from crawlee import Request, RequestState, service_locator
from crawlee.crawlers import AbstractHttpCrawler, BasicCrawlingContext, HttpCrawlingContext
from crawlee.errors import ContextPipelineInterruptedError
from crawlee.events import Event
from crawlee.request_loaders import RequestManager
from crawlee.storage_clients import MemoryStorageClient
from crawlee.storage_clients.models import ProcessedRequest
from crawlee.storages import RequestQueue
from yarl import URL

from scentline_client.link import LINKS, NAME, Door, DoorError, Key, Link, Order, found_in, headers_of, memo_of

#: Characters of a URL at most.
LONGEST_URL = 2_000
#: Seconds in which an empty queue waits for an order: Crawlee looks at it every half second.
LOOK = 0.4

logger = logging.getLogger(__name__)


@dataclass
class Page:
    """A page that a handler is called for, and what came of it so far; ``key`` is None if nobody ordered it."""

    url: str
    key: Key | None = None
    begun: float = 0.0
    answer: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""
    items: dict[str, None] = field(default_factory=dict)
    links: dict[str, dict[str, Any]] = field(default_factory=dict)


_page: ContextVar[Page | None] = ContextVar("scentline_page", default=None)


class Frontier(RequestManager):
    """The requests that the frontier behind a door orders, for one run of a crawler."""

    def __init__(self, link: Link, most: int, local: RequestQueue) -> None:
        self.door = Door(link, most, self._arrived, self._busy)
        self._local = local
        self._pending = 0  #: Requests of the local queue that are not handled yet.
        self._handled = 0
        self._ready: deque[Request] = deque()
        self._pages: dict[str, Page] = {}  #: By the unique key of the order's request.
        self._news = asyncio.Event()
        self._started = self._keeps_depth = False
        self._why = "expected attach() first"  #: Why there is nothing to be had.

    @classmethod
    async def open(
        cls, url: str, *, token_file: str, ca: str | None = None, certificate: str | None = None, most: int = 16
    ) -> "Frontier":  # fmt: skip
        """Return one that leases up to ``most`` orders from the door at ``url``; the others as for `Link`."""
        local = await RequestQueue.open(alias=uuid.uuid4().hex, storage_client=MemoryStorageClient())
        return cls(Link(url, token_file, ca, certificate), most, local)

    def attach(self, crawler: AbstractHttpCrawler) -> None:
        """Begin to lease; see a crawler's answers and the data that its handlers push, and end with its run."""
        if not isinstance(crawler, AbstractHttpCrawler):
            raise TypeError(f"{type(crawler).__name__}: expected a crawler over HTTP, such as ParselCrawler")
        self._why = ""
        self._keeps_depth = getattr(crawler, "_max_crawl_depth", None) is not None

        async def ended() -> None:
            if self._started and not crawler.statistics.active:  # else it is only time to save what there is
                await self.close()

        self.door.start()
        crawler.pre_navigation_hook(self._before)
        crawler.post_navigation_hook(self._after)
        service_locator.get_event_manager().on(event=Event.PERSIST_STATE, listener=ended)

    async def close(self) -> None:
        """Send the answers that wait, and give back all other orders."""
        self._why = self._why or "a Frontier is for one run"
        await self.door.close()
        found = self.door.figures.get("predicates", {})
        hits = ", ".join(f"{name} {one['hits']} of {one['pages']}" for name, one in found.items())
        logger.info("Scentline's crawl is %s%s", self.door.state, hits and f"; hits: {hits}")

    # requests, as Crawlee sees them

    async def add_request(self, request: str | Request, *, forefront: bool = False) -> ProcessedRequest | None:
        """Take a seed, or a link of the page that is being handled; all but a plain GET stays here."""
        self._check()
        request = self._transform_request(request)
        memo, page = self._memo(request), _page.get()
        if memo is None:
            added = await self._local.add_request(request, forefront=forefront)
            self._pending += added is not None and not added.was_already_present
            return added
        if len(request.url) <= LONGEST_URL:
            found = {"url": request.url, "memo": memo}
            if page is not None and page.key is not None and len(page.links) < LINKS:
                page.links.setdefault(request.url, found)
            else:
                self.door.discover(**found, seed=page is None, parent=page.url if page is not None else "")
                await self.door.room()
        return None

    async def is_empty(self) -> bool:
        """Return whether there is nothing to do for now."""
        if self._pending and not await self._local.is_empty():
            return False
        if not self._ready and not self.door.over:
            self._news.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._news.wait(), LOOK)
        return self.door.over or not self._ready

    async def is_finished(self) -> bool:
        """Return whether the crawl is over; raises `DoorError` where it can't go on."""
        self._started = True
        self._check()
        return self.door.over and len(self._pages) == len(self._ready) and not self._pending

    async def fetch_next_request(self) -> Request | None:
        """Return a request that stayed here, else one that the frontier ordered."""
        found = await self._local.fetch_next_request() if self._pending else None
        ordered = self._ready and not self.door.over  # else nobody wants it any more
        return found or (self._ready.popleft() if ordered else None)

    async def mark_request_as_handled(self, request: Request) -> ProcessedRequest | None:
        """Tell what became of an order, and what its page has."""
        page = self._pages.get(request.unique_key)
        if page is None:
            self._pending -= 1
            return await self._local.mark_request_as_handled(request)
        self._handled += 1
        status = page.answer.get("status", 0)
        if request.state == RequestState.DONE:
            html = "html" in page.answer.get("headers", {}).get("content-type", "")
            text = None if html else page.body.decode(errors="replace")
            self._end(request, **page.answer, **found_in(page.items, page.links.values(), page.body, text))
        elif status not in (0, 200):
            self._end(request, **page.answer)
        elif request.state == RequestState.SKIPPED:
            self._end(request, reason="robots")
        else:
            self._end(request, reason="failed" if status else "connection")
        return None

    async def reclaim_request(self, request: Request, *, forefront: bool = False) -> ProcessedRequest | None:
        """Leave it to the frontier when an order that failed is to be tried again."""
        page = self._pages.get(request.unique_key)
        if page is None:
            return await self._local.reclaim_request(request, forefront=forefront)
        status = page.answer.get("status", 0)
        self._end(request, **page.answer if status >= 400 else {"reason": "broken" if status else "connection"})
        return None

    async def get_handled_count(self) -> int:
        """Return how many requests were handled in this run."""
        return self._handled + await self._local.get_handled_count()

    async def get_total_count(self) -> int:
        """Return how many requests were handled or are here; what the frontier has besides is its own."""
        return self._handled + len(self._pages) + await self._local.get_total_count()

    async def drop(self) -> None:
        """Give back what is held."""
        await self._local.drop()
        await self.close()

    # orders

    def _arrived(self, order: Order) -> None:
        key = (order["url"], order["order"])
        for memo in (order["memo"] or "{}", "{}"):  # the first may be that of another crawler
            with suppress(AttributeError, TypeError, ValueError):
                made = json.loads(memo)
                depth, headers = made.pop("depth", 0), {**made.pop("headers", {}), **order["conditions"]}
                request = Request.from_url(key[0], unique_key=" ".join(key), headers=headers, **made)
                request.crawl_depth = depth
                self._pages[request.unique_key] = Page(key[0], key)
                self._ready.append(request)
                self._news.set()
                return
        self.door.settle(key, reason="failed")

    def _memo(self, request: Request) -> str | None:
        """Return what makes a request again from its URL, or None for one that stays here."""
        own_key = not request.unique_key.startswith(("http://", "https://")) or "#" in request.unique_key
        if request.method != "GET" or request.payload or request.session_id or own_key:
            return None
        given = {
            "label": request.label, "user_data": dict(request.user_data), "headers": dict(request.headers),
            "enqueue_strategy": request.enqueue_strategy if request.enqueue_strategy != "all" else "",
            "depth": request.crawl_depth if self._keeps_depth else 0,
        }  # fmt: skip
        return memo_of(given)

    def _end(self, request: Request, **answer: Any) -> None:
        page = self._pages.pop(request.unique_key)
        if page.key is not None:
            self.door.settle(page.key, **answer)
            page.key = None  # what a handler of errors adds is no link of it any more

    # the crawler's work, page by page

    async def _before(self, context: BasicCrawlingContext) -> None:
        """Begin with a page, and count the data that is pushed for it."""
        request = context.request
        page = self._pages.get(request.unique_key) or Page(request.url)
        page.begun = time.monotonic()
        _page.set(page)
        push = context.push_data

        async def pushed(
            data: Any, dataset_id: str | None = None, dataset_name: str | None = None,
            dataset_alias: str | None = None, **kwargs: Any,
        ) -> None:  # fmt: skip
            if data:
                page.items[(dataset_name or dataset_alias or "item")[:NAME]] = None
            await push(data, dataset_id, dataset_name, dataset_alias, **kwargs)

        object.__setattr__(context, "push_data", pushed)  # the handler's context is made of this one

    async def _after(self, context: HttpCrawlingContext) -> None:
        """Keep the answer; a redirect ends here, and its target's turn comes with an order of its own."""
        page, response, now = _page.get(), context.http_response, time.monotonic()
        if page is None or page.key is None:
            return
        headers = headers_of(response.headers)
        status, asked = response.status_code, context.request
        page.answer = {"status": status, "headers": headers, "ended": now, "elapsed": now - page.begun}
        page.body = await response.read()
        target = _target(asked, status, headers)
        # Crawlee knows how far a link with another strategy may lead.
        if target and (asked.enqueue_strategy == "all" or URL(target).host == URL(asked.url).host):
            moved = 302 if status == 200 else status  # Crawlee has followed it
            page.answer |= {"status": moved, "target": target[: 4 * LONGEST_URL]}
        if status == 304 or "target" in page.answer:
            raise ContextPipelineInterruptedError("left to the frontier")

    # news

    def _busy(self) -> bool:
        return not self._started or self._pending > 0

    def _check(self) -> None:
        if why := self._why or self.door.lost:
            raise DoorError(why)


def _target(request: Request, status: int, headers: dict[str, str]) -> str:
    """Return where a request was sent on to, empty if nowhere."""
    if 300 <= status < 400:
        return urljoin(request.url, headers["location"]) if "location" in headers else ""
    loaded = URL(request.loaded_url or request.url).with_fragment(None)
    return str(loaded) if status == 200 and loaded != URL(request.url).with_fragment(None) else ""
