"""Judging kept pages by a later predicate: each judge those of its own partitions of `pages`.

The results are reported with the time of the page's verdict: the frontier and the harvest add them to that
verdict once, and skip them where they know no verdict of that time. So a repetition does no harm, and a row has
the progress, from which the partition's next owner goes on. A page that was judged again without a change has
no verdict of that time.

Why no page is missed, however many judges there are. The end of a partition is read once its judge knows the
predicate, so that

- a page from the end on has its first verdict with the predicate: this judge knows it, and so does the next
  owner, by the row; if the row was not written, the next owner reads an end of its own;
- a page that an earlier owner may still report without it stands before the end: that owner read it while the
  partition was its own, and the end was read later;
- a page before the end is judged again only once its first verdict is in the log, ahead of what is added to it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from scentline.agents.judge.agent import JudgeAgent
from scentline.agents.judge.duplicates import LaterRow, later_key, later_row
from scentline.agents.judge.question import Examined, PageError, Question
from scentline.models.errors import EventLog
from scentline.models.facts import Fetched, Linked, Page
from scentline.models.published import PredicateDefinition
from scentline.models.records import NOT_MODIFIED, Decoder, FetchedPage, HostAnswer, RecordError
from scentline.models.url import identifier
from scentline.streams.attempts import Place
from scentline.streams.inbox import Message, Outbox
from scentline.streams.metrics import Reading
from scentline.streams.metrics.catalogue import KEPT_LEFT
from scentline.streams.topics import PAGES, SIGHTINGS
from scentline.streams.transport.database import Entry

#: Pages judged before other work gets its turn.
PAGES_AT_ONCE = 5
#: Seconds between two looks at whether there is anything to do.
LOOK_SECONDS = 0.2

#: Returns when the readers of the results have room for more.
Room = Callable[[], Awaitable[None]]

log = EventLog("judge")


class Rejudge:
    """Judges the kept pages of the partitions of ``agent``, a few at a time, beside new pages."""

    def __init__(self, agent: JudgeAgent, room: Room) -> None:
        self._agent = agent
        self._runtime = agent.runtime
        self._inbox = agent.inbox
        self._decode = Decoder[FetchedPage](FetchedPage)
        self._room = room
        agent.runtime.watch(self.measure)

    async def run(self) -> None:
        """Judge by each predicate that asks for it; never returns."""
        while True:
            if not await self.look():
                await asyncio.sleep(LOOK_SECONDS)

    def measure(self, reading: Reading) -> None:
        """Add the number of pages that are left for each predicate."""
        for name in self._agent.predicates.active:
            reading.add(KEPT_LEFT, 0, name)
        for shard, definition in self._agent.due():
            row = later_row(shard, definition.name)
            reading.add(KEPT_LEFT, 0 if row is None else row.end - row.at, definition.name)

    async def look(self) -> bool:
        """Judge a few pages of each partition by each predicate; return whether there were any."""
        if not any(self._agent.due()):
            return False
        await self._room()  # holding no shard, whose table could not be opened again
        went_on = False
        for partition, definition in [(shard.partition, definition) for shard, definition in self._agent.due()]:
            went_on |= await self._go_on(partition, definition)
        return went_on

    async def _go_on(self, partition: int, definition: PredicateDefinition) -> bool:
        shard = self._inbox.shards.get(partition)
        if shard is None:
            return False
        row = later_row(shard, definition.name)
        if row is None:
            del shard
            ends = await self._runtime.bus.ends(PAGES.name)
            self._note(partition, None, LaterRow(definition, ends[partition]))
            return True
        if shard.mark.offset + 1 < row.end:
            return False  # some have no verdict yet
        await self._inbox.commit(shard)
        del shard
        entries = await self._runtime.bus.fetch(PAGES.name, partition, row.at, PAGES_AT_ONCE)
        await self._judge_all(partition, row, [entry for entry in entries if entry.offset < row.end])
        return True

    async def _judge_all(self, partition: int, row: LaterRow, entries: Sequence[Entry]) -> None:
        outbox = Outbox("")  # without origins: a repetition does no harm
        for entry in entries:
            await self.judge(outbox, row.definition.name, partition, entry.offset, entry.value or b"")
        at = entries[-1].offset + 1 if entries else row.end
        self._note(partition, row, LaterRow(row.definition, row.end, at), outbox.take())

    def _note(
        self, partition: int, before: LaterRow | None, row: LaterRow, messages: Sequence[Message] = ()
    ) -> None:
        """Note the progress of a predicate in the group that reports its verdicts.

        If its row is not as ``before``, the partition was lost meanwhile: its owner goes on from the row.
        """
        shard = self._inbox.shards.get(partition)
        if shard is None or later_row(shard, row.definition.name) != before:
            return
        for message in messages:
            shard.send(*message)
        shard.put(later_key(row.definition.name), row)
        self._inbox.commit_soon(shard)
        if row.done:
            log.info("kept pages were judged", predicate=row.definition.name, partition=partition)

    async def judge(self, outbox: Outbox, predicate: str, partition: int, offset: int, value: bytes) -> None:
        """Judge one page and send the result, if it has one, to ``outbox``."""
        place = Place(PAGES.name, partition, offset)
        try:
            fetched = self._decode(value)
            if fetched.status == NOT_MODIFIED:
                return  # its earlier version is judged
            known = self._agent.predicates.expressions
            asked = {predicate: known[predicate]} if predicate in known else {}
            examined = await self._agent.examiner.examine(Question(value, asked, alone=True))
        except RecordError:
            return  # already a dead letter
        except PageError as error:
            self._runtime.bury(outbox, place, value, str(error), "page")
            return
        if examined.failure is not None:
            self._runtime.bury(outbox, place, value, examined.failure, "judge")
        if examined.verdict:
            self._tell(outbox, fetched, examined, f"{PAGES.name}/{partition}@{offset}")
            self._agent.keep(fetched, examined)

    def _tell(self, outbox: Outbox, fetched: FetchedPage, examined: Examined, origin: str) -> None:
        agent, order, page, verdict = self._agent, fetched.order, examined.page, examined.verdict
        agent.tell_outcome(outbox, fetched, examined, origin, later=True)
        linked = Linked(identifier(order.url), order.url, order.depth, verdict, time=fetched.time, visit="kept")
        known = order.revisit.partitions if order.revisit is not None else ()
        for place in sorted({*known, *agent.links(page)}):
            outbox.emit(SIGHTINGS.name, place, linked)
        judged = Page(verdict, page.words, agent.subject(page))
        later = Fetched(order.url, 0, "kept", fetched.time, HostAnswer(), judged)
        outbox.emit(SIGHTINGS.name, agent.sightings(order.url), later)
