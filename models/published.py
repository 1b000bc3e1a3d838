"""What a crawl publishes for people and programs, and how people steer it; in JSON, except for the parts."""

from collections.abc import Collection
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, TypeVar

import msgspec

from scentline.models.harvest import AgainstChance, Harvest
from scentline.models.page import Link, Verdict
from scentline.models.records import (
    UNREADABLE,
    VERSION,
    Finite,
    Natural,
    Pack,
    Record,
    RecordError,
    Seconds,
    Time,
    UnknownVersionError,
    UrlIfAny,
    Whole,
    encode,
    reason_of,
)
from scentline.models.url import Url

#: Seconds after which the outcome of a revisited page is published again although the page is unchanged: with
#: twice that between two visits, the newest outcome of a page is never older than outcomes are kept.
RENEWED = 10 * 86_400
OUTCOMES: Final = "outcomes"  #: The topics of outcomes and of changes.
CHANGES: Final = "changes"
MOST_EXCLUDING = 4_000  #: Characters of an exclusion at most.
LONGEST_DELAY = 86_400.0  #: Most seconds between two requests to a host that people may set.
MOST_HOSTS = 100  #: Most hosts in one query for their state.


class Outcome(msgspec.Struct, kw_only=True, omit_defaults=False):
    """A judged page, with everything needed to recompute every statistic.

    Where pages are revisited, the newest outcome of a URL that is not ``later`` wins, and its links are added
    to those known; elsewhere the first one wins.
    """

    version: int = VERSION
    url: Url
    time: Time
    title: str
    verdict: Verdict  #: Empty for a page that ``left``.
    predicate: str
    policy: str
    explored: bool
    probability: Finite  #: The probability of the choice.
    priority: Finite
    expected: Finite | None  #: The probability of a hit, where the policy has one.
    depth: Natural
    words: tuple[str, ...]
    links: tuple[Link, ...]
    origin: str  #: The place of the fetched page, "topic/partition@offset": equal origins are one page.
    #: Whether only later predicates judged: the verdict adds to that of the outcome of the same URL and time.
    later: bool = False
    silent: bool | msgspec.UnsetType = msgspec.UNSET  #: As in `FetchOrder`, like ``requests``.
    requests: Natural = 0
    again: bool | msgspec.UnsetType = msgspec.UNSET  #: Whether this is a revisit, where pages are revisited.
    left: str | msgspec.UnsetType = msgspec.UNSET  #: Why the page left.
    referrer: Url | msgspec.UnsetType = msgspec.UNSET  #: As in `FetchOrder`, like ``source``.
    source: Url | msgspec.UnsetType = msgspec.UNSET


class Counted(msgspec.Struct, kw_only=True):
    """The counted fields of an `Outcome`: decoding its words and links too would take four times as long."""

    version: int = VERSION
    url: Url
    time: Time
    title: str
    verdict: Verdict
    policy: str
    explored: bool
    origin: str
    later: bool = False
    requests: Natural = 0
    again: bool | msgspec.UnsetType = msgspec.UNSET


Told = TypeVar("Told", bound=Counted | Outcome)

_outcome = msgspec.json.Decoder(Outcome)
_counted = msgspec.json.Decoder(Counted)
_MOST_DIGITS = 19  #: An offset has fewer.


def read_outcome(value: bytes) -> Pack[Outcome]:
    """Return an outcome as a pack of one fact, with the place of its page as origin; raises `RecordError`."""
    return read_as(_outcome, value)


def read_counted(value: bytes) -> Pack[Counted]:
    """Return the counted fields of an outcome, as `read_outcome` does."""
    return read_as(_counted, value)


