"""What travels on the topics: msgspec structs, MessagePack arrays whose first field is the schema version.

Structs are written as arrays: a newer writer may append fields, which an older reader passes over; a change
that an older reader would misread takes a new version, which the older reader sends to the dead letters.
Facts that change state travel in packs: one message holds many facts for one partition, each with its
origin (the inbox offset it was made from and its index there), so that a repeated emission is dropped.
"""

import re
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from scentline.models.errors import ScentlineError
from scentline.models.harvest import Harvest
from scentline.models.page import Link
from scentline.models.url import MAX_LENGTH, URL_PATTERN, Url
from scentline.models.verdict import Verdict

VERSION = 1

T = TypeVar("T")

# What a number in a message may be: a reader that counts on, or asks for a date, must not fail by it.
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
Whole = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Finite = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
#: Seconds since the epoch, of the years 1 to 9999.
Time = Annotated[float, msgspec.Meta(ge=-62_135_596_800, le=253_402_300_799)]
#: The end of a time, which may never come.
End = Annotated[float, msgspec.Meta(ge=-62_135_596_800)]
UrlIfAny = Annotated[str, msgspec.Meta(pattern=rf"^$|{URL_PATTERN}", max_length=MAX_LENGTH)]


#: Bytes of a robots.txt that are kept, compressed; one that takes more is read anew where it was forgotten.
ROBOTS_BYTES = 16_384
#: Characters of what is excluded, at most.
MOST_EXCLUDING = 4_000


class RecordError(ScentlineError):
    """A message that can't be read as the record its topic carries; the text says why."""

    explains_itself = False


class UnknownVersionError(RecordError):
    """A message of a schema version that is not known here."""


class UnknownFactsError(RecordError):
    """A pack with facts that can't be read: ``known`` has the others, ``unknown`` is a pack of these.

    ``damaged`` counts those that are of a kind which is known here.
    """

    def __init__(self, reason: str, known: "Pack[Any]", unknown: bytes, damaged: int = 0) -> None:
        super().__init__(reason)
        self.known = known
        self.unknown = unknown
        self.damaged = damaged


class Record(msgspec.Struct, array_like=True, kw_only=True):
    """The head of every record: its schema version."""

    version: int = VERSION


