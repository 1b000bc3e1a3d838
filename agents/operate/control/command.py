"""A request from the command line: to the crawl that runs, or, where none does, straight into its log.

A crawl on Kafka is asked through its topics.
"""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress

from scentline.agents.crawl.connect import connect
from scentline.agents.frontier.rows import TotalsRow
from scentline.agents.frontier.steered import Steered
from scentline.agents.operate.control.requests import Known, RefusedError, Request, carry_out
from scentline.agents.operate.control.spool import Spool
from scentline.agents.operate.inspect.record import definitions_of, entries, kept_entries, totals
from scentline.streams.outbox import Message
from scentline.streams.published import Limit, PredicateDefinition
from scentline.streams.settings import Settings
from scentline.streams.topics import PREDICATES, SIGHTINGS, STEERING
from scentline.streams.transport.database import JournalInUseError
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: How often it is looked at whether a crawl is running, and how many seconds it is given each time.
LOOKS, LOOK_SECONDS = 10, 1.0


def submit(settings: Settings, request: Request) -> str | None:
    """Have the crawl of ``settings`` carry out a request; return what now holds, None where it has not yet.

    Raises `RefusedError`, and `JournalMissingError` where there is no crawl.
    """
    if settings.on_kafka:
        return _carry_out_on_kafka(settings, request)
    Journal.open(settings.data / "journal", read_only=True).close()
    spool = Spool(settings.data)
    name = spool.put(request)
    for _ in range(LOOKS):
        with suppress(JournalInUseError), Journal.open(settings.data / "journal") as journal:
            _carry_out_all(settings, journal, spool)
        if (said := spool.wait(name, LOOK_SECONDS)) is not None:
            return said
    return None


def known_predicates(settings: Settings) -> dict[str, PredicateDefinition]:
    """Return the predicates that the crawl has had, by name; raises `JournalMissingError`."""
    return _known(kept_entries(settings, PREDICATES.name))


def known_steering(settings: Settings) -> Steered:
    """Return how the crawl is steered; raises `JournalMissingError`."""
    return _steered(kept_entries(settings, STEERING.name))


def _known(found: Iterable[Entry]) -> dict[str, PredicateDefinition]:
    return {definition.name: definition for definition in definitions_of(found)}


def _steered(found: Iterable[Entry]) -> Steered:
    steered = Steered()
    for entry in found:
        steered.hear(entry.value)
    return steered


def _carry_out_all(settings: Settings, journal: Journal, spool: Spool) -> None:
    """Carry out what waits, in its order: what others asked before is not overtaken."""
    for name in spool.names():
        try:
            _carry_out(settings, journal, spool, name)
        except RefusedError as error:
            spool.refuse(name, str(error))


def _carry_out(settings: Settings, journal: Journal, spool: Spool, name: str) -> None:
    request, now = spool.read(name), time.time()
    steered = _steered(entries(journal, STEERING.name, 0))
    predicates = _known(entries(journal, PREDICATES.name, 0))
    known = Known(predicates, steered, settings.fetch.delay_seconds, _stand(steered, totals(journal)))
    carried = carry_out(request, known, journal.partitions, None, now)
    journal.append_all(carried.messages, now)
    journal.sync()
    spool.done(name, carried.said)


def _stand(steered: Steered, found: TotalsRow | None = None) -> dict[str, int]:
    """Return a crawl's figures, as `Known` has them: of budgets those that were set."""
    judged = {} if found is None else {"judged": found.judged, "answered": found.requests}
    return judged | {each.name: each.most for each in steered.in_force if isinstance(each, Limit)}


def _carry_out_on_kafka(settings: Settings, request: Request) -> str:
    """Carry out a request and return what then holds; it is in the log when this returns.

    Raises `RefusedError` where it can't be, and `streams.transport.kafka.connection.KafkaError`.
    """
    counts = _partitions(settings)
    steered = known_steering(settings)
    known = Known(known_predicates(settings), steered, settings.fetch.delay_seconds, _stand(steered))
    carried = carry_out(request, known, counts.__getitem__, settings.judge, time.time())
    asyncio.run(_send(settings, carried.messages))
    return carried.said


def _partitions(settings: Settings) -> dict[str, int]:
    from scentline.streams.transport.kafka.admin import Admin

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
