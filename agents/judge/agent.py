"""The judge agent: checks fetched pages against every active predicate.

Reads `pages` and `control`; keeps the table `duplicates` (a row per judged page, band of its sketch, space of
URLs, and later predicate); writes `outcomes`, and links, verdicts and refusals to `sightings`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from scentline.agents.fetch.result import version_of
from scentline.agents.judge.duplicates import (
    LATER_PREFIX,
    DuplicateRow,
    Duplicates,
    LaterRow,
    later_key,
    later_row,
    same_owner,
)
from scentline.agents.judge.kept import KeptPages
from scentline.agents.judge.predicates import Predicates
from scentline.agents.judge.question import Examined, Examines, PageError, Question
from scentline.models.errors import EventLog
from scentline.models.facts import Fetched, Linked, Missing, Rendering
from scentline.models.facts import Page as Came
from scentline.models.page import Link, Page
from scentline.models.published import Outcome, PredicateDefinition
from scentline.models.records import NOT_MODIFIED, Decoder, FetchedPage, HostAnswer, Pack, RecordError
from scentline.models.semantic import page_subject
from scentline.models.url import host, identifier
from scentline.streams.attempts import Place, Why
from scentline.streams.inbox import Message, Outbox, Shard
from scentline.streams.metrics import Outcomes, Reading
from scentline.streams.metrics.catalogue import KEPT_LEFT, PAGES_READ
from scentline.streams.runtime import Runtime
from scentline.streams.stateful import WRITTEN_ONCE, Handler, Stateful
from scentline.streams.topics import OUTCOMES, PAGES, SIGHTINGS

log = EventLog("judge")

#: Pages judged before other work gets its turn.
PAGES_AT_ONCE = 5
#: Seconds between two checks for work.
LOOK_SECONDS = 0.2
#: The reason for refusing a page that could not be judged.
QUARANTINED = "quarantined: it could not be judged"


class Arrival(NamedTuple):
    """A message of `pages`, and the examined page or its error."""

    value: bytes
    fetched: FetchedPage
    found: Examined | PageError


class JudgeAgent(Handler[DuplicateRow]):
    """Parses, judges and reports each page: a function of it, the predicates and the pages before it."""

    def __init__(self, runtime: Runtime, examiner: Examines, predicates: Predicates, kept: KeptPages) -> None:
        self.runtime = runtime
        self.examiner = examiner
        self.predicates = predicates
        self._kept = kept
        self._meanings = runtime.settings.semantic is not None
        self._revisits = runtime.settings.frontier.revisit > 0
        self._versions = self._revisits or runtime.settings.frontier.mode == "instant"
        read = ("judged", "missing", "barred", "duplicate", "revisited", "failed")
        self._read = Outcomes(runtime.metrics, PAGES_READ, read)
        self._fetched = Decoder[FetchedPage](FetchedPage)
        self._duplicates = Duplicates(runtime.settings.judge)
        self._examined: tuple[bytes, Examined | Exception] = b"", RecordError("not a FetchedPage: no message")
        self.inbox: Stateful[DuplicateRow] = Stateful(
            runtime, PAGES, "duplicates", DuplicateRow, self.read, self,
            cached_bytes=WRITTEN_ONCE, prepare=self.examine,
        )  # fmt: skip

    async def examine(self, value: bytes) -> None:
        """Examine the next page to absorb, by the current predicates."""
        try:
            found: Examined | Exception = await self.examiner.examine(
                Question(value, self.predicates.expressions)
            )
        except (RecordError, PageError) as error:
            found = error
        self._examined = value, found

    def read(self, value: bytes) -> Pack[Arrival]:
        """Return the examined page as a pack of one fact; raises `RecordError` for a message without a page."""
        examined, found = self._examined
        assert examined is value, "it was examined before"
        if isinstance(found, Examined | PageError):
            return Pack(facts=[(0, 0, Arrival(value, self._fetched(value), found))])
        raise found

    def opened(self, shard: Shard[DuplicateRow]) -> None:
        """Apply the predicates that the partition's last owner knew and this one may not have read yet."""
        predicates = self.predicates
        for _, row in shard.scan(LATER_PREFIX):
            if isinstance(row, LaterRow) and row.definition.name not in predicates.definitions:
                predicates.hear(msgspec.json.encode(row.definition))

    def due(self) -> Iterator[tuple[Shard[DuplicateRow], PredicateDefinition]]:
        """Yield each shard with kept pages left to judge, and the predicate."""
        known, active = self.predicates.definitions, self.predicates.active
        asking = [known[name] for name in known if known[name].kept and name in active]
        for shard in self.inbox.shards.values():
            for definition in asking:
                row = later_row(shard, definition.name)
                if row is None or not row.done:
                    yield shard, definition

    def refused(self, shard: Shard[DuplicateRow], value: bytes) -> None:
        """Report a page that will not be judged: the frontier waits for it."""
        with suppress(RecordError):
            self._emit(shard, self._fetched(value), Missing("failed", QUARANTINED))

    def absorb(self, shard: Shard[DuplicateRow], fact: Any) -> None:
        """Judge one page, or report why not; report only the links of one fetched for them."""
        arrival: Arrival = fact
        fetched, examined = arrival.fetched, arrival.found
        if isinstance(examined, PageError):
            self._fail(shard, arrival, str(examined))
            return
        page, revisit = examined.page, fetched.order.revisit
        if revisit is not None:
            self._read.count("revisited")
        if fetched.status == NOT_MODIFIED:
            self.keep(fetched, examined)
        elif page.barred:
            if revisit is None:
                self._read.count("missing" if page.missing else "barred")
            self._emit(shard, fetched, Missing(page.kind, page.barred, page.missing), examined.rendering)
        elif revisit is not None and not revisit.again:
            self._relist(shard, fetched, page)
        elif revisit is not None:
            self._judge(shard, arrival, examined)
        elif original := self._duplicates.original(
            shard, page.url, examined.fingerprint, fetched.order.vouched
        ):
            self._read.count("duplicate")
            barren = fetched.order.vouched is None or same_owner(original, page.url)
            copy = Missing("unfit", f"near-duplicate of {original}", barren)
            self._emit(shard, fetched, copy, examined.rendering)
        else:
            self._read.count("judged")
            self._judge(shard, arrival, examined)

    def _judge(self, shard: Shard[DuplicateRow], arrival: Arrival, examined: Examined) -> None:
        """Report the verdict on a page; of an unchanged revisited one, only that it is unchanged."""
        outbox, fetched, page = shard, arrival.fetched, examined.page
        order, revisit = fetched.order, fetched.order.revisit
        if examined.failure is not None:
            self._bury(shard, arrival, examined.failure, "judge")
        links = self.links(page)
        partitions, repeated = tuple(sorted(links)), False
        if revisit is None:
            repeated = self._duplicates.repeated(shard, page.url, examined.fingerprint)
        elif examined.differs:  # links also go to each partition that had some of them before
            partitions = tuple(sorted({*links, *revisit.partitions}))
            self._duplicates.renew(shard, page.url, examined.fingerprint, order.vouched)
        else:
            partitions = revisit.partitions
        self.keep(fetched, examined)
        if examined.differs:
            self.tell_outcome(outbox, fetched, examined, f"{PAGES.name}/{shard.partition}@{shard.mark.offset}")
            for partition in partitions:
                linked = Linked(
                    identifier(order.url), order.url, order.depth, examined.verdict, page.words,
                    tuple(links.get(partition, ())), partitions, fetched.time,
                    "again" if self._revisits or revisit is not None else "first",
                )  # fmt: skip
                outbox.emit(SIGHTINGS.name, partition, linked)
        self._tell(outbox, fetched, examined, partitions, repeated)

    def keep(self, fetched: FetchedPage, examined: Examined) -> None:
        """Keep a page's records, if it has any."""
        order = fetched.order
        self._kept.keep(
            order.url, examined.record, examined.unkept, judged=fetched.time if examined.differs else None,
            priority=order.priority, links=len(examined.page.links),
        )  # fmt: skip

    def _bury(self, shard: Shard[DuplicateRow], arrival: Arrival, reason: str, why: Why) -> None:
        place = Place(PAGES.name, shard.partition, shard.mark.offset)
        self.runtime.bury(shard, place, arrival.value, reason, why)

    def _fail(self, shard: Shard[DuplicateRow], arrival: Arrival, reason: str) -> None:
        """Report a page that took too long or too much to judge.

        The report has no origin: redelivered after a crash, the page may have another result, which must count.
        The frontier skips a repetition.
        """
        self._read.count("failed")
        log.error("a page could not be judged", url=arrival.fetched.order.url, reason=reason)
        self._bury(shard, arrival, reason, "page")
        told = Outbox("")
        self._emit(told, arrival.fetched, Missing("failed", reason))
        for message in told.take():
            shard.send(*message)

    def _relist(self, outbox: Outbox, fetched: FetchedPage, page: Page) -> None:
        """Report the links of a page that was fetched for them, and then that it was read."""
        order = fetched.order
        assert order.revisit is not None
        name, time, since = identifier(order.url), fetched.time, order.revisit.since
        whole = Linked(name, order.url, order.depth, {}, time=time, visit="links", since=since)
        for partition, found in sorted(self.links(page).items()):
            links = tuple(Link(link.url) for link in found)
            outbox.emit(SIGHTINGS.name, partition, msgspec.structs.replace(whole, links=links))
        self._emit(outbox, fetched, Came({}, version=version_of(fetched.headers), changed=True))

    def tell_outcome(
        self, outbox: Outbox, fetched: FetchedPage, examined: Examined, origin: str, *, later: bool = False
    ) -> None:
        """Publish the outcome of a page; a ``later`` one does not repeat its words and links."""
        order, page, again, no = fetched.order, examined.page, fetched.order.revisit is not None, msgspec.UNSET
        outcome = Outcome(
            url=order.url, time=fetched.time, title=page.title, verdict=examined.verdict,
            predicate=order.predicate, policy=order.policy, explored=order.explored, requests=order.requests,
            probability=order.probability, priority=order.priority, expected=order.expected, depth=order.depth,
            words=() if later else page.words, links=() if later else page.links, origin=origin, later=later,
            again=again if not later and (again or self._revisits) else no,
            silent=order.silent or no, referrer=order.referrer or no, source=order.source or no,
        )  # fmt: skip
        partition = self.runtime.partition(OUTCOMES, order.url)
        outbox.send(OUTCOMES.name, partition, order.url.encode(), msgspec.json.encode(outcome))

    def subject(self, page: Page) -> str:
        """Return a page's subject, by which meanings are compared; empty where none are."""
        return page_subject(page.url, page.title) if self._meanings else ""

    def _tell(
        self,
        outbox: Outbox,
        fetched: FetchedPage,
        examined: Examined,
        partitions: tuple[int, ...],
        repeated: bool,
    ) -> None:
        """Send the verdict to the page's own partition, with the content to compare its next visit with."""
        page, again = examined.page, fetched.order.revisit is not None
        came = Came(
            examined.verdict, page.words, self.subject(page), repeated,
            version_of(fetched.headers) if self._versions else None, again and examined.differs,
        )  # fmt: skip
        if self._revisits or again:
            came = msgspec.structs.replace(
                came, content=examined.content, links=examined.links, partitions=partitions, title=page.title,
                excerpts=examined.excerpts,
            )  # fmt: skip
        self._emit(outbox, fetched, came, examined.rendering)

    def links(self, page: Page) -> Mapping[int, list[Link]]:
        """Return a page's links by partition."""
        by_partition: dict[int, list[Link]] = defaultdict(list)
        alone = self.runtime.bus.partitions(SIGHTINGS.name) == 1
        for link in page.links:
            by_partition[0 if alone else self.sightings(link.url)].append(link)
        return by_partition

    def _emit(self, to: Outbox, of: FetchedPage, result: Came | Missing, how: Rendering | None = None) -> None:
        """Report to the frontier how a fetch ended, and what it brought to render the page."""
        order = of.order
        fact = Fetched(order.url, order.order, order.visit, of.time, of.host, result, order.silent, how)
        to.emit(SIGHTINGS.name, self.sightings(order.url), fact)

    def sightings(self, url: str) -> int:
        """Return the partition of `sightings` that has a URL."""
        return self.runtime.partition(SIGHTINGS, host(url))


