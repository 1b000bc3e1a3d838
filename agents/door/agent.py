"""The door: plays the role of the fetcher for clients, who fetch what the frontier orders.

Reads `fetches`; keeps no state on disk; writes what the fetch agent would. An order is acknowledged once its
answer is in the log: killed, the door gives the orders in flight again, first to the clients that hold them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import Any, get_args

import msgspec

from scentline.agents.door.leases import GRACE_SECONDS, MOST_LINKS, Leases, Parked, Taken, name_of
from scentline.agents.door.telling import Answer, Discover, Lease, Settle, Wanted, ended_of
from scentline.agents.fetch.orders import Orders, Told
from scentline.agents.fetch.result import Ended, validators
from scentline.agents.fetch.robots import Robots as KnownRobots
from scentline.agents.fetch.servers import Recent
from scentline.agents.operate.record import read_standing
from scentline.agents.operate.requests import finding
from scentline.models.errors import EventLog, ScentlineError
from scentline.models.facts import Early, Found
from scentline.models.published import SILENT_SECONDS, DoorStanding, Standing
from scentline.models.records import FetchOrder, HostAnswer, RecordError, RobotsTxt
from scentline.models.url import canonical, host
from scentline.streams.attempts import Place
from scentline.streams.inbox import Message
from scentline.streams.metrics import Outcomes, Reading, catalogue
from scentline.streams.runtime import Runtime
from scentline.streams.topics import FETCHES, SIGHTINGS, STANDING

#: Seconds between two looks for orders to give back.
LOOK_SECONDS = 1.0
#: Seconds between two looks for what to publish, and after which the same is published again.
TELL_SECONDS, AGAIN_SECONDS = 2.0, 60.0
#: Seconds between two looks of a call that waits for a host's delay, at least.
SHORTEST = 0.01
#: Seconds after its last call in which a client counts as there.
CLIENT_SECONDS = 60.0
#: Seconds that a call waits for readers that lag behind, before it is put off.
ROOM_SECONDS = 10.0
#: Seconds for which a crawl that is over waits for clients that have not heard of it.
FAREWELL_SECONDS = 15.0
#: Ended orders that are recognised when they come again.
MOST_DONE = 20_000
#: The states of a crawl that is over.
OVER = frozenset({"spent", "done", "ended"})
log = EventLog("door")


class BusyError(ScentlineError):
    """The readers of what a client discovers lag behind: it is to come again."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class DoorAgent:
    """Gives orders to clients, and takes their answers."""

    #: Whether sitemaps are being read: clients read their own.
    reading_sitemaps = False

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._clock = runtime.clock
        self._orders = Orders(runtime)
        metrics = runtime.metrics
        self._answers = Outcomes(metrics, catalogue.DOOR_ANSWERS, get_args(Taken))
        self._discovered = metrics.counter(catalogue.DOOR_DISCOVERED)
        self._returned = metrics.counter(catalogue.DOOR_RETURNED)
        self._robots = KnownRobots(_no_request, runtime.settings.fetch, runtime.clock)
        self._robots.publish = self._publish_robots
        self.leases = Leases(lambda _: True, lambda url: self._robots.delay(url) or 0.0)
        self._earlier: dict[int, int] = {}
        self._done: Recent[Place, None] = Recent(MOST_DONE)
        self._news = asyncio.Condition()
        self._settling = asyncio.Lock()
        self._begun = runtime.clock()
        self.heard = self._begun  #: When a client last settled or discovered something.
        #: The state of the crawl, as clients hear it.
        self.state: Callable[[], str] = lambda: "running"
        #: Returns when the frontier has room for what clients discover.
        self.room: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)
        runtime.watch(self.measure)
        runtime.watch_lag(FETCHES)
        runtime.read(FETCHES, "door", self._run)
        runtime.app.on_rebalance_complete.connect(self._assigned)

    def measure(self, reading: Reading) -> None:
        """Add the orders at clients, and the clients."""
        reading.add(catalogue.FETCHING, self.held())
        reading.add(catalogue.FETCH_SLOTS, self._runtime.settings.fetch.connections)
        reading.add(catalogue.DOOR_PARKED, len(self.leases.parked))
        reading.add(catalogue.DOOR_CLIENTS, self.clients)

    @property
    def clients(self) -> int:
        """How many clients have called lately."""
        now = self._clock()
        return sum(now - at <= CLIENT_SECONDS for at in self.leases.clients.values())

    async def _assigned(self, *_: Any, **__: Any) -> None:
        """Leave to other doors what is theirs now; their orders come to them again."""
        self._earlier = dict(await self._runtime.bus.ends(FETCHES.name))
        held, parked = self._held(), self.leases.parked
        for url in [url for url in parked if self._runtime.partition(FETCHES, host(url)) not in held]:
            del parked[url]

    async def _run(self, stream: Any) -> None:
        async for event in stream.noack().events():
            given = self._orders.given(event)
            order, place = given.order, given.place
            early = place.offset < self._earlier.get(place.partition, 0)
            if place in self._done:
                event.ack()  # a rebalance brings again what follows an order that has not ended
            elif isinstance(order, RecordError):
                await self._end(self._orders.unreadable(given, order), [event.ack])
            elif self._orders.expired(order):
                event.ack()
            elif not await self._knows_robots(order) and not early:
                # The site's next order brings its robots.txt, and with it the Crawl-delay.
                again = Ended(Early(0.0), HostAnswer(robots=True))
                await self._end(self._orders.messages(order, again), [event.ack])
            else:
                self.leases.park(order, partial(self._ended, event, place), self._clock(), early=early)
                await self.wake()

    def _ended(self, event: Any, place: Place) -> None:
        self._done[place] = None
        event.ack()

    async def _knows_robots(self, order: FetchOrder) -> bool:
        """Return whether this door knows the robots.txt that the frontier has of an order's site."""
        if isinstance(order.robots, RobotsTxt):
            await self._robots.take_up(order.robots)
            return True
        return not order.robots or self._robots.knows(order.url, order.robots)

    async def look(self) -> None:
        """Give orders back that no client takes; never returns."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            back = list(self.leases.overdue(self._clock()))
            if back:
                self._returned.inc(len(back))
                given_back = (self._orders.messages(parked.order, Ended(Early(0.0))) for parked in back)
                await self._end([*chain(*given_back)], [parked.acknowledge for parked in back])

    async def _end(self, messages: Sequence[Message], acknowledge: Sequence[Callable[[], object]]) -> None:
        """Send messages, and acknowledge orders once the log has them; a client that leaves stops neither."""
        if messages:
            send = self._runtime.spawn(self._runtime.bus.send_all(messages))
            await asyncio.wait([send])  # an error ends the program
            if send.cancelled() or send.exception() is not None:
                return
        for done in acknowledge:
            done()
            self._orders.taken.inc()

    async def publish(self) -> None:
        """Publish how it stands once that changed, and now and then; never returns."""
        told, due = None, 0.0
        while True:
            now, standing = self._clock(), self._standing()
            if standing is not None and (now >= due or standing != told):
                told, due = standing, now + AGAIN_SECONDS
                value = msgspec.json.encode(msgspec.structs.replace(standing, time=now))
                key = f"door {standing.worker}".encode()
                await self._runtime.bus.send_all([(STANDING.name, 0, key, value)])
            await asyncio.sleep(TELL_SECONDS)

    def _standing(self) -> DoorStanding | None:
        """Return how it stands, at no time; None without a partition."""
        held = self._held()
        return DoorStanding(
            worker=str(min(held)), time=0.0, clients=self.clients, leased=self.held(),
            parked=len(self.leases.parked), heard=self.heard,
        ) if held else None  # fmt: skip

    def _held(self) -> set[int]:
        name = self._runtime.settings.named(FETCHES.name)
        return {place.partition for place in self._runtime.app.consumer.assignment() if place.topic == name}

    async def wake(self) -> None:
        """Have the calls that wait look again."""
        async with self._news:
            self._news.notify_all()

    async def farewell(self) -> None:
        """Wait until the clients have heard that the crawl is over, for some seconds at most."""
        since = self._clock()
        await self.wake()
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                while any(since - CLIENT_SECONDS < at < since for at in self.leases.clients.values()):
                    await self._changes(SHORTEST)

    # the calls

    async def lease(self, call: Lease, gone: Callable[[], bool] = lambda: False) -> list[Parked]:
        """Lease orders, once there are any, at most ``call.wait`` seconds later; none to who is ``gone``."""
        end = self._clock() + call.wait
        self.heard = self._clock() if call.busy else self.heard
        self.leases.hold(call.client, call.holding, call.seconds, self._clock())
        while True:
            now = self._clock()
            taken: list[Parked] = []
            if call.want and self.state() == "running" and not gone():
                taken = self.leases.lease(call.client, call.id, call.want, call.seconds, now, call.host)
            if taken or now >= end or not call.want or self.state() in OVER:
                self.leases.clients[call.client] = now
                return taken
            free = max(self.leases.next_free(now), now + SHORTEST)
            await self._changes(min(end, now + LOOK_SECONDS, free) - now)

    async def _changes(self, seconds: float) -> None:
        """Wait until something may have changed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait()

    async def settle(self, call: Settle, bodies: Sequence[bytes]) -> list[str]:
        """Take answers, each with its body; return what became of each, once it is in the log."""
        while any(self.leases.unread(each.url, each.order) for each in call.answers):
            early = self._clock() < self._begun + GRACE_SECONDS
            if not early or not any((await self._runtime.bus.ends(FETCHES.name)).values()):
                break  # no such order is still to be read
            await self._changes(LOOK_SECONDS)
        async with self._settling:
            now = self.heard = self._clock()
            self.leases.hold(call.client, (), 1.0, now)
            for read in call.robots:
                if (url := canonical(read.url) or "").endswith("/robots.txt"):
                    await self._robots.learn(url, read.status, read.text.encode())
            said: list[str] = []
            messages: list[Message] = []
            done: list[Parked] = []
            for answer, body in zip(call.answers, bodies, strict=True):
                taken = self.leases.take(answer.url, answer.order, answer.elapsed + answer.ago, now)
                if isinstance(taken, Parked):
                    done.append(taken)
                    messages += self._messages(taken, answer, body, now)
                    said.append("ok")
                else:
                    said.append(taken)
                self._answers.count(said[-1])
            await self._end(messages, [parked.acknowledge for parked in done])
        return said

    def _messages(self, parked: Parked, answer: Answer, body: bytes, now: float) -> list[Message]:
        order, settings = parked.order, self._runtime.settings
        if answer.links is None and not answer.body and parked.links:
            links = [Wanted(url, text) for url, text in parked.links]
            answer = msgspec.structs.replace(answer, links=links)
        ended = ended_of(answer, body, settings, now, self._robots.delay(order.url))
        self._orders.count(ended)
        wanted, facts = None, []
        if answer.links is not None:
            found = [(canonical(link.url, order.url), link) for link in answer.links]
            wanted = tuple(url for url, _ in found if url is not None)
            facts = [Found(url, memo=link.memo, noted=True) for url, link in found if url and link.memo]
        return [*self._packed(facts), *self._orders.messages(order, ended, Told(tuple(answer.items), wanted))]

    async def discover(self, call: Discover) -> list[str]:
        """Take URLs; return "taken" or why not for each, once they are in the log."""
        try:
            async with asyncio.timeout(ROOM_SECONDS):
                await self.room()
        except TimeoutError as error:
            raise BusyError("the frontier lags behind; expected in some seconds") from error
        self.leases.hold(call.client, (), 1.0, self._clock())
        said: list[str] = []
        facts: list[Found] = []
        for given in call.urls:
            parent = canonical(given.parent) if given.parent else None
            url, parked = canonical(given.url, parent), self.leases.parked.get(parent or "")
            said.append("taken" if url else "refused: no http or https URL")
            if url:
                level = 0 if given.seed else 1
                facts.append(Found(url, depth=level, seed=given.seed, level=level, memo=given.memo))
            if url and parked is not None and len(parked.links) < MOST_LINKS:
                parked.links.append((url, given.text))
        self._discovered.inc(len(facts))
        await self.tell(facts)
        return said

    async def tell(self, facts: Sequence[Found]) -> None:
        """Tell the frontier what a client says of URLs; returns once it is in the log."""
        self.heard = self._clock()
        await self._end(self._packed(facts), ())

    def held(self, name: str = "") -> int:
        """Return how many orders of a host, of any where ``name`` is empty, clients hold."""
        return self.leases.held(self._clock(), name)

    def _packed(self, facts: Sequence[Found]) -> list[Message]:
        return finding(facts, self._runtime.bus.partitions(SIGHTINGS.name))

    async def _publish_robots(self, read: RobotsTxt) -> None:
        await self._end([self._orders.pack(host(read.url), [read])], ())


