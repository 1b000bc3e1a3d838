"""What a crawl publishes for people and programs, and what people ask of it; in JSON, but for the parts."""

from collections.abc import Collection
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, TypeVar

import msgspec

from scentline.models.harvest import Harvest
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

#: Seconds after which the outcome of a page that is visited again and stays as it is is told once more: with
#: twice that between two visits, what holds of a page is never older than outcomes are kept.
RENEWED = 10 * 86_400
OUTCOMES: Final = "outcomes"  #: The topics of outcomes and of changes.
CHANGES: Final = "changes"
MOST_EXCLUDING = 4_000  #: Characters of an exclusion at most.
LONGEST_DELAY = 86_400.0  #: Seconds between two requests to a host, as far as people ask for them.
MOST_HOSTS = 100  #: Hosts of whose standing is asked at a time.


class Outcome(msgspec.Struct, kw_only=True, omit_defaults=False):
    """A judged page, with all that every statistic can be recounted from.

    Where pages are visited again, the newest outcome of a URL that is not ``later`` holds, and its links are
    added to those known; elsewhere the first one does.
    """

    version: int = VERSION
    url: Url
    time: Time
    title: str
    verdict: Verdict  #: Empty for a page that ``left``.
    predicate: str
    policy: str
    explored: bool
    probability: Finite  #: That of the choice.
    priority: Finite
    expected: Finite | None  #: The probability of a hit, where the policy has one.
    depth: Natural
    words: tuple[str, ...]
    links: tuple[Link, ...]
    origin: str  #: The place of the fetched page, "topic/partition@offset": equal origins are one page.
    #: Whether the verdict is of later predicates only: it adds to that of the outcome of the same URL and time.
    later: bool = False
    silent: bool | msgspec.UnsetType = msgspec.UNSET  #: That of `FetchOrder`, as is ``requests``.
    requests: Natural = 0
    again: bool | msgspec.UnsetType = msgspec.UNSET  #: Where pages are visited again: whether this one was.
    left: str | msgspec.UnsetType = msgspec.UNSET  #: Why the page left.


class Counted(msgspec.Struct, kw_only=True):
    """What is counted of an `Outcome`: to read its words and links too would take four times as long."""

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
_MOST_DIGITS = 19  #: Of an offset, fewer.


def read_outcome(value: bytes) -> Pack[Outcome]:
    """Return an outcome as a pack of one fact, with its page's place as origin; raises `RecordError`."""
    return read_as(_outcome, value)


def read_counted(value: bytes) -> Pack[Counted]:
    """Return what is counted of an outcome, as `read_outcome` does."""
    return read_as(_counted, value)


def read_as(decoder: msgspec.json.Decoder[Told], value: bytes) -> Pack[Told]:
    """Return of an outcome what a decoder reads of it, as `read_outcome` does."""
    try:
        outcome = decoder.decode(value)
        if outcome.version != VERSION:
            raise UnknownVersionError(f"not an Outcome: unknown version {outcome.version}, expected {VERSION}")
        source, _, offset = outcome.origin.rpartition("@")
        # What came later has the place of a page that was counted before; it is known by its predicates.
        if not (offset.isascii() and offset.isdigit() and len(offset) < _MOST_DIGITS):
            raise RecordError("not an Outcome: its origin is no place, expected topic/partition@offset")
        return Pack(source="" if outcome.later else source, facts=[(int(offset), 0, outcome)])
    except UNREADABLE as error:
        raise RecordError(f"not an Outcome: {reason_of(error)}") from error


class Change(msgspec.Struct, kw_only=True):
    """A change of a predicate's matches; those of equal ``origin`` and predicate are one."""

    version: int = VERSION
    predicate: str
    #: "appeared", "changed" (another text), "left" (no match any more, or gone) or "moved" (to ``target``).
    kind: str
    url: Url
    #: The times of the visit that found it, and of the last one that did not, null where there was none.
    time: Time
    before: Time | None = None
    title: str = ""  #: Those of the page as it is now, or as it was before it left.
    excerpt: str = ""
    reason: str = ""  #: Why it left.
    target: UrlIfAny = ""
    origin: str = ""


class HarvestPart(Record, kw_only=True):
    """A predicate's statistics in one partition of `outcomes`; of two, that of the greater offset holds."""

    KIND: ClassVar = b"harvest"
    predicate: str
    partition: Natural
    offset: int  #: That of the last outcome counted.
    time: Time  #: That of the last page.
    state: Harvest


