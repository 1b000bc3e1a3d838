"""The lifts of one kind of feature (words and prefixes of URLs, users), worked out when asked for.

Ratios are shrunk: what a few pages say is drawn towards what is known without them.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from scentline.models.ledger import Ledger

Counts = npt.NDArray[np.float64]

#: Pages at the base rate that a feature is taken to have behind it.
PRIOR_PAGES = 2.0
_MOST_RATE = 0.9
_PRIOR_HITS = 0.5
_PRIOR_SEEN = 5.0


def base_rate(pages: float, hits: float) -> float:
    """Return p = min(.9, (hits + .5) / (pages + 5)): never 0 or 1, however little was judged.

    >>> base_rate(0, 0), base_rate(95, 9.5)
    (0.1, 0.1)
    """
    return min(_MOST_RATE, (hits + _PRIOR_HITS) / (pages + _PRIOR_SEEN))


def log_lift(pages: float, hits: float, rate: float, prior: float = PRIOR_PAGES) -> float:
    """Return L(c, n; a) = ln(((c + a p) / (n + a)) / p) of c hits on n pages at the base rate p.

    ``prior`` is a, the pages at the base rate that are added.

    >>> log_lift(0, 0, 0.1)
    0.0
    >>> round(log_lift(8, 8, 0.1), 3)
    2.104
    """
    return math.log((hits + prior * rate) / (pages + prior) / rate)


def log_lifts(pages: Counts, hits: Counts, rates: Counts | float, prior: Counts | float) -> Counts:
    """Return `log_lift` of many counts."""
    found: Counts = np.log((hits + prior * rates) / (pages + prior) / rates)
    return found


#: Bound of one feature's weight, either way.
MOST = 3.0

Cell = tuple[float, float]


def with_earlier(counted: Cell, pages: float, hits: float, ratio: float) -> Cell:
    """Return counts with those of an earlier crawl, whose hits are scaled by ``ratio``, p now over p then.

    >>> with_earlier((2, 1), 8, 4, 0.5)
    (10, 3.0)
    """
    return counted[0] + pages, counted[1] + min(pages, hits * ratio)


class Lifts:
    """The shrunk log ratios of a predicate's features of one ``kind``, at the base rate of the moment.

    The counts are the ledger's; who changes them says so by `renew`.

    >>> ledger = Ledger()
    >>> lifts = Lifts(ledger, "sports", "x:")
    >>> ledger.add(ledger.slots_of(["x:ski"]), {"sports": True}, 8)
    >>> lifts.rebase(0.1)
    >>> round(lifts.sum(["ski", "snow"]), 3)
    2.104
    """

    __slots__ = ("_earlier", "_kind", "_ledger", "_lifts", "_predicate", "_rate", "_ratio", "_weights")

    def __init__(self, ledger: Ledger, predicate: str, kind: str) -> None:
        self._ledger = ledger
        self._predicate = predicate
        self._kind = kind
        self._earlier: dict[str, Cell] = {}
        self._rate = 0.1
        self._ratio = 0.0
        self._weights: dict[str, float] = {}
        # Thousands of names share the same few counts.
        self._lifts: dict[Cell, float] = {}

    def inherit(self, name: str, pages: float, hits: float) -> None:
        """Set what an earlier crawl counted of a feature; it counts beside what is counted now."""
        if pages > 0:
            self._earlier[name] = (pages, hits)
        else:
            self._earlier.pop(name, None)
        self.renew()

    @property
    def inherits(self) -> bool:
        """Whether an earlier crawl counted anything."""
        return bool(self._earlier)

    def rebase(self, rate: float, earlier: float = 0.0) -> None:
        """Take all weights against another base rate from now on.

        ``earlier`` is the base rate of what was inherited: its hits count by the ratio of the two rates, so
        that lifts carry over, and not rates. At 0 nothing inherited counts.
        """
        self._rate = rate
        self._ratio = rate / earlier if earlier else 0.0
        self._lifts = {}
        self.renew()

    def renew(self) -> None:
        """Take each weight anew when it is asked for: counts have changed."""
        self._weights = {}

    def cell(self, name: str) -> Cell | None:
        """Return a feature's counts, with what was inherited at the base rate of now; None without any."""
        pages, hits = self._ledger.get(self._kind + name, self._predicate)
        counted = (pages, max(0, hits))  # what was forgotten may be taken back
        earlier = self._earlier.get(name) if self._ratio else None
        if earlier is not None:
            return with_earlier(counted if pages > 0 else (0, 0), *earlier, self._ratio)
        return counted if pages > 0 else None

    def add_earlier(self, names: Sequence[str], pages: Counts, hits: Counts) -> None:
        """Add what was inherited of features to their counts, at the base rate of now."""
        if not self._earlier or not self._ratio:
            return
        for place, name in enumerate(names):
            if name in self._earlier:
                earlier = self._earlier[name]
                pages[place], hits[place] = with_earlier((pages[place], hits[place]), *earlier, self._ratio)

    def sum(self, names: Iterable[str]) -> float:
        """Return the sum of the weights; a name that was never counted weighs 0."""
        weights = self._weights
        total = 0.0
        for name in names:
            weight = weights.get(name)
            total += self._weight(name) if weight is None else weight
        return total

    def known(self, groups: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
        """Return of each group the names that were counted, for any predicate, or inherited for this one."""
        kind, counted, earlier = self._kind, self._ledger.features, self._earlier
        return [
            tuple([name for name in names if kind + name in counted or name in earlier]) for names in groups
        ]

    def weight(self, name: str) -> float:
        """Return one name's weight."""
        return self.sum((name,))

    def _weight(self, name: str) -> float:
        cell = self.cell(name)
        weight = self._weights[name] = 0.0 if cell is None else self._lift(cell)
        return weight

    def _lift(self, cell: Cell) -> float:
        lift = self._lifts.get(cell)
        if lift is None:
            lift = self._lifts[cell] = max(-MOST, min(MOST, log_lift(*cell, self._rate)))
        return lift


def strongest(
    weights: Counts, pages: npt.NDArray[np.integer], most: int, *, against: bool = False
) -> npt.NDArray[np.intp]:
    """Return the places of so many of the largest weights above 0, or of the lowest below it, in their order.

    What was seen on no ``pages`` is left out. Of equal ones, as are those at the bound of a weight, what was
    seen on more comes first.

    >>> weights, pages = np.array([3.0, 0.5, -1.0, 3.0]), np.array([4, 90, 7, 9])
    >>> strongest(weights, pages, 3).tolist(), strongest(weights, pages, 3, against=True).tolist()
    ([3, 0, 1], [2])
    """
    signed = -weights if against else weights
    found = np.flatnonzero((signed > 0) & (pages > 0))
    if len(found) > most:
        # All that the last one equals are looked at: pages decide between them.
        least = np.partition(signed[found], len(found) - most)[len(found) - most]
        found = found[signed[found] >= least]
    return found[np.lexsort((-pages[found], -signed[found]))][:most]
