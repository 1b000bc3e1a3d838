"""Judging the kept pages of `pages` by a predicate that came after them.

What comes of it is told beside the first verdict of each page, with the time that this one bears: the frontier
and the harvest add it to that verdict, once, and pass it over where they know of none. So it may be told again.
"""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from agents.judges.outcomes import outcome_of
from agents.judges.reading import PageReader
from agents.judges.verdicts import Verdicts
from models.learner.semantic import page_subject
from models.page import Page
from models.url import host, identifier
from models.verdict import Verdict
from streams.outbox import Outbox
from streams.records import FetchedPage, RecordError, Rejudged, Relinked
from streams.runtime import Runtime
from streams.topics import OUTCOMES, PAGES, SIGHTINGS
from streams.transport.reader import LogReader

#: Pages judged before other work gets its turn, and messages that may wait for the frontier meanwhile.
PAGES_AT_ONCE = 5
BACKLOG = 50
WAIT_SECONDS = 0.02

#: Is shown each page with its verdict.
Keep = Callable[[FetchedPage, Page, Verdict], None]


class Rejudge:
    """Reads the kept pages from the first to the last there is, and tells what one predicate says of them."""

    def __init__(
        self,
        runtime: Runtime,
        reader: LogReader,
        pages: PageReader,
        verdicts: Verdicts,
        backlog: Callable[[], Awaitable[int]],
        keep: Keep,
    ) -> None:
        self._runtime = runtime
        self._reader = reader
        self._pages = pages
        self._verdicts = verdicts
        self._backlog = backlog
        self._keep = keep
        self._meanings = runtime.settings.semantic is not None

    async def run(self, predicate: str) -> int:
        """Judge the pages that are kept at the call; return how many. Later ones are judged as they come."""
        judged = 0
        for partition, end in (await self._reader.ends(PAGES.name)).items():
            offset = 0
            while offset < end and predicate in self._verdicts.predicates.active:
                entries = await self._reader.fetch(PAGES.name, partition, offset, PAGES_AT_ONCE)
                if not entries:
                    break
                offset = entries[-1].offset + 1
                outbox = Outbox("")
                for entry in entries:
                    judged += self._judge(outbox, predicate, partition, entry.offset, entry.value or b"")
                await self._send(outbox)
        return judged

    async def _send(self, outbox: Outbox) -> None:
        if outbox:
            await self._runtime.publisher.send_all(outbox.take())
        while await self._backlog() > BACKLOG:
            await asyncio.sleep(WAIT_SECONDS)
        await asyncio.sleep(0)

    def _judge(self, outbox: Outbox, predicate: str, partition: int, offset: int, value: bytes) -> bool:
        try:
            fetched, page = self._pages.read(value)
        except RecordError:
            return False  # the judge agent has sent it to the dead letters
        if page.barred or fetched.order.revisit is not None:
            return False
        verdict, failure = self._verdicts.of(page, [predicate])
        origin = f"{PAGES.name}/{partition}@{offset}"
        if failure is not None:
            self._runtime.bury(outbox, (PAGES, partition, offset), value, failure, "judge")
        if verdict:
            self._tell(outbox, fetched, page, verdict, origin)
            self._keep(fetched, page, verdict)
        return bool(verdict)

    def _tell(self, outbox: Outbox, fetched: FetchedPage, page: Page, verdict: Verdict, origin: str) -> None:
        order = fetched.order
        outcome = outcome_of(fetched, page, verdict, origin, later=True)
        to = self._runtime.partition(OUTCOMES, order.url)
        outbox.send(OUTCOMES.name, to, order.url.encode(), msgspec.json.encode(outcome))
        subject = page_subject(order.url, page.title) if self._meanings else ""
        rejudged = Rejudged(order.url, verdict, fetched.time, page.words, subject, order.pattern)
        outbox.emit(SIGHTINGS.name, self._sightings(order.url), rejudged)
        for place in sorted({self._sightings(link.url) for link in page.links}):
            outbox.emit(SIGHTINGS.name, place, Relinked(identifier(order.url), verdict, fetched.time))

    def _sightings(self, url: str) -> int:
        return self._runtime.partition(SIGHTINGS, host(url))
