"""Interest ratios of events and how far they can be trusted (Aggarwal 2004, equations 1 to 10).

What the paper leaves open: no hit counts as half a hit (a ratio of 0 has no logarithm), but never as a ratio
above 1; without a base rate to compare with (nothing judged, no hit, or only hits) every ratio is 1.
"""

import math
from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

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
        """Update one feature's ratio, given its pages and hits."""
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
        """Recompute all ratios against ``base``, given the pages and hits of each feature."""
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


class Mask(NamedTuple):
    """A word set's mask: ``bits`` over the first ``seen`` words that have a bit."""

    seen: int
    bits: int


#: The mask of a word set that was not looked at yet.
UNSEEN = Mask(0, 0)


class WordMasks:
    """Word sets as bit masks: the words of many in-linking pages are united and summed in microseconds.

    A candidate's content score sums the logs of the significant words that any in-linking page holds, each once
    (Aggarwal 2004, equation 7). Each word that was ever significant has a bit; the union of pages is an OR of
    their masks, the sum a product with the vector of logs.

    >>> table = RatioTable(2.0, "binomial")
    >>> table.work_out(Base(100, 10), [("ski", (20, 14))])
    >>> masks = WordMasks(table)
    >>> mask = masks.mask(frozenset({"ski", "snow"}))
    >>> round(masks.log([mask.bits]), 3) == round(table.logs["ski"], 3)
    True
    """

    def __init__(self, table: RatioTable) -> None:
        self._table = table
        self._bits: dict[str, int] = {}
        self._names: list[str] = []
        self._logs: npt.NDArray[np.float64] = np.zeros(1024)
        self._sync()

    def __len__(self) -> int:
        return len(self._names)

    def has_all(self, known: Mask) -> bool:
        """Return whether a mask has all bits that there are."""
        self._sync()
        return known.seen == len(self._names)

    def mask(self, words: frozenset[str], known: Mask = UNSEEN) -> Mask:
        """Return the mask of a word set, from one ``known`` earlier where there is one."""
        self._sync()
        total = len(self._names)
        if known.seen == total:
            return known
        fresh = self._names[known.seen :]
        if len(fresh) < len(words):
            found = [number for number, name in enumerate(fresh, known.seen) if name in words]
        else:
            found = [self._bits[name] for name in words if self._bits.get(name, -1) >= known.seen]
        if not found:
            return Mask(total, known.bits)
        field = bytearray((total + 7) // 8)
        for number in found:
            field[number >> 3] |= 1 << (number & 7)
        return Mask(total, known.bits | int.from_bytes(field, "little"))

    def log(self, masks: Iterable[int]) -> float:
        """Return the sum of the logs of the words in any of ``masks``: log I_c(C), equation (7)."""
        self._sync()
        united = 0
        for bits in masks:
            united |= bits
        if not united:
            return 0.0
        field = np.frombuffer(united.to_bytes((len(self._names) + 7) // 8, "little"), np.uint8)
        (present,) = np.unpackbits(field, bitorder="little").view(np.bool_).nonzero()
        # Not a product of vectors: that is handed to BLAS threads, which wait for each other.
        return float(self._logs.take(present).sum())

    def _sync(self) -> None:
        changes = self._table.take_changes()
        if changes is None:
            self._logs[:] = 0.0
            changes = self._table.logs.keys()
        for name in changes:
            log = self._table.logs.get(name, 0.0)
            bit = self._bits.get(name)
            if bit is None:
                if not log:
                    continue
                bit = self._bits[name] = len(self._names)
                self._names.append(name)
                if bit + 8 > len(self._logs):
                    self._logs = np.concatenate((self._logs, np.zeros(len(self._logs))))
            self._logs[bit] = log
