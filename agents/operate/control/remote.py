"""A request from the command line to a crawl on Kafka: onto its topics, where every worker hears of it."""

import asyncio
from collections.abc import Iterable

from agents.crawl.connect import connect
from agents.operate.control.messages import carry_out
from agents.operate.control.requests import RefusedError, Request
from agents.operate.inspect.record import definitions_of
from streams.outbox import Message
from streams.records import PredicateDefinition
from streams.settings import Settings
from streams.topics import PREDICATES, SIGHTINGS
from streams.transport.kafka.admin import Admin, kept


def carry_out_on_kafka(settings: Settings, request: Request) -> None:
    """Carry out a request; what it comes to is in the log when this returns.

    Raises `RefusedError` where it can't be, and `streams.transport.kafka.connection.KafkaError`.
    """
    counts = _partitions(settings)
    carried = carry_out(request, predicates_on_kafka(settings), counts.__getitem__, settings.judge)
    asyncio.run(_send(settings, carried.messages))


def predicates_on_kafka(settings: Settings) -> dict[str, PredicateDefinition]:
    """Return the predicates that the crawl at the broker has had, by name."""
    found = definitions_of(kept(settings, PREDICATES.name, 0))
    return {definition.name: definition for definition in found}


def _partitions(settings: Settings) -> dict[str, int]:
    names = (PREDICATES.name, SIGHTINGS.name)
    with Admin(settings) as admin:
        found = admin.topics(names)
    for name in names:
        if name not in found:
            raise RefusedError(f"there is no topic {name} at the broker; scentline topics create makes it")
    return {name: topic.partitions for name, topic in found.items()}


async def _send(settings: Settings, messages: Iterable[Message]) -> None:
    async with connect(settings) as log:
        await log.publisher.send_all(list(messages))