def read_as(decoder: msgspec.json.Decoder[Told], value: bytes) -> Pack[Told]:
    """Return the fields of an outcome that a decoder reads, as `read_outcome` does."""
    try:
        outcome = decoder.decode(value)
        if outcome.version != VERSION:
            raise UnknownVersionError(f"not an Outcome: unknown version {outcome.version}, expected {VERSION}")
        source, _, offset = outcome.origin.rpartition("@")
        # A later verdict has the place of a page that was counted before; its predicates identify it.
        if not (offset.isascii() and offset.isdigit() and len(offset) < _MOST_DIGITS):
            raise RecordError("not an Outcome: its origin is no place, expected topic/partition@offset")
        return Pack(source="" if outcome.later else source, facts=[(int(offset), 0, outcome)])
    except UNREADABLE as error:
        raise RecordError(f"not an Outcome: {reason_of(error)}") from error


class Change(msgspec.Struct, kw_only=True):
    """A change of a predicate's matches; equal ``origin`` and predicate mark duplicates."""

    version: int = VERSION
    predicate: str
    #: "appeared", "changed" (another text), "left" (no longer a match, or gone) or "moved" (to ``target``).
    kind: str
    url: Url
    #: The times of the visit that found it and of the visit before, null without one.
    time: Time
    before: Time | None = None
    title: str = ""  #: Title and excerpt of the page as it is now, or as it was before it left.
    excerpt: str = ""
    reason: str = ""  #: Why it left.
    target: UrlIfAny = ""
    origin: str = ""


class HarvestPart(Record, kw_only=True):
    """A predicate's statistics in one partition of `outcomes`; the part with the greatest offset wins."""

    KIND: ClassVar = b"harvest"
    predicate: str
    partition: Natural
    offset: int  #: The offset of the last outcome counted.
    time: Time  #: The time of the last page.
    state: Harvest


class FreshnessPart(Record, kw_only=True):
    """A frontier's estimate of the freshness of one partition's matches; the newest wins."""

    KIND: ClassVar = b"freshness"
    predicate: str
    partition: Natural
    time: Time
    matches: Natural
    current: Finite  #: The matches expected to be unchanged since their last visit.
    age: Finite  #: The sum of the seconds since these visits.
    revisits: Natural  #: Revisits of matches.
    requests: Natural  #: Requests answered in the partition, revisits of any page included.


def told_part(part: HarvestPart | FreshnessPart) -> tuple[bytes, bytes]:
    """Return key and value of a part in `standing`; a newer part of the same partition replaces it."""
    return b"%s %d %s" % (part.KIND, part.partition, part.predicate.encode()), encode(part)


POINT_VERSION = 2  #: The schema version of points.


class HarvestPoint(AgainstChance, msgspec.Struct, kw_only=True):
    """One point of a predicate's harvest-rate stream; counts are totals of the whole crawl.

    ``matches``, ``freshness`` and ``age`` are null where no page is revisited.
    """

    version: int = POINT_VERSION
    predicate: str
    time: Time  #: The time of the last page, or of a later estimate.
    pages: Natural
    hits: Natural
    harvest_rate: float
    #: The rates over the last pages and over the last seconds, as many as `HarvestSettings` sets.
    rate_by_pages: float
    rate_by_time: float
    lift: float | None  #: Harvest rate divided by that of randomly explored pages, null until one is explored.
    policies: dict[str, tuple[Natural, Natural]]  #: Pages and hits by policy ("random" for explored pages).
    #: The offset up to which each partition of `outcomes` is counted; like ``pages`` it never decreases.
    covers: dict[Natural, int] = {}
    requests: Natural = 0  #: Requests up to the newest page, failed ones included.
    hits_per_request: float = 0.0
    matches: Natural | None = None
    freshness: float | None = None  #: Share of the matches expected to be unchanged since their last visit.
    age: float | None = None  #: Mean seconds since that visit.
    revisits: Natural = 0  #: Revisits of matches, and their share of all requests.
    revisit_share: float = 0.0

    def with_freshness(self, parts: Collection[FreshnessPart]) -> "HarvestPoint":
        """Return a point with the freshness of the predicate's matches, where that is known."""
        if not parts:
            return self
        matches, revisits = sum(part.matches for part in parts), sum(part.revisits for part in parts)
        requests = sum(part.requests for part in parts)
        return msgspec.structs.replace(
            self,
            time=max(self.time, *(part.time for part in parts)),
            matches=matches,
            freshness=sum(part.current for part in parts) / matches if matches else None,
            age=sum(part.age for part in parts) / matches if matches else None,
            revisits=revisits,
            revisit_share=revisits / requests if requests else 0.0,
        )


