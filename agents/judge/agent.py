"""The judge agent: reads fetched pages and checks each against every active predicate.

Reads `pages` and `predicates`; keeps the table `duplicates` (a row a judged page, a band of its sketch, a space
of URLs, and a predicate that came later); writes `outcomes`, and to `sightings` what was linked, judged and
refused.
"""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from scentline.agents.fetch.revisits import report as report_revisit
from scentline.agents.fetch.revisits import unjudged, version_of
from scentline.agents.judge.duplicates import DuplicateRow, Duplicates, same_owner
from scentline.agents.judge.keep.store import KeptPages
from scentline.agents.judge.predicates import Predicates
from scentline.agents.judge.question import Examined, Examines, PageError, Question
from scentline.agents.judge.rows import LATER_PREFIX, LaterRow, outcome_of
from scentline.models.learner.semantic import page_subject
from scentline.models.page import Link, Page
from scentline.models.url import host, identifier
from scentline.streams.absorber import Handler
from scentline.streams.attempts import Place, Why
from scentline.streams.facts import Failed, Judged, Linked, Revisited
from scentline.streams.inbox import Shard
from scentline.streams.logging import EventLog
from scentline.streams.metrics.catalogue import PAGES_READ
from scentline.streams.metrics.registry import Outcomes
from scentline.streams.outbox import Outbox
from scentline.streams.records import NOT_MODIFIED, Decoder, FetchedPage, Pack, RecordError
from scentline.streams.runtime import Runtime
from scentline.streams.stateful import WRITTEN_ONCE, Stateful
from scentline.streams.topics import OUTCOMES, PAGES, SIGHTINGS

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
        self._revisits = runtime.settings.frontier.revisit > 0
        self._versions = self._revisits or runtime.settings.frontier.mode == "instant"
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
        """Judge one page, or say why it is not judged; one fetched for its links has these told only."""
        arrival: Arrival = fact
        fetched, examined = arrival.fetched, arrival.found
        if isinstance(examined, PageError):
            self._fail(shard, arrival, str(examined))
            return
        page, revisit = examined.page, fetched.order.revisit
        if revisit is not None:
            self._read.count("revisited")
        if fetched.status == NOT_MODIFIED:
            self._keep(fetched, examined)
        elif revisit is not None and not revisit.again:
            report_revisit(shard.outbox, fetched, page, self._sightings_partitions)
        elif revisit is not None and page.barred:
            outcome = "gone" if page.indexable else "refused"
            self._emit(shard.outbox, fetched, unjudged(fetched, outcome, page.barred))
        elif revisit is not None:
            self._judge(shard, arrival, examined)
        elif page.barred:
            self._read.count("missing" if page.missing else "barred")
            kind = "gone" if page.missing else "refused"
            self._refuse(shard.outbox, fetched, kind, page.barred, barren=page.missing)
        elif (original := self._original(shard, fetched, examined)) is not None:
            self._read.count("duplicate")
            barren = fetched.order.vouched is None or same_owner(original, page.url)
            self._refuse(shard.outbox, fetched, "refused", f"near-duplicate of {original}", barren=barren)
        else:
            self._read.count("judged")
            self._judge(shard, arrival, examined)

    def _original(self, shard: Shard[DuplicateRow], fetched: FetchedPage, examined: Examined) -> str | None:
        order = fetched.order
        return self._duplicates.original(shard, order.url, examined.fingerprint, order.vouched)

    def _judge(self, shard: Shard[DuplicateRow], arrival: Arrival, examined: Examined) -> None:
        """Tell the verdict on a page; of one that was judged before and is as it was, nothing but that."""
        fetched, page, order = arrival.fetched, examined.page, arrival.fetched.order
        if examined.failure is not None:
            self._bury(shard, arrival, examined.failure, "judge")
        links = self._links(page)
        partitions, repeated = tuple(sorted(links)), False
        if order.revisit is None:
            repeated = self._duplicates.repeated(shard, page.url, examined.fingerprint)
        elif examined.differs:
            partitions = tuple(sorted({*links, *order.revisit.partitions}))
            self._duplicates.renew(shard, page.url, examined.fingerprint, order.vouched)
        self._keep(fetched, examined)
        if order.revisit is not None and not examined.differs:
            self._tell(shard.outbox, fetched, examined, order.revisit.partitions, told=False)
            return
        origin = f"{PAGES.name}/{shard.partition}@{shard.mark.offset}"
        self._report(shard.outbox, fetched, examined, origin, partitions, links)
        self._tell(shard.outbox, fetched, examined, partitions, repeated=repeated)

    def _keep(self, fetched: FetchedPage, examined: Examined) -> None:
        order = fetched.order
        self._kept.keep(
            order.url, examined.record, examined.unkept, judged=fetched.time if examined.differs else None,
            priority=order.priority, links=len(examined.page.links),
        )  # fmt: skip

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
        if fetched.order.revisit is None:
            self._refuse(outbox, fetched, "refused", reason, barren=False)
        else:
            self._emit(outbox, fetched, unjudged(fetched, "failed", reason))

    def _report(
        self,
        outbox: Outbox,
        fetched: FetchedPage,
        examined: Examined,
        origin: str,
        partitions: tuple[int, ...],
        links: Mapping[int, list[Link]],
    ) -> None:
        """Tell the outcome, and each of the partitions of the links that it has, or once had."""
        order, page, verdict = fetched.order, examined.page, examined.verdict
        again = order.revisit is not None
        revisits = again or self._revisits
        outcome = outcome_of(fetched, page, verdict, origin, again=again if revisits else msgspec.UNSET)
        key = order.url
        outbox.send(
            OUTCOMES.name, self._runtime.partition(OUTCOMES, key), key.encode(), msgspec.json.encode(outcome)
        )
        for partition in partitions:
            linked = Linked(
                identifier(order.url), order.url, order.depth, verdict, page.words,
                tuple(links.get(partition, ())), partitions, fetched.time, revisits,
            )  # fmt: skip
            outbox.emit(SIGHTINGS.name, partition, linked)

    def _tell(
        self,
        outbox: Outbox,
        fetched: FetchedPage,
        examined: Examined,
        partitions: tuple[int, ...],
        *,
        repeated: bool = False,
        told: bool = True,
    ) -> None:
        """Tell the page's own partition the verdict, and what its next visit is compared with.

        ``told`` says whether an outcome was.
        """
        order, page = fetched.order, examined.page
        again = order.revisit is not None
        judged = Judged(
            order.url, examined.verdict, fetched.time, fetched.crawl_delay, page.words, fetched.elapsed,
            fetched.server, repeated=repeated, silent=order.silent,
            subject=page_subject(order.url, page.title) if self._meanings else "",
            version=version_of(fetched) if self._versions else None,
            again=order.order if again else 0, changed=again and told,
        )  # fmt: skip
        if self._revisits or again:
            judged = msgspec.structs.replace(
                judged, content=examined.content, links=examined.links, partitions=partitions, title=page.title,
                excerpts=examined.excerpts,
            )  # fmt: skip
        self._emit(outbox, fetched, judged)

    def _links(self, page: Page) -> Mapping[int, list[Link]]:
        """Return a page's links, by the partitions that they are told to."""
        by_partition: dict[int, list[Link]] = defaultdict(list)
        for link in page.links:
            by_partition[self._sightings(link.url)].append(link)
        return by_partition

    def _refuse(self, outbox: Outbox, fetched: FetchedPage, kind: str, reason: str, *, barren: bool) -> None:
        order = fetched.order
        refusal = Failed(
            order.url, order.order, kind, reason, fetched.time, crawl_delay=fetched.crawl_delay,
            elapsed=fetched.elapsed, server=fetched.server, barren=barren, silent=order.silent,
        )  # fmt: skip
        self._emit(outbox, fetched, refusal)

    def _emit(self, outbox: Outbox, fetched: FetchedPage, fact: Judged | Failed | Revisited) -> None:
        """Tell the page's own partition."""
        outbox.emit(SIGHTINGS.name, self._sightings(fetched.order.url), fact)

    def _sightings(self, url: str) -> int:
        return self._runtime.partition(SIGHTINGS, host(url))
