"""What can be asked of a crawl, as JSON: each request may be carried out twice and does no harm then.

Its messages for the log are the same by a crawl that runs as by a command that writes them itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple, TypeAlias

import msgspec

from agents.judge.predicates import check_judges
from models.errors import ScentlineError
from models.predicate import PredicateError, parse
from models.url import canonical, host
from streams.configuration import ConfigurationError
from streams.outbox import Message
from streams.records import REMOVED, Pack, PredicateDefinition, Seeded, Watch, encode
from streams.settings import JudgeSettings
from streams.topics import PREDICATES, SIGHTINGS, WATCHING, partition_of

#: URLs in one request at most, and bytes of one.
MOST_URLS = 10_000
MOST_BYTES = 4_000_000
# Seeds of a message; Kafka takes messages of a megabyte.
_PACKED = 100

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}\Z")]
Share = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]


class AddPredicate(msgspec.Struct, frozen=True, tag="add", forbid_unknown_fields=True):
    """Follow a predicate from now on; with ``kept`` judge the pages that are still kept by it too."""

    name: Name
    expression: str
    share: Share = 1.0
    kept: bool = False


class ChangePredicate(msgspec.Struct, frozen=True, tag="change", forbid_unknown_fields=True):
    """Give a predicate another share or another state; None leaves it as it is."""

    name: Name
    share: Share | None = None
    state: str | None = None


class Seeds(msgspec.Struct, frozen=True, tag="seeds", forbid_unknown_fields=True):
    """Start from further URLs, in canonical form."""

    urls: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_URLS)]


Request: TypeAlias = AddPredicate | ChangePredicate | Seeds | Watch


class RefusedError(ScentlineError):
    """A request that can't be carried out; the text says why."""


def defined(request: AddPredicate | ChangePredicate, known: PredicateDefinition | None) -> PredicateDefinition:
    """Return what a request makes of a predicate that is ``known`` by its name, or not.

    A name stands for one expression as long as there is a data directory, since what is counted under it can't
    be told apart later. Raises `RefusedError`.

    >>> sports = defined(AddPredicate("sports", '"ski"'), None)
    >>> defined(ChangePredicate("sports", share=3.0), sports).share
    3.0
    >>> defined(AddPredicate("sports", '"golf"'), sports)
    Traceback (most recent call last):
    ...
    agents.operate.control.requests.RefusedError: predicate sports is already "ski" here: choose another name
    """
    name = request.name
    if known is not None and known.state == REMOVED:
        raise RefusedError(f"predicate {name} was removed here: choose another name")
    if isinstance(request, AddPredicate):
        if known is not None and known.expression != request.expression:
            raise RefusedError(f"predicate {name} is already {known.expression} here: choose another name")
        made = known or PredicateDefinition(name=name, expression=request.expression)
        return msgspec.structs.replace(made, share=request.share, kept=made.kept or request.kept)
    if known is None:
        raise RefusedError(f"there is no predicate {name} here")
    return msgspec.structs.replace(
        known, share=request.share or known.share, state=request.state or known.state
    )


def checked(request: Request) -> Request:
    """Return a request whose fields are within their bounds; raises `RefusedError`, which says which is not."""
    try:
        found: Request = msgspec.convert(msgspec.to_builtins(request), Request)
    except msgspec.ValidationError as error:
        raise RefusedError(f"{error}") from error
    return found


class Carried(NamedTuple):
    """What a request comes to: messages, and the predicate that they define.

    What is not ``lasting`` need not survive a failure of power.
    """

    messages: list[Message]
    defines: PredicateDefinition | None = None
    lasting: bool = True


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
    if isinstance(request, Watch):
        return Carried([(WATCHING.name, 0, WATCHING.key.encode(), msgspec.json.encode(request))], lasting=False)
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
    for url in request.urls:
        if canonical(url) != url:
            raise RefusedError(f"{url[:200]!r} is no canonical URL that can be crawled")
    return seeding(request.urls, partitions)


def seeding(urls: Iterable[str], partitions: int) -> list[Message]:
    """Return the messages by which the frontier starts from canonical URLs; a second time they do no harm."""
    shares: dict[int, list[str]] = {}
    for url in urls:
        shares.setdefault(partition_of(host(url), partitions), []).append(url)
    return [
        (SIGHTINGS.name, partition, None, encode(_pack(share[start : start + _PACKED])))
        for partition, share in shares.items()
        for start in range(0, len(share), _PACKED)
    ]


def _pack(urls: Sequence[str]) -> Pack[Seeded]:
    return Pack(facts=[(0, index, Seeded(url)) for index, url in enumerate(urls)])
