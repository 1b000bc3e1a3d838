"""In which order patterns are crawled."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple


class Pattern(NamedTuple):
    """A pattern with its figures (Liu 2011, Table 1) and its scores in the behaviour graph.

    ``leaf`` says that it is one of the patterns that were chosen; others are above these, have no scores, and
    are what a URL matches that is like none of the site's known ones.
    """

    name: str
    leaf: bool
    urls: int
    visits: int
    referrals: int
    authority: float = 0.0
    hub: float = 0.0


Ranking = Callable[[Pattern], float]

#: For the comprehensive fetch of a site, what its pages are worth (Liu 2011, section 4.1 and 4.2).
FETCH: Mapping[str, Ranking] = MappingProxyType(
    {
        "volume": lambda pattern: pattern.urls,
        "overall-visit": lambda pattern: pattern.visits,
        "average-visit": lambda pattern: pattern.visits / max(pattern.urls, 1),
        "behaviour-fetch": lambda pattern: 0.5 * (pattern.authority + pattern.hub),
    }
)
#: For the timely discovery of new pages, what their links are worth.
DISCOVERY: Mapping[str, Ranking] = MappingProxyType(
    {
        "overall-referral": lambda pattern: pattern.referrals,
        "average-referral": lambda pattern: pattern.referrals / max(pattern.urls, 1),
        "behaviour-discovery": lambda pattern: pattern.hub,
    }
)
#: All seven rankings of patterns.
RANKINGS: Mapping[str, Ranking] = MappingProxyType({**FETCH, **DISCOVERY})
#: The ordering by a page's own visits, shrunk to those of its pattern (`models.patterns.mine`).
VISITS = "visits"


def score(ranking: Ranking, pattern: Pattern) -> float:
    """Return how early the pages of a pattern come, the highest first; what is no chosen pattern comes last.

    >>> score(FETCH["average-visit"], Pattern("http://example.org/a/*", True, urls=4, visits=10, referrals=0))
    2.5
    """
    return ranking(pattern) if pattern.leaf else -1.0
