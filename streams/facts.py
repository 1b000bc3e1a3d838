"""The facts that change state: accesses, sightings and evidence, as `streams.records.Pack` carries them."""

from typing import TypeAlias

import msgspec

from scentline.models.page import Link
from scentline.models.url import Url
from scentline.models.verdict import Verdict
from scentline.streams.records import (
    End,
    Finite,
    Natural,
    Pack,
    RobotsTxt,
    Seconds,
    Time,
    UrlIfAny,
    Version,
    Whole,
)


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


class Seeded(msgspec.Struct, array_like=True, frozen=True, tag="seeded"):
    """A URL to start from."""

    url: Url


class Inherited(msgspec.Struct, array_like=True, frozen=True, tag="inherited"):
    """The target of a redirect, with the depth and the priorities of the URL that redirects."""

    url: Url
    depth: Natural
    priorities: dict[str, Finite]
    seed: bool = False  #: Whether the URL that redirects is a seed.
    inputs: dict[str, tuple[Finite, ...]] = {}  #: For each predicate, the inputs of its choice.
    hops: Natural = 0  #: Redirects in a row that led here.
    level: Natural = 0  #: The level in its site, 0 from another site.


class Linked(msgspec.Struct, array_like=True, frozen=True, tag="linked"):
    """A judged page and those of its links that belong to one partition."""

    page: bytes
    url: Url
    depth: Natural
    verdict: Verdict  #: Empty for a page that left.
    words: tuple[str, ...]
    links: tuple[Link, ...]
    #: Every partition that has links of this page: a verdict on one of their targets concerns them all.
    partitions: tuple[Natural, ...]
    time: Time = 0.0
    #: Whether pages are visited again: the newest fact of a page holds, and its links are added to those known.
    again: bool = False


class Relinked(msgspec.Struct, array_like=True, frozen=True, tag="relinked"):
    """The verdict of later predicates on the linking page that was judged at ``time``."""

    page: bytes
    verdict: Verdict
    time: Time


class Visited(msgspec.Struct, array_like=True, frozen=True, gc=False, tag="visited"):
    """A user's access to a URL."""

    url: Url
    user: str
    time: Time
    referrer: Url | None = None  #: A page of the same host, where patterns are made of it.
    size: Natural = 0  #: That of `Access`, where pages are visited again.


class Near(msgspec.Struct, array_like=True, frozen=True, tag="near"):
    """The newest verdict on ``child``, the target of the link at ``position`` of the page ``parent``."""

    parent: bytes
    child: bytes
    verdict: Verdict
    position: Natural = 0


