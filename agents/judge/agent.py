"""The judge agent: reads fetched pages and checks each against every active predicate.

Reads `pages` and `predicates`; keeps the table `duplicates` (a row a judged page, a band of its sketch, a space
of URLs, and a predicate that came later); writes `outcomes`, and to `sightings` what was linked, judged and
refused.
"""

from collections import defaultdict
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from agents.fetch.result import Failure
from agents.fetch.revisits import report as report_revisit
from agents.fetch.revisits import unread, version_of
from agents.judge.duplicates import DuplicateRow, Duplicates, same_owner
from agents.judge.keep.store import KeptPages
from agents.judge.predicates import Predicates
from agents.judge.question import Examined, Examines, PageError, Question
from agents.judge.rows import LATER_PREFIX, LaterRow, outcome_of
from models.learner.semantic import page_subject
from models.page import Link, Page
from models.url import host, identifier
from models.verdict import Verdict
from streams.absorber import Handler
from streams.attempts import Place, Why
from streams.inbox import Shard
from streams.logging import EventLog
from streams.metrics.catalogue import PAGES_READ
from streams.metrics.registry import Outcomes
from streams.outbox import Outbox
from streams.records import Decoder, Failed, FetchedPage, Judged, Linked, Pack, RecordError
from streams.runtime import Runtime
from streams.stateful import WRITTEN_ONCE, Stateful
from streams.topics import OUTCOMES, PAGES, SIGHTINGS

log = EventLog("judge")

#: Why a page is refused that could not be judged.
QUARANTINED = "quarantined: it could not be judged"


class Arrival(NamedTuple):
    """A message of `pages`: as it came, and what was found out about the page, or why nothing was."""

    value: bytes
    fetched: FetchedPage
    found: Examined | PageError


