"""How deep to crawl a site (Baeza-Yates and Castillo 2004), by its users' sessions or by its links.

The three random surfers of section 3 differ in where they go back to, and in the depths where they stay.

A surfer goes one level deeper with probability q. With 1 - q he goes back: one level (A), to the start page or
out of the site, which is the same for the levels (B), or to any level down to the present one, all equally
likely (C). The share of time x_i on level i, in the long run, is

    A:  x_i = (1 - r) r^i with r = q / (1 - q), for q < 1/2 (else the surfer never comes back)
    B:  x_i = (1 - q) q^i
    C:  x_i = (1 - q)^2 (i + 1) q^i

All three are negative binomial distributions, with the ratio r (A) or q (B, C), and one trial (A, B) or two
(C). So A and B are the same distribution of levels; A's q is r / (1 + r). Each is fitted to page views.
"""

import math
from bisect import bisect_left
from enum import StrEnum
from itertools import accumulate
from typing import Final, Literal, NamedTuple

import msgspec


class Visits(msgspec.Struct):
    """Counts of a site's sessions; they add up in any order."""

    #: Page views by level.
    views: list[int] = []
    sessions: int = 0

    @property
    def total(self) -> int:
        """All page views."""
        return sum(self.views)

    @property
    def levels(self) -> int:
        """The sum of the levels of all views."""
        return sum(level * views for level, views in enumerate(self.views))

    def reached(self) -> list[float]:
        """Return, for each level, the share of the views on the levels up to it."""
        shares, so_far = [], 0
        for views in self.views:
            so_far += views
            shares.append(so_far / self.total)
        return shares

    def depth(self, share: float) -> int:
        """Return the least level with the share of the views up to it; raises ValueError without views.

        >>> Visits(views=[6, 3, 1]).depth(0.9)
        1
        """
        wanted, so_far = share * self.total, 0
        for level, views in enumerate(self.views):
            so_far += views
            if so_far >= wanted:
                return level
        raise ValueError("no views, expected at least one")


class Surfer(StrEnum):
    """One of the three models."""

    A = "A"
    B = "B"
    C = "C"

    @property
    def trials(self) -> int:
        """The number of trials of the negative binomial distribution of the levels."""
        return 2 if self is Surfer.C else 1

    def ratio(self, q: float) -> float:
        """Return the ratio of the distribution; raises ValueError if there is none.

        >>> Surfer.A.ratio(0.25)
        0.3333333333333333
        """
        bound = 0.5 if self is Surfer.A else 1.0
        if not 0 <= q < bound:
            raise ValueError(f"model {self}: q is {q}, expected 0 <= q < {bound}")
        return q / (1 - q) if self is Surfer.A else q

    def probability(self, ratio: float) -> float:
        """Return q for a ratio of the distribution, the inverse of `ratio`.

        >>> Surfer.A.probability(1 / 3)
        0.25
        """
        return ratio / (1 + ratio) if self is Surfer.A else ratio

    def share(self, q: float, level: int) -> float:
        """Return x_i, the share of time on a level.

        >>> [round(Surfer.C.share(0.5, level), 4) for level in range(3)]
        [0.25, 0.25, 0.1875]
        """
        ratio = self.ratio(q)
        return float((1 - ratio) ** self.trials * (level + 1) ** (self.trials - 1) * ratio**level)

    def reached(self, q: float, level: int) -> float:
        """Return the share of time on all levels up to one.

        A, B: 1 - r^(k+1). C: 1 - (2 + k - (k + 1) q) q^(k+1).

        >>> round(Surfer.C.reached(0.5, 2), 4)
        0.6875
        """
        ratio = self.ratio(q)
        beyond = ratio ** (level + 1)
        if self is Surfer.C:
            beyond *= 2 + level - (level + 1) * ratio
        return 1 - beyond

    def depth(self, q: float, share: float) -> int:
        """Return the least level up to which the surfer spends the share of time, 0 <= share < 1.

        >>> Surfer.B.depth(0.6, 0.9)
        4
        """
        beyond = 1
        while self.reached(q, beyond - 1) < share:
            beyond *= 2
        return bisect_left(range(beyond), share, key=lambda level: self.reached(q, level))


class Fit(NamedTuple):
    """A surfer, fitted.

    ``error`` is the root mean square difference of the observed and the fitted share of views up to a level,
    averaged over all views: long sessions add many levels, but few views.
    """

    surfer: Surfer
    q: float
    error: float


