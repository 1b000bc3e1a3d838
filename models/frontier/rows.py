"""The frontier's rows: a URL, a linking page and its children, a page beside others, a revisited page, a hub,
a host, users' ways to a URL, totals, and the counts of verdicts.

A page's row lies in the partition of its host. A linking page has rows in every partition that holds one of its
link targets, and a page beside others in every partition that holds one of these, so that scoring a candidate
never leaves its partition.
"""

from typing import Literal, TypeAlias

import msgspec

from scentline.models.frontier.answers import Cause, Promised, Waits
from scentline.models.frontier.linking import ChildrenRow, ParentRow
from scentline.models.frontier.needs import Needs
from scentline.models.frontier.politeness import HostState
from scentline.models.ledger import Cells
from scentline.models.page import Verdict
from scentline.models.papers.depth import MAX_LEVEL, Growth, Place
from scentline.models.papers.hubs import ArrivalRate
from scentline.models.papers.news import History
from scentline.models.papers.ways import Ways
from scentline.models.records import RobotsTxt, Version
from scentline.models.revisit.content import Sizes
from scentline.models.revisit.rate import Group, Trust
from scentline.models.revisit.rate import History as Visited
from scentline.models.traps import Barren

#: The state of a URL; a "trapped" one belongs to an endless space, by its spelling.
State: TypeAlias = Literal["candidate", "leased", "judged", "gone", "refused", "moved", "given up", "trapped"]

#: States in which a URL may still be fetched.
OPEN: frozenset[State] = frozenset({"candidate", "leased"})

DAY = 86_400.0
#: The policy of a choice made because the page is new and news (`models.frontier.instant`).
INSTANT = "instant"


class Choice(msgspec.Struct, array_like=True, frozen=True):
    """Why a URL was fetched when it was: for which predicate, by which policy, at which priority.

    ``probability`` is that of the choice, ``comes`` that of a page to arrive and ``expected`` that of a hit if
    it does, where the policy estimates them. ``parts`` are the predicates' shares of the page's worth, where
    turns are proportional (`models.frontier.turns`).
    """

    predicate: str
    policy: str
    explored: bool
    probability: float
    priority: float
    time: float
    expected: float | None = None
    comes: float | None = None
    parts: dict[str, float] = {}

    @property
    def promised(self) -> float | None:
        """The expected hits of the request."""
        return None if self.expected is None else self.expected * (1.0 if self.comes is None else self.comes)


class Brought(msgspec.Struct, array_like=True, frozen=True):
    """The revisit that found a link: its hub and time, and the visit before, which did not find it."""

    hub: str
    time: float
    since: float


class PageRow(msgspec.Struct, array_like=True, gc=False, tag="page"):
    """What is known of a URL; values derived for a choice are in memory only (`Candidates`).

    ``parents`` are the linking pages kept for words and siblings, ``links`` the in-links from judged pages by
    predicate: [all, from pages that satisfy it]. ``priorities`` are those by predicate when the page was
    chosen, ``inherited`` those of a URL that redirects here. ``together`` has the pages kept that users visited
    near it: [their partition, access pairs in the region, sixths of co-visits]; ``told`` are the partitions of
    all such pages, which get its verdicts. ``inputs`` are those of the learned policy by predicate when the
    page, or one that redirects here, was chosen. ``judged_at`` is the time of the verdict. ``hops`` counts the
    consecutive redirects that led here, ``postponed`` the attempts that came too early. ``found`` is set where
    a revisit found the first link to it. ``place`` is its place in its site, where each site is stopped at its
    own depth. A ``silent`` page counts as judged but teaches nothing: its owner had more of the latest fetches
    than may teach. ``requests`` counts the answered requests for it; it ``failed`` where the last of them
    closed it without a page. A ``native`` page has a link from its own host. ``sizes`` are those of its answers
    in the log, where pages are revisited. A browser is to ``render`` it; ``shells`` counts its answers
    that need scripts, which teach nothing.
    """

    url: str
    depth: int
    discovered: int
    state: State = "candidate"
    seed: bool = False
    parents: list[bytes] = []
    links: dict[str, list[int]] = {}
    visits: int = 0
    visitors: list[str] = []
    priorities: dict[str, float] = {}
    inherited: dict[str, float] = {}
    attempts: int = 0
    not_before: float = 0.0
    lease: float = 0.0
    choice: Choice | None = None
    verdict: Verdict | None = None
    reason: str = ""
    together: dict[bytes, list[int]] = {}
    told: list[int] = []
    inputs: dict[str, tuple[float, ...]] = {}
    judged_at: float = 0.0
    hops: int = 0
    postponed: int = 0
    found: Brought | None = None
    place: Place | None = None
    silent: bool = False
    requests: int = 0
    failed: bool = False
    native: bool = False
    sizes: Sizes | None = None
    render: bool = False
    shells: int = 0


