"""Whether probabilities can be taken at their word: Brier score and reliability diagram, outcome by outcome."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

#: What was said of a page before it was fetched, and what came of it.
Outcome: TypeAlias = tuple[float, bool]
#: Bins of the reliability diagram.
BINS = 10


class Bin(NamedTuple):
    """Outcomes of alike probability, ``low`` to ``high``: their number, mean probability and rate of hits."""

    low: float
    high: float
    size: int
    probability: float
    rate: float


class Reliability(NamedTuple):
    """Calibration as it is counted one by one: how many there are, and how far off."""

    size: int
    brier: float
    base_brier: float
    error: float
    bins: tuple[Bin, ...]


class Running:
    """Calibration counted outcome by outcome, in any order: what it comes to depends on their set alone.

    >>> running = Running()
    >>> for probability, hit in [(0.25, False), (0.25, True), (0.25, False), (0.25, False), (0.9, True)]:
    ...     running.add(probability, hit)
    >>> found = running.reliability()
    >>> round(found.brier, 4), round(found.base_brier, 4), round(found.error, 4), len(found.bins)
    (0.152, 0.24, 0.02, 2)
    """

    def __init__(self, sample: Iterable[Outcome] = ()) -> None:
        self._sizes, self._hits = [0] * BINS, [0] * BINS
        self._said = [0.0] * BINS
        self._squares = 0.0
        for probability, hit in sample:
            self.add(probability, hit)

    def add(self, probability: float, hit: bool) -> None:
        """Count an outcome; raises ValueError for a probability outside 0 to 1."""
        if not 0 <= probability <= 1:
            raise ValueError(f"calibration: a probability is {probability}, expected one from 0 to 1")
        place = min(int(probability * BINS), BINS - 1)
        self._sizes[place] += 1
        self._hits[place] += hit
        self._said[place] += probability
        self._squares += (probability - hit) ** 2

    def reliability(self) -> Reliability | None:
        """Return what the outcomes come to; None before the first."""
        size = sum(self._sizes)
        if not size:
            return None
        rate = sum(self._hits) / size
        columns = zip(self._sizes, self._said, self._hits, strict=True)
        bins = tuple(
            Bin(place / BINS, (place + 1) / BINS, number, said / number, hits / number)
            for place, (number, said, hits) in enumerate(columns)
            if number
        )
        return Reliability(size, self._squares / size, rate * (1 - rate), expected_error(bins), bins)


def windows(sample: Sequence[Outcome], most: int) -> list[Bin]:
    """Return the outcomes, in their order, cut into ``most`` windows of equally many, or one more.

    ``low`` and ``high`` of a window are the places of its first outcome and of the one behind its last. Where
    what is found leaves what was said, from one window to the next, the pages have changed.

    >>> [found[:3] for found in windows([(0.5, True), (0.5, True), (0.5, False)], 2)]
    [(0, 1, 1), (1, 3, 2)]
    """
    edges = sorted({len(sample) * place // most for place in range(most + 1)})
    found = []
    for start, end in pairwise(edges):
        said, came = zip(*sample[start:end], strict=True)
        found.append(Bin(start, end, end - start, sum(said) / len(said), sum(came) / len(came)))
    return found


def wilson(rate: float, count: int, deviations: float = 1.0) -> tuple[float, float]:
    """Return the interval of so many standard errors about a rate (Wilson 1927), never empty at 0 and 1.

    >>> low, high = wilson(0.0, 9)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.1)
    >>> [round(edge, 3) for edge in wilson(0.5, 16, deviations=2.0)]
    [0.276, 0.724]
    """
    square = deviations**2
    middle = (rate + 0.5 * square / count) / (1 + square / count)
    half = deviations * math.sqrt(rate * (1 - rate) / count + 0.25 * square / count**2) / (1 + square / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def expected_error(bins: Sequence[Bin]) -> float:
    """Return the mean over the outcomes of |mean probability - rate of hits| of their bin.

    It is never 0 for a small sample, not even a calibrated one: about .8 sqrt(r (1 - r) b / n) for n
    outcomes of rate r in b bins.
    """
    total = sum(found.size for found in bins)
    return sum(found.size * abs(found.probability - found.rate) for found in bins) / total
