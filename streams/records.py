"""What travels on the topics: msgspec structs, MessagePack arrays whose first field is the schema version.

Structs are written as arrays: a newer writer may append fields, which an older reader passes over; a change
that an older reader would misread takes a new version, which the older reader sends to the dead letters.
Facts that change state travel in packs: one message holds many facts for one partition, each with its
origin (the inbox offset it was made from and its index there), so that a repeated emission is dropped.
"""

import re
from typing import Any, Generic, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from models.page import Link
from models.verdict import Verdict

VERSION = 1

T = TypeVar("T")


class RecordError(Exception):
    """A message that can't be read as the record its topic carries; the text says why."""


class UnknownVersionError(RecordError):
    """A message of a schema version that is not known here."""


class UnknownFactsError(RecordError):
    """A pack with facts of kinds not known here: ``known`` has the others, ``unknown`` is a pack of these."""

    def __init__(self, reason: str, known: "Pack[Any]", unknown: bytes) -> None:
        super().__init__(reason)
        self.known = known
        self.unknown = unknown


class Record(msgspec.Struct, array_like=True, kw_only=True):
    """The head of every record: its schema version."""

    version: int = VERSION


class Access(msgspec.Struct, array_like=True, frozen=True):
    """One page view of a user: ``user`` is a pseudonym, ``time`` in seconds since the epoch."""

    user: str
    url: str
    time: float
    referrer: str | None = None
    status: int = 200
    content_type: str | None = None


class Seeded(msgspec.Struct, array_like=True, frozen=True, tag="seeded"):
    """A URL to start from."""

    url: str


class Inherited(msgspec.Struct, array_like=True, frozen=True, tag="inherited"):
    """The target of a redirect: it takes the depth and the priorities of the URL that led to it.

    ``seed`` says whether that URL is one; ``inputs`` are those it was chosen by, for each predicate; ``hops``
    is how many redirects in a row led here. ``level`` is that URL's in its site, 0 from another site.
    """

    url: str
    depth: int
    priorities: dict[str, float]
    seed: bool = False
    inputs: dict[str, tuple[float, ...]] = {}
    hops: int = 0
    level: int = 0


class Linked(msgspec.Struct, array_like=True, frozen=True, tag="linked"):
    """A judged page and those of its links that belong to one partition.

    ``partitions`` lists every sightings partition that received links of this page: a verdict on one of
    its targets concerns them all.
    """

    page: bytes
    url: str
    depth: int
    verdict: Verdict
    words: tuple[str, ...]
    links: tuple[Link, ...]
    partitions: tuple[int, ...]
    time: float = 0.0


class Relinked(msgspec.Struct, array_like=True, frozen=True, tag="relinked"):
    """What predicates that came later say of the linking page that was judged at ``time``."""

    page: bytes
    verdict: Verdict
    time: float


class Visited(msgspec.Struct, array_like=True, frozen=True, tag="visited"):
    """A user's access to a URL; ``referrer`` is where patterns are made of it, a page of the same host."""

    url: str
    user: str
    time: float
    referrer: str | None = None


class Near(msgspec.Struct, array_like=True, frozen=True, tag="near"):
    """A verdict on ``child``, the target of the link at ``position`` of the linking page ``parent``."""

    parent: bytes
    child: bytes
    verdict: Verdict
    position: int = 0


class Beside(msgspec.Struct, array_like=True, frozen=True):
    """What changed between a page and the page ``other`` (an identifier) of a sightings partition.

    ``times`` access pairs more within the region of temporal locality, ``sixths`` of co-visits more
    (`models.crowd.together`).
    """

    other: bytes
    partition: int
    times: int
    sixths: int


class Together(msgspec.Struct, array_like=True, frozen=True, tag="together"):
    """Pages that users visited near ``url``."""

    url: str
    pages: tuple[Beside, ...]


