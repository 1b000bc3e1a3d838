"""What a crawl publishes for people and programs, and what people ask of it; in JSON, but for the parts."""

from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec

from scentline.models.harvest import Harvest
from scentline.models.page import Link
from scentline.models.url import Url
from scentline.models.verdict import Verdict
from scentline.streams.records import VERSION, Finite, Natural, Record, Seconds, Time, UrlIfAny, Whole

#: Characters of an exclusion at most.
MOST_EXCLUDING = 4_000
#: Bytes of a host's name at most, and hosts of one `Watch`.
HOST_BYTES, MOST_HOSTS = 255, 100


class Outcome(msgspec.Struct, kw_only=True, omit_defaults=False):
    """A judged page, with all that every statistic can be recounted from.

    Where pages are visited again, the newest outcome of a URL that is not ``later`` holds, and its links are
    added to those known; elsewhere the first one does.
    """

    version: int = VERSION
    url: Url
    time: Time
    title: str
    #: Empty for a page that ``left``.
    verdict: Verdict
    predicate: str
    policy: str
    explored: bool
    #: That of the choice.
    probability: Finite
    priority: Finite
    #: The probability of a hit, where the policy has one.
    expected: Finite | None
    depth: Natural
    words: tuple[str, ...]
    links: tuple[Link, ...]
    #: The place of the fetched page, "topic/partition@offset": equal origins are one page.
    origin: str
    #: Whether the verdict is of later predicates only: it adds to that of the outcome of the same URL and time.
    later: bool = False
    #: Reserved.
    pattern: str = ""
    #: That of `FetchOrder`, as is ``requests``.
    silent: bool | msgspec.UnsetType = msgspec.UNSET
    requests: Natural = 0
    #: Where pages are visited again: whether this one was.
    again: bool | msgspec.UnsetType = msgspec.UNSET
    #: Why the page left.
    left: str | msgspec.UnsetType = msgspec.UNSET


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
    #: Those of the page as it is now, or as it was before it left.
    title: str = ""
    excerpt: str = ""
    #: Why it left.
    reason: str = ""
    target: UrlIfAny = ""
    origin: str = ""


class HarvestPart(Record, kw_only=True):
    """A predicate's statistics in one partition of `outcomes`; of two, that of the greater offset holds."""

    predicate: str
    partition: Natural
    #: That of the last outcome counted.
    offset: int
    #: That of the last page.
    time: Time
    state: Harvest


class FreshnessPart(Record, kw_only=True):
    """A frontier's estimate of how current the matches of one partition are; the newest holds."""

    predicate: str
    partition: Natural
    time: Time
    matches: Natural
    #: Of these, those expected to be as at their last visit.
    current: Finite
    #: Seconds since these visits, added up.
    age: Finite
    #: How often matches were visited again.
    revisits: Natural
    #: Requests answered in the partition, revisits of any page among them.
    requests: Natural


#: The version of a point of the whole crawl; those of version 1 are each of one partition.
POINT_VERSION = 2


class HarvestPoint(msgspec.Struct, kw_only=True):
    """One point of a predicate's harvest-rate stream; counts are totals of the whole crawl.

    ``matches``, ``freshness`` and ``age`` are null where no page is visited again.
    """

    version: int = POINT_VERSION
    predicate: str
    #: Null but in points of version 1.
    partition: Natural | None = None
    #: That of the last page, or of an estimate.
    time: Time
    pages: Natural
    hits: Natural
    harvest_rate: float
    #: The rates of the last pages, and of the last seconds: as many as `HarvestSettings` says.
    rate_by_pages: float
    rate_by_time: float
    #: The harvest rate over that of randomly explored pages, null until one was explored.
    lift: float | None
    #: Pages and hits by policy ("random" for explored pages).
    policies: dict[str, tuple[Natural, Natural]]
    #: The offset up to which each partition of `outcomes` is counted; like ``pages`` it never goes back.
    covers: dict[Natural, int] = {}
    #: Requests until the newest page, those that failed included.
    requests: Natural = 0
    hits_per_request: float = 0.0
    matches: Natural | None = None
    #: Share of the matches expected to be as at their last visit.
    freshness: float | None = None
    #: Mean seconds since that visit.
    age: float | None = None
    #: Revisits of matches, and their share of all requests.
    revisits: Natural = 0
    revisit_share: float = 0.0


#: States of a predicate: it judges and has turns; it judges only; it does neither, and its name stays taken.
ACTIVE, PAUSED, REMOVED = "active", "paused", "removed"


class PredicateDefinition(msgspec.Struct, kw_only=True):
    """A predicate of the crawl."""

    version: int = VERSION
    name: str
    expression: str
    #: Its share of the fetches.
    share: float = 1.0
    state: str = ACTIVE
    #: Whether it judges the kept pages, too, that were judged before it came.
    kept: bool = False


class Watch(msgspec.Struct, frozen=True, tag="watch"):
    """Until when somebody looks at the crawl: so long each frontier publishes its `Standing`."""

    until: Time
    #: The predicate whose best candidates are wanted.
    predicate: Annotated[str, msgspec.Meta(max_length=64)] = ""
    #: The hosts whose standing is wanted.
    hosts: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=HOST_BYTES)], ...], msgspec.Meta(max_length=MOST_HOSTS)
    ] = ()
    version: int = VERSION


