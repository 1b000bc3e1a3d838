"""The wire format of messages, and the records of the topics of fetching and learning.

Records are msgspec structs, encoded as MessagePack arrays whose first field is the schema version. A newer
writer may append fields, which an older reader skips. A change that an older reader would misread takes a new
version, which the older reader sends to the dead letters.

`models.facts` has the facts that change state, `models.published` the records for people.
"""

import re
import zlib
from contextlib import suppress
from typing import Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar, get_args, get_origin

import msgspec

from scentline.models.errors import ScentlineError
from scentline.models.page import Verdict
from scentline.models.url import MAX_LENGTH, URL_PATTERN, Url

VERSION = 1

FETCHES: Final = "fetches"  #: The topics of orders: of plain requests, and of pages to render.
RENDERS: Final = "renders"

T = TypeVar("T")

# Bounds of numbers, so that a reader may add them up or convert one to a date.
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
Whole = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Finite = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
#: Seconds since the epoch, of the years 1 to 9999.
Time = Annotated[float, msgspec.Meta(ge=-62_135_596_800, le=253_402_300_799)]
End = Annotated[float, msgspec.Meta(ge=-62_135_596_800)]  #: A time that may never come.
#: What a client of the door keeps with a URL, to request it.
Memo = Annotated[str, msgspec.Meta(max_length=4_096)]
MOST_ITEM_NAME: Final = 100
#: The name of an item that a client found in a page (`models.predicate.syntax.Item`).
ItemName = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_ITEM_NAME)]
UrlIfAny = Annotated[str, msgspec.Meta(pattern=rf"^$|{URL_PATTERN}", max_length=MAX_LENGTH)]

#: Most compressed bytes of a stored robots.txt; a longer one is fetched again once it is forgotten.
ROBOTS_BYTES = 16_384


class RecordError(ScentlineError):
    """A message that can't be read as its topic's record; the text says why."""

    explains_itself = False


class UnknownVersionError(RecordError):
    """A message of an unknown schema version."""


class UnknownFactsError(RecordError):
    """A pack with unreadable facts: ``known`` has the readable ones, ``unknown`` is a pack of the others.

    ``damaged`` counts the unreadable facts of known kinds.
    """

    def __init__(self, reason: str, known: "Pack[Any]", unknown: bytes, damaged: int = 0) -> None:
        super().__init__(reason)
        self.known = known
        self.unknown = unknown
        self.damaged = damaged


class Record(msgspec.Struct, array_like=True, kw_only=True):
    """The head of every record: its schema version."""

    version: int = VERSION


class Pack(Record, Generic[T], kw_only=True):
    """Facts for one partition. A receiver drops a repeated fact by its origin."""

    #: The stream that origins count in; without one, the facts must be harmless when repeated.
    source: Annotated[str, msgspec.Meta(max_length=200)] = ""
    #: (offset of the origin, index of the origin, fact), origins ascending.
    facts: list[tuple[Offset, Offset, T]]


def partition_of(key: str | bytes, partitions: int) -> int:
    """Return the partition of ``key`` among ``partitions``, by the CRC-32 of its UTF-8 bytes.

    >>> partition_of("example.org", 1)
    0
    >>> partition_of("example.org", 4) == partition_of(b"example.org", 4)
    True
    """
    data = key.encode() if isinstance(key, str) else key
    return zlib.crc32(data) % partitions


# fetching


class Version(msgspec.Struct, array_like=True, frozen=True):
    """The validators of a fetched page (RFC 9110, 8.8)."""

    etag: str | None = None
    last_modified: str | None = None


class RobotsTxt(msgspec.Struct, array_like=True, frozen=True, tag="robots"):
    """The robots.txt at ``url``, valid until the time ``until``; a sighting, too."""

    url: Url
    until: Time
    #: Compressed with Zstandard; empty where it forbids nothing.
    text: Annotated[bytes, msgspec.Meta(max_length=ROBOTS_BYTES)] = b""
    time: Time = 0.0  #: When it was last fetched or confirmed, and its version.
    version: Version | None = None
    error: str = ""  #: Why it can't be fetched; then no page may be fetched either.


