"""Requests to a crawl: each becomes a record, and may be carried out twice.

Fields that it leaves open, above all its time, are filled in when it is carried out: by the running crawl, or
by the command itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from scentline.agents.judge.predicates import check_judges
from scentline.models.errors import ScentlineError
from scentline.models.facts import Found
from scentline.models.frontier.steered import Exclusions, Steered
from scentline.models.predicate import PredicateError, parse
from scentline.models.published import (
    REMOVED,
    Exclusion,
    Limit,
    Pausing,
    PredicateDefinition,
    Slowing,
    Steering,
    control_key,
)
from scentline.models.records import VERSION, Pack, encode, partition_of
from scentline.models.settings import JudgeSettings
from scentline.models.url import canonical, host
from scentline.streams.inbox import Message
from scentline.streams.logging import printable
from scentline.streams.settings import ConfigurationError
from scentline.streams.topics import CONTROL, SIGHTINGS

#: Most URLs in one request.
MOST_URLS = 10_000
#: Most exclusions, and most hosts with their own delay: each frontier keeps them in memory.
MOST_STEERED = 1_000
# Facts in a message, which stays far below what a broker accepts.
_PACKED = 100

State: TypeAlias = Literal["active", "paused", "removed"]


class Redefinition(msgspec.Struct, frozen=True, tag_field="what", tag="predicate", forbid_unknown_fields=True):
    """A partial definition of a predicate: None leaves a field as it is, as False does ``kept``."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}\Z")]
    expression: str | None = None
    share: Annotated[float, msgspec.Meta(gt=0, le=1_000_000)] | None = None
    state: State | None = None
    kept: bool = False


class Seeds(msgspec.Struct, frozen=True, tag_field="what", tag="seeds", forbid_unknown_fields=True):
    """Further URLs to start from, in canonical form."""

    urls: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_URLS)]


#: A request, in JSON, and the record that it becomes.
Request: TypeAlias = Redefinition | Seeds | Steering
Record: TypeAlias = PredicateDefinition | Seeds | Steering

Asked = TypeVar("Asked", bound=Request)


class RefusedError(ScentlineError):
    """A request that can't be carried out; the text says why."""


def checked(asked: Asked) -> Asked:
    """Return a request with fields within their bounds; raises `RefusedError`, which names one that is not."""
    try:
        return msgspec.convert(msgspec.to_builtins(asked), type(asked))
    except msgspec.ValidationError as error:
        raise RefusedError(f"{error}") from error


class Known(NamedTuple):
    """A crawl's state before a request: its predicates by name, its steering, and its figures ``now``.

    ``delay`` seconds pass between two requests to any host. ``stand`` has the figures: pages "judged", requests
    "answered", and the budgets in force, of "pages" and "requests"; unknown ones are missing. ``judges`` are
    those of the crawl, None where it will check them itself.
    """

    predicates: Mapping[str, PredicateDefinition]
    steered: Steered
    delay: float = 0.0
    stand: Mapping[str, int] = MappingProxyType({})
    judges: JudgeSettings | None = None
    now: float = 0.0


def resolve(asked: Request, known: Known) -> tuple[Record, str]:
    """Return the record that a request becomes, and in words what then holds; raises `RefusedError`.

    >>> told, said = resolve(Exclusion(prefix="https://example.org/shop/"), Known({}, Steered()))
    >>> said
    'excluded: https://example.org/shop/ (724bec5065)'
    """
    if isinstance(asked, Seeds):
        for url in asked.urls:
            if canonical(url) != url:
                raise RefusedError(f"{url[:200]!r} is no canonical URL that can be crawled")
        return asked, f"{len(asked.urls):,} seed{'s' * (len(asked.urls) != 1)} added"
    if isinstance(asked, Redefinition):
        made = _defined(asked, known)
        share = f", with the share {made.share:g}" if asked.share not in (None, 1.0) else ""
        return made, f"{made.name} is {made.state}{share}"
    told = _steering(asked, known)
    return told, printable(_in_words(told, known))


def _defined(asked: Redefinition, known: Known) -> PredicateDefinition:
    """Return a predicate's new definition.

    In a data directory a name has one expression for ever: its counts can't be separated later.
    """
    name, expression, made = asked.name, asked.expression, known.predicates.get(asked.name)
    if made is not None and made.state == REMOVED:
        raise RefusedError(f"predicate {name} was removed here: choose another name")
    if made is not None and expression not in (None, made.expression):
        raise RefusedError(f"predicate {name} is already {made.expression} here: choose another name")
    if expression is not None:
        _check(name, expression, known.judges)
        made = made or PredicateDefinition(name=name, expression=expression)
    if made is None:
        raise RefusedError(f"there is no predicate {name} here")
    return msgspec.structs.replace(
        made, share=asked.share or made.share, state=asked.state or made.state, kept=made.kept or asked.kept
    )


def _check(name: str, expression: str, judges: JudgeSettings | None) -> None:
    try:
        predicate = parse(expression)
        if judges is not None:
            check_judges({name: predicate}, judges)
    except (PredicateError, ConfigurationError) as error:
        raise RefusedError(str(error)) from error