#: States of a predicate: it judges and gets turns; it only judges; it does neither, but its name stays taken.
ACTIVE, PAUSED, REMOVED = "active", "paused", "removed"


class PredicateDefinition(msgspec.Struct, kw_only=True, tag_field="what", tag="predicate"):
    """A predicate of the crawl."""

    version: int = VERSION
    name: str
    expression: str
    share: float = 1.0  #: Its share of the fetches.
    state: str = ACTIVE
    kept: bool = False  #: Whether it also judges kept pages that were judged before it was added.


class Upcoming(msgspec.Struct, frozen=True):
    """One of a predicate's best candidates, as last scored."""

    url: str
    priority: Finite
    #: The probability that a request brings a hit, None where the policy has none.
    probability: Finite | None = None
    comes: Finite | None = None  #: The probability that a request brings a page, None likewise.
    waits: Seconds = 0.0  #: Seconds until its host is ready.
    #: The inputs that raise the priority most, then those that lower it most, each with its contribution.
    speaks: tuple[tuple[str, Finite], ...] = ()


class HostStanding(msgspec.Struct, frozen=True):
    """The state of a host in its frontier."""

    host: str
    #: "ready" (it has candidates and may be fetched from), "waits" (until the time ``until``), "busy" (a fetch
    #: is in flight), "stopped" (its candidates lie too deep, or its budget is spent), "exhausted" (it answered
    #: before, and has no candidate in memory) or "unknown" (it never answered, and has none).
    state: str
    why: str = ""  #: As in `Standing.waiting` for a host that waits, and in words for one that is stopped.
    until: Time = 0.0
    candidates: Natural = 0


#: Seconds after which the last report of a worker is stale.
SILENT_SECONDS = 150.0


class Standing(msgspec.Struct, kw_only=True):
    """The state of a frontier worker; the newest with a key wins."""

    version: int = VERSION
    worker: str  #: Its name: the lowest of its partitions.
    time: Time
    #: "starting" (the best candidates are not known yet), "running", "paused", "spent" (the budget is), "done"
    #: (nothing is left to fetch) or "ended" (stopped before that).
    state: str
    final: bool = False  #: Whether it is the final status of a worker that stopped cleanly.
    partitions: Natural
    of: Natural
    judged: Natural = 0
    requests: Natural = 0
    discovered: Natural = 0
    failed: Natural = 0  #: URLs that are gone or given up.
    refused: Natural = 0
    moved: Natural = 0
    trapped: Natural = 0
    revisits: Natural = 0
    #: Over the last seconds, None while unknown, like ``requests_a_second``.
    pages_a_second: Finite | None = None
    requests_a_second: Finite | None = None
    in_flight: Natural = 0
    revisits_in_flight: Natural = 0
    window: Natural = 0  #: Fetches that may be in flight, and how many more may be ordered.
    room: Whole = 0
    queued: dict[str, Natural] = {}  #: Candidates, and hosts with candidates, by predicate.
    hosts: dict[str, Natural] = {}
    ready: Natural = 0  #: Ready hosts with candidates.
    #: Waiting hosts by reason: "delay", "back-off", "retry-after", "robots" (Crawl-delay), "shared" (another
    #: host of the same server had a request), "busy" (a fetch is in flight) or "browser" (it has no free slot).
    waiting: dict[str, Natural] = {}
    next_ready: Seconds | None = None  #: Seconds until the first of them is ready.
    seen: Finite = 1.0  #: Share of the hosts that the figures of hosts are based on.
    retries: Natural = 0  #: URLs that wait for another attempt, and seconds until the next one.
    next_retry: Seconds | None = None
    opening: bool = False  #: Whether it loads candidates, and the share that is loaded.
    taken_up: Finite = 1.0
    filling: bool = False  #: Whether a sweep through all known URLs fills the queues.
    budget: Natural = 0  #: Budgets in force, 0 for no limit.
    requests_budget: Natural = 0
    left: Natural | None = None  #: Requests left, None for no limit.
    best: tuple[Upcoming, ...] = ()
    best_of: str = ""  #: The predicate of ``best``.
    looked_at: tuple[HostStanding, ...] = ()
    began: Time = 0.0  #: When the worker began.
    #: Recently used share of the slots for requests to hosts, None without a delay.
    slots: Finite | None = None
    #: Where that is below half: what held back most hosts, and how many (`models.frontier.standing`).
    held_by: str = ""
    held: Natural = 0

    @property
    def spent(self) -> str:
        """Which budget ended the crawl, or that its time is over."""
        if self.left:
            return "the time is over"
        if self.budget and self.judged >= self.budget:
            return f"the budget of {self.budget:,} pages is spent"
        if self.requests_budget:
            return f"the budget of {self.requests_budget:,} requests is spent"
        return "the budget is spent" if self.budget else "the time is over"