class HostAnswer(msgspec.Struct, array_like=True, frozen=True):
    """What a fetch showed of the host: all that the frontier needs to be polite.

    The defaults are those of a fetch without a request, as of a page that robots.txt forbids.
    """

    #: Seconds from the request for the page to the end of its answer; 0 without such a request, as when the
    #: request for robots.txt failed.
    elapsed: Seconds = 0.0
    #: The address requested: its hosts share one delay. Empty where it is unknown, as behind a proxy.
    server: str = ""
    crawl_delay: Seconds | None = None  #: Seconds of the Crawl-delay in robots.txt; None where it has none.
    #: Seconds from the end of the fetch to the next request: the Retry-After, or the time until an unavailable
    #: robots.txt is retried; None where no wait is required.
    retry_after: Seconds | None = None
    overloaded: bool = False  #: Whether the host reported overload: a status of 429 or 503.
    #: Whether no server answered: counted, but not held against the host, as our network may have failed.
    unanswered: bool = False
    #: Whether the fetcher needs the robots.txt that the frontier has: the site's next order brings it.
    robots: bool = False
    #: Requests to the host in all, where a browser made several for the page.
    requests: Annotated[int, msgspec.Meta(ge=1, le=2**31)] = 1


#: The purpose of a fetch: the first visit of a page, a revisit of a judged page, or the links of a hub; "kept"
#: marks a page fetched before and judged by later predicates.
Visit: TypeAlias = Literal["first", "again", "links", "kept"]


class Revisit(msgspec.Struct, array_like=True, frozen=True):
    """The known state of a page that is fetched again, for its links or to be judged ``again``."""

    version: Version | None = None
    since: Time = 0.0  #: When it was last fetched, 0 where it was never read.
    again: bool = False
    verdict: Verdict = {}  #: Published at the time ``judged``.
    content: bytes = b""  #: As in `models.facts.Page`, like ``links`` and ``partitions``.
    links: bytes = b""
    partitions: tuple[Natural, ...] = ()
    judged: Time = 0.0


class FetchOrder(Record, kw_only=True):
    """A page to fetch, and how it was chosen."""

    url: Url
    order: Natural  #: The number of the attempt, or of the revisit.
    predicate: str
    policy: str
    explored: bool  #: Whether it was chosen at random.
    probability: Finite  #: The probability of the choice.
    priority: Finite
    depth: Natural
    lease: Time  #: When the frontier stops waiting for the answer.
    expected: Finite | None = None  #: The probability that the page is a hit, where the policy has one.
    revisit: Revisit | None = None
    vouched: float | None = None  #: The share of trust that the host's owner had (`models.frontier.fairness`).
    #: Whether the page counts as judged but teaches nothing: its owner had too many of the latest fetches.
    silent: bool = False
    comes: Finite | None = None  #: The probability that a page comes.
    requests: Natural = 0  #: The crawl's requests up to this one, as far as the frontier knows.
    delay: Seconds = 0.0  #: Seconds between two requests to its host, as far as known.
    #: The site's robots.txt where a fetcher needs it, else the end of its validity, 0 if the frontier has none.
    robots: RobotsTxt | Time = 0.0
    memo: Memo = ""  #: What a client of the door keeps with the URL.
    render: bool = False  #: Whether a browser renders the page.
    referrer: UrlIfAny = ""  #: A page that links to it, and the URL that redirects to it, where known.
    source: UrlIfAny = ""

    @property
    def visit(self) -> Visit:
        """The purpose of the fetch."""
        return "first" if self.revisit is None else "again" if self.revisit.again else "links"


NOT_MODIFIED = 304  #: The status of an answer that a page is unchanged.


class Rendered(msgspec.Struct, array_like=True, frozen=True):
    """How a browser rendered a page."""

    seconds: Seconds  #: From the page's answer to the end of rendering.
    requests: Natural  #: To the page's own site, the one for the page included.
    plain: bytes  #: The document before scripts changed it.
    content_type: str  #: Its content type, as in its header; empty without one.


class FetchedPage(Record, kw_only=True):
    """A page as fetched."""

    order: FetchOrder
    status: Natural  #: `NOT_MODIFIED` is for consumers that keep pages: the frontier has a sighting of it.
    headers: dict[str, str]  #: Names in lower case; bounded.
    body: bytes  #: Compressed with Zstandard.
    time: Time  #: The end of the fetch.
    host: HostAnswer
    nofollow: bool = False  #: Whether an X-Robots-Tag forbids following the page's links.
    #: The names of the items that a client of the door found in it.
    items: tuple[ItemName, ...] = ()
    #: The links that such a client wants to follow, None for all that the page has.
    wanted: tuple[Url, ...] | None = None
    rendered: Rendered | None = None  #: How a browser rendered it; ``plain`` is compressed as ``body`` is.


# learning


class Weighting(msgspec.Struct, array_like=True, frozen=True):
    """A predicate's combiner, in float64 bytes."""

    mean: bytes  #: The mean of the weights; ``covariance`` has the rows of their covariance matrix.
    covariance: bytes
    #: Calibrations (`models.policy.combiner`) of selected and of explored pages.
    shifts: tuple[tuple[Finite, Finite], tuple[Finite, Finite]]