class Upcoming(msgspec.Struct, frozen=True):
    """One of a predicate's best candidates, as last scored."""

    url: str
    priority: Finite
    #: The probability that a request brings a hit, None where the policy has none.
    probability: Finite | None = None
    #: The probability that a request brings a page, None likewise.
    comes: Finite | None = None
    #: Seconds until its host may be asked.
    waits: Seconds = 0.0
    #: The inputs that raise the priority most, then those that lower it most, each with its part of it.
    speaks: tuple[tuple[str, Finite], ...] = ()


class HostStanding(msgspec.Struct, frozen=True):
    """The state of a host in its frontier."""

    host: str
    #: "ready" (it has candidates and may be asked), "waits" (until the time ``until``), "busy" (a fetch is in
    #: flight), "stopped" (its candidates lie too deep, or its budget is spent), "exhausted" (it was asked, and
    #: has no candidate in memory) or "unknown" (it was never asked, and has none).
    state: str
    #: Of a host that waits as in `Standing`, and in words of one that is stopped.
    why: str = ""
    until: Time = 0.0
    candidates: Natural = 0


class Standing(msgspec.Struct, kw_only=True):
    """The state of a frontier worker; of all with one key, the newest holds."""

    version: int = VERSION
    #: Its name: the lowest of its partitions.
    worker: str
    time: Time
    #: "starting" (the best candidates are not known yet), "running", "paused", "spent" (the budget is), "done"
    #: (nothing is left to fetch) or "ended" (it was stopped before that).
    state: str
    #: Whether it is the last one of a worker that stopped cleanly.
    final: bool = False
    partitions: Natural
    of: Natural
    judged: Natural = 0
    requests: Natural = 0
    discovered: Natural = 0
    #: URLs that are gone or given up.
    failed: Natural = 0
    refused: Natural = 0
    moved: Natural = 0
    trapped: Natural = 0
    revisits: Natural = 0
    #: Over the last seconds, None while unknown, as ``requests_a_second``.
    pages_a_second: Finite | None = None
    requests_a_second: Finite | None = None
    in_flight: Natural = 0
    revisits_in_flight: Natural = 0
    #: Fetches that may be in flight, and how many more may be ordered.
    window: Natural = 0
    room: Whole = 0
    #: Candidates, and hosts that have some, by predicate.
    queued: dict[str, Natural] = {}
    hosts: dict[str, Natural] = {}
    #: Hosts with candidates that may be asked.
    ready: Natural = 0
    #: Those that wait, by why: "delay", "back-off", "retry-after", "robots" (Crawl-delay), "shared" (another
    #: host of its server was asked) or "busy" (a fetch is in flight).
    waiting: dict[str, Natural] = {}
    #: Seconds until the first of them may be asked.
    next_ready: Seconds | None = None
    #: Share of the hosts that the figures of hosts were counted on.
    seen: Finite = 1.0
    #: URLs that wait for another attempt, and seconds until the next one.
    retries: Natural = 0
    next_retry: Seconds | None = None
    #: Whether it loads candidates, and the share that is loaded.
    opening: bool = False
    taken_up: Finite = 1.0
    #: Whether a sweep through all that is known fills the queues.
    filling: bool = False
    #: Budgets in force, 0 without an end.
    budget: Natural = 0
    requests_budget: Natural = 0
    #: Requests that may follow, None for any number.
    left: Natural | None = None
    best: tuple[Upcoming, ...] = ()
    #: The predicate of ``best``.
    best_of: str = ""
    looked_at: tuple[HostStanding, ...] = ()
    #: When the worker began.
    began: Time = 0.0
    #: Share used lately of the seconds in which hosts might have been asked, None without a delay.
    slots: Finite | None = None
    #: Where that is below half: what kept most hosts, and how many (`models.frontier.slots`).
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
    time: Time


class Exclusion(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="excluded"):
    """URLs not to fetch: those that begin with ``prefix``, or match ``expression`` (RE2)."""

    version: int = VERSION
    #: Made of prefix and expression.
    name: str
    prefix: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    expression: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    on: bool = True
    time: Time


class Limit(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="budget"):
    """How many pages to judge, or requests to have answered, in all; 0 is no limit."""

    version: int = VERSION
    name: Literal["pages", "requests"]
    most: Natural
    #: The budget in the settings of that time, None until a frontier has read the limit: it holds until a run
    #: with another one.
    setting: Natural | None = None
    time: Time


class Slowing(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="delay"):
    """The least ``seconds`` between two requests to the host ``name``; 0 is as usual."""

    version: int = VERSION
    name: str
    seconds: Seconds
    time: Time


#: What people ask of a running crawl; the newest record of a kind and a name holds.
Steering: TypeAlias = Pausing | Exclusion | Limit | Slowing


def steering_key(record: Steering) -> str:
    """Return the key of a record of `steering`: its kind and its name.

    >>> steering_key(Slowing(name="example.org", seconds=5.0, time=0.0))
    'delay:example.org'
    """
    return f"{type(record).__struct_config__.tag}:{record.name}"
