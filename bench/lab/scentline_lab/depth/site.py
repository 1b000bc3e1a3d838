"""A site as its log and its pages show it: sessions of users, levels, directories."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from scentline.models.depth.growth import Growth
from scentline.models.depth.site import ENOUGH, Advice, by_links, by_views
from scentline.models.depth.surfers import Fit, Surfer, best, fit
from scentline.models.depth.trail import PAUSE, Trail
from scentline.models.depth.visits import Session, Visits

#: Sessions that may be open at a time; beyond them the one longest without an access is ended.
OPEN: Final = 10_000


class _Open:
    """A session that goes on: its trail, and the number of each page viewed."""

    def __init__(self, time: float, page: str, referrer: str | None) -> None:
        came_from = referrer if referrer and referrer != page else None
        self.start = came_from or page
        self.trail = Trail.begin(time, page.encode(), came_from.encode() if came_from else None, [])
        self.order = [0] if came_from is None else [0, 1]
        self.put_back = len(self.order) - 1

    def view(self, time: float, page: str, referrer: str | None) -> None:
        trail, before = self.trail, self.trail.seen
        came_from = referrer.encode() if referrer and referrer != page else None
        trail.view(time, page.encode(), came_from, [])
        if came_from is not None and trail.seen - before == 2:
            self.order.append(trail.numbers[came_from])
            self.put_back += 1
        if trail.seen > before:
            self.order.append(trail.at)

    def end(self) -> Session:
        return Session(tuple(self.trail.levels[number] for number in self.order), self.start, self.put_back)


class Sessions:
    """Groups the accesses of a site into sessions, as Baeza-Yates and Castillo 2004, section 4, do.

    A session (`models.depth.trail.Trail`) is what one visitor (user and agent) views with pauses of 30 minutes
    at most. Until a referrer was seen, a log is taken to have none, and each view to follow the one before. A
    duplicate counts as the page that it is like (section 5): visiting it is a move back, so the caller gives
    all copies of a page one name. Memory is bounded: 10,000 open sessions of 500 views at most.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._referrers = False

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> list[Session]:
        """Add a page view, and return the sessions that have ended by then. ``time`` is in seconds; accesses
        may come out of order by less than a pause. ``referrer`` is a page of the site,
        `models.depth.trail.ELSEWHERE`, or None where none was sent.
        """
        self._referrers = self._referrers or referrer is not None
        ended = []
        known = self._open.pop(visitor, None)
        from_page = referrer.encode() if referrer else referrer
        if known is not None and known.trail.goes_on(time, page.encode(), from_page, self._referrers):
            known.view(time, page, referrer)
        else:
            ended += [] if known is None else [known.end()]
            known = _Open(time, page, referrer)
        self._open[visitor] = known
        # Either way: a line with a wrong time, far ahead, must not end all sessions that come after it.
        while len(self._open) > OPEN or abs(time - next(iter(self._open.values())).trail.last) > PAUSE:
            ended.append(self._oldest())
        return ended

    def finish(self) -> list[Session]:
        return [self._oldest() for _ in range(len(self._open))]

    def _oldest(self) -> Session:
        return self._open.pop(next(iter(self._open))).end()


class Site:
    """What is known of a site: its users' sessions, and how many of its links lead to new URLs."""

    def __init__(self, home: str) -> None:
        self.visits = Visits()
        self.growth = Growth()
        #: The share of the site's PageRank on each level, where it was fetched whole.
        self.ranks: list[float] = []
        self._home = home
        self._sessions = Sessions()
        #: Whether users enter the site by a page, of the pages seen.
        self._entered: dict[str, bool] = {}

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> None:
        self._entered.setdefault(page, False)
        self._add(self._sessions.view(visitor, time, page, referrer))

    def finish(self) -> None:
        self._add(self._sessions.finish())

    def _add(self, ended: list[Session]) -> None:
        for session in ended:
            self.visits.add(session, session.start == self._home)
            self._entered[session.start] = True

    def directories(self) -> list[tuple[int, int]]:
        """Return the distinct pages, and the entry pages among them, by the number of their directories.

        Baeza-Yates and Castillo 2004, section 5, "considering only the directory structure". A page is known by
        host and path; "/a.html" lies in no directory, "/a/" and "/a/b.html" in one.
        """
        found, entries = Counter[int](), Counter[int]()
        for page, entered in self._entered.items():
            depth = page.partition("?")[0].count("/") - 1
            found[depth] += 1
            entries[depth] += entered
        return [(found[depth], entries[depth]) for depth in range(max(found, default=-1) + 1)]

    def advice(self, share: float = 0.9) -> Advice:
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


@dataclass(frozen=True)
class Result:
    """A site's figures; None where there are neither sessions nor links."""

    name: str
    site: Site
    share: float
    #: The fits of the three surfers where the site has sessions, and the best of them.
    fits: tuple[Fit, ...]
    best: Fit | None
    #: The depth that keeps the share of the observed views, and that of a surfer who follows links at random.
    depth_views: int | None
    depth_links: int | None
    advice: Advice

    @classmethod
    def of(cls, name: str, site: Site, share: float) -> "Result":
        visits, growth = site.visits, site.growth
        seen = visits.sessions > 0
        fits = tuple(fit(visits, surfer) for surfer in Surfer) if seen else ()
        by_links = growth.depth(share) if growth.pages else None
        fitted, by_views = (best(visits), visits.depth(share)) if seen else (None, None)
        return cls(name, site, share, fits, fitted, by_views, by_links, site.advice(share))