class Block(msgspec.Struct, array_like=True, frozen=True):
    """A block of the current counts of a partition of `sightings`, which has ``size`` columns in all."""

    partition: Natural
    number: Natural
    size: Natural
    #: Those of `models.ledger.Cells`, as are the rest; the counts compressed with Zstandard.
    predicates: tuple[str, ...]
    names: tuple[str | None, ...]
    counts: bytes


class Interests(Record, kw_only=True):
    """What the crawl has learned: its counts, counts of an earlier crawl, or combiners."""

    block: Block | None = None
    #: Faded counts of earlier crawls by feature and predicate; kept apart, as an audit recounts the others.
    prior: dict[str, dict[str, tuple[Finite, Finite]]] = {}
    weightings: dict[str, Weighting] = {}  #: By predicate.


class DeadLetter(Record, kw_only=True):
    """A message or log line that could not be read or applied."""

    topic: str
    partition: Natural
    offset: Offset
    reason: str
    value: bytes  #: Its first bytes.
    time: Time
    why: str = ""  #: One of `streams.attempts.Why`.
    origin: tuple[Offset, Offset] | None = None  #: The origin of the pack's one fact that failed.


class LogPosition(Record, kw_only=True):
    """The position in a log: the results of its lines up to ``line`` are in the topics."""

    line: Natural
    #: Identifies the settings behind these results: under other settings the log is read again.
    reading: str


# reading and writing


class _Versioned(msgspec.Struct, array_like=True):
    version: int


class _VersionedJson(msgspec.Struct):
    version: int = VERSION


class _Tagged(msgspec.Struct, array_like=True):
    tag: str


_encoder = msgspec.msgpack.Encoder()


def encode(record: Record) -> bytes:
    """Return the record in its wire format."""
    return _encoder.encode(record)


# A message may hold anything, at any length, so reasons never quote it.
_QUOTED = re.compile(r"^(Invalid (?:enum )?value) '.*'", re.DOTALL)
_PATTERN = re.compile(r"`str` matching regex '.*'(?= - at)", re.DOTALL)
#: Raised for bytes that are not a record; RecursionError where they are nested too deeply.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def reason_of(error: Exception) -> str:
    """Return in one line why bytes are not a record, without quoting them."""
    return _PATTERN.sub("a URL", _QUOTED.sub(r"\1", str(error)))


class Decoder(Generic[T]):
    """Decodes one kind of record, of one version; raises `RecordError` with the reason for anything else.

    >>> decoder = Decoder[DeadLetter](DeadLetter)
    >>> decoder(b"not a record")
    Traceback (most recent call last):
    ...
    scentline.models.records.RecordError: not a DeadLetter: Expected `array`, got `int`
    """

    def __init__(
        self,
        kind: Any,
        version: int = VERSION,
        form: Any = msgspec.msgpack,
        head: Any = _Versioned,
    ) -> None:
        self._name = getattr(kind, "__name__", str(kind))
        self._version = version
        self._decoder = form.Decoder(kind)
        self._head = form.Decoder(head)
        self._sorter = _Sorter(get_args(kind)[0]) if get_origin(kind) is Pack else None

    def __call__(self, value: bytes) -> T:
        """Return the record; raises `RecordError`, or `UnknownFactsError` for a pack readable in part."""
        try:
            record: Any = self._decoder.decode(value)
        except UNREADABLE as error:
            self._check_version(value)
            if self._sorter is not None:
                self._sorter.sort(value)
            raise RecordError(f"not a {self._name}: {reason_of(error)}") from error
        if record.version != self._version:
            self._check_version(value)
        return record  # type: ignore[no-any-return]

    def _check_version(self, value: bytes) -> None:
        """Raise `UnknownVersionError` for a record of another version."""
        with suppress(*UNREADABLE):
            version = self._head.decode(value).version
            if version != self._version:
                raise UnknownVersionError(f"unknown version {version}, expected {self._version}")


class JsonDecoder(Decoder[T]):
    """Decodes one kind of record in JSON."""

    def __init__(self, kind: Any, version: int = VERSION) -> None:
        super().__init__(kind, version, msgspec.json, _VersionedJson)


class _Sorter:
    """Separates the readable facts of a pack from damaged ones and those of unknown kinds."""

    def __init__(self, fact: Any) -> None:
        self._tags = {kind.__struct_config__.tag for kind in get_args(fact)}
        self._pack = msgspec.msgpack.Decoder(Pack[msgspec.Raw])
        self._tagged = msgspec.msgpack.Decoder(_Tagged)
        self._fact = msgspec.msgpack.Decoder(fact)

    def sort(self, value: bytes) -> None:
        """Raise `UnknownFactsError` where it is only facts that make a pack unreadable."""
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
        try:
            return bool(self._tags) and self._tagged.decode(raw).tag not in self._tags
        except UNREADABLE:
            return False
