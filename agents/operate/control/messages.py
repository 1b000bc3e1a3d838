"""A request as messages for the log: the same by a crawl that runs as by a command that writes itself."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from agents.judge.predicates import check_judges
from agents.operate.control.requests import (
    AddPredicate,
    RefusedError,
    Request,
    Seeds,
    defined,
)
from models.predicate import PredicateError, parse
from models.url import canonical, host
from streams.configuration import ConfigurationError
from streams.outbox import Message
from streams.records import Pack, PredicateDefinition, Seeded, encode
from streams.settings import JudgeSettings
from streams.topics import PREDICATES, SIGHTINGS, partition_of


class Carried(NamedTuple):
    """What a request comes to: messages, and the predicate that they define."""

    messages: list[Message]
    defines: PredicateDefinition | None = None


def carry_out(
    request: Request,
    known: Mapping[str, PredicateDefinition],
    partitions: Callable[[str], int],
    judges: JudgeSettings | None,
) -> Carried:
    """Return what a request comes to, given the predicates ``known`` and the ``partitions`` of a topic.

    ``judges`` are those of the crawl, None where it will say itself which it has. Raises `RefusedError`.
    """
    if isinstance(request, Seeds):
        return Carried(_seeds(request, partitions(SIGHTINGS.name)))
    definition = defined(request, known.get(request.name))
    if isinstance(request, AddPredicate):
        _check(request, judges)
    message = (PREDICATES.name, 0, definition.name.encode(), msgspec.json.encode(definition))
    return Carried([message], definition)


def _check(request: AddPredicate, judges: JudgeSettings | None) -> None:
    try:
        predicate = parse(request.expression)
        if judges is not None:
            check_judges({request.name: predicate}, judges)
    except (PredicateError, ConfigurationError) as error:
        raise RefusedError(str(error)) from error


def _seeds(request: Seeds, partitions: int) -> list[Message]:
    messages: list[Message] = []
    for url in request.urls:
        if canonical(url) != url:
            raise RefusedError(f"{url[:200]!r} is no canonical URL that can be crawled")
        pack: Pack[Seeded] = Pack(facts=[(0, 0, Seeded(url))])
        messages.append((SIGHTINGS.name, partition_of(host(url), partitions), None, encode(pack)))
    return messages