class Beside(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The change between a page and ``other``, one of a partition of `sightings` (`models.interest.trace`)."""

    other: bytes
    partition: Natural
    times: Whole  #: Access pairs within the region of temporal locality.
    sixths: Whole  #: Sixths of co-visits.


class Together(msgspec.Struct, array_like=True, frozen=True, tag="together"):
    """Pages that users visited near ``url``."""

    url: Url
    pages: tuple[Beside, ...]


class Met(msgspec.Struct, array_like=True, frozen=True, tag="met"):
    """The newest verdict on a page co-visited with pages of another partition, and its first words."""

    page: bytes
    verdict: Verdict
    words: tuple[str, ...]


class Judged(msgspec.Struct, array_like=True, frozen=True, tag="judged"):
    """The verdict on a fetched page."""

    url: Url
    verdict: Verdict
    time: Time
    crawl_delay: Seconds | None = None  #: The Crawl-delay of its host's robots.txt.
    words: tuple[str, ...] = ()
    elapsed: Seconds = 0.0  #: That of `FetchedPage`, and so is ``server``.
    server: str = ""
    repeated: bool = False  #: Whether all its words are those of a page whose URL differs in numbers only.
    #: The page's subject, where word meanings count (`models.learner.semantic.page_subject`).
    subject: str = ""
    version: Version | None = None  #: Where pages are visited again, as all that follows but for ``silent``.
    pattern: str = ""  #: Reserved.
    silent: bool = False  #: That of `FetchOrder`.
    again: Natural = 0  #: The number of the revisit, 0 at first.
    #: Whether text, links or verdict differ from those of `Revisit`, or the verdict was old: if so, an outcome
    #: and the links were published.
    changed: bool = False
    content: bytes = b""  #: Digests of the text and of the links (`models.revisit.content`).
    links: bytes = b""
    partitions: tuple[Natural, ...] = ()  #: Those of `Linked`.
    title: str = ""  #: For people, as are the ``excerpts`` of each predicate that holds.
    excerpts: dict[str, str] = {}


class Rejudged(msgspec.Struct, array_like=True, frozen=True, tag="rejudged"):
    """The verdict of later predicates on the page that was judged at ``time``."""

    url: Url
    verdict: Verdict
    time: Time
    words: tuple[str, ...] = ()  #: Those of `Judged`, as is ``subject``.
    subject: str = ""
    pattern: str = ""  #: Reserved.


class Failed(msgspec.Struct, array_like=True, frozen=True, tag="failed"):
    """A fetch that brought no page."""

    url: Url
    order: Natural
    #: "retry" (worth another attempt), "gone" (there is no such page) or "refused" (robots.txt, an address or a
    #: limit forbids it).
    kind: str
    reason: str
    time: Time
    retry_after: Seconds | None = None  #: Seconds from ``time`` before another attempt.
    overloaded: bool = False  #: Whether the whole host asked to be left alone for a while.
    crawl_delay: Seconds | None = None  #: Those of `FetchedPage`; ``elapsed`` is 0 where no request was made.
    elapsed: Seconds = 0.0
    server: str = ""
    barren: bool = False  #: Whether the page that came is a near-duplicate or a soft 404.
    silent: bool = False  #: That of `FetchOrder`.
    #: Whether no server answered: this says nothing of the host, for our own network may have failed.
    unanswered: bool = False

    @property
    def asked(self) -> bool:
        """Whether a request for the page was made."""
        return self.elapsed > 0


class Redirected(msgspec.Struct, array_like=True, frozen=True, tag="redirected"):
    """A fetch that was answered with another URL."""

    url: Url
    order: Natural
    target: Url
    time: Time
    crawl_delay: Seconds | None = None  #: Those of `FetchedPage`.
    elapsed: Seconds = 0.0
    server: str = ""
    silent: bool = False  #: That of `FetchOrder`.


class Postponed(msgspec.Struct, array_like=True, frozen=True, tag="postponed"):
    """An order that came too early. No request was made, and it does not count as an attempt."""

    url: Url
    order: Natural
    time: Time
    wait: Seconds  #: Seconds from ``time`` before the next request to ``server``.
    crawl_delay: Seconds | None = None
    server: str = ""
    robots: bool = False  #: Whether the next order to the site has to bring its robots.txt.


class Listed(msgspec.Struct, array_like=True, frozen=True, tag="listed"):
    """A URL that a sitemap of its host names."""

    url: Url


class Hub(msgspec.Struct, array_like=True, frozen=True, tag="hub"):
    """A page that leads to news: it is revisited until the time ``until``."""

    url: Url
    rate: Finite  #: New links a second that it is expected to bring.
    until: End


class Relisted(msgspec.Struct, array_like=True, frozen=True, tag="relisted"):
    """Those links of a revisited page that belong to one partition."""

    url: Url
    depth: Natural
    links: tuple[Url, ...]
    time: Time  #: The times of the revisit, and of the visit before it, 0 where there was none.
    since: Time


class Brought(msgspec.Struct, array_like=True, frozen=True, tag="brought"):
    """How many of a revisited page's links were new to another partition."""

    url: Url
    links: Natural


class Revisited(msgspec.Struct, array_like=True, frozen=True, tag="revisited"):
    """The result of a revisit, sent after its links."""

    url: Url
    order: Natural
    #: "changed", "unchanged", "early" (no request before ``wait`` seconds), "moved" (for good, to ``target``),
    #: "retry" (not before ``wait`` seconds) or "failed"; of a page to judge ``again`` also "gone" (no page is
    #: left to judge) and "refused" (it may not be fetched or judged any more).
    outcome: str
    time: Time
    version: Version | None = None  #: The version that was fetched.
    wait: Seconds | None = None
    target: UrlIfAny = ""
    #: Those of `Failed`, as are ``crawl_delay``, ``elapsed``, ``server`` and ``unanswered``.
    overloaded: bool = False
    crawl_delay: Seconds | None = None
    elapsed: Seconds = 0.0
    server: str = ""
    again: bool = False
    reason: str = ""  #: Why no page came.
    unanswered: bool = False
    robots: bool = False  #: That of `Postponed`.


class Clicked(msgspec.Struct, array_like=True, frozen=True, tag="clicked"):
    """A user's first access to a URL on a ``day`` (`models.news.clicks.day_of`), and where it came from."""

    url: Url
    day: Whole
    referrer: Url | None = None


class Browsed(msgspec.Struct, array_like=True, frozen=True, tag="browsed"):
    """What a page view adds to the sessions of its site; it follows the `Visited` of the view."""

    page: bytes
    level: Natural  #: The page's level in the session.
    begun: bool  #: Whether a session began with it.
    views: list[tuple[Natural, Whole]]  #: (level, change): how the number of page views of levels changed.


class Hinted(msgspec.Struct, array_like=True, frozen=True, tag="hinted"):
    """A sign that a page changed at ``time``; pages change without one, and not after each."""

    url: Url
    kind: str  #: "log", "sitemap", "feed" or "header".
    time: Time


Sighting: TypeAlias = (
    Seeded | Inherited | Linked | Relinked | Visited | Near | Together | Met | Judged | Rejudged | Failed
    | Redirected | Postponed | RobotsTxt | Listed | Hub | Relisted | Brought | Revisited | Clicked | Browsed
    | Hinted
)  # fmt: skip
SightingPack: TypeAlias = Pack[Sighting]

# evidence


class Count(msgspec.Struct, array_like=True, frozen=True, tag="counts"):
    """A verdict counted under distinct ``features``."""

    features: tuple[str, ...]
    verdict: Verdict
    times: bytes  #: How often under each: int32, little-endian; a negative number takes back.


class Label(msgspec.Struct, array_like=True, frozen=True, tag="label"):
    """The verdict on a page for one predicate, with the inputs of the page's choice."""

    predicate: str  #: Or that of requests (`models.verdict.FAILED`), which concerns every choice.
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


Evidence: TypeAlias = Count | Label | Prior | Start
EvidencePack: TypeAlias = Pack[Evidence]
