"""The way of requests from a command or the window to the running crawl.

If no crawl runs, they go straight into the log; for a crawl on Kafka, into its topics. A running crawl polls
the spool a few times a second: it reads `requests`, keeps no state, and writes `control`, `sightings` and
`dead-letters`.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial

from scentline.agents.judge.predicates import Predicates
from scentline.agents.operate.record import definitions_of, entries, kept_entries, totals
from scentline.agents.operate.requests import (
    DIRECTORY,
    Known,
    Record,
    RefusedError,
    Request,
    Seeds,
    Spool,
    UnreadableError,
    checked,
    messages,
    resolve,
)
from scentline.agents.worker.connect import connect
from scentline.models.errors import EventLog
from scentline.models.frontier.steered import Steered
from scentline.models.published import Limit, PredicateDefinition
from scentline.streams.attempts import Place
from scentline.streams.inbox import Message, Outbox
from scentline.streams.logging import printable
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, SIGHTINGS
from scentline.streams.transport.database import Entry, JournalInUseError
from scentline.streams.transport.journal import Journal

#: Attempts to have a request carried out, and the seconds that a crawl has for each.
LOOKS, LOOK_SECONDS = 10, 1.0


def submit(settings: Settings, asked: Request) -> str | None:
    """Have the crawl of ``settings`` carry out a request; return what now holds, None if it is still waiting.

    Raises `RefusedError`, and `JournalMissingError` where there is no crawl.
    """
    checked(asked)
    if settings.on_kafka:
        return _carry_out_on_kafka(settings, asked)
    Journal.open(settings.data / "journal", read_only=True).close()
    spool = Spool(settings.data)
    name = spool.put(asked)
    for _ in range(LOOKS):
        with suppress(JournalInUseError), Journal.open(settings.data / "journal") as journal:
            _carry_out_all(settings, journal, spool)
        if (said := spool.wait(name, LOOK_SECONDS)) is not None:
            return said
    return None


def known_predicates(settings: Settings) -> dict[str, PredicateDefinition]:
    """Return the predicates that the crawl has had, by name; raises `JournalMissingError`."""
    return definitions_of(kept_entries(settings, CONTROL.name))


def check_known(settings: Settings, name: str, *more: Iterable[str]) -> None:
    """Raise `RefusedError` where a crawl has predicates, ``more`` among them, and none of this name."""
    known = set(known_predicates(settings)).union(*more)
    if known and name not in known:
        raise RefusedError(f"no predicate {name!r}; expected one of {', '.join(sorted(known))}")


def known_steering(settings: Settings) -> Steered:
    """Return how the crawl is steered; raises `JournalMissingError`."""
    return Steered(kept_entries(settings, CONTROL.name))


def _carry_out_all(settings: Settings, journal: Journal, spool: Spool) -> None:
    """Carry out the requests that wait, oldest first."""
    for name in spool.names():
        try:
            found = totals(journal)
            stand = {} if found is None else {"judged": found.judged, "answered": found.requests}
            known = _known(settings, lambda topic: entries(journal, topic, 0), stand)
            record, said = resolve(spool.read(name), known)
            journal.append_all(messages(record, journal.partitions), known.now)
            journal.sync()
            spool.done(name, said)
        except RefusedError as error:
            spool.refuse(name, str(error))


def _known(settings: Settings, read: Callable[[str], Iterable[Entry]], stand: Mapping[str, int]) -> Known:
    """Return a crawl's state from its topics, with the budgets that were set by requests."""
    told = list(read(CONTROL.name))
    steered = Steered(told)
    budgets: dict[str, int] = {each.name: each.most for each in steered.in_force if isinstance(each, Limit)}
    predicates = definitions_of(told)
    return Known(predicates, steered, settings.fetch.delay_seconds, {**stand, **budgets}, now=time.time())


def _carry_out_on_kafka(settings: Settings, asked: Request) -> str:
    """Carry out a request and return what then holds; it is in the log when this returns.

    Raises `RefusedError` if it can't be, and `streams.transport.kafka.connection.KafkaError`.
    """
    counts = _partitions(settings)
    known = _known(settings, partial(kept_entries, settings), {})._replace(judges=settings.judge)
    record, said = resolve(asked, known)
    asyncio.run(_send(settings, messages(record, counts.__getitem__)))
    return said


async def _send(settings: Settings, sent: list[Message]) -> None:
    async with connect(settings) as bus:
        await bus.send_all(sent)


def _partitions(settings: Settings) -> dict[str, int]:
    from scentline.streams.transport.kafka.admin import Admin

    names = (CONTROL.name, SIGHTINGS.name)
    with Admin(settings) as admin:
        found = admin.topics(names)
    for name in names:
        if name not in found:
            raise RefusedError(f"there is no topic {name} at the broker; scentline topics create makes it")
    return {name: topic.partitions for name, topic in found.items()}


#: Seconds between two polls of the spool.
POLL_SECONDS = 0.2
#: Seconds between two checks that the crawl has read a record.
HEARD_SECONDS = 0.01

log = EventLog("control")


class ControlService:
    """Carries out requests in order; ``sync`` returns once the disk has what was sent.

    ``stand`` returns the crawl's figures, as `Known` has them.
    """

    def __init__(
        self,
        runtime: Runtime,
        predicates: Predicates,
        steered: Steered,
        sync: Callable[[], None],
        stand: Callable[[], Mapping[str, int]],
    ) -> None:
        self._runtime = runtime
        settings = runtime.settings
        self._known = Known(
            predicates.definitions, steered, settings.fetch.delay_seconds, judges=settings.judge
        )
        self._sync = sync
        self._stand = stand
        self._spool = Spool(runtime.settings.data)
        self._stuck: set[str] = set()

    async def run(self) -> None:
        """Poll the spool; never returns."""
        self._spool.tidy()
        while True:
            await self.look()
            await asyncio.sleep(POLL_SECONDS)

    async def look(self) -> None:
        """Carry out the requests that wait."""
        for name in self._spool.names():
            if name in self._stuck:
                continue
            try:
                await self._answer(name)
            except OSError as error:
                # It was carried out, or refused; do not repeat it at every poll.
                self._stuck.add(name)
                log.warning("a request can't be removed", reason=error.strerror)

    async def _answer(self, name: str) -> None:
        try:
            await self._take_up(name)
        except RefusedError as error:
            if isinstance(error, UnreadableError):
                await self._bury(name, error)
            log.warning("a request is refused", reason=str(error))
            self._spool.refuse(name, str(error))

    async def _take_up(self, name: str) -> None:
        bus = self._runtime.bus
        known = self._known._replace(stand=self._stand(), now=self._runtime.clock())
        record, said = resolve(self._spool.read(name), known)
        await bus.send_all(messages(record, bus.partitions))
        while not self._heard(record):  # the next request may build on it
            await asyncio.sleep(HEARD_SECONDS)
        self._sync()
        self._spool.done(name, said)

    async def _bury(self, name: str, error: UnreadableError) -> None:
        outbox = Outbox(DIRECTORY)
        reason = f"{printable(name)}: {error}"
        self._runtime.bury(outbox, Place(DIRECTORY, 0, 0), error.data, reason, "unreadable")
        await self._runtime.bus.send_all(outbox.take())

    def _heard(self, record: Record) -> bool:
        if isinstance(record, PredicateDefinition):
            return self._known.predicates.get(record.name) == record
        return isinstance(record, Seeds) or self._known.steered.heard(record)
