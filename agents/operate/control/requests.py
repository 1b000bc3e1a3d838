"""What can be asked of a crawl, as JSON: each request may be carried out twice and does no harm then.

Its messages for the log are the same by a crawl that runs as by a command that writes them itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, TypeAlias

import msgspec

from scentline.agents.frontier.steered import Steered
from scentline.agents.judge.predicates import check_judges
from scentline.models.errors import ScentlineError
from scentline.models.frontier.exclusions import Exclusions
from scentline.models.predicate import PredicateError, parse
from scentline.models.url import canonical, host
from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import JudgeSettings
from scentline.streams.facts import Seeded
from scentline.streams.logging import printable
from scentline.streams.outbox import Message
from scentline.streams.published import (
    MOST_EXCLUDING,
    REMOVED,
    Exclusion,
    Limit,
    Pausing,
    PredicateDefinition,
    Slowing,
    Steering,
    Watch,
    steering_key,
)
from scentline.streams.records import Pack, encode
from scentline.streams.topics import PREDICATES, SIGHTINGS, STEERING, WATCHING, partition_of

#: URLs in one request at most, and bytes of one.
MOST_URLS = 10_000
MOST_BYTES = 4_000_000
#: Exclusions, and hosts with a delay of their own, at most: each frontier keeps them in memory.
MOST_STEERED = 1_000
#: Seconds between two requests to a host, at most.
LONGEST_DELAY = 86_400.0
# Seeds of a message; Kafka takes messages of a megabyte.
_PACKED = 100

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}\Z")]
Share = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]
State: TypeAlias = Literal["active", "paused", "removed"]
Excluding = Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)]


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
    state: State | None = None


class Seeds(msgspec.Struct, frozen=True, tag="seeds", forbid_unknown_fields=True):
    """Start from further URLs, in canonical form."""

    urls: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_URLS)]


class Pause(msgspec.Struct, frozen=True, tag="pause", forbid_unknown_fields=True):
    """Order nothing from now on; what is in flight lands."""


class Resume(msgspec.Struct, frozen=True, tag="resume", forbid_unknown_fields=True):
    """Go on with a paused crawl."""


class Exclude(msgspec.Struct, frozen=True, tag="exclude", forbid_unknown_fields=True):
    """Fetch no URL that begins with ``prefix``, or that matches ``expression`` (RE2): one of them is given."""

    prefix: Excluding = ""
    expression: Excluding = ""


class Include(msgspec.Struct, frozen=True, tag="include", forbid_unknown_fields=True):
    """Fetch again what the exclusion ``id`` left out."""

    id: Annotated[str, msgspec.Meta(max_length=64)]


class Budget(msgspec.Struct, frozen=True, tag="budget", forbid_unknown_fields=True):
    """Judge so many pages, have so many requests answered, in all; 0 is no limit, None leaves it as it is."""

    pages: Annotated[int, msgspec.Meta(ge=0, le=2**31)] | None = None
    requests: Annotated[int, msgspec.Meta(ge=0, le=2**31)] | None = None


class Delay(msgspec.Struct, frozen=True, tag="delay", forbid_unknown_fields=True):
    """Let so many seconds pass between two requests to a host, or more; 0 leaves it to what is polite."""

    host: Annotated[str, msgspec.Meta(max_length=300)]
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_DELAY)]


Steer: TypeAlias = Pause | Resume | Exclude | Include | Budget | Delay
Request: TypeAlias = AddPredicate | ChangePredicate | Seeds | Steer | Watch


class RefusedError(ScentlineError):
    """A request that can't be carried out; the text says why."""


