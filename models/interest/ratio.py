"""Interest ratios of events and how far they can be trusted (Aggarwal 2004, equations 1 to 10).

What the paper leaves open is decided here: no hit under an event would give a ratio of 0, whose logarithm ends
all comparison, so no hit counts as half a hit, but never as a ratio above 1; and where there is no base rate to
compare with (nothing judged, no hit, or nothing but hits) every ratio is 1. A table has the significant ratios
of one kind of feature (words, URL tokens, users), ready for summing.
"""

import math
from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

#: What the variance in the significance test is divided by: n(E), or what the paper divides by.
Denominator = Literal["binomial", "paper"]

#: What the paper divides by: n(C), the hits, for words (equation 6); N, the pages judged, for users and for
#: words of signatures (10).
Sample = Literal["hits", "pages"]

#: Hits assumed where none was seen.
HALF_A_HIT = 0.5


class Base(msgspec.Struct, frozen=True, array_like=True):
    """The pages judged so far, N, and the hits among them, n(C)."""

    pages: int = 0
    hits: int = 0

    @property
    def rate(self) -> float:
        """P(C), estimated by n(C) / N; 0 while nothing was judged."""
        return self.hits / self.pages if self.pages else 0.0

    @property
    def informative(self) -> bool:
        """Whether there is a rate to compare with: 0 < P(C) < 1."""
        return 0 < self.hits < self.pages


def interest(hits: float, expected: float) -> float:
    """Return hits over the hits expected if the event told nothing; half a hit, at most ratio 1, for none.

    >>> interest(9, 15 * 0.1)
    6.0
    >>> interest(0, 4), interest(0, 0.1)
    (0.125, 1.0)
    """
    if hits > 0:
        return hits / expected
    return min(1.0, HALF_A_HIT / expected) if expected > 0 else 1.0


def ratio(pages: int, hits: int, base: Base) -> float:
    """Return the interest ratio I(C, E) = P(C|E) / P(C) of an event seen on ``pages``, ``hits`` of them hits.

    Equation (3), by way of (1), (2) and (5): n(C and E) / (n(E) P(C)). An event never seen has ratio 1.

    >>> ratio(20, 14, Base(10_000, 1_000))
    7.0
    """
    if pages <= 0 or not base.informative:
        return 1.0
    return interest(hits, pages * base.rate)


def samples(pages: int, base: Base, denominator: Denominator, sample: Sample) -> int:
    """Return the n of the significance test of an event seen on ``pages``."""
    if denominator == "binomial":
        return pages
    return base.hits if sample == "hits" else base.pages


def significance(
    pages: int, hits: int, base: Base, denominator: Denominator = "binomial", sample: Sample = "hits"
) -> float:
    """Return S(C, E) in standard deviations, equation (6): |P(C|E) - P(C)| / sqrt(P(C) (1 - P(C)) / n).

    The paper divides by n = n(C), the hits so far, and for users, equation (10), by n = N: ``sample`` tells
    them apart. The binomial test has n = n(E), the pages on which the event was seen: that is the deviation
    that P(C|E) has by chance, so a rare event must be more extreme.

    >>> significance(25, 10, Base(100, 20))
    2.5
    >>> round(significance(25, 10, Base(100, 20), "paper"), 3)
    2.236
    >>> significance(25, 10, Base(100, 20), "paper", "pages")
    5.0
    """
    if pages <= 0 or not base.informative:
        return 0.0
    rate = base.rate
    return abs(hits / pages - rate) / math.sqrt(rate * (1 - rate) / samples(pages, base, denominator, sample))


def significant_log(
    pages: int,
    hits: int,
    base: Base,
    t: float = 2.0,
    denominator: Denominator = "binomial",
    sample: Sample = "hits",
) -> float:
    """Return log I(C, E) where S(C, E) >= t, else 0, the logarithm of a factor that is left out."""
    if significance(pages, hits, base, denominator, sample) < t:
        return 0.0
    return math.log(ratio(pages, hits, base))


def composite_log(
    events: Iterable[tuple[int, int]], base: Base, t: float = 2.0, denominator: Denominator = "binomial"
) -> float:
    """Return the log of the composite interest ratio of events given as (pages, hits).

    Equation (4), over the significant events only as in (7): the sum of the logarithms of their ratios. The
    sum is exact, so it does not depend on the order of the events.
    """
    return math.fsum(significant_log(pages, hits, base, t, denominator) for pages, hits in events)


#: Pages and hits of a feature.
Cell = tuple[int, int]


class RatioTable:
    """The log ratios of those features of one kind that are significant; their counts lie elsewhere.

    ``logs`` maps a feature's name to its log ratio and ``significant`` holds the same names as a set, whose
    intersections cost half of a dictionary's. All ratios are taken against ``base``, that of
    the last `work_out`. ``sample`` is what the paper's denominator counts for features of this kind.

    >>> table = RatioTable(2.0, "binomial")
    >>> table.work_out(Base(100, 20), {"ski": (40, 16), "the": (90, 19)}.items())
    >>> {name: round(log, 3) for name, log in table.logs.items()}
    {'ski': 0.693}
    """

    __slots__ = ("_changes", "_denominator", "_memory", "_sample", "_t", "base", "logs", "significant")

    def __init__(self, t: float, denominator: Denominator, sample: Sample = "hits") -> None:
        self.logs: dict[str, float] = {}
        self.significant: set[str] = set()
        self._t = t
        self._denominator: Denominator = denominator
        self._sample: Sample = sample
        self.base = Base()
        self._memory: dict[Cell, float] = {}
        self._changes: set[str] | None = set()

    def take(self, name: str, cell: Cell) -> None:
        """Take one feature's ratio anew, from its pages and hits as they stand."""
        log = self._log(cell)
        if self._changes is not None:
            self._changes.add(name)
        known = name in self.significant
        if log:
            self.logs[name] = log
            self.significant.add(name)
        elif known:
            del self.logs[name]
            self.significant.remove(name)

    def work_out(self, base: Base, cells: Iterable[tuple[str, Cell]]) -> None:
        """Take all ratios anew, against ``base``, from the pages and hits of each feature."""
        self.base = base
        self._memory = {}
        log = self._log
        self.logs = {name: found for name, cell in cells if (found := log(cell))}
        self.significant = set(self.logs)
        self._changes = None

    def significance(self, cell: Cell) -> float:
        """Return by how many standard deviations a feature of these pages and hits differs from the base."""
        return significance(*cell, self.base, self._denominator, self._sample)

    def take_changes(self) -> Collection[str] | None:
        """Return the names whose logs may have changed since the last call, None where all may have."""
        changes = self._changes
        if changes is None or changes:
            self._changes = set()
        return changes

    def _log(self, cell: Cell) -> float:
        # Thousands of words share the same small counts.
        log = self._memory.get(cell)
        if log is None:
            log = significant_log(*cell, self.base, self._t, self._denominator, self._sample)
            self._memory[cell] = log
        return log