class FreshnessPart(Record, kw_only=True):
    """A frontier's estimate of how current the matches of one partition are; the newest holds."""

    KIND: ClassVar = b"freshness"
    predicate: str
    partition: Natural
    time: Time
    matches: Natural
    current: Finite  #: Of these, those expected to be as at their last visit.
    age: Finite  #: Seconds since these visits, added up.
    revisits: Natural  #: How often matches were visited again.
    requests: Natural  #: Requests answered in the partition, revisits of any page among them.


def told_part(part: HarvestPart | FreshnessPart) -> tuple[bytes, bytes]:
    """Return key and value of a part in `standing`; a newer one of the same partition takes its place."""
    return b"%s %d %s" % (part.KIND, part.partition, part.predicate.encode()), encode(part)


POINT_VERSION = 2  #: The version of a point of the whole crawl.


class HarvestPoint(msgspec.Struct, kw_only=True):
    """One point of a predicate's harvest-rate stream; counts are totals of the whole crawl.

    ``matches``, ``freshness`` and ``age`` are null where no page is visited again.
    """

    version: int = POINT_VERSION
    predicate: str
    time: Time  #: That of the last page, or of an estimate.
    pages: Natural
    hits: Natural
    harvest_rate: float
    #: The rates of the last pages, and of the last seconds: as many as `HarvestSettings` says.
    rate_by_pages: float
    rate_by_time: float
    lift: float | None  #: The harvest rate over that of randomly explored pages, null until one was explored.
    policies: dict[str, tuple[Natural, Natural]]  #: Pages and hits by policy ("random" for explored pages).
    #: The offset up to which each partition of `outcomes` is counted; like ``pages`` it never goes back.
    covers: dict[Natural, int] = {}
    requests: Natural = 0  #: Requests until the newest page, those that failed included.
    hits_per_request: float = 0.0
    matches: Natural | None = None
    freshness: float | None = None  #: Share of the matches expected to be as at their last visit.
    age: float | None = None  #: Mean seconds since that visit.
    revisits: Natural = 0  #: Revisits of matches, and their share of all requests.
    revisit_share: float = 0.0

    def with_freshness(self, parts: Collection[FreshnessPart]) -> "HarvestPoint":
        """Return a point that also tells how current the predicate's matches are, where that is known."""
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


#: States of a predicate: it judges and has turns; it judges only; it does neither, and its name stays taken.
ACTIVE, PAUSED, REMOVED = "active", "paused", "removed"


class PredicateDefinition(msgspec.Struct, kw_only=True, tag_field="what", tag="predicate"):
    """A predicate of the crawl."""

    version: int = VERSION
    name: str
    expression: str
    share: float = 1.0  #: Its share of the fetches.
    state: str = ACTIVE
    kept: bool = False  #: Whether it judges the kept pages, too, that were judged before it came.


class Upcoming(msgspec.Struct, frozen=True):
    """One of a predicate's best candidates, as last scored."""

    url: str
    priority: Finite
    #: The probability that a request brings a hit, None where the policy has none.
    probability: Finite | None = None
    comes: Finite | None = None  #: The probability that a request brings a page, None likewise.
    waits: Seconds = 0.0  #: Seconds until its host may be asked.
    #: The inputs that raise the priority most, then those that lower it most, each with its part of it.
    speaks: tuple[tuple[str, Finite], ...] = ()


class HostStanding(msgspec.Struct, frozen=True):
    """The state of a host in its frontier."""

    host: str
    #: "ready" (it has candidates and may be asked), "waits" (until the time ``until``), "busy" (a fetch is in
    #: flight), "stopped" (its candidates lie too deep, or its budget is spent), "exhausted" (it was asked, and
    #: has no candidate in memory) or "unknown" (it was never asked, and has none).
    state: str
    why: str = ""  #: Of a host that waits as in `Standing`, and in words of one that is stopped.
    until: Time = 0.0
    candidates: Natural = 0


