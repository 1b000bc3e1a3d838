"""Whose turn it is to have a page fetched: by share, and by what a predicate's fetches have brought lately.

The choice is weighted-fair between predicates that share the stream of fetches.
"""

import math
from collections.abc import Collection, Mapping
from typing import Protocol, TypeAlias

# Lags are sums of many small numbers: one that is zero but for rounding counts as zero.
_ROUNDING = 1e-9


def check_share(name: str, share: float) -> None:
    """Raise ValueError for a share that is not positive and finite."""
    if not 0 < share < math.inf:
        raise ValueError(f"the share of {name} is {share}, expected a positive number")


class FairShare:
    """Who is next, so that fetches follow the shares at all times, not only in the long run.

    Each name has a lag: the fetches owed to it less those it got. Each fetch is owed to the names that were
    eligible for it, by their shares. Next is, among the names that are owed no less than nothing, the one
    whose next fetch is due first (earliest eligible virtual deadline first, Stoica and Abdel-Wahab 1995).
    With everybody eligible each name is then always within one fetch of its share, whatever the shares;
    plain stride scheduling would let one large share run ahead of many small ones by half of their number.

    A name is owed nothing for fetches it was not eligible for, so that who joins late or had no candidates
    neither starves the others nor catches up.

    >>> fair = FairShare({"science": 2.0, "music": 1.0})
    >>> turns = []
    >>> for _ in range(6):
    ...     turns.append(fair.next({"science", "music"}))
    ...     fair.charge(turns[-1])
    >>> turns
    ['science', 'music', 'science', 'science', 'music', 'science']
    """

    def __init__(self, shares: Mapping[str, float]) -> None:
        self._shares: dict[str, float] = {}
        self._lags: dict[str, float] = {}
        for name, share in shares.items():
            self.set_share(name, share)
        self._competing = list(self._shares)

    def set_share(self, name: str, share: float) -> None:
        """Add a name, or change its share, from now on; ValueError when it is not positive and finite."""
        check_share(name, share)
        self._shares[name] = share
        self._lags.setdefault(name, 0.0)

    def remove(self, name: str) -> None:
        """Forget a name, if it is known; what it was owed or owes is spread over the others."""
        if name not in self._shares:
            return
        del self._shares[name]
        lag = self._lags.pop(name)
        self._competing = [other for other in self._competing if other != name]
        self._owe(lag, list(self._shares))

    def next(self, eligible: Collection[str]) -> str | None:
        """Return who is to get the next fetch among those eligible; None when none of them is known."""
        self._competing = [name for name in self._shares if name in eligible]
        if not self._competing:
            return None
        lags = self._lags
        owed = [name for name in self._competing if lags[name] >= -_ROUNDING]
        return min(owed or self._competing, key=lambda name: (1.0 - lags[name]) / self._shares[name])

    def charge(self, name: str) -> None:
        """Count one fetch for a name, owed to those that were eligible at the last ``next`` and to it.

        KeyError when the name is not known.
        """
        if name not in self._shares:
            raise KeyError(f"fair share: charge of {name}, expected one of {', '.join(self._shares)}")
        competing = self._competing if name in self._competing else [*self._competing, name]
        self._owe(1.0, competing)
        self._lags[name] -= 1.0

    def _owe(self, fetches: float, names: Collection[str]) -> None:
        total = sum(self._shares[name] for name in names)
        for name in names:
            self._lags[name] += fetches * self._shares[name] / total


#: A candidate's probability of a hit, by predicate.
Prospects: TypeAlias = Mapping[str, float]

#: Fetches of a predicate over which its yield is remembered: each one before counts that much less.
MEMORY = 100.0
#: How sharply turns follow yields: predicates that find about as much get about as many turns, one that finds
#: half as much a sixteenth.
SHARPNESS = 4
#: Fetches at a yield of one half that every predicate is taken to have behind it.
PRIOR_FETCHES = 2.0


class Offers(Protocol):
    """What predicates have to offer for a turn."""

    def chance(self, name: str) -> float | None:
        """Return a predicate's chance of a hit by its best candidate, as last scored; None without one."""

    def head(self, name: str) -> Prospects:
        """Return what the candidate that `chance` was told of promises to all, as last scored."""

    def best(self, name: str) -> Prospects:
        """Return what a predicate's best candidate promises to all, by all that was learned."""