class BesideRow(msgspec.Struct, array_like=True, tag="beside"):
    """A page that users visited near others: its verdict, its first words, and these others.

    ``pages`` are those of this partition that keep it in their ``together``.
    """

    verdict: Verdict | None = None
    words: tuple[str, ...] = ()
    pages: dict[bytes, None] = {}


class Depth(msgspec.Struct, array_like=True):
    """How deep users and links go on a host: page views by level in ``sessions``, and `Growth`."""

    views: list[int] = []
    sessions: int = 0
    growth: Growth = msgspec.field(default_factory=Growth)

    def view(self, level: int, change: int) -> None:
        """Change the page views of a level by ``change``; deeper levels count as `MAX_LEVEL`."""
        level = min(level, MAX_LEVEL)
        while len(self.views) <= level:
            self.views.append(0)
        self.views[level] += change


class HostRow(msgspec.Struct, array_like=True, tag="host"):
    """A host, a group of URLs, an owner of hosts or a site: each row has the fields that it needs.

    A host has its ``judged`` pages, its politeness ``state`` and the results of its requests: ``requests``
    counts those for its pages, as their rows do, ``again`` those for pages judged before, ``moved`` the
    redirects, and ``causes`` the fetches that brought no page, also without a request or an answer
    (`models.frontier.answers`). ``waits`` are the response times. ``depth`` is set where each site is stopped
    at its own depth.

    ``visits`` are the revisits to pages of a host, or of URLs that are ``alike``, and ``signs`` the signs of a
    change on a host by kind. URLs are alike by their prefix or, also ``barren`` ones, by their pattern.

    ``promises`` has the results of the pages an owner links to. ``robots`` is the site's latest robots.txt.
    ``needs`` counts the pages of a host, or alike, that need scripts, where some are rendered.
    """

    judged: int = 0
    state: HostState = msgspec.field(default_factory=HostState)
    requests: int = 0
    again: int = 0
    moved: int = 0
    waits: Waits = msgspec.field(default_factory=Waits)
    causes: dict[str, Cause] = {}
    depth: Depth | None = None
    visits: Group | None = None
    signs: dict[str, Trust] = {}
    alike: str = ""
    barren: Barren | None = None
    promises: Promised | None = None
    robots: RobotsTxt | None = None
    needs: Needs | None = None


class AccessRow(msgspec.Struct, array_like=True, tag="accesses"):
    """How users came to a URL: ``ways`` for patterns, daily ``clicks`` for news.

    A user's clicks count once a day; ``referrers`` counts them by the page they came from.
    """

    url: str
    ways: Ways | None = None
    clicks: History | None = None
    referrers: dict[str, int] = {}


class News(msgspec.Struct, array_like=True):
    """The news of a partition: the ``prefixes`` found in its clicks, and when they were found (``told``).

    ``clicks`` counts the clicks so far, ``newest`` is the day of the newest. ``pages`` counts the fetched new
    links to news, and ``delays`` their times from publication to fetch, by the buckets of
    `models.papers.hubs.DELAYS`; ``delay`` is the sum of these times.
    """

    prefixes: list[str] = []
    told: float = 0.0
    clicks: int = 0
    newest: int = 0
    pages: int = 0
    delay: float = 0.0
    delays: list[int] = []