def fit(visits: Visits, surfer: Surfer) -> Fit:
    """Return the maximum likelihood fit of a surfer; raises ValueError without views.

    With N views whose levels sum to D, the likelihood of a negative binomial distribution of a trials is
    (1 - r)^(a N) r^D, so that r = D / (a N + D).
    """
    views, levels = visits.total, visits.levels
    if views == 0:
        raise ValueError("a fit without views, expected at least one session")
    q = surfer.probability(levels / (surfer.trials * views + levels))
    differences = (share - surfer.reached(q, level) for level, share in enumerate(visits.reached()))
    squares = sum(number * difference**2 for number, difference in zip(visits.views, differences, strict=True))
    return Fit(surfer, q, math.sqrt(squares / views))


def best(visits: Visits, returns: Surfer = Surfer.B) -> Fit:
    """Return the better fit of C and of ``returns``, A or B, which have the same distribution of levels."""
    anywhere, other = fit(visits, Surfer.C), fit(visits, returns)
    return anywhere if anywhere.error < other.error else other


#: The share of a surfer's moves that follow a link, the usual damping of PageRank: no surfer goes on for ever.
FOLLOWED: Final = 0.85
#: The deepest level; deeper pages count as on it.
MAX_LEVEL: Final = 100


class Growth(msgspec.Struct, array_like=True):
    """The links of a site's fetched pages, by level: to URLs not seen before, and to all others.

    Baeza-Yates and Castillo 2004, section 5, have a crawler infer the depth from that ratio, but not how.
    Here it gives the q of model B, one for each level: on a page with links, a surfer follows one of them with
    probability .85. A URL not seen before takes him one level deeper; any other, or no link, takes him back to
    the start. So q_i is .85 linking_i / pages_i new_i / (new_i + seen_i), where ``linking`` counts the pages
    with a link, and in the long run the share of time on level i is x_i = x_0 q_0 q_1 ... q_(i-1). Below the
    deepest fetched level its q goes on.
    """

    pages: list[int] = []
    linking: list[int] = []
    new: list[int] = []
    seen: list[int] = []

    def fetched(self, level: int, new: int, seen: int) -> None:
        """Count a fetched page's links within its site, each target once: to new URLs, and to all others."""
        self.change(level, 1, int(new + seen > 0), new, seen)

    def change(self, level: int, pages: int = 0, linking: int = 0, new: int = 0, seen: int = 0) -> None:
        """Add to the counts of a level, or take back; empty levels at the end are dropped."""
        level = min(level, MAX_LEVEL)
        while len(self.pages) <= level:
            for column in (self.pages, self.linking, self.new, self.seen):
                column.append(0)
        self.pages[level] += pages
        self.linking[level] += linking
        self.new[level] += new
        self.seen[level] += seen
        while self.pages and not self.pages[-1]:
            for column in (self.pages, self.linking, self.new, self.seen):
                column.pop()

    def renew(self, before: int | None, after: int | None) -> None:
        """Count a link as new on level ``after``, no longer on ``before``; None means on no level."""
        if before is not None:
            self.new[min(before, MAX_LEVEL)] -= 1
            self.seen[min(before, MAX_LEVEL)] += 1
        if after is not None:
            self.new[min(after, MAX_LEVEL)] += 1
            self.seen[min(after, MAX_LEVEL)] -= 1

    def led_back(self, level: int) -> None:
        """Record that a URL of a level turned out to be no page, or a duplicate.

        The link to it then counts as one to a seen URL (the paper's section 5: downloading a duplicate is going
        back to the page visited the first time). Its own links do not count.
        """
        above = min(level, MAX_LEVEL) - 1
        if 0 <= above < len(self.new) and self.new[above]:
            self.new[above] -= 1
            self.seen[above] += 1

    def deeper(self, level: int) -> float:
        """Return q_i, the probability that a surfer goes on to a new page; 0 without fetched pages."""
        if not self.pages:
            return 0.0
        level = min(level, len(self.pages) - 1)
        links = self.new[level] + self.seen[level]
        return FOLLOWED * self.linking[level] / self.pages[level] * self.new[level] / links if links else 0.0

    def surfer(self, levels: int) -> list[float]:
        """Return the share of the surfer's time on each of the first levels."""
        known = max(levels, len(self.pages))
        factors = (self.deeper(level) for level in range(known))
        weights = list(accumulate(factors, lambda weight, factor: weight * factor, initial=1.0))
        total = sum(weights[:-1]) + weights[-1] / (1 - self.deeper(known))
        return [weight / total for weight in weights[:levels]]

    def depth(self, share: float) -> int:
        """Return the least level up to which the surfer spends the share of his time, 0 <= share < 1."""
        levels = len(self.pages) + 1
        while True:
            for level, reached in enumerate(accumulate(self.surfer(levels))):
                if reached >= share:
                    return level
            levels *= 2