class JudgeAgent(Handler[DuplicateRow]):
    """Parses, judges and reports each page: a function of it, the predicates and the pages before it."""

    def __init__(self, runtime: Runtime, examiner: Examines, predicates: Predicates, kept: KeptPages) -> None:
        self._runtime = runtime
        self._examiner = examiner
        self._predicates = predicates
        self._kept = kept
        self._meanings = runtime.settings.semantic is not None
        self._instant = runtime.settings.frontier.mode == "instant"
        self._sightings_partitions = runtime.publisher.partitions(SIGHTINGS.name)
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
        """Find out about the page that is to be absorbed next, by the predicates as they are now."""
        try:
            found: Examined | Exception = await self._examiner.examine(
                Question(value, self._predicates.expressions)
            )
        except (RecordError, PageError) as error:
            found = error
        self._examined = value, found

    def read(self, value: bytes) -> Pack[Arrival]:
        """Return the page that was examined as a pack of one fact; raises `RecordError` for what is no page."""
        examined, found = self._examined
        assert examined is value, "it was examined before"
        if isinstance(found, Examined | PageError):
            return Pack(facts=[(0, 0, Arrival(value, self._fetched(value), found))])
        raise found

    def opened(self, shard: Shard[DuplicateRow]) -> None:
        """Hear of predicates that the owner before knew, and that may not have come here on their own yet."""
        predicates = self._predicates
        for _, row in shard.scan(LATER_PREFIX):
            if isinstance(row, LaterRow) and row.definition.name not in predicates.definitions:
                predicates.hear(row.definition.name.encode(), msgspec.json.encode(row.definition))

    def refused(self, shard: Shard[DuplicateRow], value: bytes) -> None:
        """Say that a page will not be judged: the frontier waits for it."""
        with suppress(RecordError):
            self._unjudged(shard.outbox, self._fetched(value), QUARANTINED)

    def absorb(self, shard: Shard[DuplicateRow], fact: Any) -> None:
        """Judge one page, or say why it is not judged; one that was fetched again has its links told only."""
        arrival: Arrival = fact
        fetched, examined = arrival.fetched, arrival.found
        if isinstance(examined, PageError):
            self._fail(shard, arrival, str(examined))
            return
        page = examined.page
        if fetched.order.revisit is not None:
            self._read.count("revisited")
            report_revisit(shard.outbox, fetched, page, self._sightings_partitions)
            return
        if page.barred:
            self._read.count("missing" if page.missing else "barred")
            kind = "gone" if page.missing else "refused"
            self._refuse(shard.outbox, fetched, kind, page.barred, barren=page.missing)
            return
        original = self._duplicates.original(shard, page.url, examined.fingerprint, fetched.order.vouched)
        if original is not None:
            self._read.count("duplicate")
            barren = fetched.order.vouched is None or same_owner(original, page.url)
            self._refuse(shard.outbox, fetched, "refused", f"near-duplicate of {original}", barren=barren)
            return
        self._read.count("judged")
        if examined.failure is not None:
            self._bury(shard, arrival, examined.failure, "judge")
        self._kept.keep(
            fetched.order.url,
            examined.record,
            examined.unkept,
            priority=fetched.order.priority,
            links=len(page.links),
        )
        origin = f"{PAGES.name}/{shard.partition}@{shard.mark.offset}"
        repeated = self._duplicates.repeated(shard, page.url, examined.fingerprint)
        self._report(shard.outbox, fetched, page, examined.verdict, origin, repeated=repeated)

    def _bury(self, shard: Shard[DuplicateRow], arrival: Arrival, reason: str, why: Why) -> None:
        place = Place(PAGES.name, shard.partition, shard.mark.offset)
        self._runtime.bury(shard.outbox, place, arrival.value, reason, why)

    def _fail(self, shard: Shard[DuplicateRow], arrival: Arrival, reason: str) -> None:
        """Say that a page could not be judged: it took too long or too much.

        That is told without an origin, for it may come out otherwise when the page comes again after a crash:
        what is told of it then must all be taken in. The frontier passes over what it has heard already.
        """
        self._read.count("failed")
        log.error("a page could not be judged", url=arrival.fetched.order.url, reason=reason)
        self._bury(shard, arrival, reason, "page")
        told = Outbox("")
        self._unjudged(told, arrival.fetched, reason)
        for message in told.take():
            shard.outbox.send(*message)

    def _unjudged(self, outbox: Outbox, fetched: FetchedPage, reason: str) -> None:
        order = fetched.order
        if order.revisit is None:
            self._refuse(outbox, fetched, "refused", reason, barren=False)
        else:
            failed = unread(order, Failure("refused", reason), fetched.time, overloaded=False)
            outbox.emit(SIGHTINGS.name, self._sightings(order.url), failed)

    def _report(
        self,
        outbox: Outbox,
        fetched: FetchedPage,
        page: Page,
        verdict: Verdict,
        origin: str,
        *,
        repeated: bool,
    ) -> None:
        order = fetched.order
        outcome = outcome_of(fetched, page, verdict, origin)
        key = order.url
        outbox.send(
            OUTCOMES.name, self._runtime.partition(OUTCOMES, key), key.encode(), msgspec.json.encode(outcome)
        )
        self._report_links(outbox, fetched, page, verdict)
        subject = page_subject(order.url, page.title) if self._meanings else ""
        judged = Judged(
            order.url, verdict, fetched.time, fetched.crawl_delay, page.words, fetched.elapsed, fetched.server,
            repeated=repeated, subject=subject, version=version_of(fetched) if self._instant else None,
            pattern=order.pattern, silent=order.silent,
        )  # fmt: skip
        outbox.emit(SIGHTINGS.name, self._sightings(order.url), judged)

    def _report_links(self, outbox: Outbox, fetched: FetchedPage, page: Page, verdict: Verdict) -> None:
        by_partition: dict[int, list[Link]] = defaultdict(list)
        for link in page.links:
            by_partition[self._sightings(link.url)].append(link)
        partitions = tuple(sorted(by_partition))
        for partition in partitions:
            linked = Linked(
                page=identifier(fetched.order.url),
                url=fetched.order.url,
                depth=fetched.order.depth,
                verdict=verdict,
                words=page.words,
                links=tuple(by_partition[partition]),
                partitions=partitions,
                time=fetched.time,
            )
            outbox.emit(SIGHTINGS.name, partition, linked)

    def _refuse(self, outbox: Outbox, fetched: FetchedPage, kind: str, reason: str, *, barren: bool) -> None:
        order = fetched.order
        refusal = Failed(
            order.url, order.order, kind, reason, fetched.time, crawl_delay=fetched.crawl_delay,
            elapsed=fetched.elapsed, server=fetched.server, barren=barren, silent=order.silent,
        )  # fmt: skip
        outbox.emit(SIGHTINGS.name, self._sightings(order.url), refusal)

    def _sightings(self, url: str) -> int:
        return self._runtime.partition(SIGHTINGS, host(url))
