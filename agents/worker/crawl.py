"""A whole crawl in one process: every role, a beginning and an end.

It decides where to start, when the log has been fed, and when the crawl is finished.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.observe.agent import Feeder, read_positions
from scentline.agents.observe.following import Following
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.control import Control
from scentline.agents.operate.record import entries, records
from scentline.agents.operate.requests import seeding
from scentline.agents.owners import CarryOut
from scentline.agents.signals import told_to_end
from scentline.agents.worker.connect import WAIT_SECONDS, room_for
from scentline.agents.worker.directory import keep_settings, make_directory
from scentline.agents.worker.status import Meter, Report, Status
from scentline.agents.worker.worker import DOOR, RENDER, ROLES, Worker
from scentline.models.records import Decoder, FetchOrder
from scentline.streams.settings import Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import APP_ID, EVIDENCE, FETCHES, INTERESTS, RENDERS, SIGHTINGS
from scentline.streams.transport.embedded import JournalBus

if TYPE_CHECKING:
    from scentline.agents.door.agent import DoorAgent
    from scentline.agents.door.crawl import Crawl
    from scentline.agents.door.listing import Listing

#: Packs of accesses that may wait for the browse agent before the feeder waits for it.
BACKLOG = 20
#: Packs of sightings that may wait for the frontier before a door's clients wait with what they discover.
DISCOVERED = 200
#: Seconds without news from a door's clients after which nothing more is expected of them.
QUIET_SECONDS = 5.0


class Engine(Worker):
    """A worker that plays every role: a whole crawler."""

    def __init__(self, settings: Settings, observer: Observer, examiner: ExaminerProcess | None = None) -> None:
        roles = (*(role for role in ROLES if role != "fetch"), DOOR) if settings.door.address else ROLES
        if settings.render.pages != "never":
            roles = (*roles, RENDER)
        super().__init__(settings, roles, observer, examiner=examiner)
        #: How the crawl stands, as clients of its door hear it: "starting", "running", or how it ended.
        self.stands = "starting"
        self.feeding = False
        self.log_read: float | None = None
        self.listing: Listing | None = None  #: What the clients of a door may see.
        self._feeder: asyncio.Task[None] | None = None

    async def _start(self) -> None:
        await super()._start()
        self._resources.push_async_callback(self.stop_feeding)
        if isinstance(self.bus, JournalBus):
            for order in _unanswered_orders(self.bus):
                self.frontier.expect(order)
        self.begin()

    def _carry_out(self) -> CarryOut | None:
        if not isinstance(self.bus, JournalBus):
            return None
        runtime, steered = self.runtimes["frontier"], self.frontier.core.steered
        return Control(runtime, self.predicates, steered, self.bus.journal.sync, self._stand).carry_out

    async def _serve_door(self, door: "DoorAgent") -> None:
        from scentline.agents.door.listing import Listing
        from scentline.agents.door.server import TOKEN_FILE, serving_door
        from scentline.agents.door.urlfrontier import serving_urlfrontier

        door.state = lambda: "paused" if self.frontier.core.paused else self.stands
        door.leases.stands = self.frontier.core.awaits
        door.room = partial(room_for, self.frontier.inbox, DISCOVERED)
        url = await self._resources.enter_async_context(serving_door(self.settings, door, self._figures))
        sys.stderr.write(f"The door: {url}, with the token in {self.settings.data / TOKEN_FILE}\n")
        self.listing = Listing(self.frontier.core, self.frontier.inbox, self.bus, self._carry_out())
        run = None if self.settings.on_kafka else self._further
        await self._resources.enter_async_context(serving_urlfrontier(self.settings, door, self.listing, run))

    @asynccontextmanager
    async def _further(self, directory: Path) -> AsyncIterator["Crawl"]:
        """Run a further crawl in a directory: as this one, until it is closed."""
        from scentline.agents.door.crawl import Crawl
        from scentline.agents.door.urlfrontier import CRAWLS

        door = self.settings.door.model_copy(update={"address": "127.0.0.1:0", "urlfrontier": ""})
        metrics = self.settings.metrics.model_copy(update={"port": 0})
        broker = f"{self.settings.broker}/{CRAWLS}/{directory.name}"
        changed = {"data": directory, "broker": broker, "door": door, "metrics": metrics}
        make_directory(directory)
        keep_settings(settings := self.settings.model_copy(update=changed))
        async with Engine(settings, self._observer) as engine:
            await _ready(engine)
            engine.stands = "running"
            failing = asyncio.create_task(self._fail_with(engine))
            assert engine.door is not None
            try:
                yield Crawl(engine.door, engine.listing)
            finally:
                failing.cancel()

    async def _fail_with(self, other: "Engine") -> None:
        await other.stopped.wait()
        if other.failure is not None:
            self.fail(other.failure)

    def _figures(self) -> dict[str, Any]:
        """Return what a door's clients hear of the harvest."""
        harvest = {name: self.harvest.whole(name) for name in self.predicates.active}
        predicates = {name: {"hits": each.hits, "pages": each.pages} for name, each in harvest.items()}
        return {"judged": self.frontier.core.totals().judged, "predicates": predicates}

    def _stand(self) -> dict[str, int]:
        totals, budget = self.frontier.core.totals(), self.frontier.core.budget
        return {
            "judged": totals.judged, "answered": totals.requests, "pages": budget.pages,
            "requests": budget.requests,
        }  # fmt: skip

    # work

    async def seed(self, urls: Iterable[str]) -> None:
        """Start from canonical URLs; a known one changes nothing."""
        if messages := seeding(urls, self.bus.partitions(SIGHTINGS.name)):
            await self.bus.send_all(messages)

    async def take_up(self) -> None:
        """Wait until the frontier has read what the learner knows, above all an earlier crawl's state."""
        ends = await self.bus.ends(EVIDENCE.name)
        while not self.learn.inbox.absorbed(ends):
            if self.stopped.is_set():
                return
            await asyncio.sleep(WAIT_SECONDS)
        await self.learn.publish()
        told = await self.bus.ends(INTERESTS.name)
        while not self.broadcasts[INTERESTS.name].reached(told) and not self.stopped.is_set():
            await asyncio.sleep(WAIT_SECONDS)

    async def start_feeding(self, sources: Sequence[str], follow: bool = False) -> None:
        """Feed logs one after the other while the crawl runs, or follow them all."""
        positions = await read_positions(self.bus, self._observer.reading)
        room = partial(room_for, self.browse.inbox, BACKLOG)
        feeder = Feeder(self._observer, self.bus, positions, room, self._read)

        async def work() -> None:
            try:
                if follow:
                    await Following(feeder, sources).run()
                for source in sources:
                    await feeder.feed(source)
            finally:
                self.feeding = False

        self.feeding = True
        self._feeder = self.runtimes["frontier"].spawn(work())

    async def stop_feeding(self) -> None:
        """Stop feeding, even amid a log."""
        if self._feeder is not None:
            self._feeder.cancel()
            await asyncio.gather(self._feeder, return_exceptions=True)

    def _read(self, part: float | None) -> None:
        self.log_read = part

    # progress

    async def caught_up(self) -> bool:
        """Return whether every stateful role has absorbed all messages, and sent its own."""
        return all([await self._absorbed_all(inbox) for inbox in self.inboxes])

    async def _absorbed_all(self, inbox: Stateful[Any]) -> bool:
        ends = await self.bus.ends(inbox.topic.name)
        sent = not any(shard.pending or shard.sending for shard in inbox.shards.values())
        return sent and inbox.absorbed(ends)

    async def finished(self) -> bool:
        """Return whether nothing is left to do: the budget is spent, or all is fed and fetched."""
        if not self.frontier.core.finished or any(self.judge.due()):
            return False
        if self.frontier.core.budget.spent:
            return True
        done = not self.feeding and not self.fetch.reading_sitemaps and await self.caught_up()
        return done and self.frontier.core.finished and self._clients_finished()

    def _clients_finished(self) -> bool:
        """Return whether the clients of a door, if there is one, brought something and discover no more."""
        if self.door is None:
            return True
        quiet = self.runtimes[DOOR].clock() - self.door.heard >= QUIET_SECONDS
        return quiet and self.frontier.core.totals().discovered > 0

    async def farewell(self) -> None:
        """Wait until the clients of a door, if there is one, have heard that the crawl is over."""
        self.stands = "spent" if self.frontier.core.budget.spent else "done"
        if self.door is not None:
            await self.door.farewell()

    async def settle(self) -> None:
        """Wait until every role has counted what was fetched."""
        await self.stop_feeding()
        while not self.stopped.is_set() and not await self.caught_up():
            for inbox in self.inboxes:
                await inbox.flush()  # nothing more will gather
            await asyncio.sleep(WAIT_SECONDS)


