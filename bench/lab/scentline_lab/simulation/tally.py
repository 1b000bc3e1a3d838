"""What a virtual crawl of a paper's policy counts: log ratios for one predicate, in arrays.

A page has features of itself, such as its URL's tokens and its visitors, and words that it has from others,
united and counted: those of in-linking pages, and signatures. Of an earlier crawl whole counts are taken up.
"""

import math
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from scentline.models.interest.features import BASE
from scentline.models.interest.ratio import HALF_A_HIT, Base, Denominator, Sample, samples
from scentline.models.ledger import Ledger, Slots
from scentline.models.reuse import Learned, whole
from scentline.models.url import identifier

#: What a virtual crawl calls its one predicate.
NAME = "p"


class Counted:
    """The counts of an earlier crawl, multiplied by ``weight`` and rounded.

    >>> counted = Counted(Learned("p", "", 100, 20, {"w:ski": (8, 8), "w:rare": (1, 1)}), 0.25)
    >>> counted.base, counted.of("w:"), counted.of("t:")
    ((25, 5), {'ski': (2, 2)}, {})
    """

    def __init__(self, state: Learned, weight: float) -> None:
        self.base = (0, 0)
        self._kinds: dict[str, dict[str, tuple[int, int]]] = {}
        for feature, pages, hits in state.counts(weight):
            cell = whole(pages, hits)
            if feature == BASE:
                self.base = cell
            elif cell[0]:
                self._kinds.setdefault(feature[:2], {})[feature[2:]] = cell

    def of(self, kind: str) -> dict[str, tuple[int, int]]:
        """Return the counts of one kind, such as ``"w:"``, by the rest of the features' names."""
        return self._kinds.get(kind, {})


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


class Places(dict[str, int]):
    """The identifiers of URLs as numbers, each worked out once.

    Two of them XORed are the `models.interest.factors.rank` of one page among those of the other.
    """

    def __missing__(self, url: str) -> int:
        self[url] = found = int.from_bytes(identifier(url), "big")
        return found


def pack(numbers: Slots) -> int:
    """Return a set of numbers as the bits of an integer.

    >>> pack(np.array([0, 3]))
    9
    """
    field = np.zeros(int(numbers.max(initial=-1)) + 1, np.uint8)
    field[numbers] = 1
    return int.from_bytes(np.packbits(field, bitorder="little").tobytes(), "little")


def unpack(bits: int) -> Slots:
    """Return the numbers of the bits that are set, ascending.

    >>> unpack(9)
    array([0, 3])
    """
    field = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8, "little"), np.uint8)
    return np.unpackbits(field, bitorder="little").view(np.bool_).nonzero()[0]


class Unions:
    """For each page the words of its sources, of which at most ``bound`` count: those of lowest rank.

    A judged page's verdict is counted in ``tally`` under each word of its union; what a source that comes
    later changes is made up for at `settle`, so that counts depend on what is known and not on the order.
    """

    def __init__(self, tally: Tally, bound: int, places: Places) -> None:
        self._tally = tally
        self._bound = bound
        self._places = places
        self._sources: dict[str, list[tuple[int, str, int]]] = {}
        self._united: dict[str, int] = {}
        self._unions: dict[str, Slots] = {}
        self._logs: dict[str, float] = {}
        self._counted: dict[str, tuple[int, bool]] = {}
        self._moved: set[str] = set()

    def contribute(self, source: str, words: list[str], pages: Iterable[str]) -> None:
        """Make ``source``, with its distinct ``words``, a source of each of ``pages``; once a source."""
        bits = pack(self._tally.numbers_of(words))
        place, places, sources, bound = self._places[source], self._places, self._sources, self._bound
        for page in pages:
            rank = place ^ places[page]
            known = sources.setdefault(page, [])
            if len(known) == bound:
                if rank > known[-1][0]:
                    continue
                known.pop()
                self._united.pop(page, None)
            elif page in self._united:
                self._united[page] |= bits
            insort(known, (rank, source, bits))
            if page in self._counted:
                self._moved.add(page)
            else:
                self._unions.pop(page, None)
                self._logs.pop(page, None)

    def judge(self, page: str, holds: bool) -> None:
        """Count a page's verdict under the words of its union, from the next `settle` on."""
        self._counted[page] = (0, holds)
        self._moved.add(page)
        self._unions.pop(page, None)
        self._logs.pop(page, None)

    def settle(self) -> None:
        """Bring the counts up to what is known."""
        added: dict[bool, list[int]] = {True: [], False: []}
        removed: dict[bool, list[int]] = {True: [], False: []}
        for page in self._moved:
            before, holds = self._counted[page]
            after = self._bits(page)
            added[holds].append(after & ~before)
            removed[holds].append(before & ~after)
            self._counted[page] = (after, holds)
        for holds in (True, False):
            self._tally.add_sets(list(filter(None, added[holds])), holds, 1)
            self._tally.add_sets(list(filter(None, removed[holds])), holds, -1)
        self._moved.clear()

    def work_out(self, base: Base) -> None:
        """Settle, and take all ratios anew, against ``base``."""
        self.settle()
        self._tally.work_out(base)
        self._logs.clear()

    def sources(self, page: str) -> list[str]:
        """Return the sources that count for a page."""
        return [source for _, source, _ in self._sources.get(page, ())]

    def log(self, page: str) -> float:
        """Return the sum of the log ratios of the words of a candidate's union."""
        log = self._logs.get(page)
        if log is None:
            log = self._logs[page] = self._tally.log(self._union(page))
        return log

    def _union(self, page: str) -> Slots:
        found = self._unions.get(page)
        if found is None:
            found = self._unions[page] = unpack(self._bits(page))
        return found

    def _bits(self, page: str) -> int:
        united = self._united.get(page)
        if united is None:
            united = 0
            for _, _, words in self._sources.get(page, ()):
                united |= words
            self._united[page] = united
        return united
