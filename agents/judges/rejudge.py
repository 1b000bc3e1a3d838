"""Judging kept pages by a predicate that came after them: each judge those of its own partitions of `pages`.

What comes of it is told beside the first verdict of each page, with the time that this one bears: the frontier
and the harvest add it to that verdict, once, and pass it over where they know of none. So it may be told again,
and how far it was told is kept in a row, by which whoever has the partition next goes on.

Why no page is missed, however many judges there are. The end of a partition is read when its judge has heard
of the predicate, so that

- a page from the end on has its first verdict with the predicate: this judge knows it, and so does whoever
  takes the partition over, by the row; if that was not written, the next owner reads an end of its own;
- a page that an earlier owner may yet tell of without it stands before the end: that one read it while the
  partition was its own, and the end was read later than that;
- a page before the end is judged anew only when its first verdict is in the log, ahead of what is added to it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from agents.judges.outcomes import outcome_of
from agents.judges.reading import PageReader
from agents.judges.rows import LaterRow, due, later_key, later_row
from agents.judges.verdicts import Verdicts
from agents.keep.store import KeptPages
from models.learner.semantic import page_subject
from models.page import Page
from models.url import host, identifier
from models.verdict import Verdict
from streams.attempts import Place
from streams.inbox import Shard
from streams.logging import EventLog
from streams.metrics.catalogue import KEPT_LEFT
from streams.metrics.reading import Reading
from streams.outbox import Outbox
from streams.records import FetchedPage, PredicateDefinition, RecordError, Rejudged, Relinked
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import OUTCOMES, PAGES, SIGHTINGS
from streams.transport.layout import Entry
from streams.transport.reader import LogReader

#: Pages judged before other work gets its turn.
PAGES_AT_ONCE = 5
#: Seconds between two looks at whether there is anything to do.
LOOK_SECONDS = 0.2

#: Returns when those who take in what pages come to have room for more.
Room = Callable[[], Awaitable[None]]

log = EventLog("judge")


class Rejudge:
    """Goes through the kept pages of the partitions in ``inbox``, a few at a time, beside those that come."""

    def __init__(
        self,
        runtime: Runtime,
        inbox: Stateful[Any],
        reader: LogReader,
        pages: PageReader,
        verdicts: Verdicts,
        kept: KeptPages,
        room: Room,
    ) -> None:
        self._runtime = runtime
        self._inbox = inbox
        self._reader = reader
        self._pages = pages
        self._verdicts = verdicts
        self._kept = kept
        self._room = room
        self._meanings = runtime.settings.semantic is not None
        runtime.watch(self.measure)

    async def run(self) -> None:
        """Judge by each predicate that asks for it, as soon as it is heard of; never returns."""
        while True:
            if not await self.look():
                await asyncio.sleep(LOOK_SECONDS)

    def measure(self, reading: Reading) -> None:
        """Tell how many pages are left, of each predicate that is followed."""
        for name in self._verdicts.predicates.active:
            reading.add(KEPT_LEFT, 0, name)
        for shard, definition in due(self._verdicts.predicates, self._inbox.shards.values()):
            row = later_row(shard, definition.name)
            reading.add(KEPT_LEFT, 0 if row is None else row.end - row.at, definition.name)

    async def look(self) -> bool:
        """Judge a few pages of each partition by each predicate; return whether there was anything to do."""
        if not any(due(self._verdicts.predicates, self._inbox.shards.values())):
            return False
        await self._room()  # with no shard in hand: a table that is kept open can't be taken over again
        went_on = False
        for shard, definition in list(due(self._verdicts.predicates, self._inbox.shards.values())):
            went_on |= await self._go_on(shard, definition)
        return went_on

    async def _go_on(self, shard: Shard[Any], definition: PredicateDefinition) -> bool:
        row = later_row(shard, definition.name)
        if row is None:
            ends = await self._reader.ends(PAGES.name)
            self._note(shard, LaterRow(definition, ends[shard.partition]))
            return True
        if shard.mark.offset + 1 < row.end:
            return False  # some of them have no verdict yet
        await self._inbox.commit(shard)
        entries = await self._reader.fetch(PAGES.name, shard.partition, row.at, PAGES_AT_ONCE)
        if self._inbox.shards.get(shard.partition) is shard:
            self._judge_all(shard, row, [entry for entry in entries if entry.offset < row.end])
        return True

    def _judge_all(self, shard: Shard[Any], row: LaterRow, entries: Sequence[Entry]) -> None:
        outbox = Outbox("")  # without origins: a repetition does no harm
        name = row.definition.name
        for entry in entries:
            self.judge(outbox, name, shard.partition, entry.offset, entry.value or b"")
        for message in outbox.take():
            shard.outbox.send(*message)
        at = entries[-1].offset + 1 if entries else row.end
        self._note(shard, LaterRow(row.definition, row.end, at))

    def _note(self, shard: Shard[Any], row: LaterRow) -> None:
        """Note how far a predicate has come, in the group that tells what it says, while the shard is ours."""
        if self._inbox.shards.get(shard.partition) is not shard:
            return
        shard.put(later_key(row.definition.name), row)
        self._inbox.commit_soon(shard)
        if row.done:
            log.info("kept pages were judged", predicate=row.definition.name, partition=shard.partition)

    def judge(self, outbox: Outbox, predicate: str, partition: int, offset: int, value: bytes) -> bool:
        """Judge one page and gather what it comes to; return whether it is one that is judged at all."""
        try:
            fetched, page = self._pages.read(value)
        except RecordError:
            return False  # the judge agent has sent it to the dead letters
        if page.barred or fetched.order.revisit is not None:
            return False
        verdict, failure = self._verdicts.of(page, [predicate])
        origin = f"{PAGES.name}/{partition}@{offset}"
        if failure is not None:
            self._runtime.bury(outbox, Place(PAGES.name, partition, offset), value, failure, "judge")
        if verdict:
            self._tell(outbox, fetched, page, verdict, origin)
            self._kept.keep(fetched, page, verdict)
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