def _unanswered_orders(bus: JournalBus) -> Iterator[FetchOrder]:
    journal, decode = bus.journal, Decoder[FetchOrder](FetchOrder)
    for topic, partition in product((FETCHES.name, RENDERS.name), range(journal.partitions(FETCHES.name))):
        done = journal.committed(APP_ID, topic, partition)
        yield from records(entries(journal, topic, partition, done), decode)


#: Seconds between two reports of the status.
REPORT_SECONDS = 0.5


async def run_crawl(
    settings: Settings,
    observer: Observer,
    seeds: Sequence[str],
    logs: Sequence[str],
    report: Report,
    follow: bool = False,
    examiner: ExaminerProcess | None = None,
) -> tuple[Status, bool]:
    """Crawl; return the last status and whether the crawl was interrupted before its end.

    Ctrl-C (SIGINT) and SIGTERM stop it cleanly: the next run repeats the orders in flight.
    """
    told = asyncio.Event()
    # The signal may also come while the engine stops.
    with ExitStack() as heard:
        async with Engine(settings, observer, examiner) as engine:

            def stop() -> None:
                told.set()
                engine.stopped.set()

            heard.enter_context(told_to_end(stop))
            await _ready(engine)
            engine.stands = "running"
            meter = Meter(engine)
            await _crawl(engine, meter, seeds, logs, report, follow)
            if not told.is_set() and engine.failure is None:
                await engine.settle()
                await engine.farewell()
            status = replace(meter.status(), ended=_why(engine, told=told.is_set()))
            report(engine, status)
    if engine.failure is not None:
        raise engine.failure
    return status, told.is_set()


def _why(engine: Engine, *, told: bool) -> str:
    standing = engine.frontier.core.standing.take(time.time(), final=True)
    if standing.state == "spent":
        return standing.spent
    if told:
        return "it was stopped, and the same command goes on with it"
    return "nothing is left to fetch" if standing.judged else "no page could be fetched"


async def _crawl(
    engine: Engine, meter: Meter, seeds: Sequence[str], logs: Sequence[str], report: Report, follow: bool
) -> None:
    await engine.seed(seeds)
    if logs:
        await engine.start_feeding(logs, follow)
    due = 0.0
    while not engine.stopped.is_set() and not await engine.finished():
        if time.monotonic() >= due:
            due = time.monotonic() + REPORT_SECONDS
            report(engine, meter.status(await engine.frontier.inbox.unabsorbed()))
        await asyncio.sleep(WAIT_SECONDS)


async def _ready(engine: Engine) -> None:
    while any(len(inbox.shards) < engine.settings.streams.partitions for inbox in engine.inboxes):
        if engine.stopped.is_set():
            return
        await asyncio.sleep(0.01)
    await engine.take_up()
