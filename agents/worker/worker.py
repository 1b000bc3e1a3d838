"""The worker: plays roles in this process until it is stopped, or meets an error that must not be passed over.

What it owns: the connection to the log, the Faust apps, the web client, the broadcast readers.
"""

import asyncio
import gc
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeAlias, TypeVar

import faust
import msgspec

from scentline.agents.browse.agent import BrowseAgent
from scentline.agents.crawl.connect import connect
from scentline.agents.fetch.agent import FetchAgent
from scentline.agents.fetch.client import Client
from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.harvest.agent import HarvestAgent
from scentline.agents.judge.agent import JudgeAgent
from scentline.agents.judge.apart.process import ExaminerProcess
from scentline.agents.judge.keep.store import KeptPages
from scentline.agents.judge.predicates import Predicates, check_judges
from scentline.agents.judge.question import Work
from scentline.agents.judge.rejudge import Rejudge
from scentline.agents.learn.agent import LearnAgent
from scentline.agents.observe.agent import ObserveAgent
from scentline.agents.observe.observer import Observer
from scentline.agents.owners import answering
from scentline.agents.worker.backpressure import REJUDGED, Room, downstream, unabsorbed, wait_for_room
from scentline.models.errors import EventLog
from scentline.models.predicate import parse
from scentline.models.published import REMOVED, PredicateDefinition, control_key, defines
from scentline.models.records import Decoder, Interests, RecordError
from scentline.streams.attempts import ATTEMPTS_FILE, Attempts, Place
from scentline.streams.memory import collected_seldom, give_back_large_blocks
from scentline.streams.metrics import Metrics
from scentline.streams.metrics.endpoint import Route, endpoint
from scentline.streams.runtime import Broadcast, Bus, Runtime
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import CONTROL, INTERESTS, SIGHTINGS, Topic
from scentline.streams.transport.embedded import watch

#: The roles, in the order in which messages flow.
ROLES = ("observe", "browse", "fetch", "judge", "frontier", "learn", "harvest")
#: Seconds between two looks at whether a definition was heard.
HEARD_SECONDS = 0.005
#: Messages that may wait for the frontier in the same process, before kept pages are judged again.
BACKLOG = 50
#: Seconds between two words about why kept pages wait.
SAY_SECONDS = 30.0

log = EventLog("worker")
Agent = TypeVar("Agent")

#: Work that goes on beside the agent's stream, without end.
Task: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
#: Takes in a message of a topic that every worker hears: its key and value. What it raises, nobody hears again.
Hear: TypeAlias = Callable[[bytes | None, bytes | None], None]


@dataclass(frozen=True)
class Part(Generic[Agent]):
    """A role that is played: an agent, with its inbox if it is a stateful one, and its hooks.

    ``tasks`` run while the worker does, the ``hears_`` hooks get what every worker is told, ``finish`` runs at
    a graceful stop before the inboxes are flushed, ``report`` after.
    """

    agent: Agent
    inbox: Stateful[Any] | None = None
    tasks: tuple[Task, ...] = ()
    hears_predicate: Callable[[PredicateDefinition], None] | None = None
    hears_steering: Callable[[bytes | None], None] | None = None
    hears_interests: Callable[[Interests], None] | None = None
    finish: Callable[[], Awaitable[None]] | None = None
    report: Callable[[], Awaitable[None]] | None = None