def _steering(asked: Steering, known: Known) -> Steering:
    if asked.version != VERSION:
        raise RefusedError(f"unknown version {asked.version}, expected {VERSION}")
    if isinstance(asked, Exclusion):
        asked = _exclusion(asked, known.steered) if asked.on else _included(asked.name, known.steered)
    elif isinstance(asked, Limit):
        asked = msgspec.structs.replace(asked, setting=None)  # a frontier sets it
    elif isinstance(asked, Slowing):
        asked = _slowing(asked, known)
    return msgspec.structs.replace(asked, time=known.now)


def _exclusion(asked: Exclusion, steered: Steered) -> Exclusion:
    prefix, expression = asked.prefix, asked.expression
    if bool(prefix) == bool(expression):
        raise RefusedError("expected a prefix of URLs or an expression, and not both")
    if prefix and not _begins_a_url(prefix):
        raise RefusedError(
            f"{prefix[:200]!r} begins no URL; expected scheme, host and a slash, such as https://example.org/"
        )
    name = blake2b(f"{prefix}\n{expression}".encode(), digest_size=5).hexdigest()
    known = {each.name for each in steered.exclusions}
    if name not in known and len(known) >= MOST_STEERED:
        raise RefusedError(f"there are {len(known)} exclusions, expected at most {MOST_STEERED}")
    try:
        Exclusions().put(name, prefix, expression)
    except ValueError as error:
        raise RefusedError(
            f"{expression[:200]!r} is no regular expression as RE2 reads them: {error}"
        ) from error
    return msgspec.structs.replace(asked, name=name)


def _begins_a_url(prefix: str) -> bool:
    """Return whether canonical URLs may begin so: scheme and host are complete and canonical."""
    scheme, _, rest = prefix.partition("://")
    name, slash, _ = rest.partition("/")
    site = f"{scheme}://{name}{slash}"
    return canonical(site) == site and prefix.isascii()


def _included(name: str, steered: Steered) -> Exclusion:
    known = steered.exclusion(name)
    if known is None:
        raise RefusedError(f"there is no exclusion {name} here")
    return msgspec.structs.replace(known, on=False)


def _slowing(asked: Slowing, known: Known) -> Slowing:
    if 0 < asked.seconds <= known.delay:
        raise RefusedError(
            f"a delay of {asked.seconds:g} s has no effect: fetch.delay_seconds is {known.delay:g} for "
            "every host; expected more, or 0 to undo one"
        )
    url = canonical(f"http://{asked.name}/")
    if url is None or url != f"http://{host(url)}/":
        raise RefusedError(f"{asked.name[:200]!r} is no host; expected one such as example.org")
    slowed = {each.name for each in known.steered.delays}
    if host(url) not in slowed and len(slowed) >= MOST_STEERED:
        raise RefusedError(f"{len(slowed)} hosts have a delay of their own, expected at most {MOST_STEERED}")
    return msgspec.structs.replace(asked, name=host(url))


def _in_words(told: Steering, known: Known) -> str:
    """Describe what holds with a record, and what held before."""
    stand = known.stand
    if isinstance(told, Pausing):
        at = f" at {stand['judged']:,} pages" if "judged" in stand else ""
        already = " already" if known.steered.paused == told.on else ""
        return f"{'paused' if told.on else 'going on'}{already}{at}"
    if isinstance(told, Exclusion):
        return f"{'excluded' if told.on else 'included again'}: {told.prefix or told.expression} ({told.name})"
    if isinstance(told, Limit):
        was, done = stand.get(told.name), stand.get("judged" if told.name == "pages" else "answered")
        before = [] if was is None else [f"was {was:,}" if was else "had no limit"]
        before += [] if done is None else [f"{done:,} so far"]
        budget = f"{told.most:,} {told.name}" if told.most else f"any number of {told.name}"
        return f"budget: {budget}" + (f" ({', '.join(before)})" if before else "")
    delay = f"{told.seconds:g} s" if told.seconds else f"{known.delay:g} s, as for every host"
    was_delay = next((each.seconds for each in known.steered.delays if each.name == told.name), known.delay)
    return f"delay of {told.name}: {delay} (was {was_delay:g} s), and more where its robots.txt asks for more"


def messages(record: Record, partitions: Callable[[str], int]) -> list[Message]:
    """Return the messages that publish a record, given the ``partitions`` of topics."""
    if isinstance(record, Seeds):
        return seeding(record.urls, partitions(SIGHTINGS.name))
    return [(CONTROL.name, 0, control_key(record).encode(), msgspec.json.encode(record))]


def seeding(urls: Iterable[str], partitions: int) -> list[Message]:
    """Return the messages that seed the frontier with canonical URLs; repeating them does no harm."""
    return finding((Found(url, seed=True) for url in urls), partitions)


def finding(facts: Iterable[Found], partitions: int) -> list[Message]:
    """Return the messages of facts, a part of each partition's in one: a message costs more than a fact."""
    shares: dict[int, list[Found]] = {}
    for fact in facts:
        shares.setdefault(partition_of(host(fact.url), partitions), []).append(fact)
    return [
        (SIGHTINGS.name, partition, None, encode(_pack(share[start : start + _PACKED])))
        for partition, share in shares.items()
        for start in range(0, len(share), _PACKED)
    ]


def _pack(facts: Sequence[Found]) -> Pack[Found]:
    return Pack(facts=[(0, index, fact) for index, fact in enumerate(facts)])
