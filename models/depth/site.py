"""How deep to crawl one site, learned while its users browse it and its pages are fetched."""

from collections import Counter
from typing import Final, Literal, NamedTuple

from scentline.models.depth.growth import Growth
from scentline.models.depth.sessions import Session, Sessions
from scentline.models.depth.surfers import best
from scentline.models.depth.visits import Visits

#: Sessions from which on the views of a site are taken as they are.
ENOUGH: Final = 100
#: The share of page views that is worth a crawler's while, where nobody says otherwise.
SHARE: Final = 0.9
#: Fetched pages of a site from which on its links tell where to stop.
ENOUGH_PAGES: Final = 50


#: What tells the depth that keeps a share of the page views: those seen, or the random surfer fitted to them.
DepthBy = Literal["views", "model"]


class Advice(NamedTuple):
    """The deepest level to fetch, counted in links from a page where users enter; None where nothing is known.

    ``source`` is "views", "links", "model" or, where nothing is known, empty; ``why`` says in one line what
    speaks for the depth.
    """

    depth: int | None
    source: str
    why: str


#: Pages of a site whose directories are counted; further ones are not.
MOST_PAGES: Final = 100_000


class Directories:
    """How deep in the directories of its site lie the pages seen, and those where users enter.

    Baeza-Yates and Castillo 2004, section 5, "considering only the directory structure". A page is known by
    host and path; "/a.html" lies in no directory, "/a/" and "/a/b.html" in one.

    >>> directories = Directories()
    >>> for page in ("t/", "t/a/b?c=/d", "t/a/", "t/a/"):
    ...     directories.see(page)
    >>> directories.enter("t/")
    >>> directories.counts()
    [(1, 1), (2, 0)]
    """

    def __init__(self) -> None:
        self._entered: dict[str, bool] = {}

    def see(self, page: str) -> None:
        """Take in a page that was viewed."""
        if page not in self._entered and len(self._entered) < MOST_PAGES:
            self._entered[page] = False

    def enter(self, page: str) -> None:
        """Take in a page that a session began with."""
        if page in self._entered or len(self._entered) < MOST_PAGES:
            self._entered[page] = True

    def counts(self) -> list[tuple[int, int]]:
        """Return the distinct pages, and the entry pages among them, by the number of their directories."""
        found: Counter[int] = Counter()
        entries: Counter[int] = Counter()
        for page, entered in self._entered.items():
            depth = page.partition("?")[0].count("/") - 1
            found[depth] += 1
            entries[depth] += entered
        return [(found[depth], entries[depth]) for depth in range(max(found, default=-1) + 1)]


class Site:
    """What is known of a site: its users' sessions, and how many of its links lead to new URLs.

    Both are taken in one at a time, as accesses arrive and as pages are fetched, and `advice` may be asked for
    at any time. Memory is bounded: see `Sessions`, `Visits` and `Growth`. ``visits`` and ``growth`` are all
    that is worth keeping for a crawl; sessions that are open are at most half an hour old.

    >>> site = Site(home="/")
    >>> for level in range(3):
    ...     site.growth.fetched(level, new=1, seen=1)
    >>> site.advice(0.9).why
    "92% of a random surfer's page views, when 3 of 6 links on 3 fetched pages are new"
    """

    def __init__(self, home: str) -> None:
        self.visits = Visits()
        self.growth = Growth()
        self.directories = Directories()
        #: The share of the site's PageRank on each level, where it was fetched whole.
        self.ranks: list[float] = []
        self._home = home
        self._sessions = Sessions()

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> None:
        """Take in a page view: see `Sessions.view`."""
        self.directories.see(page)
        for session in self._sessions.view(visitor, time, page, referrer):
            self._add(session)

    def finish(self) -> None:
        """Count the sessions that are still open: no more views come."""
        for session in self._sessions.finish():
            self._add(session)

    def _add(self, session: Session) -> None:
        self.visits.add(session, session.start == self._home)
        self.directories.enter(session.start)

    def advice(self, share: float = SHARE) -> Advice:
        """Return the depth that keeps a share of the page views, from 0 up to below 1, and why.

        From 100 sessions on it is the depth that kept it so far. With fewer, it is what new URLs against seen
        ones say (`Growth`); before a page was fetched, the depth of the surfer that fits best, with the highest
        q that the sessions allow for.
        """
        visits, growth = self.visits, self.growth
        if visits.sessions >= ENOUGH:
            return by_views(visits, share)
        if growth.pages:
            return by_links(growth, share)
        if visits.sessions < 2:
            return Advice(None, "", f"{visits.sessions} sessions, and no page was fetched")
        found = best(visits)
        why = f"model {found.surfer} with q up to {found.high:.2f}, from {visits.sessions} sessions only"
        return Advice(found.surfer.depth(found.high, share), "model", why)