class Met(msgspec.Struct, array_like=True, frozen=True, tag="met"):
    """The verdict on a page that lies together with pages of the partition told, and its first words."""

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
    ``version`` is told where pages are revisited. ``pattern`` is that of `FetchOrder`.
    """

    url: str
    verdict: Verdict
    time: float
    crawl_delay: float | None = None
    words: tuple[str, ...] = ()
    elapsed: float = 0.0
    server: str = ""
    repeated: bool = False
    subject: str = ""
    version: Version | None = None
    pattern: str = ""


class Rejudged(msgspec.Struct, array_like=True, frozen=True, tag="rejudged"):
    """What predicates that came later say of the page that was judged at ``time``.

    ``words``, ``subject`` and ``pattern`` are those of `Judged`.
    """

    url: str
    verdict: Verdict
    time: float
    words: tuple[str, ...] = ()
    subject: str = ""
    pattern: str = ""


class Failed(msgspec.Struct, array_like=True, frozen=True, tag="failed"):
    """A fetch that brought no page.

    ``kind`` is "retry" (worth another attempt, not before ``retry_after`` seconds from ``time``), "gone"
    (the server says there is no such page) or "refused" (robots.txt, an address or a limit forbids it).
    ``overloaded`` says that the whole host asked to be left alone for a while. ``crawl_delay``, ``elapsed``
    and ``server`` are those of `FetchedPage`. ``barren`` says that a page came, but none of its own: a
    near-duplicate or a soft 404.
    """

    url: str
    order: int
    kind: str
    reason: str
    time: float
    retry_after: float | None = None
    overloaded: bool = False
    crawl_delay: float | None = None
    elapsed: float = 0.0
    server: str = ""
    barren: bool = False


class Redirected(msgspec.Struct, array_like=True, frozen=True, tag="redirected"):
    """A fetch that was answered with another URL; the last three fields are those of `FetchedPage`."""

    url: str
    order: int
    target: str
    time: float
    crawl_delay: float | None = None
    elapsed: float = 0.0
    server: str = ""


class Postponed(msgspec.Struct, array_like=True, frozen=True, tag="postponed"):
    """An order that came too early: ``server`` may not be asked for ``wait`` seconds from ``time``.

    The page was not asked for, and it is no attempt at it.
    """

    url: str
    order: int
    time: float
    wait: float
    crawl_delay: float | None = None
    server: str = ""


class Listed(msgspec.Struct, array_like=True, frozen=True, tag="listed"):
    """A URL that a sitemap of its host names."""

    url: str


class Hub(msgspec.Struct, array_like=True, frozen=True, tag="hub"):
    """A page that leads to news: it is revisited until the time ``until``, in seconds since the epoch.

    ``rate`` is how many new links a second it is expected to bring.
    """

    url: str
    rate: float
    until: float


class Relisted(msgspec.Struct, array_like=True, frozen=True, tag="relisted"):
    """Those links of a revisited page that belong to one partition.

    ``time`` is that of the revisit, ``since`` that of the visit before it, 0 where there was none.
    """

    url: str
    depth: int
    links: tuple[str, ...]
    time: float
    since: float


class Brought(msgspec.Struct, array_like=True, frozen=True, tag="brought"):
    """How many of a revisited page's links were new to another partition."""

    url: str
    links: int


class Revisited(msgspec.Struct, array_like=True, frozen=True, tag="revisited"):
    """What came of a revisit; its links came before this.

    ``outcome`` is "changed" (``version`` is what was had), "unchanged", "early" (the server may not be asked
    for ``wait`` seconds), "moved" (for good, to ``target``), "retry" (not before ``wait`` seconds, where they
    are told) or "failed". ``overloaded``, ``crawl_delay``, ``elapsed`` and ``server`` are those of `Failed`.
    """

    url: str
    order: int
    outcome: str
    time: float
    version: Version | None = None
    wait: float | None = None
    target: str = ""
    overloaded: bool = False
    crawl_delay: float | None = None
    elapsed: float = 0.0
    server: str = ""


class Clicked(msgspec.Struct, array_like=True, frozen=True, tag="clicked"):
    """A user's first access to a URL on a ``day`` (`models.news.clicks.day_of`), and where it came from."""

    url: str
    day: int
    referrer: str | None = None


class Browsed(msgspec.Struct, array_like=True, frozen=True, tag="browsed"):
    """What a user's view of a page adds to the sessions of its site; it comes behind the `Visited` of the view.

    ``page`` is the URL's identifier, ``level`` its level in the session; ``begun`` tells that a session began
    with it. ``views`` are (level, change): how the number of page views of levels changed.
    """

    page: bytes
    level: int
    begun: bool
    views: list[tuple[int, int]]


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
    | Listed
    | Hub
    | Relisted
    | Brought
    | Revisited
    | Clicked
    | Browsed
)


class Count(msgspec.Struct, array_like=True, frozen=True, tag="count"):
    """A verdict counted ``times`` over (taken back, where negative) under each of ``features``."""

    features: tuple[str, ...]
    verdict: Verdict
    times: int = 1