class Standing(msgspec.Struct, kw_only=True):
    """The state of a frontier worker; of all with one key, the newest holds."""

    version: int = VERSION
    worker: str  #: Its name: the lowest of its partitions.
    time: Time
    #: "starting" (the best candidates are not known yet), "running", "paused", "spent" (the budget is), "done"
    #: (nothing is left to fetch) or "ended" (it was stopped before that).
    state: str
    final: bool = False  #: Whether it is the last one of a worker that stopped cleanly.
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
    #: Over the last seconds, None while unknown, as ``requests_a_second``.
    pages_a_second: Finite | None = None
    requests_a_second: Finite | None = None
    in_flight: Natural = 0
    revisits_in_flight: Natural = 0
    window: Natural = 0  #: Fetches that may be in flight, and how many more may be ordered.
    room: Whole = 0
    queued: dict[str, Natural] = {}  #: Candidates, and hosts that have some, by predicate.
    hosts: dict[str, Natural] = {}
    ready: Natural = 0  #: Hosts with candidates that may be asked.
    #: Those that wait, by why: "delay", "back-off", "retry-after", "robots" (Crawl-delay), "shared" (another
    #: host of its server was asked) or "busy" (a fetch is in flight).
    waiting: dict[str, Natural] = {}
    next_ready: Seconds | None = None  #: Seconds until the first of them may be asked.
    seen: Finite = 1.0  #: Share of the hosts that the figures of hosts were counted on.
    retries: Natural = 0  #: URLs that wait for another attempt, and seconds until the next one.
    next_retry: Seconds | None = None
    opening: bool = False  #: Whether it loads candidates, and the share that is loaded.
    taken_up: Finite = 1.0
    filling: bool = False  #: Whether a sweep through all that is known fills the queues.
    budget: Natural = 0  #: Budgets in force, 0 without an end.
    requests_budget: Natural = 0
    left: Natural | None = None  #: Requests that may follow, None for any number.
    best: tuple[Upcoming, ...] = ()
    best_of: str = ""  #: The predicate of ``best``.
    looked_at: tuple[HostStanding, ...] = ()
    began: Time = 0.0  #: When the worker began.
    #: Share used lately of the seconds in which hosts might have been asked, None without a delay.
    slots: Finite | None = None
    #: Where that is below half: what kept most hosts, and how many (`models.frontier.standing`).
    held_by: str = ""
    held: Natural = 0

    @property
    def spent(self) -> str:
        """What ended the crawl, where a budget or its time did."""
        if self.budget and self.judged >= self.budget:
            return f"the budget of {self.budget:,} pages is spent"
        if self.requests_budget:
            return f"the budget of {self.requests_budget:,} requests is spent"
        return "the budget is spent" if self.budget else "the time is over"


class Pausing(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="paused"):
    """Whether the crawl is paused: it orders nothing then."""

    version: int = VERSION
    name: ClassVar[str] = ""
    on: bool
    time: Time = 0.0


class Exclusion(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="excluded"):
    """URLs not to fetch: those that begin with ``prefix``, or match ``expression`` (RE2)."""

    version: int = VERSION
    name: Annotated[str, msgspec.Meta(max_length=64)] = ""  #: Made of prefix and expression.
    prefix: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    expression: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    on: bool = True
    time: Time = 0.0


class Limit(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="budget"):
    """How many pages to judge, or requests to have answered, in all; 0 is no limit."""

    version: int = VERSION
    name: Literal["pages", "requests"]
    most: Natural
    #: The budget in the settings of that time, None until a frontier has read the limit: it holds until a run
    #: with another one.
    setting: Natural | None = None
    time: Time = 0.0


class Slowing(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="delay"):
    """The least ``seconds`` between two requests to the host ``name``; 0 is as usual."""

    version: int = VERSION
    name: Annotated[str, msgspec.Meta(max_length=300)]
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_DELAY)]
    time: Time = 0.0


#: What people ask of a running crawl; the newest record of a kind and a name holds. One that is not carried out
#: yet has no time, and an exclusion no name.
Steering: TypeAlias = Pausing | Exclusion | Limit | Slowing
Control: TypeAlias = PredicateDefinition | Steering  #: What every worker hears of the crawl's predicates, too.


def control_key(record: Control) -> str:
    """Return the key of a record of `control`: its kind and its name.

    >>> control_key(Slowing(name="example.org", seconds=5.0, time=0.0))
    'delay:example.org'
    """
    return f"{type(record).__struct_config__.tag}:{record.name}"


def defines(key: bytes | None) -> bool:
    """Return whether a record of `control` with this key defines a predicate, or else steers."""
    return (key or b"").startswith(b"predicate:")
