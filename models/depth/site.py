"""How deep to crawl one site, by what its users view or where its links lead."""

from typing import Final, Literal, NamedTuple

from scentline.models.depth.growth import Growth
from scentline.models.depth.surfers import best
from scentline.models.depth.visits import Visits

#: Sessions from which on the views of a site are taken as they are.
ENOUGH: Final = 100
#: Fetched pages of a site from which on its links tell where to stop.
ENOUGH_PAGES: Final = 50


#: By what a depth keeps a share of the page views: those seen, or the random surfer fitted to them.
DepthBy = Literal["views", "model"]


class Advice(NamedTuple):
    """A depth, and why."""

    #: The deepest level to fetch, in links from a page where users enter; None where nothing is known.
    depth: int | None
    #: "views", "links", "model" or, where nothing is known, empty.
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
    ones from 50 fetched pages on (docs/papers/2004-baeza-yates.md, "In the crawl").

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