# kept pages


class Rejudge:
    """Judges the kept pages of ``agent``'s partitions by later predicates, a few at a time, beside new pages.

    The results have the time of the page's verdict: the frontier and the harvest add them to that verdict once,
    and skip them where they know none of that time. So a repetition does no harm. A row has the progress, from
    which the partition's next owner continues.

    No page is missed, with any number of judges: the end of a partition is read once its judge knows the
    predicate. The first verdict on a page from the end on includes the predicate: this judge knows it, and so
    does the next owner, by the row; without the row, the next owner reads an end of its own. A page that an
    earlier owner may still report without the predicate is before the end: that owner read it while it owned
    the partition, and the end was read later. A page before the end is judged again only once its first verdict
    is in the log, ahead of the addition to it.

    ``room`` waits until the readers of the results have room.
    """

    def __init__(self, agent: JudgeAgent, room: Callable[[], Awaitable[None]]) -> None:
        self._agent = agent
        self._runtime = agent.runtime
        self._inbox = agent.inbox
        self._decode = Decoder[FetchedPage](FetchedPage)
        self._room = room
        agent.runtime.watch(self.measure)

    async def run(self) -> None:
        """Judge by each predicate that is due; never returns."""
        while True:
            if not await self.look():
                await asyncio.sleep(LOOK_SECONDS)

    def measure(self, reading: Reading) -> None:
        """Report the number of pages left for each predicate."""
        for name in self._agent.predicates.active:
            reading.add(KEPT_LEFT, 0, name)
        for shard, definition in self._agent.due():
            row = later_row(shard, definition.name)
            reading.add(KEPT_LEFT, 0 if row is None else row.end - row.at, definition.name)

    async def look(self) -> bool:
        """Judge a few pages of each partition by each predicate; return whether there were any."""
        if not any(self._agent.due()):
            return False
        await self._room()  # holding no shard: its table could not be reopened
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
        found = await self._runtime.bus.fetch(PAGES.name, partition, row.at, PAGES_AT_ONCE)
        entries = [entry for entry in found if entry.offset < row.end]
        outbox = Outbox("")  # without origins: a repetition does no harm
        for entry in entries:
            await self.judge(outbox, row.definition.name, partition, entry.offset, entry.value or b"")
        at = entries[-1].offset + 1 if entries else row.end
        self._note(partition, row, LaterRow(row.definition, row.end, at), outbox.take())
        return True

    def _note(
        self, partition: int, before: LaterRow | None, row: LaterRow, messages: Sequence[Message] = ()
    ) -> None:
        """Commit a predicate's progress in one group with its verdicts.

        If its row is not as ``before``, the partition was lost meanwhile: its owner continues from the row.
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
        judged = Came(verdict, page.words, agent.subject(page))
        later = Fetched(order.url, 0, "kept", fetched.time, HostAnswer(), judged)
        outbox.emit(SIGHTINGS.name, agent.sightings(order.url), later)
