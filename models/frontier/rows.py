"""The frontier's rows: a URL, a linking page and its children, a page beside others, a host, an owner, a
space, totals, and what is counted of verdicts.

A page's row lies in the partition of its host. A linking page's rows lie in every partition that holds one of
its link targets, and what is told of a page beside others in every partition that holds one of these, so that
scoring a candidate never leaves its partition.
"""

from typing import Literal, TypeAlias

import msgspec

from scentline.models.frontier.causes import Cause
from scentline.models.frontier.linking import ChildrenRow, ParentRow
from scentline.models.frontier.politeness import HostState
from scentline.models.frontier.promises import Promised
from scentline.models.frontier.waits import Waits
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


class LeasedRow(msgspec.Struct, array_like=True, tag="leased"):
    """The pages of the partition that are leased or were put off: who opens it knows these at once.

    Written with each lease. Some may have landed since: their rows tell.
    """

    pages: list[bytes] = []


class StartRow(msgspec.Struct, array_like=True, tag="start"):
    """What who opens the partition starts with, as it was a while ago: nothing depends on how long.

    ``best`` are the best candidates by their identifiers, best first: their rows tell whether they are any
    still. ``vouched`` are the owners of hosts with the largest shares of all trust, and these. ``discovered``
    is how many URLs the partition had.
    """

    best: list[bytes] = []
    vouched: dict[str, float] = {}
    discovered: int = 0


class HostRow(msgspec.Struct, array_like=True, tag="host"):
    """Pages judged of a host, what its answers said of how it wants to be asked, and what came of requests.

    ``requests`` are those for its pages, as the rows of these count them, ``again`` those for pages that were
    judged before. ``moved`` redirects came, and ``causes`` count the fetches that brought no page, also where
    nobody was asked or nobody answered (`models.frontier.causes`). ``waits`` are for answers.
    """

    judged: int = 0
    state: HostState = msgspec.field(default_factory=HostState)
    requests: int = 0
    again: int = 0
    moved: int = 0
    waits: Waits = msgspec.field(default_factory=Waits)
    causes: dict[str, Cause] = {}


class RobotsRow(msgspec.Struct, array_like=True, tag="robots"):
    """What the fetchers told last of a site's robots.txt."""

    told: RobotsTxt


class OwnerRow(msgspec.Struct, array_like=True, tag="owner"):
    """What became of the pages that an owner of hosts links to."""

    promises: Promised = msgspec.field(default_factory=Promised)


class WaysRow(msgspec.Struct, array_like=True, tag="ways"):
    """How users came to a URL, where patterns are made of it."""

    url: str
    ways: Ways


class DepthRow(msgspec.Struct, array_like=True, tag="depth"):
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


class SpaceRow(msgspec.Struct, array_like=True, tag="space"):
    """A space of URLs that differ in numbers only, by their pattern, and what its pages brought of late."""

    pattern: str
    barren: Barren = msgspec.field(default_factory=Barren)


class TotalsRow(msgspec.Struct, array_like=True, tag="totals"):
    """Totals of a partition: URLs discovered, what became of them, and the pages each predicate judged.

    ``requests`` are those for pages that were answered (`models.frontier.teaching`), ``revisits`` the answers
    to visits of judged pages. ``forgotten`` features were counted and are not any more, for want of room.
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
        for name in TotalsRow.__struct_fields__:
            if name != "verdicts":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        for predicate, pages in other.verdicts.items():
            self.verdicts[predicate] = self.verdicts.get(predicate, 0) + pages

    @property
    def failed(self) -> int:
        """URLs that were asked for without a page to be had: dead links and hosts that gave no answer."""
        return self.gone + self.given_up


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
    on the page is to be visited again, as its `DueRow` has it, 0 for a page that left.
    """

    url: str
    visited: float
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


class DueRow(msgspec.Struct, array_like=True, gc=False, tag="due"):
    """A page that is due at the time that the row's key has (`VisitRow.due`)."""

    url: str


class GroupRow(msgspec.Struct, array_like=True, tag="group"):
    """What visits to pages of a host, a URL prefix or a URL pattern showed; ``signs`` of a host, by kind."""

    visits: Group = msgspec.field(default_factory=Group)
    signs: dict[str, Trust] = {}


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


class ClicksRow(msgspec.Struct, array_like=True, tag="clicks"):
    """The daily clicks of a page, one a user and day, and how many came from which pages."""

    url: str
    history: History
    referrers: dict[str, int] = {}


class NewsRow(msgspec.Struct, array_like=True, tag="news"):
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


class CountsRow(msgspec.Struct, array_like=True, frozen=True, tag="counts"):
    """Columns of what the partition counts, of the features ``names``: the fields of `models.ledger.Cells`.

    In a segment ``columns`` says which they are, as int32; a block's are its own, in their order, and it has
    what the segments before ``stands`` say (`models.frontier.counts`). A name is None where a column is free.
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
    PageRow | ParentRow | ChildrenRow | BesideRow | LeasedRow | StartRow | HostRow | RobotsRow | OwnerRow
    | SpaceRow | TotalsRow | VisitRow | DueRow | GroupRow | HubRow | ClicksRow | NewsRow | WaysRow | DepthRow
    | CountsRow
)  # fmt: skip
