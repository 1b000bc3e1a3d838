"""The frontier's rows: a URL, a linking page and its children, a page beside others, a page that is visited
again, a hub, a host, users' ways to a URL, totals, and what is counted of verdicts.

A page's row lies in the partition of its host. A linking page's rows lie in every partition that holds one of
its link targets, and what is told of a page beside others in every partition that holds one of these, so that
scoring a candidate never leaves its partition.
"""

from typing import Literal, TypeAlias

import msgspec

from scentline.models.frontier.answers import Cause, Promised, Waits
from scentline.models.frontier.linking import ChildrenRow, ParentRow
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

#: What has become of a URL; a "trapped" one is of a space without end, by its spelling.
State: TypeAlias = Literal["candidate", "leased", "judged", "gone", "refused", "moved", "given up", "trapped"]

#: States in which a URL may still be fetched.
OPEN: frozenset[State] = frozenset({"candidate", "leased"})

DAY = 86_400.0
#: The policy of a choice that no policy made: the page is new and news (`models.frontier.instant`).
INSTANT = "instant"


class Choice(msgspec.Struct, array_like=True, frozen=True):
    """Why a URL was fetched when it was: for which predicate, by which policy, with what priority.

    ``probability`` is that of the choice, ``comes`` that of a page to come and ``expected`` that of a hit where
    one does, where the policy says so. ``parts`` are predicates' parts of what the page was worth, where turns
    are proportional (`models.frontier.proportional`).
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
        """How many hits were expected of the request."""
        return None if self.expected is None else self.expected * (1.0 if self.comes is None else self.comes)


class Brought(msgspec.Struct, array_like=True, frozen=True):
    """The revisit that brought a link: of which hub, at what time, and when the visit was that had it not."""

    hub: str
    time: float
    since: float


class PageRow(msgspec.Struct, array_like=True, gc=False, tag="page"):
    """What is known of a URL; what is worked out of that for a choice is in memory only (`Candidates`).

    ``parents`` are the linking pages kept for words and siblings, ``links`` the in-links from judged pages
    for each predicate: [all, from pages that satisfy it]. ``priorities`` are those for each predicate when the
    page was chosen, ``inherited`` those taken over from a URL that redirects here. ``together`` are the pages
    kept that users visited near it: [their partition, access pairs in the region, sixths of co-visits];
    ``told`` are the partitions of all such pages, which a verdict concerns. ``inputs`` are those of the learned
    policy for each predicate when the page, or one that redirects here, was chosen. ``judged_at`` is the time
    of the verdict. ``hops`` is how many redirects in a row led here, ``postponed`` how many of the attempts
    came to nothing because their time had not come. ``found`` tells that a revisit brought the first link to
    it. ``place`` is where it lies in its site, where sites are stopped at a depth of their own. A ``silent``
    page teaches nothing but that it was judged: its owner had more of the latest fetches than may teach.
    ``requests`` is how many requests for it were answered; it ``failed`` where the last of them ended it
    without a page. A page of its own host links to a ``native`` one. ``sizes`` are those of answers in the log,
    where pages are visited again.
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


class BesideRow(msgspec.Struct, array_like=True, tag="beside"):
    """What is known of a page that lies together with others: its verdict, its first words, and which others.

    ``pages`` are those of this partition that keep it in their ``together``.
    """

    verdict: Verdict | None = None
    words: tuple[str, ...] = ()
    pages: dict[bytes, None] = {}


class Depth(msgspec.Struct, array_like=True):
    """How deep users and links go on a host: page views of each level in ``sessions``, and `Growth`."""

    views: list[int] = []
    sessions: int = 0
    growth: Growth = msgspec.field(default_factory=Growth)

    def view(self, level: int, change: int) -> None:
        """Count page views of a level, or take them back; what lies deeper counts as the deepest of levels."""
        level = min(level, MAX_LEVEL)
        while len(self.views) <= level:
            self.views.append(0)
        self.views[level] += change


