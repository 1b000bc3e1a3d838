"""The behaviour of a site's users, and the rankings of its patterns.

Each pair of a user and a referrer of a page counts once; if there are many, a sample is kept.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import NamedTuple

import msgspec


class Behaviour(NamedTuple):
    """The counts of one moment (Liu 2011, section 2).

    ``visits`` is F_in of each URL, 0 for one that was a referrer only; ``referrals`` is F_out, ``transitions``
    F_trans from a URL to a URL.
    """

    visits: Mapping[str, int]
    referrals: Mapping[str, int]
    transitions: Mapping[tuple[str, str], int]


#: The ranks of records are below this.
RANKS = 2**63


class Ways(msgspec.Struct, array_like=True):
    """The records (referrer, user) of one page, each once (Liu 2011, section 2); "" is a referrer elsewhere.

    Beyond a limit those of lowest rank, a digest, are kept: all of rank below ``bound``. So the sample depends
    only on the set of records, and the number kept, over the share bound / RANKS of all ranks, estimates their
    number without bias, as the bound is the lowest rank that was left out (Beyer et al., *On Synopses for
    Distinct-Value Estimation*, 2007).
    """

    users: dict[str, list[str]] = {}
    bound: int = RANKS

    def add(self, user: str, referrer: str | None, most: int) -> bool:
        """Add a record, keeping at most ``most``; return whether anything changed."""
        source = referrer or ""
        rank = _rank(source, user)
        known = self.users.get(source, [])
        if rank >= self.bound or user in known:
            return False
        self.users[source] = sorted((*known, user))
        if sum(map(len, self.users.values())) > most:
            self._leave_out()
        return True

    @property
    def visits(self) -> int:
        """F_in: the estimated number of records."""
        return self._all(sum(map(len, self.users.values())))

    def sources(self) -> dict[str, int]:
        """Return F_trans from each page of the site: the estimated number of records with it as referrer."""
        return {source: self._all(len(users)) for source, users in self.users.items() if source}

    def _all(self, kept: int) -> int:
        return round(kept * RANKS / self.bound)

    def _leave_out(self) -> None:
        records = (
            (_rank(source, user), source, user) for source, users in self.users.items() for user in users
        )
        rank, source, user = max(records)
        self.bound = min(self.bound, rank)  # a user who took another's name may have any rank
        self.users[source].remove(user)
        if not self.users[source]:
            del self.users[source]


def behaviour(pages: Iterable[tuple[str, Ways]]) -> Behaviour:
    """Return the behaviour of a site's users from its pages, each given once."""
    visits: dict[str, int] = {}
    referrals: dict[str, int] = {}
    transitions: dict[tuple[str, str], int] = {}
    for url, ways in pages:
        visits[url] = ways.visits
        for source, times in ways.sources().items():
            visits.setdefault(source, 0)
            referrals[source] = referrals.get(source, 0) + times
            transitions[source, url] = times
    return Behaviour(visits, referrals, transitions)


def _rank(source: str, user: str) -> int:
    return int.from_bytes(blake2b(f"{user}\0{source}".encode(), digest_size=8).digest(), "big") >> 1


class Pattern(NamedTuple):
    """A pattern with its figures (Liu 2011, Table 1) and its scores in the behaviour graph.

    ``leaf`` means that it is one of the chosen patterns; others are above these, have no scores, and match URLs
    unlike the site's known ones.
    """

    name: str
    leaf: bool
    urls: int
    visits: int
    referrals: int
    authority: float = 0.0
    hub: float = 0.0


Ranking = Callable[[Pattern], float]

#: For the comprehensive fetch of a site: the value of its pages (Liu 2011, section 4.1 and 4.2).
FETCH: Mapping[str, Ranking] = MappingProxyType(
    {
        "volume": lambda pattern: pattern.urls,
        "overall-visit": lambda pattern: pattern.visits,
        "average-visit": lambda pattern: pattern.visits / max(pattern.urls, 1),
        "behaviour-fetch": lambda pattern: 0.5 * (pattern.authority + pattern.hub),
    }
)
#: For the timely discovery of new pages: the value of links.
DISCOVERY: Mapping[str, Ranking] = MappingProxyType(
    {
        "overall-referral": lambda pattern: pattern.referrals,
        "average-referral": lambda pattern: pattern.referrals / max(pattern.urls, 1),
        "behaviour-discovery": lambda pattern: pattern.hub,
    }
)
#: All seven rankings of patterns.
RANKINGS: Mapping[str, Ranking] = MappingProxyType({**FETCH, **DISCOVERY})
#: The ordering by a page's own visits, shrunk to those of its pattern (`models.papers.patterns`).
VISITS = "visits"


def score(ranking: Ranking, pattern: Pattern) -> float:
    """Return the score of a pattern's pages, the highest first; patterns not chosen come last.

    >>> score(FETCH["average-visit"], Pattern("http://example.org/a/*", True, urls=4, visits=10, referrals=0))
    2.5
    """
    return ranking(pattern) if pattern.leaf else -1.0