class Turns(Protocol):
    """Whose best candidate is fetched next."""

    def set_share(self, name: str, share: float) -> None:
        """Add a predicate, or change its share; ValueError when it is not positive and finite."""

    def remove(self, name: str) -> None:
        """Give a predicate no turns until it has a share again."""

    def brought(self, verdict: Mapping[str, bool], own: str | None) -> None:
        """Note a judged page; ``own`` is whose turn brought it, None for nobody's."""

    def next(self, eligible: Collection[str], offers: Offers) -> str | None:
        """Return who has the next turn among those eligible; None when none of them has one."""

    def charge(self, name: str) -> None:
        """Count one turn taken."""

    def parts(self, prospects: Prospects) -> dict[str, float]:
        """Return for whom a candidate is chosen: predicates' parts of what it is worth, if several have one."""


def check_even(even: float) -> None:
    """Raise ValueError for a part of the turns that is not more than 0 and at most 1."""
    if not 0 < even <= 1:
        raise ValueError(f"turns: {even} of them even, expected more than 0 and at most 1")


class YieldTurns:
    """Weighted-fair turns between predicates, some even by their shares, the others by their yields.

    A predicate with hardly a page left to find would spend half of all fetches on nothing if turns went by
    shares alone. So ``even`` of the turns go by the shares; the rest go by share times a power of the yield,
    the part of a predicate's own fetches that lately satisfied it. Nobody gets less than ``even`` of its share.

    >>> turns = YieldTurns(even=0.2)
    >>> for name in ("science", "music"):
    ...     turns.set_share(name, 1.0)
    >>> for hit in (True, True, True, False):
    ...     turns.brought({"science": hit}, "science")
    ...     turns.brought({"music": False}, "music")
    >>> [round(turns.weight(name), 2) for name in ("science", "music")]
    [0.9, 0.1]
    """

    def __init__(self, even: float) -> None:
        check_even(even)
        self._even = even
        self._fair = FairShare({})
        self._shares: dict[str, float] = {}
        self._fetches: dict[str, float] = {}
        self._hits: dict[str, float] = {}

    def set_share(self, name: str, share: float) -> None:
        """Add a predicate, or change its share; ValueError when it is not positive and finite."""
        self._fair.set_share(name, share)
        self._shares[name] = share
        self._fetches.setdefault(name, 0.0)
        self._hits.setdefault(name, 0.0)
        self._weigh()

    def remove(self, name: str) -> None:
        """Give a predicate no turns until it has a share again; what its fetches brought is remembered.

        >>> turns = YieldTurns(even=0.5)
        >>> for name in ("science", "music"):
        ...     turns.set_share(name, 1.0)
        >>> turns.remove("science")
        >>> turns.weight("music")
        1.0
        """
        if name in self._shares:
            del self._shares[name]
            self._fair.remove(name)
            self._weigh()

    def brought(self, verdict: Mapping[str, bool], own: str | None) -> None:
        """Note whether a page fetched for a predicate satisfied it."""
        if own in self._shares:
            kept = 1.0 - 1.0 / MEMORY
            self._fetches[own] = kept * self._fetches[own] + 1.0
            self._hits[own] = kept * self._hits[own] + verdict.get(own, False)
            self._weigh()

    def next(self, eligible: Collection[str], offers: Offers) -> str | None:
        """Return who has the next turn among those eligible; None when none of them is known."""
        return self._fair.next(eligible)

    def charge(self, name: str) -> None:
        """Count one turn taken."""
        self._fair.charge(name)

    def parts(self, prospects: Prospects) -> dict[str, float]:
        """Return nothing: a candidate is chosen for one predicate alone."""
        return {}

    def weight(self, name: str) -> float:
        """Return the part of the turns that a predicate gets while all are eligible."""
        earned = self._shares[name] * self._worth(name)
        total = sum(share * self._worth(other) for other, share in self._shares.items())
        return self._even * self._shares[name] / sum(self._shares.values()) + (1 - self._even) * earned / total

    def _worth(self, name: str) -> float:
        part: float = (self._hits[name] + PRIOR_FETCHES / 2) / (self._fetches[name] + PRIOR_FETCHES)
        return part**SHARPNESS

    def _weigh(self) -> None:
        for name in self._shares:
            self._fair.set_share(name, self.weight(name))