def by_views(visits: Visits, share: float) -> Advice:
    """Return the depth that kept the share of the page views so far; raises ValueError without views."""
    depth = visits.depth(share)
    kept = f"{visits.reached()[depth]:.0%} of {visits.total:,} page views"
    return Advice(depth, "views", f"{kept} in {visits.sessions:,} sessions")


def by_model(visits: Visits, share: float) -> Advice:
    """Return the depth that keeps the share for the surfer that fits best; raises ValueError without views.

    A and B differ in how users return, and not in the depths that they reach (`models.depth.surfers`).

    >>> by_model(Visits(views=[60, 24, 16], sessions=100), 0.8)
    Advice(depth=1, source='model', why='model C with q = 0.22, fitted to 100 page views in 100 sessions')
    """
    found = best(visits)
    fitted = f"fitted to {visits.total:,} page views in {visits.sessions:,} sessions"
    why = f"model {found.surfer} with q = {found.q:.2f}, {fitted}"
    return Advice(found.surfer.depth(found.q, share), "model", why)


def by_links(growth: Growth, share: float) -> Advice:
    """Return the depth that keeps a random surfer the share of his time, by what links lead to."""
    depth = growth.depth(share)
    kept = f"{sum(growth.surfer(depth + 1)):.0%} of a random surfer's page views"
    new, links = sum(growth.new), sum(growth.new) + sum(growth.seen)
    led = f"{new:,} of {links:,} links on {sum(growth.pages):,} fetched pages are new"
    return Advice(depth, "links", f"{kept}, when {led}")


def stop(visits: Visits, growth: Growth, share: float, by: DepthBy = "views") -> int | None:
    """Return the deepest level of a site to fetch, None for all.

    By the users' page views from 100 sessions on, or the model fitted to them; else by new links against seen
    ones from 50 fetched pages on.
    The links of fewer pages make a site out to be shallower than it is, now and then. Those of more make it
    deeper at most, and that mends itself as it is fetched (docs/papers/2004-baeza-yates.md, "In the crawl").

    >>> stop(Visits(views=[60, 25, 15], sessions=100), Growth(), 0.8)
    1
    """
    if visits.sessions >= ENOUGH:
        return visits.depth(share) if by == "views" else by_model(visits, share).depth
    return growth.depth(share) if sum(growth.pages) >= ENOUGH_PAGES else None


def why(visits: Visits, growth: Growth, share: float, by: DepthBy = "views") -> Advice:
    """Return the same with its reason.

    >>> why(Visits(views=[20, 5], sessions=20), Growth(), 0.9).why
    'too little is known: 20 sessions, expected 100, and 0 fetched pages, expected 50'
    """
    if visits.sessions >= ENOUGH:
        return by_views(visits, share) if by == "views" else by_model(visits, share)
    pages = sum(growth.pages)
    if pages >= ENOUGH_PAGES:
        return by_links(growth, share)
    known = f"{visits.sessions} sessions, expected {ENOUGH}, and {pages} fetched pages, expected {ENOUGH_PAGES}"
    return Advice(None, "", f"too little is known: {known}")