class Access(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One page view of a user: ``user`` is a pseudonym, ``time`` in seconds since the epoch.

    ``size`` is that of the answer in bytes, 0 where that is not known of the whole page.
    """

    user: str
    url: Url
    time: Time
    referrer: Url | None = None
    status: Natural = 200
    content_type: str | None = None
    size: Natural = 0


class Seeded(msgspec.Struct, array_like=True, frozen=True, tag="seeded"):
    """A URL to start from."""

    url: Url


class Inherited(msgspec.Struct, array_like=True, frozen=True, tag="inherited"):
    """The target of a redirect: it takes the depth and the priorities of the URL that led to it.

    ``seed`` says whether that URL is one; ``inputs`` are those it was chosen by, for each predicate; ``hops``
    is how many redirects in a row led here. ``level`` is that URL's in its site, 0 from another site.
    """

    url: Url
    depth: Natural
    priorities: dict[str, Finite]
    seed: bool = False
    inputs: dict[str, tuple[Finite, ...]] = {}
    hops: Natural = 0
    level: Natural = 0


class Linked(msgspec.Struct, array_like=True, frozen=True, tag="linked"):
    """A judged page and those of its links that belong to one partition.

    ``partitions`` lists every sightings partition that received links of this page: a verdict on one of
    its targets concerns them all. Where pages are judged ``again``, the newest of what is told of one holds,
    but for its links, which are added to those known: each partition that ever had links of it is told. One
    that left has no verdict.
    """

    page: bytes
    url: Url
    depth: Natural
    verdict: Verdict
    words: tuple[str, ...]
    links: tuple[Link, ...]
    partitions: tuple[Natural, ...]
    time: Time = 0.0
    again: bool = False


class Relinked(msgspec.Struct, array_like=True, frozen=True, tag="relinked"):
    """What predicates that came later say of the linking page that was judged at ``time``."""

    page: bytes
    verdict: Verdict
    time: Time


class Visited(msgspec.Struct, array_like=True, frozen=True, gc=False, tag="visited"):
    """A user's access to a URL; ``referrer`` is where patterns are made of it, a page of the same host.

    ``size`` is that of `Access`, where pages are visited again.
    """

    url: Url
    user: str
    time: Time
    referrer: Url | None = None
    size: Natural = 0


class Near(msgspec.Struct, array_like=True, frozen=True, tag="near"):
    """A verdict on ``child``, the target of the link at ``position`` of the linking page ``parent``.

    It is the verdict as it stands: the last one told holds.
    """

    parent: bytes
    child: bytes
    verdict: Verdict
    position: Natural = 0


class Beside(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What changed between a page and the page ``other`` (an identifier) of a sightings partition.

    ``times`` access pairs more within the region of temporal locality, ``sixths`` of co-visits more
    (`models.crowd.trace`).
    """

    other: bytes
    partition: Natural
    times: Whole
    sixths: Whole


class Together(msgspec.Struct, array_like=True, frozen=True, tag="together"):
    """Pages that users visited near ``url``."""

    url: Url
    pages: tuple[Beside, ...]


class Met(msgspec.Struct, array_like=True, frozen=True, tag="met"):
    """The verdict, as it stands, on a page that lies together with pages of the partition told, and its words.

    Of these the first ones; the last told hold.
    """

    page: bytes
    verdict: Verdict
    words: tuple[str, ...]


class Version(msgspec.Struct, array_like=True, frozen=True):
    """Which version of a page was had, as its server told it (RFC 9110, 8.8)."""

    etag: str | None = None
    last_modified: str | None = None


class Judged(msgspec.Struct, array_like=True, frozen=True, tag="judged"):
    """The verdict on a fetched page and its words; ``crawl_delay`` is what its host's robots.txt asks for.

    ``elapsed`` and ``server`` are those of `FetchedPage`. ``repeated`` says that it has no words but those of
    another page whose URL differs from its own in numbers only.
    ``subject`` says what the page is about, where word meanings count (`models.learner.semantic.page_subject`).
    ``version`` is told where pages are revisited. ``silent`` is that of
    `FetchOrder`; ``pattern`` is reserved.

    Where pages are judged again, there is more: ``again`` is the number of the revisit, 0 at first;
    ``changed`` says whether text, links or verdict are others than `Revisit` knew, or the verdict old: then an
    outcome and the links were told. ``content`` is the digest of its text, ``links`` that of its links
    (`models.revisit.content`), ``partitions`` are those of `Linked`.
    ``title`` and, of each predicate that holds, what ``excerpts`` has of the text are for people.
    """

    url: Url
    verdict: Verdict
    time: Time
    crawl_delay: Seconds | None = None
    words: tuple[str, ...] = ()
    elapsed: Seconds = 0.0
    server: str = ""
    repeated: bool = False
    subject: str = ""
    version: Version | None = None
    pattern: str = ""
    silent: bool = False
    again: Natural = 0
    changed: bool = False
    content: bytes = b""
    links: bytes = b""
    partitions: tuple[Natural, ...] = ()
    title: str = ""
    excerpts: dict[str, str] = {}


class Rejudged(msgspec.Struct, array_like=True, frozen=True, tag="rejudged"):
    """What predicates that came later say of the page that was judged at ``time``.

    ``words`` and ``subject`` are those of `Judged`; ``pattern`` is reserved.
    """

    url: Url
    verdict: Verdict
    time: Time
    words: tuple[str, ...] = ()
    subject: str = ""
    pattern: str = ""


class Failed(msgspec.Struct, array_like=True, frozen=True, tag="failed"):
    """A fetch that brought no page.

    ``kind`` is "retry" (worth another attempt, not before ``retry_after`` seconds from ``time``), "gone"
    (the server says there is no such page) or "refused" (robots.txt, an address or a limit forbids it).
    ``overloaded`` says that the whole host asked to be left alone for a while. ``crawl_delay``, ``elapsed``
    and ``server`` are those of `FetchedPage`; ``elapsed`` is 0 where the page was not asked for. ``barren``
    says that a page came, but none of its own: a near-duplicate or a soft 404. ``silent`` is that of
    `FetchOrder`. One that is ``unanswered`` says nothing of the host: the network may have been ours.
    """

    url: Url
    order: Natural
    kind: str
    reason: str
    time: Time
    retry_after: Seconds | None = None
    overloaded: bool = False
    crawl_delay: Seconds | None = None
    elapsed: Seconds = 0.0
    server: str = ""
    barren: bool = False
    silent: bool = False
    unanswered: bool = False

    @property
    def asked(self) -> bool:
        """Whether the site was asked for the page."""
        return self.elapsed > 0


class Redirected(msgspec.Struct, array_like=True, frozen=True, tag="redirected"):
    """A fetch that was answered with another URL.

    ``crawl_delay``, ``elapsed`` and ``server`` are those of `FetchedPage`, ``silent`` is that of `FetchOrder`.
    """

    url: Url
    order: Natural
    target: Url
    time: Time
    crawl_delay: Seconds | None = None
    elapsed: Seconds = 0.0
    server: str = ""
    silent: bool = False


class Postponed(msgspec.Struct, array_like=True, frozen=True, tag="postponed"):
    """An order that came too early: ``server`` may not be asked for ``wait`` seconds from ``time``.

    The page was not asked for, and it is no attempt at it. With ``robots`` the next order to its site is to
    bring what is known of robots.txt.
    """

    url: Url
    order: Natural
    time: Time
    wait: Seconds
    crawl_delay: Seconds | None = None
    server: str = ""
    robots: bool = False


class RobotsTxt(msgspec.Struct, array_like=True, frozen=True, tag="robots"):
    """What is known until the time ``until`` of the robots.txt ``url``: its text, or why it can't be had.

    ``text`` is compressed with Zstandard, empty where it asks for nothing. It was last had, or said to be as it
    was, at ``time``; ``version`` is which. With an ``error`` there is none, and no page may be asked for.
    """

    url: Url
    until: Time
    text: Annotated[bytes, msgspec.Meta(max_length=ROBOTS_BYTES)] = b""
    time: Time = 0.0
    version: Version | None = None
    error: str = ""


class Listed(msgspec.Struct, array_like=True, frozen=True, tag="listed"):
    """A URL that a sitemap of its host names."""

    url: Url


class Hub(msgspec.Struct, array_like=True, frozen=True, tag="hub"):
    """A page that leads to news: it is revisited until the time ``until``, in seconds since the epoch.

    ``rate`` is how many new links a second it is expected to bring.
    """

    url: Url
    rate: Finite
    until: End


class Relisted(msgspec.Struct, array_like=True, frozen=True, tag="relisted"):
    """Those links of a revisited page that belong to one partition.

    ``time`` is that of the revisit, ``since`` that of the visit before it, 0 where there was none.
    """

    url: Url
    depth: Natural
    links: tuple[Url, ...]
    time: Time
    since: Time


class Brought(msgspec.Struct, array_like=True, frozen=True, tag="brought"):
    """How many of a revisited page's links were new to another partition."""

    url: Url
    links: Natural


class Revisited(msgspec.Struct, array_like=True, frozen=True, tag="revisited"):
    """What came of a revisit; its links came before this.

    ``outcome`` is "changed" (``version`` is what was had), "unchanged", "early" (the server may not be asked
    for ``wait`` seconds; ``robots`` is that of `Postponed`), "moved" (for good, to ``target``), "retry" (not
    before ``wait`` seconds, where they are told) or "failed". ``overloaded``, ``crawl_delay``, ``elapsed``,
    ``server`` and ``unanswered`` are those of `Failed`.

    Where the page was to be judged ``again``, there are two more: "gone" (there is no page any more that can be
    judged) and "refused" (it may not be fetched, or judged, any more). The ``reason`` says why no page came.
    """

    url: Url
    order: Natural
    outcome: str
    time: Time
    version: Version | None = None
    wait: Seconds | None = None
    target: UrlIfAny = ""
    overloaded: bool = False
    crawl_delay: Seconds | None = None
    elapsed: Seconds = 0.0
    server: str = ""
    again: bool = False
    reason: str = ""
    unanswered: bool = False
    robots: bool = False


class Hinted(msgspec.Struct, array_like=True, frozen=True, tag="hinted"):
    """A sign that a page changed at ``time``, of the kind "log", "sitemap", "feed" or "header".

    The page may have changed without a sign, and not changed for all of one.
    """

    url: Url
    kind: str
    time: Time


class Clicked(msgspec.Struct, array_like=True, frozen=True, tag="clicked"):
    """A user's first access to a URL on a ``day`` (`models.news.clicks.day_of`), and where it came from."""

    url: Url
    day: Whole
    referrer: Url | None = None


class Browsed(msgspec.Struct, array_like=True, frozen=True, tag="browsed"):
    """What a user's view of a page adds to the sessions of its site; it comes behind the `Visited` of the view.

    ``page`` is the URL's identifier, ``level`` its level in the session; ``begun`` tells that a session began
    with it. ``views`` are (level, change): how the number of page views of levels changed.
    """

    page: bytes
    level: Natural
    begun: bool
    views: list[tuple[Natural, Whole]]


Sighting: TypeAlias = (
    Seeded
    | Inherited
    | Linked
    | Relinked
    | Visited
    | Near
    | Together
    | Met
    | Judged
    | Rejudged
    | Failed
    | Redirected
    | Postponed
    | RobotsTxt
    | Listed
    | Hub
    | Relisted
    | Brought
    | Revisited
    | Clicked
    | Browsed
    | Hinted
)


class Count(msgspec.Struct, array_like=True, frozen=True, tag="counts"):
    """A verdict counted under distinct ``features``, under each so often as ``times`` says.

    That is int32, little-endian, a number a feature; what is negative is taken back.
    """

    features: tuple[str, ...]
    verdict: Verdict
    times: bytes


class Label(msgspec.Struct, array_like=True, frozen=True, tag="label"):
    """The verdict on a page for one predicate, with the inputs it had when it was chosen.

    ``chosen`` is "selected" where it was fetched for this predicate, "explored" where chance alone chose it
    for this predicate, and "other" where it was fetched for another. The predicate may be that of requests
    (`models.verdict.FAILED`): it concerns every choice.
    """

    predicate: str
    inputs: tuple[Finite, ...]
    holds: bool
    chosen: str


class Prior(msgspec.Struct, array_like=True, frozen=True, tag="prior"):
    """What an earlier crawl counted under ``feature``, faded: for each predicate pages and hits."""

    feature: str
    counts: dict[str, tuple[Finite, Finite]]


class Start(msgspec.Struct, array_like=True, frozen=True, tag="start"):
    """What the combiner of ``predicate`` starts with: fields of `models.reuse.Combining`."""

    predicate: str
    names: tuple[str, ...]
    mean: bytes
    covariance: bytes
    calibration: bytes


Evidence: TypeAlias = Count | Label | Prior | Start


class Pack(Record, Generic[T], kw_only=True):
    """Facts for one partition: (origin offset, origin index, fact), origins ascending.

    ``source`` names the stream the origins count in; an empty source has none, and its facts must be
    harmless when repeated.
    """

    source: Annotated[str, msgspec.Meta(max_length=200)] = ""
    facts: list[tuple[Offset, Offset, T]]


AccessPack: TypeAlias = Pack[Access]
SightingPack: TypeAlias = Pack[Sighting]
EvidencePack: TypeAlias = Pack[Evidence]


class Revisit(msgspec.Struct, array_like=True, frozen=True):
    """What is known of a page that is fetched again: its version, and when it was had.

    ``since`` is in seconds since the epoch, 0 where the page was never read. The page is fetched for its links,
    or to be judged ``again``: then ``verdict`` is the one it has, told at the time ``judged``, and ``content``,
    ``links`` and ``partitions`` are those of `Judged`.
    """

    version: Version | None = None
    since: Time = 0.0
    again: bool = False
    verdict: Verdict = {}
    content: bytes = b""
    links: bytes = b""
    partitions: tuple[Natural, ...] = ()
    judged: Time = 0.0


class FetchOrder(Record, kw_only=True):
    """A page to fetch: why, for whom, and until when the frontier waits for the answer.

    ``order`` is the attempt's number, ``priority`` what it was chosen with, ``probability`` how probable its
    choice was, ``comes`` how probable it is that a page comes, ``expected`` how probable a hit is where one
    does, where the policy says so; ``explored`` tells whether chance alone chose it, ``lease`` is the end of
    the wait in seconds since the epoch. With ``revisit`` the page is fetched again, and ``order`` counts its
    revisits then. ``pattern`` is reserved. ``vouched`` is the part of all trust that the host's owner had
    (`models.frontier.trust`); older orders do not tell. A ``silent`` page is to teach nothing but that it was
    judged: its owner had more of the latest fetches than may teach. ``requests`` is how many the crawl has made
    with this one, as far as who ordered it knows; older orders say 0. ``delay`` is how many seconds lie between
    two requests to its host, as far as that is known; older orders do not tell. ``robots`` says until when the
    site's robots.txt is known to the frontier, 0 where it is not. Where a fetcher asked for it, it is what is
    known.
    """

    url: Url
    order: Natural
    predicate: str
    policy: str
    explored: bool
    probability: Finite
    priority: Finite
    depth: Natural
    lease: Time
    expected: Finite | None = None
    revisit: Revisit | None = None
    pattern: str = ""
    vouched: float | None = None
    silent: bool = False
    comes: Finite | None = None
    requests: Natural = 0
    delay: Seconds = 0.0
    robots: RobotsTxt | Time = 0.0


#: The status of an answer that a page is as it was.
NOT_MODIFIED = 304


class FetchedPage(Record, kw_only=True):
    """A page as it came: ``body`` is compressed with Zstandard, ``headers`` are lower-case and bounded.

    ``time`` is the end of the fetch in seconds since the epoch, ``elapsed`` its length in seconds.
    ``crawl_delay`` is what the host's robots.txt asks for. ``nofollow`` says that an X-Robots-Tag forbids to
    follow the page's links. ``server`` stands for the address that was asked: hosts on one server are asked
    as one. It is empty where the host is known by nothing but its name. A ``status`` of 304 says that the page
    is as it was: the frontier is told elsewhere, and whoever keeps pages here.
    """

    order: FetchOrder
    status: Natural
    headers: dict[str, str]
    body: bytes
    time: Time
    elapsed: Seconds
    crawl_delay: Seconds | None = None
    nofollow: bool = False
    server: str = ""


class Weighting(msgspec.Struct, array_like=True, frozen=True):
    """A predicate's combiner: ``mean`` of the weights and the rows of their ``covariance``, as float64 bytes.

    ``shifts`` calibrate it (`models.learner.calibration`): for pages that were selected, and explored.
    """

    mean: bytes
    covariance: bytes
    shifts: tuple[tuple[Finite, Finite], tuple[Finite, Finite]]


class Interests(Record, kw_only=True):
    """What a learner knows: counts of the features ``names``, ``prior`` counts, or combiners by predicate.

    ``pages`` and ``hits`` are int32, little-endian, a row for each of ``predicates``, a column a name. They are
    counts as they stood when ``partition`` of `evidence` had been taken in up to ``offset``, and of each of its
    sources up to the origin in ``origins``. What changed since the message before is told, or, in a ``block``,
    features as they stand, for those who start. ``prior`` has by feature and predicate what earlier crawls
    counted, faded, which stays apart: an audit recounts the others.
    """

    partition: Natural = 0
    offset: Annotated[int, msgspec.Meta(ge=-1, le=2**62)] = -1
    origins: dict[str, tuple[Offset, Offset]] = {}
    block: bool = False
    predicates: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    pages: bytes = b""
    hits: bytes = b""
    prior: dict[str, dict[str, tuple[Finite, Finite]]] = {}
    weightings: dict[str, Weighting] = {}


class DeadLetter(Record, kw_only=True):
    """A message or log line that could not be read or taken in: where it stood, why, and its first bytes.

    ``why`` is one of `streams.attempts.Why`; empty in letters of earlier releases. ``origin`` is that of
    the fact in the message's pack, where the others were taken in.
    """

    topic: str
    partition: Natural
    offset: Offset
    reason: str
    value: bytes
    time: Time
    why: str = ""
    origin: tuple[Offset, Offset] | None = None


class LogPosition(Record, kw_only=True):
    """How far a log was fed: what its lines up to ``line`` came to is in the topics.

    ``reading`` stands for the settings that decided what they came to; by other settings it is read anew.
    """

    line: Natural
    reading: str


class Outcome(msgspec.Struct, kw_only=True, omit_defaults=False):
    """A judged page, as people and later programs read it (JSON).

    ``words`` and ``links`` are what the learner used, so that every statistic can be recounted from here.
    ``probability`` is that of the choice, ``expected`` that of a hit, where the policy says so.
    ``origin`` is the place of the fetched page, "topic/partition@offset": equal origins are one page.
    ``later`` says that the verdict is of predicates that came after the page was judged: it is added to the
    verdict of the outcome with the same URL and time, which has the words and links.
    ``requests`` and ``silent`` are those of `FetchOrder`; the last is left out where it is false. ``pattern``
    is reserved.
    ``again`` is told where pages are visited again, and says whether this one was: there, of all outcomes of a
    URL that are not ``later`` the newest holds, and its links are added to those known; elsewhere the first one
    does. A page that ``left`` has an empty verdict, and why it left stands there.
    """

    version: int = VERSION
    url: Url
    time: Time
    title: str
    verdict: Verdict
    predicate: str
    policy: str
    explored: bool
    probability: Finite
    priority: Finite
    expected: Finite | None
    depth: Natural
    words: tuple[str, ...]
    links: tuple[Link, ...]
    origin: str
    later: bool = False
    pattern: str = ""
    silent: bool | msgspec.UnsetType = msgspec.UNSET
    requests: Natural = 0
    again: bool | msgspec.UnsetType = msgspec.UNSET
    left: str | msgspec.UnsetType = msgspec.UNSET


class Change(msgspec.Struct, kw_only=True):
    """What became of a predicate's matches at a page, as people and later programs read it (JSON).

    ``kind`` is "appeared" (the page satisfies the predicate, and did not, or was not known), "changed" (it
    still does, with another text), "left" (it does no longer, or is gone) or "moved" (it redirects for good,
    to ``target``). ``time`` is that of the visit that showed it, ``before`` that of the last one that did not,
    null where there was none. ``title`` and ``excerpt`` are of the page as it is now, as it was where it left;
    ``reason`` says why it left. Changes of equal ``origin`` and predicate are one.
    """

    version: int = VERSION
    predicate: str
    kind: str
    url: Url
    time: Time
    before: Time | None = None
    title: str = ""
    excerpt: str = ""
    reason: str = ""
    target: UrlIfAny = ""
    origin: str = ""


class HarvestPart(Record, kw_only=True):
    """What one partition of `outcomes` adds to a predicate's statistics: all that it had counted at ``offset``.

    ``offset`` is that of the last outcome taken in, ``time`` that of the last page, in seconds since the epoch.
    Of two parts of one partition the one of greater offset says all that the other does.
    """

    predicate: str
    partition: Natural
    offset: int
    time: Time
    state: Harvest


class FreshnessPart(Record, kw_only=True):
    """How current a predicate's matches are in one partition of `sightings`, as its frontier estimates.

    Of its ``matches``, ``current`` are expected to be as they were at their last visit; ``age`` is the seconds
    since these visits, added up. ``revisits`` is how often they were visited again, ``requests`` how many were
    answered in the partition, revisits of any page among them. Of two parts of one partition the later holds.
    """

    predicate: str
    partition: Natural
    time: Time
    matches: Natural
    current: Finite
    age: Finite
    revisits: Natural
    requests: Natural


#: The version of a point that is one of the whole crawl. Those of version 1 are each of one partition.
POINT_VERSION = 2


class HarvestPoint(msgspec.Struct, kw_only=True):
    """One point of a predicate's harvest-rate stream (JSON); counts are totals of the whole crawl.

    ``covers`` maps each partition of `outcomes` that has pages of the predicate to the offset up to which they
    are counted; they never go back from one point of a predicate to the next, nor do ``pages``. ``time`` is
    that of the last page. ``partition`` is null but in points of version 1: each of them is of one partition.
    ``rate_by_pages`` is the rate of the last pages, ``rate_by_time`` that of the last seconds: as many as
    `HarvestSettings` says.
    ``lift`` is the harvest rate over that of randomly explored pages, null until one was explored.
    ``policies`` maps a policy ("random" for explored pages) to its pages and hits. ``requests`` is how many the
    crawl had made for its newest page, those that failed included; ``hits_per_request`` are the hits over them.
    Where pages are visited again, ``time`` may be that of an estimate, and there is more: how many ``matches``
    there are now, their ``freshness``, the share of them that is expected to be as it was at the last visit,
    null without matches, their mean ``age``, the seconds since that, and what that costs: ``revisits`` of them,
    and the share of all requests that these are.
    """

    version: int = POINT_VERSION
    predicate: str
    partition: Natural | None = None
    time: Time
    pages: Natural
    hits: Natural
    harvest_rate: float
    rate_by_pages: float
    rate_by_time: float
    lift: float | None
    policies: dict[str, tuple[Natural, Natural]]
    covers: dict[Natural, int] = {}
    requests: Natural = 0
    hits_per_request: float = 0.0
    matches: Natural | None = None
    freshness: float | None = None
    age: float | None = None
    revisits: Natural = 0
    revisit_share: float = 0.0


#: States of a predicate: it judges and has turns; it judges only; it does neither, and its name stays taken.
ACTIVE, PAUSED, REMOVED = "active", "paused", "removed"


class PredicateDefinition(msgspec.Struct, kw_only=True):
    """A predicate as the crawl knows it (JSON): its expression, its share of the fetches, its state.

    With ``kept``, the pages that were judged before it came and are still kept are judged by it too.
    """

    version: int = VERSION
    name: str
    expression: str
    share: float = 1.0
    state: str = ACTIVE
    kept: bool = False


#: Bytes of a host's name at most, and hosts whose standing may be asked for at once.
HOST_BYTES, MOST_HOSTS = 255, 100


class Watch(msgspec.Struct, frozen=True, tag="watch"):
    """Somebody looks at the crawl until the time ``until`` (JSON): so long each frontier tells its `Standing`.

    ``predicate`` is the one whose best candidates are to be told, ``hosts`` are those whose standing is.
    """

    until: Time
    predicate: Annotated[str, msgspec.Meta(max_length=64)] = ""
    hosts: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=HOST_BYTES)], ...], msgspec.Meta(max_length=MOST_HOSTS)
    ] = ()
    version: int = VERSION