class Label(msgspec.Struct, array_like=True, frozen=True, tag="label"):
    """The verdict on a page for one predicate, with the inputs it had when it was chosen.

    ``chosen`` is "selected" where it was fetched for this predicate, "explored" where chance alone chose it
    for this predicate, and "other" where it was fetched for another.
    """

    predicate: str
    inputs: tuple[float, ...]
    holds: bool
    chosen: str


class Prior(msgspec.Struct, array_like=True, frozen=True, tag="prior"):
    """What an earlier crawl counted under ``feature``, faded: for each predicate pages and hits."""

    feature: str
    counts: dict[str, tuple[float, float]]


class Start(msgspec.Struct, array_like=True, frozen=True, tag="start"):
    """What the combiner of ``predicate`` starts with: fields of `models.reuse.learned.Combining`."""

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

    source: str = ""
    facts: list[tuple[int, int, T]]


AccessPack: TypeAlias = Pack[Access]
SightingPack: TypeAlias = Pack[Sighting]
EvidencePack: TypeAlias = Pack[Evidence]


class Revisit(msgspec.Struct, array_like=True, frozen=True):
    """What is known of a page that is fetched again for its links: its version, and when it was had.

    ``since`` is in seconds since the epoch, 0 where the page was never read.
    """

    version: Version | None = None
    since: float = 0.0


class FetchOrder(Record, kw_only=True):
    """A page to fetch: why, for whom, and until when the frontier waits for the answer.

    ``order`` is the attempt's number, ``priority`` what it was chosen with, ``probability`` how probable its
    choice was, ``expected`` how probable a hit is, where the policy says so; ``explored`` tells whether chance
    alone chose it, ``lease`` is the end of the wait in seconds since the epoch. With ``revisit`` the page is
    fetched again for its links, and not judged; ``order`` counts its revisits then. ``pattern`` is that of the
    URL at the time of the order, where the policy has a use for it.
    """

    url: str
    order: int
    predicate: str
    policy: str
    explored: bool
    probability: float
    priority: float
    depth: int
    lease: float
    expected: float | None = None
    revisit: Revisit | None = None
    pattern: str = ""


class FetchedPage(Record, kw_only=True):
    """A page as it came: ``body`` is compressed with Zstandard, ``headers`` are lower-case and bounded.

    ``time`` is the end of the fetch in seconds since the epoch, ``elapsed`` its length in seconds.
    ``crawl_delay`` is what the host's robots.txt asks for. ``nofollow`` says that an X-Robots-Tag forbids to
    follow the page's links. ``server`` stands for the address that was asked: hosts on one server are asked
    as one. It is empty where the host is known by nothing but its name.
    """

    order: FetchOrder
    status: int
    headers: dict[str, str]
    body: bytes
    time: float
    elapsed: float
    crawl_delay: float | None = None
    nofollow: bool = False
    server: str = ""


#: What the name of a predicate's combiner begins with, where features have theirs (`models.interest.features`).
COMBINER = "m:"


class Weighting(msgspec.Struct, array_like=True, frozen=True):
    """A predicate's combiner: ``mean`` of the weights and the rows of their ``covariance``, as float64 bytes.

    ``shifts`` calibrate it (`models.learner.calibration`): for pages that were selected, and explored.
    """

    mean: bytes
    covariance: bytes
    shifts: tuple[tuple[float, float], tuple[float, float]]


class Interest(Record, kw_only=True):
    """What is known of a feature: for each predicate the pages judged and the hits among them.

    ``prior`` has the same of an earlier crawl, faded, which stays apart: an audit recounts ``counts``.
    Under the name of a predicate's combiner there is its ``weighting`` instead.
    """

    feature: str
    counts: dict[str, tuple[int, int]]
    weighting: Weighting | None = None
    prior: dict[str, tuple[float, float]] = {}


class DeadLetter(Record, kw_only=True):
    """A message or log line that could not be read: where it stood, why, and its first bytes."""

    topic: str
    partition: int
    offset: int
    reason: str
    value: bytes
    time: float


class LogPosition(Record, kw_only=True):
    """How far a log was fed: what its lines up to ``line`` came to is in the topics.

    ``reading`` stands for the settings that decided what they came to; by other settings it is read anew.
    """

    line: int
    reading: str


