"""Where a crawl of a site should stop, by what is known of it so far."""

from typing import Final

from models.depth.growth import Growth
from models.depth.site import ENOUGH, Advice, by_links, by_views
from models.depth.visits import Visits

#: Fetched pages of a site from which on its links tell where to stop.
ENOUGH_PAGES: Final = 50


def stop(visits: Visits, growth: Growth, share: float) -> int | None:
    """Return the deepest level of a site to fetch, None for all.

    By the users' page views from 100 sessions on, else by new links against seen ones from 50 fetched pages on.
    The links of fewer pages make a site out to be shallower than it is, now and then. Those of more make it
    deeper at most, and that mends itself as it is fetched (docs/papers/2004-baeza-yates.md, "In the crawl").

    >>> stop(Visits(views=[60, 25, 15], sessions=100), Growth(), 0.8)
    1
    """
    if visits.sessions >= ENOUGH:
        return visits.depth(share)
    return growth.depth(share) if sum(growth.pages) >= ENOUGH_PAGES else None


def why(visits: Visits, growth: Growth, share: float) -> Advice:
    """Return the same with its reason.

    >>> why(Visits(views=[20, 5], sessions=20), Growth(), 0.9).why
    'too little is known: 20 sessions, expected 100, and 0 fetched pages, expected 50'
    """
    if visits.sessions >= ENOUGH:
        return by_views(visits, share)
    pages = sum(growth.pages)
    if pages >= ENOUGH_PAGES:
        return by_links(growth, share)
    known = f"{visits.sessions} sessions, expected {ENOUGH}, and {pages} fetched pages, expected {ENOUGH_PAGES}"
    return Advice(None, "", f"too little is known: {known}")