class Upcoming(msgspec.Struct, frozen=True):
    """A candidate of a predicate, as it was last scored: one of the best.

    ``probability`` is that of a hit by a request, ``comes`` that of a page, each None where the policy tells
    none. Its host may be asked in ``waits`` seconds at the earliest. ``speaks`` are the inputs that speak most
    for it, then those that speak most against it, each with what it adds to the priority.
    """

    url: str
    priority: Finite
    probability: Finite | None = None
    comes: Finite | None = None
    waits: Seconds = 0.0
    speaks: tuple[tuple[str, Finite], ...] = ()


class HostStanding(msgspec.Struct, frozen=True):
    """How a host stands with its frontier.

    ``state`` is "ready" (it has candidates and may be asked), "waits" (until the time ``until``), "busy" (a
    fetch is in flight), "stopped" (what is known of it lies too deep, or its budget is spent), "exhausted" (it
    was asked, and has no candidate in memory) or "unknown" (it was never asked, and has none).
    ``why`` it waits is one of those of `Standing`, and in words where it is stopped.
    """

    host: str
    state: str
    why: str = ""
    until: Time = 0.0
    candidates: Natural = 0


class Standing(msgspec.Struct, kw_only=True):
    """How a frontier worker stands (JSON), which is named after the lowest of the ``partitions`` it holds.

    ``state`` is "starting" (the best candidates are not known yet), "running", "paused", "spent" (the budget
    is), "done" (nothing is left to fetch) or "ended" (it was stopped before that). With ``final`` the worker
    stopped cleanly, and told this last. It holds so many of ``of`` partitions.

    Of these: pages ``judged``, ``requests`` that were answered, URLs ``discovered``, those that ``failed``
    (gone, or given up), were ``refused``, ``moved`` or look ``trapped``, and ``revisits``. ``pages_a_second``
    and ``requests_a_second`` are counted over the last seconds, None where that is not known.

    There are ``in_flight`` fetches, ``revisits_in_flight`` of them; a ``window`` of them may be, and ``room``
    is left. Of each predicate so many candidates are ``queued``, on so many ``hosts``. Of all hosts with
    candidates some are ``ready``, and others are ``waiting``, by why: "delay", "back-off", "retry-after",
    "robots" (its Crawl-delay), "shared" (another host of its server was asked) or "busy" (a fetch is in
    flight). The first of those that wait may be asked in ``next_ready`` seconds, None where none is known. Each
    host was looked at within the last seconds; until all were, the part ``seen`` of them stands for all.

    So many URLs wait for another attempt, ``retries``, the next for ``next_retry`` seconds. While a worker is
    ``opening``, it takes up candidates, and has the part ``taken_up``; while it is ``filling``, a sweep through
    all that is known fills the queues. ``budget`` and ``requests_budget`` are in force, 0 without an end, and
    ``left`` is how many requests may follow at most, None for any number.

    ``best`` are the best candidates of the predicate ``best_of``, ``looked_at`` the hosts that were asked for.
    Each predicate's are told under a key of their own: of all that a worker told the newest holds. The worker
    ``began`` at that time.

    Of the seconds in which hosts might have been asked lately the part ``slots`` was used, None where there is
    no delay. Where that is less than half, ``held_by`` says what kept most hosts, as many as ``held``
    (`models.frontier.slots`).
    """

    version: int = VERSION
    worker: str
    time: Time
    state: str
    final: bool = False
    partitions: Natural
    of: Natural
    judged: Natural = 0
    requests: Natural = 0
    discovered: Natural = 0
    failed: Natural = 0
    refused: Natural = 0
    moved: Natural = 0
    trapped: Natural = 0
    revisits: Natural = 0
    pages_a_second: Finite | None = None
    requests_a_second: Finite | None = None
    in_flight: Natural = 0
    revisits_in_flight: Natural = 0
    window: Natural = 0
    room: Whole = 0
    queued: dict[str, Natural] = {}
    hosts: dict[str, Natural] = {}
    ready: Natural = 0
    waiting: dict[str, Natural] = {}
    next_ready: Seconds | None = None
    seen: Finite = 1.0
    retries: Natural = 0
    next_retry: Seconds | None = None
    opening: bool = False
    taken_up: Finite = 1.0
    filling: bool = False
    budget: Natural = 0
    requests_budget: Natural = 0
    left: Natural | None = None
    best: tuple[Upcoming, ...] = ()
    best_of: str = ""
    looked_at: tuple[HostStanding, ...] = ()
    began: Time = 0.0
    slots: Finite | None = None
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
    """Whether the crawl is paused (JSON): it orders nothing then. ``time`` is when that was asked for."""

    version: int = VERSION
    name: ClassVar[str] = ""
    on: bool
    time: Time