class TotalsRow(msgspec.Struct, array_like=True, tag="totals"):
    """Totals of a partition: URLs discovered, their final states, and the pages each predicate judged.

    ``requests`` counts the answered requests for pages (`models.frontier.teaching`), ``revisits`` the answers
    to visits of judged pages, ``forgotten`` the features dropped from the counts for lack of room. ``leased``
    are the pages leased or put off, for the worker that opens the partition; some may have landed since, as
    their rows show.

    A second row is a snapshot to open the partition with, taken when ``discovered`` URLs were known; it may be
    of any age. ``best`` has the identifiers of the best candidates, best first: their rows show whether they
    are candidates still. ``vouched`` has the owners of hosts with the largest shares of all trust, and these
    shares. A third row has the ``news``, which change with the log.
    """

    discovered: int = 0
    judged: int = 0
    gone: int = 0
    refused: int = 0
    moved: int = 0
    given_up: int = 0
    verdicts: dict[str, int] = {}
    trapped: int = 0
    requests: int = 0
    revisits: int = 0
    forgotten: int = 0
    leased: list[bytes] = []
    best: list[bytes] = []
    vouched: dict[str, float] = {}
    news: News | None = None

    def count(self, state: State, number: int) -> None:
        """Count URLs that reached a final state."""
        name = state.replace(" ", "_")
        setattr(self, name, getattr(self, name) + number)

    def count_verdict(self, verdict: Verdict) -> None:
        """Count a page that the predicates of ``verdict`` judged."""
        for name in verdict:
            self.verdicts[name] = self.verdicts.get(name, 0) + 1

    def add(self, other: "TotalsRow") -> None:
        """Add the totals of another partition."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for predicate, pages in other.verdicts.items():
            self.verdicts[predicate] = self.verdicts.get(predicate, 0) + pages

    @property
    def failed(self) -> int:
        """URLs requested in vain: dead links and hosts that gave no answer."""
        return self.gone + self.given_up


#: The fields that are totals, except for those by predicate.
_SUMS = tuple(each.name for each in msgspec.structs.fields(TotalsRow) if each.type is int)


class VisitRow(msgspec.Struct, array_like=True, gc=False, tag="visit"):
    """A judged page that is revisited: the result of the last visit, and the history of all.

    ``visited`` is the time of the last visit. ``text`` has the page's distinct words as it was judged, joined
    by spaces, ``subject`` is what else its verdict is counted under, ``title`` is for people. ``content``,
    ``links`` and ``partitions`` are those of `Page`, ``version`` is the one fetched last. ``history`` has the
    results of the visits, ``signs`` by kind the number of signs of a change since the last visit, ``hinted``
    the time of the newest sign.

    ``orders`` counts the revisits ordered, ``lease`` is the end of the wait for the last answer, 0 with none in
    flight. ``failures`` counts the consecutive ones, ``not_before`` is the earliest time of the next request,
    ``missing`` the time of an answer that the page does not exist, 0 where it does. ``due`` is when the next
    visit is due, 0 for a page that left; a second row, with the URL alone, lies under a key of that time.
    """

    url: str
    visited: float = 0.0
    text: str = ""
    subject: str = ""
    title: str = ""
    version: Version | None = None
    content: bytes = b""
    links: bytes = b""
    partitions: tuple[int, ...] = ()
    history: Visited = msgspec.field(default_factory=Visited)
    signs: dict[str, int] = {}
    orders: int = 0
    lease: float = 0.0
    failures: int = 0
    not_before: float = 0.0
    missing: float = 0.0
    hinted: dict[str, float] = {}
    due: float = 0.0

    @property
    def words(self) -> tuple[str, ...]:
        """The distinct words of the page."""
        return tuple(self.text.split())


class HubRow(msgspec.Struct, array_like=True, tag="hub"):
    """A page that is revisited for its links until the time ``until``, and its results so far.

    ``visited`` is the time of the last visit, 0 before the first, ``version`` the one fetched then, ``brought``
    the number of new links since. ``orders`` counts the revisits ordered, ``lease`` is the end of the wait for
    the last answer, 0 with none in flight. ``failures`` counts the consecutive ones, ``not_before`` is the
    earliest time of the next request. ``moved`` is the target of its permanent redirect.
    """

    url: str
    rate: ArrivalRate
    until: float
    visited: float = 0.0
    version: Version | None = None
    brought: int = 0
    orders: int = 0
    lease: float = 0.0
    failures: int = 0
    not_before: float = 0.0
    moved: str = ""
    visits: int = 0
    links: int = 0


def failed(row: VisitRow | HubRow, retry_seconds: float, now: float, wait: float = 0.0) -> None:
    """Postpone a known page after a failed visit: longer with each consecutive failure, at most a day."""
    row.lease = 0.0
    row.failures += 1
    row.not_before = now + min(DAY, max(wait, retry_seconds * 2.0 ** min(row.failures, 20)))


class CountsRow(msgspec.Struct, array_like=True, frozen=True, tag="counts"):
    """Columns of the partition's counts, of the features ``names``: the fields of `models.ledger.Cells`.

    In a segment ``columns`` has their numbers, as int32; a block has its own columns, in order, and includes
    the segments before ``stands`` (`models.frontier.ledger`). A name is None where a column is free.
    """

    predicates: tuple[str, ...]
    names: tuple[str | None, ...]
    counts: bytes
    columns: bytes = b""
    stands: int = 0

    @property
    def cells(self) -> Cells:
        """The counts as arrays."""
        return Cells.of_bytes(self.predicates, self.names, self.counts)


class MemoRow(msgspec.Struct, array_like=True, frozen=True, tag="memo"):
    """What a client of the door keeps with a URL, and the URL that redirects to it, the first of several."""

    memo: str = ""
    source: str = ""


FrontierRow: TypeAlias = (
    PageRow | ParentRow | ChildrenRow | BesideRow | VisitRow | HubRow | HostRow | AccessRow | TotalsRow
    | CountsRow | MemoRow
)  # fmt: skip
