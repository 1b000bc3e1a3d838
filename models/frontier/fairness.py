"""Weighted-fair choice between predicates that share the stream of fetches."""

import math
from collections.abc import Collection, Mapping

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
