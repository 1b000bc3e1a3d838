"""The engine: starts every agent in this process on the embedded log, and stops them.

What it owns: the journal, the Faust app, the web client, the broadcast readers. What it decides: when a crawl
is finished, and that the first error that must not be passed over ends it.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

import msgspec

from agents.browse import BrowseAgent
from agents.control.rejudge import Rejudge
from agents.control.service import ControlService
from agents.crawl.feeder import Feeder, backlog_of
from agents.crawl.following import Following
from agents.crawl.journal import open_journal
from agents.fetch import FetchAgent
from agents.frontier.agent import FrontierAgent
from agents.harvest import HarvestAgent
from agents.inspect.record import all_definitions, entries
from agents.judge import JudgeAgent
from agents.judges.categories import load_judges
from agents.judges.reading import PageReader
from agents.judges.verdicts import Verdicts
from agents.keep.store import KeptPages
from agents.learn.agent import LearnAgent
from agents.observation.observer import Observer
from agents.observe import ObserveAgent
from agents.predicates import Predicates, check_judges
from agents.web.client import Client
from agents.web.rules import product
from models.url import host
from streams.app import APP_ID, create_app
from streams.broadcast import Broadcast
from streams.logging import EventLog
from streams.records import (
    REMOVED,
    Decoder,
    FetchOrder,
    Interest,
    Pack,
    PredicateDefinition,
    RecordError,
    Seeded,
    encode,
)
from streams.runtime import Runtime, every
from streams.settings import Settings
from streams.stateful import Stateful
from streams.topics import EVIDENCE, FETCHES, INTERESTS, PREDICATES, SIGHTINGS
from streams.transport.publisher import JournalPublisher

log = EventLog("crawl")

#: Seconds between two looks at whether something has come about.
WAIT_SECONDS = 0.02


class Engine:
    """One process that is a whole crawler. An asynchronous context manager: entered, it runs."""

    def __init__(self, settings: Settings, observer: Observer) -> None:
        self.settings = settings
        self.observer = observer
        self.failure: BaseException | None = None
        self.stopped = asyncio.Event()
        self.feeding = False
        self.log_read: float | None = None
        self._resources = AsyncExitStack()
        self._feeder: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Engine":
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
        settings = self.settings
        self.journal = self._resources.enter_context(open_journal(settings))
        publisher = JournalPublisher(self.journal, time.time)
        app = create_app(settings)
        self.runtime = Runtime(app, settings, publisher, self._fail)
        client = await self._resources.enter_async_context(Client(settings.fetch, time.time))
        self.predicates = Predicates()
        verdicts = Verdicts(self.predicates, load_judges(settings.judge))
        pages = PageReader(settings.judge, settings.fetch.max_bytes, product(settings.fetch.user_agent))
        kept = KeptPages(settings.data, settings.keep, settings.fetch.user_agent, pages.body)
        self._resources.callback(kept.close)
        ObserveAgent(self.runtime, self.observer)
        self.browse = BrowseAgent(self.runtime)
        self.frontier = FrontierAgent(self.runtime)
        self.fetch = FetchAgent(self.runtime, client)
        self.judge = JudgeAgent(self.runtime, pages, verdicts, kept)
        self.learn = LearnAgent(self.runtime)
        self.harvest = HarvestAgent(self.runtime)
        rejudge = Rejudge(self.runtime, self.journal, pages, verdicts, self._unabsorbed, kept.keep)
        self.control = ControlService(self.runtime, self.predicates, rejudge)
        await self._announce_predicates()
        await self._listen()
        app.finalize()
        await app.start()
        self._resources.push_async_callback(self._stop)
        for order in self._unanswered_orders():
            self.frontier.expect(order)
        self.runtime.spawn(self.frontier.run())
        self.runtime.spawn(self.learn.run())
        self.runtime.spawn(self.control.run())
        self.runtime.spawn(self.control.judge_kept())
        self.runtime.spawn(every(settings.harvest.interval_seconds, self.harvest.tell))

    def _unanswered_orders(self) -> Iterator[FetchOrder]:
        decode = Decoder[FetchOrder](FetchOrder)
        for partition in range(self.journal.partitions(FETCHES.name)):
            done = self.journal.committed(APP_ID, FETCHES.name, partition)
            for entry in entries(self.journal, FETCHES.name, partition, done):
                with suppress(RecordError):  # the fetch agent sends it to the dead letters
                    yield decode(entry.value or b"")

    async def _announce_predicates(self) -> None:
        """Define the predicates of the settings; share and state that a known one was given stay."""
        known = {definition.name: definition for definition in all_definitions(self.journal)}
        for name, expression in self.settings.predicates.items():
            definition = known.get(name) or PredicateDefinition(name=name, expression=expression)
            if definition.state == REMOVED:
                log.warning("a predicate of the settings was removed here, and stays so", predicate=name)
                continue
            definition = msgspec.structs.replace(definition, expression=expression)
            message = (PREDICATES.name, 0, name.encode(), msgspec.json.encode(definition))
            await self.runtime.publisher.send_all([message])

    async def _listen(self) -> None:
        """Read what every worker must know before anything is judged or chosen, then follow it."""
        decode = Decoder[Interest](Interest)

        def predicate(key: bytes | None, value: bytes | None) -> None:
            definition = self.predicates.hear(key, value)
            if definition is not None:
                self.frontier.heard_predicate(definition)
                self.learn.heard_predicate(definition.name)

        def interest(key: bytes | None, value: bytes | None) -> None:
            if value is None:
                assert key is not None, "the topic is compacted: every message has a key"
                counts = dict.fromkeys(self.predicates.definitions, (0, 0))
                nothing = dict.fromkeys(counts, (0.0, 0.0))
                self.frontier.heard_interest(Interest(feature=key.decode(), counts=counts, prior=nothing))
                return
            known = decode(value)
            self.frontier.heard_interest(known)
            self.learn.heard_base(known)

        for topic, hear in ((PREDICATES, predicate), (INTERESTS, interest)):
            broadcast = Broadcast(self.journal, topic.name, hear, self._fail)
            await broadcast.start()
            self._resources.push_async_callback(broadcast.stop)
        self._interests = broadcast
        self._check_judges()

    def _check_judges(self) -> None:
        """Raise where a predicate, of this run or one before, asks for categories that nobody tells."""
        check_judges(self.predicates.active, self.settings.judge)
        earlier = sorted(self.predicates.active.keys() - self.settings.predicates.keys())
        if earlier:
            log.info("predicates of earlier runs are followed too", predicates=", ".join(earlier))

    async def _stop(self) -> None:
        try:
            await self.stop_feeding()
            await self.runtime.close()
            await self._finish_sending()
        except Exception as error:
            self._fail(error)  # what failed before comes first: this may be what came of it
        finally:
            await self.runtime.app.stop()

    async def _finish_sending(self) -> None:
        await self.learn.publish()
        for inbox in self.inboxes:
            await inbox.flush()
        await self.harvest.tell()

    def _fail(self, error: BaseException) -> None:
        if self.failure is None:
            self.failure = error
        self.stopped.set()

    # work

    async def seed(self, urls: Iterable[str]) -> None:
        """Start from canonical URLs; one that is known already changes nothing."""
        messages: list[tuple[str, int, bytes | None, bytes | None]] = []
        for url in urls:
            pack: Pack[Seeded] = Pack(facts=[(0, 0, Seeded(url))])
            partition = self.runtime.partition(SIGHTINGS, host(url))
            messages.append((SIGHTINGS.name, partition, None, encode(pack)))
        if messages:
            await self.runtime.publisher.send_all(messages)

    async def take_up(self) -> None:
        """Wait until the frontier has heard of all evidence there is: an earlier crawl's state, above all."""
        topic = EVIDENCE.name
        ends = {
            partition: self.journal.end(topic, partition) for partition in range(self.journal.partitions(topic))
        }
        shards = self.learn.inbox.shards
        while any(n not in shards or shards[n].mark.offset + 1 < end for n, end in ends.items()):
            if self.stopped.is_set():
                return
            await asyncio.sleep(WAIT_SECONDS)
        await self.learn.publish()
        told = self._interests.ends()
        while not self._interests.reached(told) and not self.stopped.is_set():
            await asyncio.sleep(WAIT_SECONDS)

    def start_feeding(self, sources: Sequence[str], follow: bool = False) -> None:
        """Feed logs, one after the other, while the crawl runs, or follow them all."""
        feeder = Feeder(self.observer, self.runtime.publisher, self.journal, self._backlog, self._read)

        async def work() -> None:
            try:
                if follow:
                    await Following(feeder, sources).run()
                for source in sources:
                    await feeder.feed(source)
            finally:
                self.feeding = False

        self.feeding = True
        self._feeder = self.runtime.spawn(work())

    async def stop_feeding(self) -> None:
        """Stop feeding, wherever the log is."""
        if self._feeder is not None:
            self._feeder.cancel()
            await asyncio.gather(self._feeder, return_exceptions=True)

    def _read(self, part: float | None) -> None:
        self.log_read = part

    def _backlog(self) -> int:
        def absorbed(partition: int) -> int:
            shard = self.browse.inbox.shards.get(partition)
            return 0 if shard is None else shard.mark.offset + 1

        return backlog_of(self.journal, absorbed)

    def _unabsorbed(self) -> int:
        """Return the messages that wait for the frontier."""
        topic, shards = SIGHTINGS.name, self.frontier.inbox.shards
        return sum(self.journal.end(topic, n) - shard.mark.offset - 1 for n, shard in shards.items())

    # where it stands

    @property
    def inboxes(self) -> list[Stateful[Any]]:
        """The inboxes of the stateful agents, in the order in which messages flow."""
        return [self.browse.inbox, self.judge.inbox, self.frontier.inbox, self.learn.inbox, self.harvest.inbox]

    @property
    def caught_up(self) -> bool:
        """Whether every stateful agent has absorbed all that was sent to it, and sent what came of it."""
        return all(self._absorbed_all(inbox) for inbox in self.inboxes)

    def _absorbed_all(self, inbox: Stateful[Any]) -> bool:
        topic = inbox.topic.name
        partitions = self.journal.partitions(topic)
        return len(inbox.shards) == partitions and all(
            shard.mark.offset + 1 >= self.journal.end(topic, partition)
            and not shard.pending
            and not shard.sending
            for partition, shard in inbox.shards.items()
        )

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do: the budget is spent, or the log is fed and all is fetched."""
        if not self.frontier.finished or self.control.busy:
            return False
        if self.frontier.spent:
            return True
        return not self.feeding and not self.fetch.reading_sitemaps and self.caught_up

    async def settle(self) -> None:
        """Wait until what was fetched has been counted everywhere."""
        await self.stop_feeding()
        while not self.caught_up and not self.stopped.is_set():
            await asyncio.sleep(WAIT_SECONDS)
