"""Counts and log ratios of one kind of feature for one predicate, in arrays: thousands are taken at once."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from models.interest.ratio import HALF_A_HIT, Base, Denominator, Sample, samples

#: Numbers of features, each once.
Numbers = npt.NDArray[np.intp]

_Counts = npt.NDArray[np.int64]
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
    """How many judged pages had each feature, and how many of these were hits.

    A feature's number is its place in the arrays. Log ratios are those of the last `work_out`: significant
    features only, 0 for the others.

    >>> tally = Tally(2.0, "binomial")
    >>> ski = tally.numbers_of(["ski"])
    >>> for holds in (True, True, True, True, False):
    ...     tally.add(ski, holds)
    >>> tally.work_out(Base(20, 4))
    >>> round(tally.log(ski), 3), list(tally.items())
    (1.386, [('ski', 5, 4)])
    """

    def __init__(self, t: float, denominator: Denominator, sample: Sample = "hits") -> None:
        self._numbers: dict[str, int] = {}
        self._t = t
        self._denominator: Denominator = denominator
        self._sample: Sample = sample
        self._pages: _Counts = np.zeros(0, np.int64)
        self._hits: _Counts = np.zeros(0, np.int64)
        self._logs: _Logs = np.zeros(0)

    def numbers_of(self, names: list[str]) -> Numbers:
        """Return the numbers of distinct names, in their order; new names get new numbers."""
        known = self._numbers
        found = [known.setdefault(name, len(known)) for name in names]
        if len(known) > len(self._pages):
            self._grow(2 * len(known))
        return np.array(found, np.intp)

    def add(self, numbers: Numbers, holds: bool) -> None:
        """Count a verdict under each feature."""
        self._pages[numbers] += 1
        if holds:
            self._hits[numbers] += 1

    def start(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Count features (pages, hits) that an earlier crawl counted."""
        numbers = self.numbers_of(list(counts))
        cells = np.array(list(counts.values()), np.int64).reshape(-1, 2)
        self._pages[numbers] += cells[:, 0]
        self._hits[numbers] += cells[:, 1]

    def add_sets(self, sets: list[int], holds: bool, times: int) -> None:
        """Count a verdict ``times`` over under each feature of each of ``sets``, the bits of integers.

        Negative ``times`` take it back. Much faster than one by one.
        """
        width = (max(map(int.bit_length, sets), default=0) + 7) // 8
        for start in range(0, len(sets), _ROWS):
            rows = b"".join(bits.to_bytes(width, "little") for bits in sets[start : start + _ROWS])
            field = np.unpackbits(np.frombuffer(rows, np.uint8).reshape(-1, width), axis=1, bitorder="little")
            found = np.add.reduce(field, axis=0, dtype=np.uint8)[: len(self._pages)].astype(np.int64) * times
            self._pages[: len(found)] += found
            if holds:
                self._hits[: len(found)] += found

    def work_out(self, base: Base) -> None:
        """Take all ratios anew, against ``base``."""
        self._logs = significant_logs(self._pages, self._hits, base, self._t, self._denominator, self._sample)

    def log(self, numbers: Numbers) -> float:
        """Return the sum of the log ratios of features."""
        if not len(numbers):
            return 0.0
        return float(np.add.reduce(self._logs.take(numbers)))

    def significant(self) -> dict[str, float]:
        """Return the log ratios of the significant features, by name."""
        logs = self._logs[: len(self._numbers)].tolist()
        return {name: log for name, log in zip(self._numbers, logs, strict=True) if log}

    def items(self) -> Iterator[tuple[str, int, int]]:
        """Yield (name, pages, hits) of every feature that was counted."""
        for name, number in self._numbers.items():
            if self._pages[number]:
                yield name, int(self._pages[number]), int(self._hits[number])

    def _grow(self, size: int) -> None:
        more = size - len(self._pages)
        self._pages = np.concatenate((self._pages, np.zeros(more, np.int64)))
        self._hits = np.concatenate((self._hits, np.zeros(more, np.int64)))
        self._logs = np.concatenate((self._logs, np.zeros(more)))