DOOR_KEY: Final = b"door "  #: How the keys of the states of doors begin; their worker follows.


class DoorStanding(msgspec.Struct, kw_only=True):
    """The state of a door; the newest with a key wins."""

    version: int = VERSION
    worker: str  #: Its name: the lowest of its partitions.
    time: Time
    clients: Natural  #: Clients that called lately.
    leased: Natural  #: Orders that they hold.
    parked: Natural  #: All orders at the door, those among them.
    heard: Time  #: When a client last settled or discovered something.


class Pausing(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="paused"):
    """Pauses or resumes the crawl: a paused crawl orders nothing."""

    version: int = VERSION
    name: ClassVar[str] = ""
    on: bool
    time: Time = 0.0


class Exclusion(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="excluded"):
    """URLs not to fetch: those that begin with ``prefix``, or match ``expression`` (RE2)."""

    version: int = VERSION
    name: Annotated[str, msgspec.Meta(max_length=64)] = ""  #: Derived from prefix and expression.
    prefix: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    expression: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    on: bool = True
    time: Time = 0.0


class Limit(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="budget"):
    """The total budget of pages to judge or of requests to answer; 0 for no limit."""

    version: int = VERSION
    name: Literal["pages", "requests"]
    most: Natural
    #: The budget in the settings at that time, None until a frontier reads the limit. The limit holds until a
    #: run has another budget in its settings.
    setting: Natural | None = None
    time: Time = 0.0


class Slowing(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="delay"):
    """The least ``seconds`` between two requests to the host ``name``; 0 restores the usual delay."""

    version: int = VERSION
    name: Annotated[str, msgspec.Meta(max_length=300)]
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_DELAY)]
    time: Time = 0.0


#: People's commands to a running crawl; the newest record of a kind and name wins. A command not carried out
#: yet has no time, and an exclusion no name.
Steering: TypeAlias = Pausing | Exclusion | Limit | Slowing
Control: TypeAlias = PredicateDefinition | Steering  #: Every record of the topic `control`.


def control_key(record: Control) -> str:
    """Return the key of a record of `control`: its kind and name.

    >>> control_key(Slowing(name="example.org", seconds=5.0, time=0.0))
    'delay:example.org'
    """
    return f"{type(record).__struct_config__.tag}:{record.name}"


def defines(key: bytes | None) -> bool:
    """Return whether a record of `control` with this key defines a predicate; any other steers."""
    return (key or b"").startswith(b"predicate:")