class Exclusion(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="excluded"):
    """URLs that are not to be fetched (JSON): those that begin with ``prefix``, or match ``expression`` (RE2).

    ``name`` is made of the two. Where it is ``on`` no more, the URLs may be fetched again.
    """

    version: int = VERSION
    name: str
    prefix: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    expression: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    on: bool = True
    time: Time


class Limit(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="budget"):
    """How many pages to judge, or requests to have answered, in all (JSON); 0 is no limit.

    ``setting`` is what the settings of the crawl said then: in a run with another one this is out of force. It
    is None until a frontier has heard of the limit.
    """

    version: int = VERSION
    name: Literal["pages", "requests"]
    most: Natural
    setting: Natural | None = None
    time: Time


class Slowing(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="delay"):
    """The least ``seconds`` between two requests to the host ``name`` (JSON); 0 asks for no more than usual."""

    version: int = VERSION
    name: str
    seconds: Seconds
    time: Time


#: What people ask of a crawl that is under way; the newest record of a kind and a name holds.
Steering: TypeAlias = Pausing | Exclusion | Limit | Slowing


def steering_key(told: Steering) -> str:
    """Return what a record of `steering` stands under: its kind and its name.

    >>> steering_key(Slowing(name="example.org", seconds=5.0, time=0.0))
    'delay:example.org'
    """
    return f"{type(told).__struct_config__.tag}:{told.name}"