class Worker:
    """Some of the roles, or all, on the log of the settings. An async context manager: it runs while entered.

    ``examiner`` is a process of the judge's that runs already; without one the worker starts its own.
    """

    bus: Bus

    def __init__(
        self,
        settings: Settings,
        roles: Iterable[str],
        observer: Observer,
        metrics: Metrics | None = None,
        examiner: ExaminerProcess | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = metrics or Metrics()
        self.failure: BaseException | None = None
        self.stopped = asyncio.Event()
        self.predicates = Predicates()
        self.parts: dict[str, Part[Any]] = {}
        self.runtimes: dict[str, Runtime] = {}
        self.broadcasts: dict[str, Broadcast] = {}
        self._roles = [role for role in ROLES if role in frozenset(roles)]
        self._observer = observer
        self._examiner = examiner
        self._said = -math.inf
        self._starting: asyncio.Task[None] | None = None
        self._interests = Decoder[Interests](Interests)
        self._hearers: list[Callable[[Interests], None]] = []
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._resources.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._resources.aclose()

    # starting and stopping

    async def _start(self) -> None:
        routes: dict[str, Route] = {}
        await self._resources.enter_async_context(endpoint(self.settings.metrics, self.metrics, routes))
        self.bus = await self._resources.enter_async_context(connect(self.settings))
        self.metrics.need_log(self.bus.lost_seconds)
        attempts = Attempts(self.settings.data / ATTEMPTS_FILE)
        self._resources.callback(attempts.close)
        for role in self._roles:
            runtime = Runtime(
                self.bus.app(role), self.settings, self.bus, self.fail, metrics=self.metrics,
                attempts=attempts,
            )  # fmt: skip
            self.runtimes[role] = runtime
            self.parts[role] = await self._part(role, runtime)
        self._hearers = [part.hears_interests for part in self.parts.values() if part.hears_interests]
        if self._listening:
            await self._listen()
            self._check_judges()
        if self._starting is not None:
            await self._starting
        give_back_large_blocks()
        self._resources.enter_context(collected_seldom())
        for app in self._apps:
            app.finalize()
            self._resources.push_async_callback(app.stop)
        self._resources.callback(gc.freeze)  # Faust collects all there is, for each table that it closes
        # Together: each waits a second or more for its group on Kafka.
        await asyncio.gather(*(app.start() for app in self._apps))
        for app in self._apps:
            self._resources.callback(asyncio.create_task(watch(app, self.fail)).cancel)
        self._resources.push_async_callback(self._finish)
        if "frontier" in self.parts:
            frontier: FrontierAgent = self.parts["frontier"].agent
            answers = answering(self.settings, frontier.answers, routes)
            await self._resources.enter_async_context(answers)

    def begin(self) -> None:
        """Start what runs beside the streams."""
        for role, part in self.parts.items():
            for task in part.tasks:
                self.runtimes[role].spawn(task())

    @property
    def _apps(self) -> list[faust.App]:
        return list({id(runtime.app): runtime.app for runtime in self.runtimes.values()}.values())

    @property
    def _listening(self) -> bool:
        """Whether a role is played that must know the predicates."""
        return "judge" in self.parts or any(part.hears_predicate for part in self.parts.values())

    # the roles

    async def _part(self, role: str, runtime: Runtime) -> Part[Any]:
        part: Part[Any]
        match role:
            case "observe":
                part = Part(ObserveAgent(runtime, self._observer))
            case "browse":
                browse = BrowseAgent(runtime)
                part = Part(browse, browse.inbox)
            case "fetch":
                again = self.settings.revisit if self.settings.frontier.revisit else None
                client = Client(self.settings.fetch, time.time, again)
                await self._resources.enter_async_context(client)
                part = Part(FetchAgent(runtime, client))
            case "judge":
                part = self._judge(runtime)
            case "frontier":
                part = _frontier(FrontierAgent(runtime))
            case "learn":
                learn = LearnAgent(runtime)
                part = Part(
                    learn,
                    learn.inbox,
                    (learn.run,),
                    hears_predicate=lambda definition: learn.heard_predicate(definition.name),
                    finish=learn.publish,
                )
            case _:
                harvest = HarvestAgent(runtime)
                part = Part(harvest, harvest.inbox, (harvest.stream.run,), report=harvest.stream.tell)
        return part

    def _judge(self, runtime: Runtime) -> Part[JudgeAgent]:
        examiner = self._examiner or ExaminerProcess(Work.of(self.settings))
        self._resources.push_async_callback(examiner.close)
        # Beside what follows, which takes as long.
        self._starting = asyncio.create_task(examiner.start())
        self._resources.callback(self._starting.cancel)
        kept = KeptPages(self.settings.data, self.settings.keep)
        self._resources.callback(kept.close)
        agent = JudgeAgent(runtime, examiner, self.predicates, kept)
        room: Room = self._room
        if self.settings.on_kafka:
            batch = self.bus.partitions(SIGHTINGS.name)
            room = downstream(self.settings, batch, self._waits, REJUDGED)
        rejudge = Rejudge(agent, room)
        return Part(agent, agent.inbox, (rejudge.run,))

    async def _room(self) -> None:
        """Wait until the frontier, which is one of the parts here, has room."""
        inbox = self.parts["frontier"].inbox
        assert inbox is not None
        await wait_for_room(lambda: unabsorbed(self.bus, inbox), BACKLOG)

    def _waits(self, why: str) -> None:
        """Say why kept pages wait, if it is time."""
        if time.monotonic() >= self._said + SAY_SECONDS:
            self._said = time.monotonic()
            EventLog("judge").info("kept pages wait", reason=why)

    # what every worker hears

    async def _listen(self) -> None:
        """Read what every worker must know before anything is judged or chosen, then follow it."""
        await self._follow(CONTROL, self._hear_control)
        await self._announce_predicates()
        if self._hearers:
            await self._follow(INTERESTS, self._hear_interests)

    async def _follow(self, topic: Topic, hear: Hear) -> None:
        broadcast = self.broadcasts[topic.name] = Broadcast(
            self.bus, topic.name, hear, self.fail, self._quarantine
        )
        await broadcast.start()
        self.metrics.watch(broadcast.measure)
        self._resources.push_async_callback(broadcast.stop)

    def _hear_control(self, key: bytes | None, value: bytes | None) -> None:
        definition = self.predicates.hear(value) if defines(key) else None
        for part in self.parts.values():
            if definition is not None and part.hears_predicate is not None:
                part.hears_predicate(definition)
            elif part.hears_steering is not None and not defines(key):
                part.hears_steering(value)

    def _hear_interests(self, key: bytes | None, value: bytes | None) -> None:
        if value is None:
            return  # it stands in a later message
        try:
            told = self._interests(value)
        except RecordError as error:
            log.warning("skipped interests that can't be read", reason=str(error))
            return
        for hear in self._hearers:
            hear(told)

    async def _announce_predicates(self) -> None:
        """Define the predicates of the settings; share and state that a known one was given stay.

        Raises `ConfigurationError` where a name stands for another expression: what is counted is of that.
        """
        for name, expression in self.settings.predicates.items():
            known = self.predicates.definitions.get(name)
            if known is None:
                definition = PredicateDefinition(name=name, expression=expression)
                message = (CONTROL.name, 0, control_key(definition).encode(), msgspec.json.encode(definition))
                await self.bus.send_all([message])
                while self.predicates.definitions.get(name) != definition:
                    await asyncio.sleep(HEARD_SECONDS)
            elif known.state == REMOVED:
                log.warning("a predicate of the settings was removed here, and stays removed", predicate=name)
            elif parse(known.expression) != parse(expression):
                raise ConfigurationError(
                    f"predicate {name} is {known.expression} in this crawl, and was given as {expression}: "
                    f"choose another name for that, or leave {name} out to go on with it as it is"
                )

    def _check_judges(self) -> None:
        """Raise where a predicate, of this run or one before, asks for categories that nobody tells."""
        if "judge" in self.parts:
            check_judges(self.predicates.active, self.settings.judge)
        earlier = sorted(self.predicates.active.keys() - self.settings.predicates.keys())
        if earlier:
            log.info("predicates of earlier runs are followed too", predicates=", ".join(earlier))

    def _quarantine(self, place: Place, error: Exception) -> None:
        """Pass over a message of a broadcast that can't be heard; each worker hears for itself: no letter."""
        next(iter(self.runtimes.values())).quarantine(place, error)

    def fail(self, error: BaseException) -> None:
        """End the worker for an error past which nothing may be written."""
        if self.failure is None:
            self.failure = error
        self.stopped.set()

    async def _finish(self) -> None:
        try:
            for runtime in self.runtimes.values():
                await runtime.close()
            for part in self.parts.values():
                if part.finish is not None:
                    await part.finish()
            for inbox in self.inboxes:
                await inbox.flush()
            for part in self.parts.values():
                if part.report is not None:
                    await part.report()
        except Exception as error:
            self.fail(error)  # what failed before comes first: this may be what came of it

    # where it stands

    @property
    def inboxes(self) -> list[Stateful[Any]]:
        """The inboxes of the stateful roles, in the order in which messages flow."""
        return [part.inbox for part in self.parts.values() if part.inbox is not None]


def _frontier(agent: FrontierAgent) -> Part[FrontierAgent]:
    return Part(
        agent,
        agent.inbox,
        (agent.run, agent.publish, agent.publish_counts, agent.publish_freshness, agent.mine),
        hears_predicate=agent.heard_predicate,
        hears_interests=agent.heard_interests,
        hears_steering=agent.hear_steering,
        finish=agent.finish,
        report=agent.report,
    )
