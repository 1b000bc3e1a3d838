"""The facts that change state: accesses, sightings and evidence, as `models.records.Pack` carries them."""

from typing import Final, Literal, TypeAlias

import msgspec

from scentline.models.page import Link, Verdict
from scentline.models.records import (
    End,
    Finite,
    HostAnswer,
    Memo,
    Natural,
    Pack,
    RobotsTxt,
    Seconds,
    Time,
    UrlIfAny,
    Version,
    Visit,
    Whole,
)
from scentline.models.url import Url

SIGHTINGS: Final = "sightings"  #: The topics of sightings and of evidence.
EVIDENCE: Final = "evidence"


class Access(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One page view of a user."""

    user: str  #: The user's pseudonym.
    url: Url
    time: Time
    referrer: Url | None = None
    status: Natural = 200
    content_type: str | None = None
    size: Natural = 0  #: Bytes of the answer, 0 where the size of the whole page is unknown.


AccessPack: TypeAlias = Pack[Access]

# sightings


class Hub(msgspec.Struct, array_like=True, frozen=True):
    """Marks a page as a hub, which leads to news: it is revisited for its links until the time ``until``."""

    rate: Finite  #: Expected new links a second.
    until: End


class Found(msgspec.Struct, array_like=True, frozen=True, tag="found"):
    """A URL that no link led to: a seed, an entry of a sitemap or feed, the target of a redirect, or a hub.

    The target of a redirect inherits the values of the URL that redirects to it.
    """

    url: Url
    depth: Natural = 0  #: Links from a seed; a sitemap or feed counts as one link.
    priorities: dict[str, Finite] = {}  #: By predicate: the priority at which the redirecting URL was chosen.
    seed: bool = False  #: Whether a crawl starts from it: a seed is a candidate, whatever its URL looks like.
    inputs: dict[str, tuple[Finite, ...]] = {}  #: By predicate: the inputs of that choice.
    hops: Natural = 0  #: Consecutive redirects that led here.
    level: Natural = 0  #: The level in its site, 0 for a URL that enters the site.
    hub: Hub | None = None  #: Set alone, for a hub.
    memo: Memo = ""  #: What a client of the door keeps with the URL; the first one stays.
    noted: bool = False  #: Whether only the memo is kept: links lead to the URL, or will.
    #: When a client of the door wants a candidate fetched, at the earliest; 0 for never.
    due: Time | None = None
    source: UrlIfAny = ""  #: The URL that redirects here, the first of several.


class Linked(msgspec.Struct, array_like=True, frozen=True, tag="linked"):
    """A page at a time, with those of its links that belong to one partition."""

    page: bytes
    url: Url
    depth: Natural
    verdict: Verdict  #: Empty for a page that left, and for the links of a hub.
    words: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    #: All partitions with links of this page: a verdict on one link target concerns them all.
    partitions: tuple[Natural, ...] = ()
    time: Time = 0.0
    #: - "first": the first fact of a page wins;
    #: - "again": pages are revisited, so the newest fact wins, and its links are added to those known;
    #: - "links": the links of a hub, which do not count as links of a judged page;
    #: - "kept": later predicates judged the page of that time. Their verdict is added to it.
    visit: Visit = "first"
    since: Time = 0.0  #: The previous visit of a hub, 0 without one.

    @property
    def judged(self) -> bool:
        """Whether it describes a judged page and its links."""
        return self.visit in ("first", "again")


class Viewed(msgspec.Struct, array_like=True, frozen=True):
    """What a page view adds to the sessions of its site."""

    level: Natural  #: The page's level in the session.
    begun: bool  #: Whether it began a session.
    views: list[tuple[Natural, Whole]]  #: (level, change) of the page views by level.


class Visited(msgspec.Struct, array_like=True, frozen=True, gc=False, tag="visited"):
    """A user's access to a URL. The fields after ``time`` are set only where the settings need them."""

    url: Url
    user: str
    time: Time
    referrer: Url | None = None  #: The page that the user came from.
    size: Natural = 0  #: `Access.size`, where pages are revisited.
    first: bool = False  #: Whether it is the user's first of the day (`models.papers.news.day_of`): a click.
    view: Viewed | None = None  #: Set where each site is stopped at its own depth.


class Beside(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The change between a page and the page ``other`` of a partition of `sightings` (`models.trace`)."""

    other: bytes
    partition: Natural
    times: Whole  #: Access pairs within the region of temporal locality.
    sixths: Whole  #: Sixths of co-visits.


class Together(msgspec.Struct, array_like=True, frozen=True, tag="together"):
    """Pages that users visited near ``url``."""

    url: Url
    pages: tuple[Beside, ...]


class Neighbour(msgspec.Struct, array_like=True, frozen=True, tag="neighbour"):
    """News of a page that concerns pages of another partition.

    It is the newest verdict on a page co-visited with them, with its first words; the newest verdict on the
    target of the link at ``position`` of the page ``parent``, which links to them, too; or the number of
    ``new`` links of a visited hub.
    """

    page: bytes
    verdict: Verdict = {}
    words: tuple[str, ...] = ()
    parent: bytes = b""
    position: Natural = 0
    new: Natural = 0


# how a fetch ends


class Page(msgspec.Struct, array_like=True, frozen=True, tag="page"):
    """A page arrived and was judged: the fetcher sends a `FetchedPage` to `pages`, and the judge this.

    The fields after ``version`` are set where pages are revisited, and keep their defaults elsewhere.
    """

    verdict: Verdict  #: By predicate, whether the page satisfies it; empty for a hub's links.
    words: tuple[str, ...] = ()  #: Its distinct words.
    #: Its subject, where word meanings count (`models.semantic.page_subject`).
    subject: str = ""
    repeated: bool = False  #: Whether its text and URL differ from another page's in numbers only.
    version: Version | None = None  #: ETag and Last-Modified; None where it has none, or none is needed.
    #: Whether text, links or verdict differ from those of the order, or that verdict is old: then an outcome
    #: and the links were published, too. False for a first visit, which always publishes them.
    changed: bool = False
    content: bytes = b""  #: Digests of the text and of the links (`models.revisit.content`).
    links: bytes = b""
    partitions: tuple[Natural, ...] = ()  #: `Linked.partitions`.
    title: str = ""  #: For people, as are the ``excerpts``, one for each predicate that holds.
    excerpts: dict[str, str] = {}


class Moved(msgspec.Struct, array_like=True, frozen=True, tag="moved"):
    """The answer was a redirect, which is not followed: the frontier orders ``target`` when its turn comes."""

    target: Url  #: Absolute and canonical (`models.url.canonical`).
    permanent: bool = True  #: By 301 or 308; a temporary redirect leaves a judged page where it is.


#: Why no page came, and what follows for a new page or one judged before:
#: - "retry": host or network failed, as with a time-out or status 500. The page is retried, a new one a few
#:   times; the host backs off after the third failure in a row.
#: - "gone": there is no such page, as with status 404. A judged page leaves when a second visit confirms it.
#: - "refused": robots.txt, the page itself, an address or a setting forbids it. A judged page leaves at once.
#: - "unfit": the answer is not read, for its type, its size, or a similar page judged before. As "gone".
#: - "failed": fetcher or judge failed. A new page is given up, a judged one stays as it was.
Kind: TypeAlias = Literal["retry", "gone", "refused", "unfit", "failed"]


class Missing(msgspec.Struct, array_like=True, frozen=True, tag="missing"):
    """No page came, or none that is judged."""

    kind: Kind
    #: For people: fixed words, with a detail where one helps (`models.frontier.answers`), as "status 404".
    #: It quotes nothing of a stranger's but the URL of the page that a near-duplicate resembles.
    reason: str
    barren: bool = False  #: Whether a near-duplicate or a soft 404 came.


class Same(msgspec.Struct, array_like=True, frozen=True, tag="same"):
    """The page is unmodified since the order's version (304): not a valid answer to a first visit."""


class Early(msgspec.Struct, array_like=True, frozen=True, tag="early"):
    """The order came too early: no request was made, and it does not count as an attempt."""

    wait: Seconds  #: Seconds from `Fetched.time` before the next request to the server.


class Rendering(msgspec.Struct, array_like=True, frozen=True):
    """What it brought to render a page."""

    seconds: Seconds
    needed: bool  #: Whether the page needs scripts as it came.
    brought: bool  #: Whether it has more text or links than as it came.


class Fetched(msgspec.Struct, array_like=True, frozen=True, tag="fetched"):
    """The end of a fetch, or the verdict of later predicates on a kept page, at the time of its fetch.

    Each `FetchOrder` is to be answered once: by the fetcher where no page came, else by the judge. The answer
    goes to `sightings`, in the partition of the URL's host.

    An order without an answer is repeated after its ``lease``. The frontier drops the answer to an order that
    it withdrew, or has repeated since; but a page counts, whichever order brought it. So the answer to a first
    visit may come twice, as after a crash of its sender.
    """

    url: Url  #: The URL as ordered, not the target of a redirect.
    order: Natural  #: `FetchOrder.order`: the number of the attempt at a first visit, else that of the visit.
    visit: Visit  #: `FetchOrder.visit`, or "kept".
    time: Time  #: The end of the fetch, in seconds since the epoch, by the fetcher's clock.
    host: HostAnswer  #: What the fetch showed of the host, whatever its result.
    result: Page | Moved | Missing | Same | Early
    silent: bool = False  #: `FetchOrder.silent`.
    rendering: Rendering | None = None  #: Set where a browser rendered the page.

    @property
    def asked(self) -> bool:
        """Whether a request for the page was made."""
        answered = isinstance(self.result, Page | Moved | Same)
        return answered or (isinstance(self.result, Missing) and self.host.elapsed > 0)


class Signal(msgspec.Struct, array_like=True, frozen=True, tag="signal"):
    """A sign that a page changed at ``time``; pages also change without a sign, and a sign may be false."""

    url: Url
    kind: str  #: "log", "sitemap", "feed" or "header".
    time: Time


Sighting: TypeAlias = Found | Linked | Fetched | Visited | Together | Neighbour | RobotsTxt | Signal
SightingPack: TypeAlias = Pack[Sighting]

# evidence


class Label(msgspec.Struct, array_like=True, frozen=True, tag="label"):
    """The verdict on a page for one predicate, with the inputs of the page's choice."""

    predicate: str  #: Or `models.page.FAILED`, the predicate of requests, which concerns every choice.
    inputs: tuple[Finite, ...]
    holds: bool
    chosen: str  #: "selected" or "explored" (at random) for this predicate, or "other": for another one.


class Prior(msgspec.Struct, array_like=True, frozen=True, tag="prior"):
    """An earlier crawl's faded counts of ``feature``: (pages, hits) by predicate."""

    feature: str
    counts: dict[str, tuple[Finite, Finite]]


class Start(msgspec.Struct, array_like=True, frozen=True, tag="start"):
    """The initial combiner of ``predicate``: fields of `models.reuse.Combining`."""

    predicate: str
    names: tuple[str, ...]
    mean: bytes
    covariance: bytes
    calibration: bytes


Evidence: TypeAlias = Label | Prior | Start
EvidencePack: TypeAlias = Pack[Evidence]