class _Versioned(msgspec.Struct, array_like=True):
    version: int


class _Tagged(msgspec.Struct, array_like=True):
    tag: str


_encoder = msgspec.msgpack.Encoder()


def encode(record: Record) -> bytes:
    """Return the record's wire form."""
    return _encoder.encode(record)


# What stands in a message may be anybody's, of any length, and no reason repeats it.
_QUOTED = re.compile(r"^(Invalid (?:enum )?value) '.*'", re.DOTALL)
_PATTERN = re.compile(r"`str` matching regex '.*'(?= - at)", re.DOTALL)
#: What is raised for bytes that are no record: RecursionError where they are nested without end.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def reason_of(error: Exception) -> str:
    """Return why bytes are no record, for a line: it repeats nothing of what they hold."""
    return _PATTERN.sub("a URL", _QUOTED.sub(r"\1", str(error)))


class Decoder(Generic[T]):
    """Reads one kind of record; anything else is a `RecordError` that says why.

    >>> decoder = Decoder[DeadLetter](DeadLetter)
    >>> decoder(b"not a record")
    Traceback (most recent call last):
    ...
    scentline.streams.records.RecordError: not a DeadLetter: Expected `array`, got `int`
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._head = msgspec.msgpack.Decoder(_Versioned)
        self._sorter = _Sorter(get_args(kind)[0]) if get_origin(kind) is Pack else None

    def __call__(self, value: bytes) -> T:
        """Return the record; raises `RecordError`, `UnknownFactsError` where some of a pack can be read."""
        try:
            record: Any = self._decoder.decode(value)
        except UNREADABLE as error:
            cause = self._cause(value)
            if self._sorter is not None and not cause:
                self._sorter.sort(value)
            kind = UnknownVersionError if cause else RecordError
            raise kind(f"not a {self._name()}: {cause or reason_of(error)}") from error
        if record.version != VERSION:
            raise UnknownVersionError(self._cause(value))
        return record  # type: ignore[no-any-return]

    def _name(self) -> str:
        return getattr(self._kind, "__name__", str(self._kind))

    def _cause(self, value: bytes) -> str:
        try:
            version = self._head.decode(value).version
        except UNREADABLE:
            return ""
        return "" if version == VERSION else f"unknown version {version}, expected {VERSION}"


class JsonDecoder(Generic[T]):
    """Reads one kind of record in JSON, of some versions; anything else is a `RecordError` that says why.

    >>> watch = JsonDecoder[Watch](Watch)
    >>> watch(b'{"type": "watch", "until": 5, "version": 2}')
    Traceback (most recent call last):
    ...
    scentline.streams.records.UnknownVersionError: not a Watch: unknown version 2, expected 1
    """

    def __init__(self, kind: Any, versions: tuple[int, ...] = (VERSION,)) -> None:
        self._name = kind.__name__
        self._versions = versions
        self._decoder = msgspec.json.Decoder(kind)

    def __call__(self, value: bytes) -> T:
        """Return the record; raises `RecordError`."""
        try:
            record: Any = self._decoder.decode(value)
        except UNREADABLE as error:
            raise RecordError(f"not a {self._name}: {reason_of(error)}") from error
        if record.version not in self._versions:
            expected = " or ".join(map(str, self._versions))
            raise UnknownVersionError(
                f"not a {self._name}: unknown version {record.version}, expected {expected}"
            )
        return record  # type: ignore[no-any-return]


class _Sorter:
    """Tells the facts of a pack that can be read from others, of kinds not known here or damaged."""

    def __init__(self, fact: Any) -> None:
        self._tags = {kind.__struct_config__.tag for kind in get_args(fact)}
        self._pack = msgspec.msgpack.Decoder(Pack[msgspec.Raw])
        self._tagged = msgspec.msgpack.Decoder(_Tagged)
        self._fact = msgspec.msgpack.Decoder(fact)

    def sort(self, value: bytes) -> None:
        """Raise `UnknownFactsError` where all that keeps a pack from being read are some of its facts."""
        known: Pack[Any] = Pack(facts=[])
        unknown: Pack[Any] = Pack(facts=[])
        damaged = 0
        try:
            pack = self._pack.decode(value)
        except UNREADABLE:
            return
        for offset, index, raw in pack.facts:
            try:
                known.facts.append((offset, index, self._fact.decode(raw)))
            except UNREADABLE:
                damaged += not self._strange(raw)
                unknown.facts.append((offset, index, raw))
        if damaged and not known.facts:
            return
        if unknown.facts:
            known.source = unknown.source = pack.source
            what = "facts that can't be read" if damaged else "facts of an unknown kind"
            reason = f"{what}, skipped: {len(unknown.facts)} of {len(pack.facts)} in the pack"
            raise UnknownFactsError(reason, known, encode(unknown), damaged=damaged)

    def _strange(self, raw: bytes) -> bool:
        """Tell whether a fact is of a kind unknown here."""
        try:
            return bool(self._tags) and self._tagged.decode(raw).tag not in self._tags
        except UNREADABLE:
            return False
