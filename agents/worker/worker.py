"""The worker: plays roles in this process until a signal or a fatal error stops it.

It owns the connection to the log, the Faust apps, the web client and the broadcast readers.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, ExitStack
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import faust
import msgspec

from scentline.agents.browse import BrowseAgent
from scentline.agents.fetch.agent import FetchAgent
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.guard import stays_home
from scentline.agents.fetch.servers import Servers
from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.harvest import HarvestAgent
from scentline.agents.judge.agent import JudgeAgent, Rejudge
from scentline.agents.judge.kept import KeptPages
from scentline.agents.judge.predicates import Predicates, check_judges, with_every_page
from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.judge.question import Work
from scentline.agents.learn import LearnAgent
from scentline.agents.observe.agent import ObserveAgent
from scentline.agents.observe.observer import Observer
from scentline.agents.owners import CarryOut, answering
from scentline.agents.signals import told_to_end
from scentline.agents.worker.connect import REJUDGED, Downstream, connect, room_for
from scentline.agents.worker.directory import keep_settings, make_directory
from scentline.models.errors import EventLog
from scentline.models.predicate import parse
from scentline.models.published import REMOVED, PredicateDefinition, control_key, defines
from scentline.streams.attempts import ATTEMPTS_FILE, Attempts
from scentline.streams.memory import collected_seldom, give_back_large_blocks
from scentline.streams.metrics import Metrics
from scentline.streams.metrics.endpoint import Route, serving_metrics
from scentline.streams.runtime import Broadcast, Bus, Runtime
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import CONTROL, INTERESTS, RENDERS, SIGHTINGS, STANDING, Topic
from scentline.streams.transport.embedded import watch

if TYPE_CHECKING:
    from scentline.agents.door.agent import DoorAgent

#: The roles, in the order in which messages flow, and those with an inbox and a table.
ROLES = ("observe", "browse", "fetch", "judge", "frontier", "learn", "harvest")
DOOR, RENDER = "door", "render"  #: A role in place of "fetch", and one beside it: never among all.
KNOWN = (*ROLES, RENDER, DOOR)
STATEFUL = ("browse", "judge", "frontier", "learn", "harvest")
#: Seconds between two checks that a definition was read back.
HEARD_SECONDS = 0.005
#: Messages that may wait for the frontier in the same process before the judging of kept pages waits.
BACKLOG = 50
#: Seconds between two log lines about the readers that are waited for.
SAY_SECONDS = 30.0

log = EventLog("worker")

#: Endless work beside the agent's stream.
Task: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Worker:
    """Plays some or all roles on the log of the settings. An async context manager: it runs while entered.

    ``examiner`` is a running process of the judge; without one the worker starts its own.
    """

    bus: Bus
    # One for each played role.
    observe: ObserveAgent
    browse: BrowseAgent
    fetch: "FetchAgent | DoorAgent"
    render: FetchAgent
    judge: JudgeAgent
    frontier: FrontierAgent
    learn: LearnAgent
    harvest: HarvestAgent

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
        self.roles = played(roles)
        self.runtimes: dict[str, Runtime] = {}
        self.broadcasts: dict[str, Broadcast] = {}
        self._tasks: dict[str, tuple[Task, ...]] = {}
        self.door: DoorAgent | None = None
        self._observer = observer
        self._examiner = examiner
        self._said = -math.inf
        self._starting: asyncio.Task[None] | None = None
        self._servers = Servers(time.monotonic)  # of all roles that fetch: a server has one request at a time
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
        if (given := self.settings.metrics).port:
            served = serving_metrics(given.host, given.port, given.stuck_seconds, self.metrics, routes)
            await self._resources.enter_async_context(served)
        self.bus = await self._resources.enter_async_context(connect(self.settings))
        self.metrics.need_log(self.bus.lost_seconds)
        attempts = Attempts(self.settings.data / ATTEMPTS_FILE)
        self._resources.callback(attempts.close)
        for role in self.roles:
            # The door takes the orders of the fetchers: it is of their consumer group.
            app = self.bus.app("fetch" if role == DOOR else role)
            runtime = Runtime(app, self.settings, self.bus, self.fail, metrics=self.metrics, attempts=attempts)
            self.runtimes[role] = runtime
            self._tasks[role] = await self._play(role, runtime)
        if not {"judge", "frontier", "learn"}.isdisjoint(self.roles):
            await self._listen()
            self._check_judges()
        if self._starting is not None:
            await self._starting
        give_back_large_blocks()
        self._resources.enter_context(collected_seldom())
        for app in self._apps:
            app.finalize()
            self._resources.push_async_callback(app.stop)
        # Together: each waits a second or more for its group on Kafka.
        await asyncio.gather(*(app.start() for app in self._apps))
        for app in self._apps:
            self._resources.callback(asyncio.create_task(watch(app, self.fail)).cancel)
        self._resources.push_async_callback(self._finish)
        if "frontier" in self.roles:
            answers = answering(self.settings, self.frontier.answers, routes, self._carry_out())
            await self._resources.enter_async_context(answers)
        if self.door is not None:
            await self._serve_door(self.door)

    async def _serve_door(self, door: "DoorAgent") -> None:
        """Serve the door; here it knows of the frontiers what they publish, and of orders that they came."""
        from scentline.agents.door.agent import Elsewhere
        from scentline.agents.door.server import serving_door
        from scentline.agents.door.urlfrontier import serving_urlfrontier

        frontiers = Elsewhere(self.runtimes[DOOR].clock)
        await self._follow(STANDING, frontiers.hear)
        door.state = frontiers.state
        if self.settings.on_kafka:
            roles = ("frontier",)
            door.room = Downstream(self.settings, self.bus.partitions(SIGHTINGS.name), self._waits, roles).room
        url = await self._resources.enter_async_context(serving_door(self.settings, door, dict))
        log.info("the door is open", url=url)
        await self._resources.enter_async_context(serving_urlfrontier(self.settings, door))

    def _carry_out(self) -> CarryOut | None:
        """Return what carries out people's requests here: on Kafka they come by the log."""
        return None

    def begin(self) -> None:
        """Start what runs beside the streams."""
        for role, tasks in self._tasks.items():
            for task in tasks:
                self.runtimes[role].spawn(task())

    @property
    def _apps(self) -> list[faust.App]:
        return list({id(runtime.app): runtime.app for runtime in self.runtimes.values()}.values())

    # the roles

    async def _opened(self, client: Client) -> Client:
        client.servers = self._servers
        return await self._resources.enter_async_context(client)

    async def _play(self, role: str, runtime: Runtime) -> tuple[Task, ...]:
        """Create the agent of a role; return what runs beside its stream."""
        settings = self.settings
        match role:
            case "observe":
                self.observe = ObserveAgent(runtime, self._observer)
            case "browse":
                self.browse = BrowseAgent(runtime)
            case "fetch":
                again = settings.revisit if settings.frontier.revisit else None
                client = Client(settings.fetch, time.time, again, settings.judge.formats)
                self.fetch = FetchAgent(runtime, await self._opened(client))
            case "render":
                from scentline.agents.render.client import Renderer

                client = Renderer(settings.fetch, settings.render, time.time, settings.judge.formats)
                self.render = FetchAgent(runtime, await self._opened(client), RENDERS)
            case "door":
                from scentline.agents.door.agent import DoorAgent

                self.fetch = self.door = DoorAgent(runtime)
                return self.door.look, self.door.publish
            case "judge":
                self.judge = self._judge(runtime)
                return (Rejudge(self.judge, self._room()).run,)
            case "frontier":
                self.frontier = agent = FrontierAgent(runtime)
                return agent.run, agent.publish, agent.publish_counts, agent.publish_freshness, agent.mine
            case "learn":
                self.learn = LearnAgent(runtime)
                return (self.learn.run,)
            case _:
                self.harvest = HarvestAgent(runtime)
                return (self.harvest.stream.run,)
        return ()

    def _judge(self, runtime: Runtime) -> JudgeAgent:
        examiner = self._examiner or ExaminerProcess(Work.of(self.settings))
        self._resources.push_async_callback(examiner.close)
        # Beside what follows, which takes as long.
        self._starting = asyncio.create_task(examiner.start())
        self._resources.callback(self._starting.cancel)
        kept = KeptPages(self.settings.data, self.settings.keep)
        self._resources.callback(kept.close)
        return JudgeAgent(runtime, examiner, self.predicates, kept)

    def _room(self) -> Callable[[], Awaitable[None]]:
        """Return what waits until the readers of verdicts on kept pages have room."""
        if self.settings.on_kafka:
            return Downstream(self.settings, self.bus.partitions(SIGHTINGS.name), self._waits, REJUDGED).room
        return lambda: room_for(self.frontier.inbox, BACKLOG)  # created after the judge

    def _waits(self, why: str) -> None:
        """Log which readers are waited for, if it is time."""
        if time.monotonic() >= self._said + SAY_SECONDS:
            self._said = time.monotonic()
            log.info("what is found waits for its readers", reason=why)

    # what every worker reads

    async def _listen(self) -> None:
        """Read what every worker must know before it judges or chooses anything, then follow it."""
        await self._follow(CONTROL, self._hear_control)
        await self._announce_predicates()
        if "frontier" in self.roles:
            await self._follow(INTERESTS, self.frontier.hear_interests)

    async def _follow(self, topic: Topic, hear: Callable[[bytes | None, bytes | None], None]) -> None:
        # Each worker reads for itself: it skips an unreadable message without a dead letter.
        quarantine = next(iter(self.runtimes.values())).quarantine
        broadcast = self.broadcasts[topic.name] = Broadcast(self.bus, topic.name, hear, self.fail, quarantine)
        await broadcast.start()
        self.metrics.watch(broadcast.measure)
        self._resources.push_async_callback(broadcast.stop)

    def _hear_control(self, key: bytes | None, value: bytes | None) -> None:
        if not defines(key):
            if "frontier" in self.roles:
                self.frontier.hear_steering(value)
        elif (definition := self.predicates.hear(value)) is not None:
            if "frontier" in self.roles:
                self.frontier.heard_predicate(definition)
            if "learn" in self.roles:
                self.learn.heard_predicate(definition.name)

    async def _announce_predicates(self) -> None:
        """Define the predicates of the settings; a known one keeps its share and state.

        Raises `ConfigurationError` where a name has another expression: that is the one counted.
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
        """Raise where a predicate, of this run or an earlier one, needs categories that no judge gives."""
        if "judge" in self.roles:
            check_judges(self.predicates.active, self.settings.judge)
        earlier = sorted(self.predicates.active.keys() - self.settings.predicates.keys())
        if earlier:
            log.info("predicates of earlier runs are followed too", predicates=", ".join(earlier))

    def fail(self, error: BaseException) -> None:
        """End the worker for an error after which nothing may be written."""
        if self.failure is None:
            self.failure = error
        self.stopped.set()

    async def _finish(self) -> None:
        try:
            for runtime in self.runtimes.values():
                await runtime.close()
            if "frontier" in self.roles:
                self.frontier.core.note_start()
            if "learn" in self.roles:
                await self.learn.publish()
            for inbox in self.inboxes:
                await inbox.flush()
            if "frontier" in self.roles:
                await self.frontier.report()
            if "harvest" in self.roles:
                await self.harvest.stream.tell()
        except Exception as error:
            self.fail(error)  # an earlier failure takes precedence: it may have caused this one

    @property
    def inboxes(self) -> list[Stateful[Any]]:
        """The inboxes of the stateful roles, in the order in which messages flow."""
        return [getattr(self, role).inbox for role in STATEFUL if role in self.roles]


def played(names: Iterable[str]) -> tuple[str, ...]:
    """Return the named roles, in their order; raises `ConfigurationError` for an unknown one.

    >>> played(["judge", "fetch"])
    ('fetch', 'judge')
    """
    given = set(names)
    unknown = sorted(given - {*KNOWN, "all"})
    if unknown:
        raise ConfigurationError(f"no role {unknown[0]!r}; expected some of {', '.join(KNOWN)}, or all")
    if DOOR in given and not given.isdisjoint(("fetch", "all")):
        raise ConfigurationError(f"the roles {DOOR} and fetch: both carry out orders; expected one of them")
    return tuple(role for role in KNOWN if role in given or ("all" in given and role in ROLES))


def run(settings: Settings, roles: tuple[str, ...]) -> None:
    """Play the roles until a signal ends the worker; raises the error that ended it instead."""
    settings = with_every_page(settings)
    _check(settings, roles)
    make_directory(settings.data)
    keep_settings(settings)
    observer = Observer(settings.observe, settings.observe.key or token_bytes(32))
    asyncio.run(_run(settings, roles, observer))


def _check(settings: Settings, roles: tuple[str, ...]) -> None:
    predicates = {name: parse(expression) for name, expression in settings.predicates.items()}
    if "judge" in roles:
        check_judges(predicates, settings.judge)
    if not {"fetch", RENDER}.isdisjoint(roles) and stays_home(settings.fetch) and not settings.fetch.allow:
        raise ConfigurationError(
            f"fetch.user_agent: {settings.fetch.user_agent!r} names no contact, so nothing may be "
            "fetched; expected your URL or e-mail address, or hosts in fetch.allow"
        )
    if DOOR in roles and not settings.door.address:
        raise ConfigurationError("door.address: missing; expected HOST:PORT, such as 127.0.0.1:7070")
    # Every observing worker must give a user the same pseudonym.
    if "observe" in roles and settings.observe.key is None:
        raise ConfigurationError(
            "observe.user_key: missing; expected the key of the users' pseudonyms in "
            "SCENTLINE_OBSERVE__USER_KEY, the same for every worker"
        )


async def _run(settings: Settings, roles: tuple[str, ...], observer: Observer) -> None:
    metrics = Metrics()
    waiting = ["the broker, or topics: the worker's log says what it waits for"]
    metrics.health.need(lambda: list(waiting))
    # The signal may also come while the worker stops.
    with ExitStack() as heard:
        async with Worker(settings, roles, observer, metrics) as worker:
            waiting.clear()
            heard.enter_context(told_to_end(worker.stopped.set))
            worker.begin()
            log.info("working", roles=", ".join(roles))
            await worker.stopped.wait()
            log.info("stopping", roles=", ".join(roles))
    if worker.failure is not None:
        raise worker.failure
