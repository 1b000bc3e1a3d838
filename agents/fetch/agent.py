"""The fetch agent: asks the web for the pages that the frontier orders.

Reads `fetches`; keeps nothing; writes `pages`, and to `sightings` what failed, was redirected, came too early
or is as it was, what sitemaps and feeds list and say that changed, and what robots.txt files say.

Between two requests to a host lies its delay, also where a worker dies or partitions change hands: what was
asked before may be unknown then, so every host counts as just asked.

An order is acknowledged when its answer is in the log: what was under way when a worker died comes again.
Nobody knows which of those it died of, if of any, so each is carried out alone then.

What was read of a robots.txt goes to `sightings` at once: the frontier keeps it. An order of a site of which
the frontier knows more than this worker, as after a restart, is put off until one brings that.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import zstandard

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.listings import Dated
from scentline.agents.fetch.result import (
    OUTCOMES,
    Early,
    Failure,
    Fetched,
    Moved,
    Result,
    Unchanged,
    outcome_of,
)
from scentline.agents.fetch.revisits import known, unchanged, unread
from scentline.agents.fetch.sitemaps import Kind
from scentline.models.url import host, identifier
from scentline.models.verdict import keeps
from scentline.streams.attempts import Place, bury, why
from scentline.streams.facts import Failed, Hinted, Listed, Postponed, Redirected, Revisited
from scentline.streams.logging import EventLog
from scentline.streams.metrics.catalogue import (
    FETCH_SECONDS,
    FETCH_SLOTS,
    FETCHED,
    FETCHED_BYTES,
    FETCHING,
    TAKEN,
    WAIT_SECONDS,
    WAITS,
)
from scentline.streams.metrics.registry import Outcomes, Reading, unacknowledged
from scentline.streams.outbox import Message, Outbox
from scentline.streams.records import Decoder, FetchedPage, FetchOrder, Pack, RecordError, RobotsTxt, encode
from scentline.streams.runtime import Runtime
from scentline.streams.topics import FETCHES, PAGES, SIGHTINGS
from scentline.streams.transport.publisher import LogReader

#: What came of an order that the frontier had taken back before its turn came.
EXPIRED = "expired"


class FetchMetrics:
    """Counts the orders of one fetch agent, at most ``slots`` of which are carried out at a time."""

    def __init__(self, runtime: Runtime, client: Client, slots: int) -> None:
        metrics = runtime.metrics
        self._client = client
        self._slots = slots
        self._under_way = 0
        self._outcomes = Outcomes(metrics, FETCHED, (*OUTCOMES, EXPIRED))
        self._bytes = metrics.counter(FETCHED_BYTES)
        self._seconds = metrics.histogram(FETCH_SECONDS)
        self._taken = metrics.counter(TAKEN).labels(FETCHES.name)
        runtime.watch(self.measure)
        runtime.watch_lag(FETCHES, unacknowledged(runtime.app, runtime.settings.named(FETCHES.name)))

    def begun(self) -> None:
        """Count an order that is being carried out."""
        self._under_way += 1

    def ended(self) -> None:
        """Count it no more."""
        self._under_way -= 1

    def acknowledged(self) -> None:
        """Count an order whose answer is in the log."""
        self._taken.inc()

    def expired(self) -> None:
        """Count an order that came too late."""
        self._outcomes.count(EXPIRED)

    def answered(self, result: Result) -> None:
        """Count what came of an order."""
        self._outcomes.count(outcome_of(result))
        if isinstance(result, Fetched):
            self._bytes.inc(len(result.body))
        if result.elapsed:
            self._seconds.observe(result.elapsed)

    def measure(self, reading: Reading) -> None:
        """Tell what is under way, and how often and how long orders waited."""
        reading.add(FETCHING, self._under_way)
        reading.add(FETCH_SLOTS, self._slots)
        reading.add(WAITS, self._client.servers.waits)
        reading.add(WAIT_SECONDS, self._client.servers.waited)


#: Failures by which a whole host asks to be left alone for a while.
OVERLOADED = frozenset({"status 429", "status 503"})
#: Hosts whose sitemaps or feeds are read at a time.
SITEMAP_READERS = 4

#: Why a page is refused whose order could not be carried out.
QUARANTINED = "quarantined: its fetch failed here"

Fact = Failed | Redirected | Postponed | Listed | Hinted | Revisited | RobotsTxt
#: What came of a fetch for which no host answered.
_UNANSWERED: Final = frozenset({"dns", "connection", "timeout", "robots_unreachable"})
#: Fetches in a row without an answer after which it is said, where there were answers before.
IN_A_ROW = 20
log = EventLog("fetch")


def noted(url: str, partition: int) -> Place:
    """Return what the order of a URL is noted as: one that is put off comes again, and at another place."""
    return Place(FETCHES.name, partition, int.from_bytes(identifier(url)[:8]))


class _Given(NamedTuple):
    """A message of `fetches`: where it stands, its order or why it is none, and what it is noted as."""

    place: Place
    value: bytes
    order: FetchOrder | RecordError
    noted: Place


class FetchAgent:
    """Fetches several pages at once, at most as many as there are connections."""

    def __init__(self, runtime: Runtime, client: Client, reader: LogReader) -> None:
        self._runtime = runtime
        self._client = client
        self._reader = reader
        self._decode = Decoder[FetchOrder](FetchOrder)
        self._slots = asyncio.Semaphore(runtime.settings.fetch.connections)
        self._metrics = FetchMetrics(runtime, client, runtime.settings.fetch.connections)
        self._silence = Silence()
        self._compress = zstandard.ZstdCompressor(level=1)
        self._earlier: Mapping[int, int] = {}
        client.robots.tell = self._tell_robots
        runtime.read(FETCHES, "fetch", self._run)
        runtime.app.on_rebalance_complete.connect(self._assigned)

    @property
    def reading_sitemaps(self) -> bool:
        """Whether sitemaps or feeds are still to be read: there may be candidates to come."""
        return self._client.sitemaps.reading

    async def _assigned(self, *_: Any, **__: Any) -> None:
        """Count every host as just asked, where there were orders before; Faust waits for this."""
        self._earlier = await self._reader.ends(FETCHES.name)
        if any(self._earlier.values()):
            self._client.servers.hold()

    async def _run(self, stream: Any) -> None:
        settings = self._runtime.settings
        if settings.fetch.sitemaps or settings.frontier.revisit:
            for _ in range(SITEMAP_READERS):
                self._runtime.spawn(self._client.sitemaps.work(self._tell_listed))
        async for event in stream.noack().events():
            given = self._given(event)
            alone = self._runtime.attempts.deaths(given.noted) > 0
            slots = self._runtime.settings.fetch.connections if alone else 1
            for _ in range(slots):
                await self._slots.acquire()
            answer = self._runtime.spawn(self._answer(event, given))  # it gives one slot back
            if alone:
                await asyncio.wait([answer])
                for _ in range(slots - 1):
                    self._slots.release()

    def _given(self, event: Any) -> _Given:
        value = event.value or b""
        place = Place(FETCHES.name, event.message.partition, event.message.offset)
        try:
            order = self._decode(value)
        except RecordError as error:
            return _Given(place, value, error, place)
        return _Given(place, value, order, noted(order.url, place.partition))

    async def _answer(self, event: Any, given: _Given) -> None:
        self._metrics.begun()
        try:
            messages = await self._messages(given)
            await self._runtime.publisher.send_all(messages)
            event.ack()
            self._metrics.acknowledged()
        finally:
            self._metrics.ended()
            self._slots.release()

    async def _messages(self, given: _Given) -> list[Message]:
        """Return what an order comes to; one that raises, or that processes ended with, is quarantined."""
        order = given.order
        if isinstance(order, RecordError):
            outbox = Outbox("")
            self._runtime.bury(outbox, given.place, given.value, str(order), why(order))
            return outbox.take()
        reason = self._runtime.deadly(given.place, given.noted)
        if reason:
            return self._quarantined(given, order, reason)
        if order.lease < self._runtime.clock():
            self._metrics.expired()
            return []  # the frontier has taken the order back
        if not self._knows_robots(given.place, order):
            early = Early(0.0, robots=True)
            self._metrics.answered(early)
            return self._told(order, early)
        attempts = self._runtime.attempts
        deaths = attempts.deaths(given.noted)
        with attempts.taking(given.noted):
            try:
                result = await self._carried_out(order)
                messages = self._told(order, result)
            except Exception as error:
                return self._quarantined(given, order, self._runtime.quarantine(given.place, error))
        if isinstance(result, Early):
            attempts.suspect(given.noted, deaths)  # it comes again
        return messages

    def _quarantined(self, given: _Given, order: FetchOrder, reason: str) -> list[Message]:
        outbox, now = Outbox(""), self._runtime.clock()
        bury(outbox, given.place, given.value, reason, "quarantine", now)
        failure = Failure("refused", QUARANTINED)
        return [*outbox.take(), self._pack(host(order.url), [self._fact(order, failure, now)])]

    def _knows_robots(self, place: Place, order: FetchOrder) -> bool:
        """Return whether an order can be carried out by what is known here of robots.txt, or by what it brings.

        What was told when a worker before this one was at work may be none that the order knows of.
        """
        if isinstance(order.robots, RobotsTxt):
            return True
        earlier = place.offset < self._earlier.get(place.partition, 0)
        return self._client.robots.knows(order.url, None if earlier else order.robots)

    async def _carried_out(self, order: FetchOrder) -> Result:
        robots = order.robots if isinstance(order.robots, RobotsTxt) else None
        result = await self._client.fetch(order.url, known(order.revisit), order.delay, robots)
        self._metrics.answered(result)
        self._silence.note(result)
        return result

    def _told(self, order: FetchOrder, result: Result) -> list[Message]:
        """Return what is told of a result: a page to the judge, anything else to the frontier.

        Of a page that is kept and is as it was, both hear.
        """
        now, revisit = self._runtime.clock(), order.revisit
        if isinstance(order.robots, RobotsTxt):  # of no use to who reads the page
            order = msgspec.structs.replace(order, robots=order.robots.until)
        if isinstance(result, Fetched):
            page = FetchedPage(
                order=order,
                status=result.status,
                headers=result.headers,
                body=self._compress.compress(result.body),
                time=now,
                elapsed=result.elapsed,
                crawl_delay=result.crawl_delay,
                nofollow=result.nofollow,
                server=result.server,
            )
            return [self._page(page)]
        told = [self._pack(host(order.url), [self._fact(order, result, now)])]
        if isinstance(result, Unchanged) and revisit is not None and revisit.again:
            which = self._runtime.settings.keep.pages
            told += [self._page(unchanged(order, result, now))] if keeps(which, revisit.verdict) else []
        return told

    def _page(self, page: FetchedPage) -> Message:
        # By host, so that the near-duplicates of one site meet.
        return (PAGES.name, self._runtime.partition(PAGES, host(page.order.url)), None, encode(page))

    def _fact(self, order: FetchOrder, result: Unchanged | Moved | Failure | Early, now: float) -> Fact:
        url, number, crawl_delay, server = order.url, order.order, result.crawl_delay, result.server
        overloaded = isinstance(result, Failure) and result.reason in OVERLOADED
        if overloaded:
            self._client.sitemaps.stop(host(url))
        if order.revisit is not None or isinstance(result, Unchanged):
            return unread(order, result, now, overloaded=overloaded)
        if isinstance(result, Early):
            return Postponed(url, number, now, result.wait, crawl_delay, server, result.robots)
        if isinstance(result, Moved):
            return Redirected(
                url, number, result.target, now, crawl_delay, result.elapsed, server, order.silent
            )
        return Failed(
            url, number, result.kind, result.reason, now, result.retry_after, overloaded,
            crawl_delay=crawl_delay, elapsed=result.elapsed, server=server, silent=order.silent,
            unanswered=result.unanswered,
        )  # fmt: skip

    async def _tell_listed(self, kind: Kind, urls: Sequence[Dated]) -> None:
        """Tell of URLs of one host; that they are told again after a crash does no harm."""
        facts: list[Fact] = [Listed(one.url) for one in urls]
        facts += [Hinted(one.url, kind, one.time) for one in urls if one.time is not None]
        await self._runtime.publisher.send_all([self._pack(host(urls[0].url), facts)])

    async def _tell_robots(self, told: RobotsTxt) -> None:
        """Tell what was read of a robots.txt. Who waits for this goes on when it is in the log."""
        send = self._runtime.publisher.send_all([self._pack(host(told.url), [told])])
        await asyncio.wait([self._runtime.spawn(send)])  # an error is the program's end, and not the page's

    def _pack(self, name: str, facts: Sequence[Fact]) -> Message:
        pack: Pack[Fact] = Pack(facts=[(0, index, fact) for index, fact in enumerate(facts)])
        return (SIGHTINGS.name, self._runtime.partition(SIGHTINGS, name), None, encode(pack))


class Silence:
    """Notes what came of fetches; warns once when no host answers, at the first or after many in a row."""

    def __init__(self) -> None:
        self._unanswered = 0
        self._answered = False
        self._told = False

    def note(self, result: Result) -> None:
        """Take in what came of a fetch."""
        if isinstance(result, Early):
            return
        if outcome_of(result) not in _UNANSWERED:
            if self._told:
                log.info("hosts answer again")
            self._unanswered, self._answered, self._told = 0, True, False
            return
        self._unanswered += 1
        if not self._told and (not self._answered or self._unanswered >= IN_A_ROW):
            self._told = True
            log.warning("no host answers: is there a network?", reason=getattr(result, "reason", ""))
