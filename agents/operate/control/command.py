"""A request from the command line: to the crawl that runs, or, where none does, straight into its log.

A crawl on Kafka is asked through its topics.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial

from scentline.agents.crawl.connect import connect
from scentline.agents.operate.control.requests import (
    Known,
    RefusedError,
    Request,
    checked,
    messages,
    resolve,
)
from scentline.agents.operate.control.spool import Spool
from scentline.agents.operate.inspect.record import definitions_of, entries, kept_entries, totals
from scentline.models.frontier.steered import Steered
from scentline.models.published import Limit, PredicateDefinition
from scentline.streams.inbox import Message
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, SIGHTINGS
from scentline.streams.transport.database import JournalInUseError
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: How often it is looked at whether a crawl is running, and how many seconds it is given each time.
LOOKS, LOOK_SECONDS = 10, 1.0


def submit(settings: Settings, asked: Request) -> str | None:
    """Have the crawl of ``settings`` carry out a request; return what now holds, None where it has not yet.

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


def known_steering(settings: Settings) -> Steered:
    """Return how the crawl is steered; raises `JournalMissingError`."""
    return Steered(kept_entries(settings, CONTROL.name))


def _carry_out_all(settings: Settings, journal: Journal, spool: Spool) -> None:
    """Carry out what waits, in its order: what others asked before is not overtaken."""
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
    """Return what a crawl was asked before, by its topics; of budgets those that were set."""
    told = list(read(CONTROL.name))
    steered = Steered(told)
    budgets: dict[str, int] = {each.name: each.most for each in steered.in_force if isinstance(each, Limit)}
    predicates = definitions_of(told)
    return Known(predicates, steered, settings.fetch.delay_seconds, {**stand, **budgets}, now=time.time())


def _carry_out_on_kafka(settings: Settings, asked: Request) -> str:
    """Carry out a request and return what then holds; it is in the log when this returns.

    Raises `RefusedError` where it can't be, and `streams.transport.kafka.connection.KafkaError`.
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