class HostRow(msgspec.Struct, array_like=True, tag="host"):
    """What is known of a host, of some of its URLs or of an owner of hosts: a row has the parts that it needs.

    Of a host, ``judged`` pages, what its answers said of how it wants to be asked, and what came of requests:
    ``requests`` are those for its pages, as the rows of these count them, ``again`` those for pages that were
    judged before. ``moved`` redirects came, and ``causes`` count the fetches that brought no page, also where
    nobody was asked or nobody answered (`models.frontier.answers`). ``waits`` are for answers. ``depth`` is
    there where sites are stopped at a depth of their own.

    ``visits`` again to pages of a host, or of URLs that are ``alike``, and ``signs`` of a change by kind, of a
    host. URLs are alike by their prefix or, ``barren`` ones too, by their pattern.

    What became of the pages that an owner links to: ``promises``. The ``robots`` txt of a site, as told last.
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


class AccessRow(msgspec.Struct, array_like=True, tag="accesses"):
    """How users came to a URL: in ``ways`` where patterns are made of it, in daily clicks where there is news.

    Clicks are one a user and day; ``referrers`` has how many came from which pages.
    """

    url: str
    ways: Ways | None = None
    clicks: History | None = None
    referrers: dict[str, int] = {}


class News(msgspec.Struct, array_like=True):
    """What is known of news in a partition: the prefixes that the clicks told, and when.

    ``clicks`` counts the clicks so far, ``newest`` is the day of the newest. ``pages`` counts the new links to
    news that were fetched, and ``delays`` how long each took since it was published, by the buckets of
    `models.papers.hubs.DELAYS`; ``delay`` is the sum.
    """

    prefixes: list[str] = []
    told: float = 0.0
    clicks: int = 0
    newest: int = 0
    pages: int = 0
    delay: float = 0.0
    delays: list[int] = []


class TotalsRow(msgspec.Struct, array_like=True, tag="totals"):
    """Totals of a partition: URLs discovered, what became of them, and the pages each predicate judged.

    ``requests`` are those for pages that were answered (`models.frontier.teaching`), ``revisits`` the answers
    to visits of judged pages. ``forgotten`` features were counted and are not any more, for want of room.
    ``leased`` are the pages that are leased or were put off, for who opens the partition; some may have landed
    since: their rows tell.

    A second row has what who opens the partition starts with, as it was a while ago, when so many URLs were
    ``discovered``; nothing depends on how long. ``best`` are the best candidates by their identifiers, best
    first: their rows tell whether they are any still. ``vouched`` are the owners of hosts with the largest
    shares of all trust, and these. A third row has the ``news``, which change with the log.
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
        """Count URLs that came to a state that is an end."""
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
        """URLs that were asked for without a page to be had: dead links and hosts that gave no answer."""
        return self.gone + self.given_up


#: The fields that are totals, but for those by predicate.
_SUMS = tuple(each.name for each in msgspec.structs.fields(TotalsRow) if each.type is int)


class VisitRow(msgspec.Struct, array_like=True, gc=False, tag="visit"):
    """A judged page that is visited again: what the last visit showed, and what all of them tell of it.

    ``visited`` is the time of the last visit. ``text`` are the page's distinct words as it was judged, with
    spaces between, ``subject`` what else its verdict is counted under, ``title`` is for people.
    ``content``, ``links`` and ``partitions`` are those of `Page`, ``version`` is what was had. ``history`` is
    what the visits showed, ``signs`` has of each kind how many signs of a change came since the last of them,
    ``hinted`` the time of the newest that was told.
    ``orders`` counts revisits that were ordered, ``lease`` is when the wait for the answer to the last one
    ends, 0 where none is waited for. ``failures`` are those in a row, ``not_before`` is when it may be asked
    again, ``missing`` the time of an answer that there is no such page, 0 where there is. ``due`` is from when
    on the page is to be visited again, 0 for a page that left; a second row, with the URL alone, lies under a
    key of that time.
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
    """A page that is revisited for its links until the time ``until``; what came of it so far.

    ``visited`` is the time of the last visit, 0 before the first, ``version`` what was had then, ``brought``
    the links since then that were new. ``orders`` counts revisits that were ordered, ``lease`` is when the
    wait for the answer to the last one ends, 0 where none is waited for. ``failures`` are those in a row,
    ``not_before`` is when it may be asked again. ``moved`` is where it leads for good.
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
    """Have a known page wait after a visit that failed: longer with each in a row, and a day at most."""
    row.lease = 0.0
    row.failures += 1
    row.not_before = now + min(DAY, max(wait, retry_seconds * 2.0 ** min(row.failures, 20)))


class CountsRow(msgspec.Struct, array_like=True, frozen=True, tag="counts"):
    """Columns of what the partition counts, of the features ``names``: the fields of `models.ledger.Cells`.

    In a segment ``columns`` says which they are, as int32; a block's are its own, in their order, and it has
    what the segments before ``stands`` say (`models.frontier.ledger`). A name is None where a column is free.
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


FrontierRow: TypeAlias = (
    PageRow | ParentRow | ChildrenRow | BesideRow | VisitRow | HubRow | HostRow | AccessRow | TotalsRow
    | CountsRow
)  # fmt: skip
