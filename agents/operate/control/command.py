"""A request from the command line: to the crawl that runs, or, where none does, straight into its log.

A crawl on Kafka is asked through its topics.
"""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal

from agents.crawl.connect import connect
from agents.frontier.steered import Steered
from agents.operate.control.requests import Known, RefusedError, Request, carry_out
from agents.operate.control.spool import Spool
from agents.operate.inspect.record import all_definitions, definitions_of, entries
from streams.outbox import Message
from streams.records import PredicateDefinition
from streams.settings import Settings
from streams.topics import PREDICATES, SIGHTINGS, STEERING
from streams.transport.database import JournalInUseError
from streams.transport.journal import Journal
from streams.transport.layout import Entry

#: How often it is looked at whether a crawl is running, and how many seconds it is given each time.
LOOKS, LOOK_SECONDS = 10, 1.0

#: What became of a request: it is done, or it waits for a crawl to take it up.
Outcome = Literal["done", "waits"]


def submit(settings: Settings, request: Request) -> Outcome:
    """Have a request carried out on the crawl in the data directory of ``settings``.

    Raises `RefusedError` where it can't be, and `JournalMissingError` where there is no crawl.
    """
    if settings.on_kafka:
        _carry_out_on_kafka(settings, request)
        return "done"
    Journal.open(settings.data / "journal", read_only=True).close()
    spool = Spool(settings.data)
    name = spool.put(request)
    for _ in range(LOOKS):
        with suppress(JournalInUseError), Journal.open(settings.data / "journal") as journal:
            _carry_out_all(journal, spool)
        if spool.wait(name, LOOK_SECONDS):
            return "done"
    return "waits"


def known_predicates(settings: Settings) -> dict[str, PredicateDefinition]:
    """Return the predicates that the crawl has had, by name; raises `JournalMissingError`."""
    if settings.on_kafka:
        return _known_on_kafka(settings)
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        return _known(journal)


def known_steering(settings: Settings) -> Steered:
    """Return how the crawl is steered; raises `JournalMissingError`."""
    if settings.on_kafka:
        return _steered_on_kafka(settings)
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        return _steered(entries(journal, STEERING.name, 0))


def _known(journal: Journal) -> dict[str, PredicateDefinition]:
    return {definition.name: definition for definition in all_definitions(journal)}


def _carry_out_all(journal: Journal, spool: Spool) -> None:
    """Carry out what waits, in its order: what others asked before is not overtaken."""
    for name in spool.names():
        try:
            _carry_out(journal, spool, name)
        except RefusedError as error:
            spool.refuse(name, str(error))


def _carry_out(journal: Journal, spool: Spool, name: str) -> None:
    request, now = spool.read(name), time.time()
    known = Known(_known(journal), _steered(entries(journal, STEERING.name, 0)))
    carried = carry_out(request, known, journal.partitions, None, now)
    journal.append_all(carried.messages, now)
    journal.sync()
    spool.done(name)


def _carry_out_on_kafka(settings: Settings, request: Request) -> None:
    """Carry out a request; what it comes to is in the log when this returns.

    Raises `RefusedError` where it can't be, and `streams.transport.kafka.connection.KafkaError`.
    """
    counts = _partitions(settings)
    known = Known(_known_on_kafka(settings), _steered_on_kafka(settings))
    carried = carry_out(request, known, counts.__getitem__, settings.judge, time.time())
    asyncio.run(_send(settings, carried.messages))


def _known_on_kafka(settings: Settings) -> dict[str, PredicateDefinition]:
    """Return the predicates that the crawl at the broker has had, by name."""
    # Imported where it is used: the embedded log has no use for a Kafka client.
    from streams.transport.kafka.admin import kept

    found = definitions_of(kept(settings, PREDICATES.name, 0))
    return {definition.name: definition for definition in found}


def _steered_on_kafka(settings: Settings) -> Steered:
    from streams.transport.kafka.admin import kept

    return _steered(kept(settings, STEERING.name, 0))


def _steered(told: Iterable[Entry]) -> Steered:
    found = Steered()
    for entry in told:
        found.hear(entry.value)
    return found


def _partitions(settings: Settings) -> dict[str, int]:
    from streams.transport.kafka.admin import Admin

    names = (PREDICATES.name, STEERING.name, SIGHTINGS.name)
    with Admin(settings) as admin:
        found = admin.topics(names)
    for name in names:
        if name not in found:
            raise RefusedError(f"there is no topic {name} at the broker; scentline topics create makes it")
    return {name: topic.partitions for name, topic in found.items()}


async def _send(settings: Settings, messages: Iterable[Message]) -> None:
    async with connect(settings) as log:
        await log.publisher.send_all(list(messages))
