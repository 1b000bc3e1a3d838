"""The fetch agent: fetches the pages that the frontier orders, or renders them.

Reads `fetches`, or `renders` with a client that renders; keeps no state; writes pages to `pages`, and to
`sightings` every other result, what sitemaps and feeds list, and robots.txt files. An order is acknowledged
once its result is in the log. Those in flight when a worker died come again, each executed alone, since any may
have killed it; and every host counts as just requested then.

A robots.txt goes to `sightings` as soon as it is read: the frontier keeps it. If the frontier knows more of a
site than this worker, as after a restart, its orders are put off until one brings the robots.txt.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.orders import Fact, Given, Orders
from scentline.agents.fetch.result import Ended, Result, outcome_of
from scentline.agents.fetch.sitemaps import Dated, Kind
from scentline.models.errors import EventLog
from scentline.models.facts import Early, Found, Signal
from scentline.models.records import FetchOrder, HostAnswer, RecordError, RobotsTxt
from scentline.models.url import host
from scentline.streams.attempts import Place
from scentline.streams.inbox import Message
from scentline.streams.metrics import Reading, catalogue
from scentline.streams.runtime import Runtime
from scentline.streams.topics import FETCHES, Topic

SITEMAP_READERS = 4  #: Hosts whose sitemaps or feeds are read at the same time.
#: Outcomes of fetches that no host answered.
_UNANSWERED: Final = frozenset({"dns", "connection", "timeout", "robots_unreachable"})
IN_A_ROW = 20  #: Unanswered fetches in a row that are worth a warning, once hosts have answered.

log = EventLog("fetch")


class FetchAgent:
    """Fetches a topic's pages, as many at once as its client has slots."""

    def __init__(self, runtime: Runtime, client: Client, topic: Topic = FETCHES) -> None:
        self._runtime = runtime
        self._client = client
        self._topic = topic
        self._orders = Orders(runtime, topic)
        self._slots = asyncio.Semaphore(client.slots)
        self._in_flight = 0
        runtime.watch(self.measure)
        runtime.watch_lag(topic)
        self._silence = Silence()
        self._earlier: Mapping[int, int] = {}
        client.robots.publish = self._publish_robots
        runtime.read(topic, "fetch" if topic is FETCHES else "render", self._run)
        runtime.app.on_rebalance_complete.connect(self._assigned)

    @property
    def reading_sitemaps(self) -> bool:
        """Whether sitemaps or feeds are still to be read, which may bring candidates."""
        return self._client.sitemaps.reading

    def measure(self, reading: Reading) -> None:
        """Add the orders in flight, and how often and how long orders waited."""
        reading.add(catalogue.FETCHING, self._in_flight)
        reading.add(catalogue.FETCH_SLOTS, self._client.slots)
        reading.add(catalogue.WAITS, self._client.servers.waits)
        reading.add(catalogue.WAIT_SECONDS, self._client.servers.waited)

    async def _assigned(self, *_: Any, **__: Any) -> None:
        """Count every host as just requested, if there were orders before; Faust waits for this."""
        self._earlier = await self._runtime.bus.ends(self._topic.name)
        if any(self._earlier.values()):
            self._client.servers.hold()

    async def _run(self, stream: Any) -> None:
        settings = self._runtime.settings
        if self._topic is FETCHES and (settings.fetch.sitemaps or settings.frontier.revisit):
            for _ in range(SITEMAP_READERS):
                self._runtime.spawn(self._client.sitemaps.work(self._publish_listed))
        async for event in stream.noack().events():
            given = self._orders.given(event)
            alone = self._runtime.attempts.deaths(given.noted) > 0
            slots = self._client.slots if alone else 1
            for _ in range(slots):
                await self._slots.acquire()
            answer = self._runtime.spawn(self._answer(event, given))  # it releases one slot
            if alone:
                await asyncio.wait([answer])
                for _ in range(slots - 1):
                    self._slots.release()

    async def _answer(self, event: Any, given: Given) -> None:
        self._in_flight += 1
        try:
            await self._runtime.bus.send_all(await self._messages(given))
            event.ack()
            self._orders.taken.inc()
        finally:
            self._in_flight -= 1
            self._slots.release()

    async def _messages(self, given: Given) -> list[Message]:
        """Execute an order; quarantine one that raises, or that processes died with."""
        order, runtime = given.order, self._runtime
        if isinstance(order, RecordError):
            return self._orders.unreadable(given, order)
        reason = runtime.deadly(given.place, given.noted)
        if reason:
            return self._orders.quarantined(given, order, reason)
        if self._orders.expired(order):
            return []
        deaths = runtime.attempts.deaths(given.noted)
        with runtime.attempts.taking(given.noted):
            try:
                ended = await self._carried_out(given.place, order)
                messages = self._orders.messages(order, ended)
            except Exception as error:
                return self._orders.quarantined(given, order, runtime.quarantine(given.place, error))
        if isinstance(ended.result, Early):
            runtime.attempts.suspect(given.noted, deaths)  # it comes again
        return messages

    async def _carried_out(self, place: Place, order: FetchOrder) -> Ended:
        """Fetch a page, unless the frontier knows more of robots.txt than this worker and the order do."""
        told = order.robots
        # An order from before this worker's start may not know what an earlier worker read.
        earlier = place.offset < self._earlier.get(place.partition, 0)
        if isinstance(told, RobotsTxt) or self._client.robots.knows(order.url, None if earlier else told):
            version = order.revisit.version if order.revisit else None
            brought = told if isinstance(told, RobotsTxt) else None
            ended = await self._client.fetch(order.url, version, order.delay, brought)
        else:
            ended = Ended(Early(0.0), HostAnswer(robots=True))
        self._orders.count(ended)
        if ended.host.overloaded:
            self._client.sitemaps.stop(host(order.url))
        self._silence.note(ended.result)
        return ended

    async def _publish_listed(self, kind: Kind, urls: Sequence[Dated]) -> None:
        """Publish URLs of one host; a repetition after a crash does no harm."""
        facts: list[Fact] = [Found(one.url, 1, level=1) for one in urls]
        facts += [Signal(one.url, kind, one.time) for one in urls if one.time is not None]
        await self._runtime.bus.send_all([self._orders.pack(host(urls[0].url), facts)])

    async def _publish_robots(self, read: RobotsTxt) -> None:
        """Publish a robots.txt, and return once it is in the log."""
        send = self._runtime.bus.send_all([self._orders.pack(host(read.url), [read])])
        await asyncio.wait([self._runtime.spawn(send)])  # an error ends the program, not the fetch


class Silence:
    """Warns once when no host answers: at the first fetch, or after many in a row."""

    def __init__(self) -> None:
        self._left = 1  # unanswered fetches until the warning

    def note(self, result: Result) -> None:
        """Note the result of a fetch."""
        if isinstance(result, Early):
            return
        if outcome_of(result) not in _UNANSWERED:
            if self._left <= 0:
                log.info("hosts answer again")
            self._left = IN_A_ROW
            return
        self._left -= 1
        if self._left == 0:
            log.warning("no host answers: is there a network?", reason=getattr(result, "reason", ""))