class Outcome(msgspec.Struct, kw_only=True, omit_defaults=False):
    """A judged page, as people and later programs read it (JSON).

    ``words`` and ``links`` are what the learner used, so that every statistic can be recounted from here.
    ``probability`` is that of the choice, ``expected`` that of a hit, where the policy says so.
    ``origin`` is the place of the fetched page, "topic/partition@offset": equal origins are one page.
    ``later`` says that the verdict is of predicates that came after the page was judged: it is added to the
    verdict of the outcome with the same URL and time, which has the words and links.
    ``pattern`` is that of `FetchOrder`.
    """

    version: int = VERSION
    url: str
    time: float
    title: str
    verdict: Verdict
    predicate: str
    policy: str
    explored: bool
    probability: float
    priority: float
    expected: float | None
    depth: int
    words: tuple[str, ...]
    links: tuple[Link, ...]
    origin: str
    later: bool = False
    pattern: str = ""


class HarvestPoint(msgspec.Struct, kw_only=True):
    """One point of a predicate's harvest-rate stream (JSON); counts are totals up to ``time``.

    ``rate_by_pages`` is the rate of the last pages, ``rate_by_time`` that of the last seconds: as many as
    `HarvestSettings` says.
    ``lift`` is the harvest rate over that of randomly explored pages, null until one was explored.
    ``policies`` maps a policy ("random" for explored pages) to its pages and hits.
    """

    version: int = VERSION
    predicate: str
    partition: int
    time: float
    pages: int
    hits: int
    harvest_rate: float
    rate_by_pages: float
    rate_by_time: float
    lift: float | None
    policies: dict[str, tuple[int, int]]


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


def _reason(error: Exception) -> str:
    return _QUOTED.sub(r"\1", str(error))


class Decoder(Generic[T]):
    """Reads one kind of record; anything else is a `RecordError` that says why.

    >>> decoder = Decoder[DeadLetter](DeadLetter)
    >>> decoder(b"not a record")
    Traceback (most recent call last):
    ...
    streams.records.RecordError: not a DeadLetter: Expected `array`, got `int`
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._head = msgspec.msgpack.Decoder(_Versioned)
        self._sorter = _Sorter(get_args(kind)[0]) if _mixed(kind) else None

    def __call__(self, value: bytes) -> T:
        """Return the record; raises `RecordError`, `UnknownFactsError` where some of a pack can be read."""
        try:
            record: Any = self._decoder.decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            cause = self._cause(value)
            if self._sorter is not None and not cause:
                self._sorter.sort(value)
            kind = UnknownVersionError if cause else RecordError
            raise kind(f"not a {self._name()}: {cause or _reason(error)}") from error
        if record.version != VERSION:
            raise UnknownVersionError(self._cause(value))
        return record  # type: ignore[no-any-return]

    def _name(self) -> str:
        return getattr(self._kind, "__name__", str(self._kind))

    def _cause(self, value: bytes) -> str:
        try:
            version = self._head.decode(value).version
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return ""
        return "" if version == VERSION else f"unknown version {version}, expected {VERSION}"


def _mixed(kind: Any) -> bool:
    """Return whether a record is a pack of facts of several kinds."""
    return get_origin(kind) is Pack and bool(get_args(get_args(kind)[0]))


class _Sorter:
    """Tells the facts of a pack that are known from others; ``fact`` is a union of tagged ones."""

    def __init__(self, fact: Any) -> None:
        self._tags = {kind.__struct_config__.tag for kind in get_args(fact)}
        self._pack = msgspec.msgpack.Decoder(Pack[msgspec.Raw])
        self._tagged = msgspec.msgpack.Decoder(_Tagged)
        self._fact = msgspec.msgpack.Decoder(fact)

    def sort(self, value: bytes) -> None:
        """Raise `UnknownFactsError` where all that keeps a pack from being read are facts of unknown kinds."""
        known: Pack[Any] = Pack(facts=[])
        unknown: Pack[Any] = Pack(facts=[])
        try:
            pack = self._pack.decode(value)
            for offset, index, raw in pack.facts:
                if self._tagged.decode(raw).tag in self._tags:
                    known.facts.append((offset, index, self._fact.decode(raw)))
                else:
                    unknown.facts.append((offset, index, raw))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        if unknown.facts:
            known.source = unknown.source = pack.source
            counted = f"{len(unknown.facts)} of {len(pack.facts)}"
            reason = f"facts of a kind that is not known here, passed over: {counted} in the pack"
            raise UnknownFactsError(reason, known, encode(unknown))
