"""Log ratios of one kind of feature for one predicate, in arrays: thousands are taken at once.

Features that a page has of itself, such as its URL's tokens and its visitors, are counted and summed here.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from models.evaluate.taken import NAME
from models.interest.ratio import HALF_A_HIT, Base, Denominator, Sample, samples
from models.ledger import Ledger, Slots

_Counts = npt.NDArray[np.int32]
_Logs = npt.NDArray[np.float64]

# Sets that are added up at once: as many as one byte counts.
_ROWS = 255


def significant_logs(
    pages: _Counts, hits: _Counts, base: Base, t: float, denominator: Denominator, sample: Sample
) -> _Logs:
    """Return `models.interest.ratio.significant_log` of many features at once.

    >>> significant_logs(np.array([40, 5]), np.array([16, 2]), Base(100, 20), 2.0, "binomial", "hits").round(3)
    array([0.693, 0.   ])
    """
    logs = np.zeros(len(pages))
    (seen,) = pages.nonzero()
    if not base.informative or not len(seen):
        return logs
    rate, number, found = base.rate, pages[seen], hits[seen]
    divisor: float | _Counts = number if denominator == "binomial" else samples(0, base, denominator, sample)
    significant = np.abs(found / number - rate) / np.sqrt(rate * (1 - rate) / divisor) >= t
    expected = number[significant] * rate
    found = found[significant]
    logs[seen[significant]] = np.log(
        np.where(found > 0, found / expected, np.minimum(1.0, HALF_A_HIT / expected))
    )
    return logs


class Tally:
    """How many judged pages had each feature of one kind, how many of these were hits, and what that says.

    The counts are those of a ledger of its own; a feature's number is its slot. Log ratios are those of the
    last `work_out`: significant features only, 0 for the others.

    >>> tally = Tally(2.0, "binomial")
    >>> ski = tally.numbers_of(["ski"])
    >>> for holds in (True, True, True, True, False):
    ...     tally.add(ski, holds)
    >>> tally.work_out(Base(20, 4))
    >>> round(tally.log(ski), 3), list(tally.items())
    (1.386, [('ski', 5, 4)])
    """

    def __init__(self, t: float, denominator: Denominator, sample: Sample = "hits") -> None:
        self._ledger = Ledger()
        self._ledger.add_predicates([NAME])
        self._t = t
        self._denominator: Denominator = denominator
        self._sample: Sample = sample
        self._logs: _Logs = np.zeros(0)

    def numbers_of(self, names: list[str]) -> Slots:
        """Return the numbers of distinct names, in their order; new names get new numbers."""
        numbers = self._ledger.slots_of(names)
        if self._ledger.size > len(self._logs):
            self._logs = np.concatenate((self._logs, np.zeros(2 * self._ledger.size - len(self._logs))))
        return numbers

    def add(self, numbers: Slots, holds: bool) -> None:
        """Count a verdict under each feature."""
        self._ledger.add(numbers, {NAME: holds}, 1)

    def start(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Count features (pages, hits) that an earlier crawl counted."""
        numbers = self.numbers_of(list(counts))
        cells = np.array(list(counts.values()), np.int32).reshape(-1, 2)
        self._ledger.add(numbers, {NAME: True}, cells[:, 1])
        self._ledger.add(numbers, {NAME: False}, cells[:, 0] - cells[:, 1])

    def add_sets(self, sets: list[int], holds: bool, times: int) -> None:
        """Count a verdict ``times`` over under each feature of each of ``sets``, the bits of integers.

        Negative ``times`` take it back. Much faster than one by one.
        """
        width = (max(map(int.bit_length, sets), default=0) + 7) // 8
        for start in range(0, len(sets), _ROWS):
            rows = b"".join(bits.to_bytes(width, "little") for bits in sets[start : start + _ROWS])
            field = np.unpackbits(np.frombuffer(rows, np.uint8).reshape(-1, width), axis=1, bitorder="little")
            found = np.add.reduce(field, axis=0, dtype=np.uint8)[: self._ledger.size]
            numbers = found.nonzero()[0]
            self._ledger.add(numbers, {NAME: holds}, found[numbers].astype(np.int32) * times)

    def work_out(self, base: Base) -> None:
        """Take all ratios anew, against ``base``."""
        pages, hits = self._ledger.counts_of(NAME)
        self._logs = significant_logs(pages, hits, base, self._t, self._denominator, self._sample)

    def log(self, numbers: Slots) -> float:
        """Return the sum of the log ratios of features."""
        if not len(numbers):
            return 0.0
        return float(np.add.reduce(self._logs.take(numbers)))

    def significant(self) -> dict[str, float]:
        """Return the log ratios of the significant features, by name."""
        (numbers,) = self._logs.nonzero()
        names, logs = self._ledger.names(numbers), self._logs[numbers].tolist()
        return {name: log for name, log in zip(names, logs, strict=True) if name is not None}

    def items(self) -> Iterator[tuple[str, int, int]]:
        """Yield (name, pages, hits) of every feature that was counted."""
        return self._ledger.items_of(NAME)


class OwnFeatures:
    """Counts of the names that ``names`` gives for a page, and the sums of their log ratios.

    Few of them are significant, so a page's sum is worked out from those alone.
    """

    def __init__(self, tally: Tally, names: Callable[[str], Iterable[str]]) -> None:
        self._tally = tally
        self._names = names
        self._of_page: dict[str, tuple[str, ...]] = {}
        self._logs: dict[str, float] = {}
        self._significant: set[str] = set()

    def start(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Count features (pages, hits) that an earlier crawl counted."""
        self._tally.start(counts)

    def judge(self, page: str, holds: bool) -> None:
        """Count a page's verdict under each of its features."""
        self._tally.add(self._tally.numbers_of(list(self._names(page))), holds)

    def work_out(self, base: Base) -> None:
        """Take all ratios anew, against ``base``."""
        self._tally.work_out(base)
        self._logs = self._tally.significant()
        self._significant = set(self._logs)

    def log(self, page: str) -> float:
        """Return the sum of the log ratios of a candidate's features."""
        names = self._of_page.get(page)
        if names is None:
            names = self._of_page[page] = tuple(self._names(page))
        present = self._significant.intersection(names)
        return math.fsum(map(self._logs.__getitem__, present)) if present else 0.0

    def items(self) -> Iterator[tuple[str, int, int]]:
        """Yield (name, pages, hits) of every feature that was counted."""
        return self._tally.items()