#: The distance of a page that no known way leads to.
FAR: Final = 2**31 - 1


class Place(msgspec.Struct, array_like=True, gc=False):
    """The distances of a page of a site, in links within the site.

    ``entered`` is the least from where users enter: 0 for an entry page, the level of the view for a page seen
    in a session. ``led`` is one more than the least level of a fetched page of the site that links to it.
    ``back`` means that it is no page, or a duplicate: a link to it leads back. ``counted`` means that it was
    fetched, and counts with its links.

    >>> Place(entered=2, led=5).level, Place(entered=2, led=5).new_above, Place(led=5).new_above
    (2, None, 4)
    """

    entered: int = FAR
    led: int = FAR
    back: bool = False
    counted: bool = False

    @property
    def level(self) -> int:
        """The level of the page."""
        return min(self.entered, self.led)

    @property
    def new_above(self) -> int | None:
        """The level on which a link to this page counts as one to a new URL; None if none does.

        Each page of a site is new once (Baeza-Yates and Castillo 2004, section 5): by a link of the level above
        it, as in a breadth-first crawl, in whatever order pages are fetched. If users enter a page nearer than
        links lead to it, every link to it leads to a seen URL.
        """
        return self.led - 1 if self.led < FAR and self.led <= self.entered and not self.back else None


#: Sessions of a site from which its views decide.
ENOUGH: Final = 100
#: Fetched pages of a site from which its links decide.
ENOUGH_PAGES: Final = 50


#: The views that a depth keeps a share of: those seen, or those of the random surfer fitted to them.
DepthBy = Literal["views", "model"]


class Advice(NamedTuple):
    """A depth, and why."""

    #: The deepest level to fetch, in links from a page where users enter; None if nothing is known.
    depth: int | None
    #: "views", "links", "model", or empty if nothing is known.
    source: str
    #: The reason in one line.
    why: str


def by_views(visits: Visits, share: float) -> Advice:
    """Return the depth that kept the share of the page views so far; raises ValueError without views."""
    depth = visits.depth(share)
    kept = f"{visits.reached()[depth]:.0%} of {visits.total:,} page views"
    return Advice(depth, "views", f"{kept} in {visits.sessions:,} sessions")


def by_model(visits: Visits, share: float) -> Advice:
    """Return the depth that keeps the share for the surfer that fits best; raises ValueError without views.

    A and B differ in how users return, and not in the depths that they reach (`models.papers.depth`).

    >>> by_model(Visits(views=[60, 24, 16], sessions=100), 0.8)
    Advice(depth=1, source='model', why='model C with q = 0.22, fitted to 100 page views in 100 sessions')
    """
    found = best(visits)
    fitted = f"fitted to {visits.total:,} page views in {visits.sessions:,} sessions"
    why = f"model {found.surfer} with q = {found.q:.2f}, {fitted}"
    return Advice(found.surfer.depth(found.q, share), "model", why)


def by_links(growth: Growth, share: float) -> Advice:
    """Return the depth with the share of a random surfer's time, by the site's links."""
    depth = growth.depth(share)
    kept = f"{sum(growth.surfer(depth + 1)):.0%} of a random surfer's page views"
    new, links = sum(growth.new), sum(growth.new) + sum(growth.seen)
    led = f"{new:,} of {links:,} links on {sum(growth.pages):,} fetched pages are new"
    return Advice(depth, "links", f"{kept}, when {led}")


def stop(visits: Visits, growth: Growth, share: float, by: DepthBy = "views") -> int | None:
    """Return the deepest level of a site to fetch, None for all.

    By the users' page views from 100 sessions on, or by the model fitted to them; else, from 50 fetched pages
    on, by new links against seen ones (docs/papers/2004-baeza-yates.md, "In the crawl").

    >>> stop(Visits(views=[60, 25, 15], sessions=100), Growth(), 0.8)
    1
    """
    if visits.sessions >= ENOUGH:
        return visits.depth(share) if by == "views" else by_model(visits, share).depth
    return growth.depth(share) if sum(growth.pages) >= ENOUGH_PAGES else None


def why(visits: Visits, growth: Growth, share: float, by: DepthBy = "views") -> Advice:
    """Return the result of `stop` with its reason.

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