class Elsewhere:
    """How a crawl stands whose frontiers run in other processes, by what they publish in `standing`.

    "done" is not known from it: another frontier or another door's client may have found more meanwhile.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._frontiers: dict[str, Standing] = {}

    def hear(self, key: bytes | None, value: bytes | None) -> None:
        """Apply a frontier's standing; skip the other messages of the topic."""
        if not (key or b"").startswith(b"frontier ") or value is None:
            return
        try:
            told = read_standing(value)
        except RecordError as error:
            log.warning("skipped a standing that can't be read", reason=str(error))
        else:
            self._frontiers[told.worker] = told

    def state(self) -> str:
        """Return "paused" or "spent" where they say so, else "running"; one that is silent says nothing."""
        since = self._clock() - SILENT_SECONDS
        said = {each.state for each in self._frontiers.values() if not each.final and each.time > since}
        return "paused" if "paused" in said else "spent" if said == {"spent"} else "running"


async def _no_request(url: str, known: object) -> Any:
    """Fetch nothing: a door's clients read robots.txt."""
    raise AssertionError(f"{url}, {known}: a door fetches nothing")


def order_of(parked: Parked) -> dict[str, Any]:
    """Return an order as clients get it."""
    order = parked.order
    version = order.revisit.version if order.revisit is not None else None
    return {
        "url": order.url, "order": name_of(order), "predicate": order.predicate, "delay": order.delay,
        "memo": order.memo, "until": parked.until, "conditions": validators(version),
    }  # fmt: skip