def defined(request: AddPredicate | ChangePredicate, known: PredicateDefinition | None) -> PredicateDefinition:
    """Return the definition that a request makes of a predicate, which may be ``known``; raises `RefusedError`.

    A name stands for one expression in a data directory: what is counted under it can't be told apart later.

    >>> sports = defined(AddPredicate("sports", '"ski"'), None)
    >>> defined(ChangePredicate("sports", share=3.0), sports).share
    3.0
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


class Known(NamedTuple):
    """What a crawl was asked before: its predicates by name, and how it is steered.

    ``delay`` seconds pass between two requests to any host. ``stand`` has its figures of now: pages "judged",
    requests "answered", and the budgets in force, of "pages" and "requests"; what is not known is left out.
    """

    predicates: Mapping[str, PredicateDefinition]
    steered: Steered
    delay: float = 0.0
    stand: Mapping[str, int] = MappingProxyType({})


class Carried(NamedTuple):
    """What a request comes to: messages, and the predicate that they define or the steering they tell.

    ``said`` says what then holds. What is not ``lasting`` need not survive a failure of power.
    """

    messages: list[Message]
    said: str
    defines: PredicateDefinition | None = None
    steers: tuple[Steering, ...] = ()
    lasting: bool = True


def carry_out(
    request: Request, known: Known, partitions: Callable[[str], int], judges: JudgeSettings | None, now: float
) -> Carried:
    """Return what a request comes to at the time ``now``, given what is ``known`` and a topic's ``partitions``.

    ``judges`` are those of the crawl, None where it will say itself which it has. Raises `RefusedError`.
    """
    if isinstance(request, Seeds):
        added = f"{len(request.urls):,} seed{'s' * (len(request.urls) != 1)} added"
        return Carried(_seeds(request, partitions(SIGHTINGS.name)), added)
    if isinstance(request, Watch):
        watching = (WATCHING.name, 0, WATCHING.key.encode(), msgspec.json.encode(request))
        return Carried([watching], "", lasting=False)
    if isinstance(request, Steer):
        if isinstance(request, Delay) and 0 < request.seconds <= known.delay:
            raise RefusedError(
                f"a delay of {request.seconds:g} s has no effect: fetch.delay_seconds is {known.delay:g} for "
                "every host; expected more, or 0 to undo one"
            )
        told = tuple(steering(request, known.steered, now))
        said = printable("; ".join(_in_words(each, known) for each in told))
        return Carried([_steering_message(each) for each in told], said, steers=told)
    definition = defined(request, known.predicates.get(request.name))
    if isinstance(request, AddPredicate):
        _check(request, judges)
    message = (PREDICATES.name, 0, definition.name.encode(), msgspec.json.encode(definition))
    shares = request.share is not None and request.share != 1.0
    said = f"{definition.name} is {definition.state}" + f", with the share {definition.share:g}" * shares
    return Carried([message], said, definition)


def steering(request: Steer, steered: Steered, now: float) -> list[Steering]:
    """Return what a request tells the frontiers, given how the crawl is ``steered``; raises `RefusedError`.

    >>> [told] = steering(Exclude(prefix="https://example.org/shop/"), Steered(), now=0.0)
    >>> told.name, told.prefix
    ('724bec5065', 'https://example.org/shop/')
    """
    if isinstance(request, Pause | Resume):
        return [Pausing(on=isinstance(request, Pause), time=now)]
    if isinstance(request, Exclude):
        return [_exclusion(request, steered, now)]
    if isinstance(request, Include):
        known = steered.exclusion(request.id)
        if known is None:
            raise RefusedError(f"there is no exclusion {request.id} here")
        return [msgspec.structs.replace(known, on=False, time=now)]
    if isinstance(request, Budget):
        limits: tuple[tuple[Literal["pages", "requests"], int | None], ...]
        limits = (("pages", request.pages), ("requests", request.requests))
        return [Limit(name=name, most=most, time=now) for name, most in limits if most is not None]
    return [_slowing(request, steered, now)]


def _in_words(told: Steering, known: Known) -> str:
    """Return what holds with ``told``, and what held before."""
    stand = known.stand
    if isinstance(told, Pausing):
        at = f" at {stand['judged']:,} pages" if "judged" in stand else ""
        already = " already" if known.steered.paused == told.on else ""
        return f"paused{already}{at}" if told.on else f"going on{already}{at}"
    if isinstance(told, Exclusion):
        what = f"{told.prefix or told.expression} ({told.name})"
        return f"excluded: {what}" if told.on else f"included again: {what}"
    if isinstance(told, Limit):
        was, done = stand.get(told.name), stand.get("judged" if told.name == "pages" else "answered")
        before = [] if was is None else [f"was {was:,}" if was else "had no limit"]
        before += [] if done is None else [f"{done:,} so far"]
        budget = f"{told.most:,} {told.name}" if told.most else f"any number of {told.name}"
        return f"budget: {budget}" + (f" ({', '.join(before)})" if before else "")
    delay = f"{told.seconds:g} s" if told.seconds else f"{known.delay:g} s, as for every host"
    was_delay = next((each.seconds for each in known.steered.delays if each.name == told.name), known.delay)
    return f"delay of {told.name}: {delay} (was {was_delay:g} s), and more where its robots.txt asks for more"


def _exclusion(request: Exclude, steered: Steered, now: float) -> Exclusion:
    prefix, expression = request.prefix, request.expression
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
    return Exclusion(name=name, prefix=prefix, expression=expression, time=now)


def _begins_a_url(prefix: str) -> bool:
    """Return whether canonical URLs may begin so: scheme and host are whole, and as they are written there."""
    scheme, _, rest = prefix.partition("://")
    name, slash, _ = rest.partition("/")
    site = f"{scheme}://{name}{slash}"
    return canonical(site) == site and prefix.isascii()


def _slowing(request: Delay, steered: Steered, now: float) -> Slowing:
    url = canonical(f"http://{request.host}/")
    if url is None or url != f"http://{host(url)}/":
        raise RefusedError(f"{request.host[:200]!r} is no host; expected one such as example.org")
    known = {each.name for each in steered.delays}
    if host(url) not in known and len(known) >= MOST_STEERED:
        raise RefusedError(f"{len(known)} hosts have a delay of their own, expected at most {MOST_STEERED}")
    return Slowing(name=host(url), seconds=request.seconds, time=now)


def _steering_message(told: Steering) -> Message:
    return (STEERING.name, 0, steering_key(told).encode(), msgspec.json.encode(told))


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
