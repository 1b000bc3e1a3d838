"""The fetch agent: asks the web for the pages that the frontier orders.

Reads `fetches`; keeps nothing; writes `pages`, and to `sightings` what failed or was redirected.

An order is acknowledged when its answer is in the log: what was under way when a worker died is ordered again.
"""

import asyncio
from typing import Any

import zstandard

from agents.web.client import Client
from agents.web.result import Fetched, Moved, Result
from models.url import host
from streams.dead_letters import bury
from streams.outbox import Message, Outbox
from streams.records import Decoder, Failed, FetchedPage, FetchOrder, Pack, RecordError, Redirected, encode
from streams.runtime import Runtime
from streams.topics import FETCHES, PAGES, SIGHTINGS

#: Failures by which a whole host asks to be left alone for a while.
OVERLOADED = frozenset({"status 429", "status 503"})


class FetchAgent:
    """Fetches several pages at once, at most as many as there are connections."""

    def __init__(self, runtime: Runtime, client: Client) -> None:
        self._runtime = runtime
        self._client = client
        self._decode = Decoder[FetchOrder](FetchOrder)
        self._slots = asyncio.Semaphore(runtime.settings.fetch.connections)
        self._compress = zstandard.ZstdCompressor(level=1)
        runtime.app.agent(runtime.channel(FETCHES), name="fetch")(runtime.guarded(self._run))

    async def _run(self, stream: Any) -> None:
        async for event in stream.noack().events():
            await self._slots.acquire()
            self._runtime.spawn(self._answer(event))

    async def _answer(self, event: Any) -> None:
        try:
            messages = await self._messages(event.message, event.value)
            await self._runtime.publisher.send_all(messages)
            event.ack()
        finally:
            self._slots.release()

    async def _messages(self, message: Any, value: bytes) -> list[Message]:
        try:
            order = self._decode(value)
        except RecordError as error:
            outbox = Outbox("")
            now = self._runtime.clock()
            bury(outbox, FETCHES.name, message.partition, message.offset, value, str(error), now)
            return outbox.take()
        if order.lease < self._runtime.clock():
            return []  # the frontier has taken the order back
        return [self._message(order, await self._client.fetch(order.url))]

    def _message(self, order: FetchOrder, result: Result) -> Message:
        now = self._runtime.clock()
        if isinstance(result, Fetched):
            page = FetchedPage(
                order=order,
                status=result.status,
                headers=result.headers,
                body=self._compress.compress(result.body),
                time=now,
                elapsed=result.elapsed,
                crawl_delay=result.crawl_delay,
            )
            partition = self._runtime.partition(PAGES, order.url)
            return (PAGES.name, partition, None, encode(page))
        fact: Failed | Redirected
        if isinstance(result, Moved):
            fact = Redirected(order.url, order.order, result.target, now)
        else:
            fact = Failed(
                order.url,
                order.order,
                result.kind,
                result.reason,
                now,
                result.retry_after,
                result.reason in OVERLOADED,
            )
        pack: Pack[Failed | Redirected] = Pack(facts=[(0, 0, fact)])
        partition = self._runtime.partition(SIGHTINGS, host(order.url))
        return (SIGHTINGS.name, partition, None, encode(pack))
