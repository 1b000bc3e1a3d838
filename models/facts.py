"""The facts that change state: accesses, sightings and evidence, as `models.records.Pack` carries them."""

from typing import Final, Literal, TypeAlias

import msgspec

from scentline.models.page import Link, Verdict
from scentline.models.records import (
    End,
    Finite,
    HostAnswer,
    Natural,
    Pack,
    RobotsTxt,
    Seconds,
    Time,
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
    """That a page leads to news, and is revisited for its links until the time ``until``."""

    rate: Finite  #: New links a second that it is expected to bring.
    until: End


class Found(msgspec.Struct, array_like=True, frozen=True, tag="found"):
    """A URL that no link led to: a seed, an entry of a sitemap or feed, the target of a redirect, or a hub.

    The target of a redirect has what the URL had that redirects there.
    """

    url: Url
    depth: Natural = 0  #: Links from a seed; a site's own list counts as one, and is none.
    priorities: dict[str, Finite] = {}  #: For each predicate, that of the choice of the URL that redirects.
    seed: bool = False  #: Whether a crawl is to start from it: it is a candidate, whatever it looks like.
    inputs: dict[str, tuple[Finite, ...]] = {}  #: For each predicate, the inputs of that choice.
    hops: Natural = 0  #: Redirects in a row that led here.
    level: Natural = 0  #: The level in its site, 0 where one comes from elsewhere.
    hub: Hub | None = None  #: Given alone, where the page is one.


class Linked(msgspec.Struct, array_like=True, frozen=True, tag="linked"):
    """A page as it was at a time, and those of its links that belong to one partition."""

    page: bytes
    url: Url
    depth: Natural
    verdict: Verdict  #: Empty for a page that left, and for the links of a hub.
    words: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    #: Every partition that has links of this page: a verdict on one of their targets concerns them all.
    partitions: tuple[Natural, ...] = ()
    time: Time = 0.0
    #: - "first": the first fact of a page holds;
    #: - "again": pages are visited again, so the newest holds, and its links are added to those known;
    #: - "links": a hub's links are listed. They are no links of a judged page;
    #: - "kept": later predicates judged the page of that time. Their verdict is added to it.
    visit: Visit = "first"
    since: Time = 0.0  #: When a hub was visited before, 0 where it was not.

    @property
    def judged(self) -> bool:
        """Whether it tells of a judged page and its links."""
        return self.visit in ("first", "again")


class Viewed(msgspec.Struct, array_like=True, frozen=True):
    """What a page view adds to the sessions of its site."""

    level: Natural  #: The page's level in the session.
    begun: bool  #: Whether a session began with it.
    views: list[tuple[Natural, Whole]]  #: (level, change): how the number of page views of levels changed.


class Visited(msgspec.Struct, array_like=True, frozen=True, gc=False, tag="visited"):
    """A user's access to a URL. What follows ``time`` is given only where a crawl's settings need it."""

    url: Url
    user: str
    time: Time
    referrer: Url | None = None  #: The page that the user came from.
    size: Natural = 0  #: That of `Access`, where pages are visited again.
    first: bool = False  #: Whether it is the user's first of the day (`models.papers.news.day_of`): a click.
    view: Viewed | None = None  #: Where sites are stopped at a depth of their own.


class Beside(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The change between a page and ``other``, one of a partition of `sightings` (`models.trace`)."""

    other: bytes
    partition: Natural
    times: Whole  #: Access pairs within the region of temporal locality.
    sixths: Whole  #: Sixths of co-visits.


class Together(msgspec.Struct, array_like=True, frozen=True, tag="together"):
    """Pages that users visited near ``url``."""

    url: Url
    pages: tuple[Beside, ...]


class Neighbour(msgspec.Struct, array_like=True, frozen=True, tag="neighbour"):
    """What a partition has learned of a page that concerns pages of another one.

    That is the newest verdict on a page co-visited with these, with its first words; the newest verdict on the
    target of the link at ``position`` of the page ``parent``, which links to these, too; or how many links of a
    visited hub were ``new``.
    """

    page: bytes
    verdict: Verdict = {}
    words: tuple[str, ...] = ()
    parent: bytes = b""
    position: Natural = 0
    new: Natural = 0


# how a fetch ends


class Page(msgspec.Struct, array_like=True, frozen=True, tag="page"):
    """A page came, and was judged: who fetched it sends a `FetchedPage` to `pages`, and the judge this.

    What follows ``version`` is given where pages are visited again, and has its default elsewhere.
    """

    verdict: Verdict  #: Of each predicate by name, whether the page satisfies it; empty for a hub's links.
    words: tuple[str, ...] = ()  #: Its distinct words.
    #: What it is about, where word meanings count (`models.semantic.page_subject`).
    subject: str = ""
    repeated: bool = False  #: Whether all its words are those of a page whose URL differs in numbers only.
    version: Version | None = None  #: Its ETag and Last-Modified; None where it has none, or nobody needs them.
    #: Whether text, links or verdict are others than the order has, or that verdict is old: then an outcome and
    #: the links were published, too. False of a first visit, with which they always are.
    changed: bool = False
    content: bytes = b""  #: Digests of the text and of the links (`models.revisit.content`).
    links: bytes = b""
    partitions: tuple[Natural, ...] = ()  #: Those of `Linked`.
    title: str = ""  #: For people, as are the ``excerpts`` of each predicate that holds.
    excerpts: dict[str, str] = {}


class Moved(msgspec.Struct, array_like=True, frozen=True, tag="moved"):
    """The answer was a redirect, which nobody followed: the frontier orders ``target`` when its turn comes."""

    target: Url  #: Absolute and canonical (`models.url.canonical`).
    permanent: bool = True  #: Whether it is for good (301, 308); any other leaves a judged page where it is.


#: Why no page came, and what follows for a page that is new, or was judged before:
#: - "retry": host or network failed, as by a time-out or a status of 500. It is asked for again, a new page a
#:   few times; the host is left alone for a while after the third in a row.
#: - "gone": there is no such page, as by a status of 404. A judged page leaves when a second visit says so.
#: - "refused": robots.txt, the page itself, an address or a setting forbids it. A judged page leaves at once.
#: - "unfit": what came is not read, for its type, its size, or a page like it judged before. As if gone.
#: - "failed": who fetched or judged is to blame. A new page is given up, a judged one stays as it was.
Kind: TypeAlias = Literal["retry", "gone", "refused", "unfit", "failed"]


class Missing(msgspec.Struct, array_like=True, frozen=True, tag="missing"):
    """No page came, or none that is judged."""

    kind: Kind
    #: For people: fixed words, with a detail where one helps (`models.frontier.answers`), as "status 404".
    #: Nothing that a stranger wrote, but for the URL of the page that a near-duplicate is one of.
    reason: str
    barren: bool = False  #: Whether the page that came is a near-duplicate or a soft 404.


class Same(msgspec.Struct, array_like=True, frozen=True, tag="same"):
    """The server has no other version than the order's (304). To a first visit that is no answer."""


class Early(msgspec.Struct, array_like=True, frozen=True, tag="early"):
    """The order came too early: no request was made, and it does not count as an attempt."""

    wait: Seconds  #: Seconds from `Fetched.time` before the next request to the server.


class Fetched(msgspec.Struct, array_like=True, frozen=True, tag="fetched"):
    """How a fetch ended, or the verdict of later predicates on a kept page, of the time of its fetch.

    The end of a fetch is what whoever carries out a `FetchOrder` owes the frontier, once for each order.

    A fetcher sends it where no page came, and the judge where one did, to `sightings`, in the partition of the
    URL's host. An order without an answer is given again after its ``lease``. The frontier drops the answer to
    an order that it took back, or has given again since; but a page counts, whoever was to bring it. So the
    answer to a first visit may come twice, as after a crash of who sends it.
    """

    url: Url  #: That of the order, as ordered: not where a redirect led.
    order: Natural  #: `FetchOrder.order`: the number of the attempt at a first visit, else that of the visit.
    visit: Visit  #: `FetchOrder.visit`, or "kept".
    time: Time  #: The end of the fetch, in seconds since the epoch, by the clock of who fetched.
    host: HostAnswer  #: What it told of the host, whatever it brought.
    result: Page | Moved | Missing | Same | Early
    silent: bool = False  #: `FetchOrder.silent`.

    @property
    def asked(self) -> bool:
        """Whether a request for the page was made."""
        answered = isinstance(self.result, Page | Moved | Same)
        return answered or (isinstance(self.result, Missing) and self.host.elapsed > 0)


class Signal(msgspec.Struct, array_like=True, frozen=True, tag="signal"):
    """A sign that a page changed at ``time``; pages change without one, and not after each."""

    url: Url
    kind: str  #: "log", "sitemap", "feed" or "header".
    time: Time


Sighting: TypeAlias = Found | Linked | Fetched | Visited | Together | Neighbour | RobotsTxt | Signal
SightingPack: TypeAlias = Pack[Sighting]

# evidence


class Label(msgspec.Struct, array_like=True, frozen=True, tag="label"):
    """The verdict on a page for one predicate, with the inputs of the page's choice."""

    predicate: str  #: Or that of requests (`models.page.FAILED`), which concerns every choice.
    inputs: tuple[Finite, ...]
    holds: bool
    chosen: str  #: "selected" or "explored" (by chance alone) for this predicate, or "other": for another one.


class Prior(msgspec.Struct, array_like=True, frozen=True, tag="prior"):
    """An earlier crawl's counts of ``feature``, faded: for each predicate pages and hits."""

    feature: str
    counts: dict[str, tuple[Finite, Finite]]


class Start(msgspec.Struct, array_like=True, frozen=True, tag="start"):
    """What the combiner of ``predicate`` starts with: fields of `models.reuse.Combining`."""

    predicate: str
    names: tuple[str, ...]
    mean: bytes
    covariance: bytes
    calibration: bytes


Evidence: TypeAlias = Label | Prior | Start
EvidencePack: TypeAlias = Pack[Evidence]
