"""What a virtual crawl of a paper's policy counts: log ratios for one predicate, in arrays. A page has features
of itself, such as its URL's tokens and its visitors, and words that it has from others, united and counted:
those of in-linking pages, and signatures. Of an earlier crawl whole counts are taken up.
"""

import math
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from scentline.models.interest.features import BASE
from scentline.models.interest.ratio import HALF_A_HIT, Base, Denominator, Sample, samples
from scentline.models.ledger import Ledger, Slots
from scentline.models.reuse import WEIGHT, Learned, whole
from scentline.models.url import identifier

#: What a virtual crawl calls its one predicate.
NAME = "p"
_Counts = npt.NDArray[np.int32]
_Logs = npt.NDArray[np.float64]
#: The (pages, hits) of features by name.
_Cells = Mapping[str, tuple[int, int]]

# Sets that are added up at once: as many as one byte counts.
_ROWS = 255


class Counted:
    """The counts of an earlier crawl, multiplied by its weight and rounded.

    >>> counted = Counted(Learned("p", "", 100, 20, {"w:ski": (8, 8), "w:rare": (1, 1)}))
    >>> counted.base, counted.of("w:"), counted.of("t:")
    ((25, 5), {'ski': (2, 2)}, {})
    """

    def __init__(self, state: Learned) -> None:
        self.base = (0, 0)
        self._kinds: dict[str, dict[str, tuple[int, int]]] = {}
        for feature, pages, hits in state.counts(WEIGHT):
            cell = whole(pages, hits)
            if feature == BASE:
                self.base = cell
            elif cell[0]:
                self._kinds.setdefault(feature[:2], {})[feature[2:]] = cell

    def of(self, kind: str) -> _Cells:
        """Return the counts of one kind, such as ``"w:"``, by the rest of the features' names."""
        return self._kinds.get(kind, {})


def significant_logs(
    pages: _Counts, hits: _Counts, base: Base, t: float, denominator: Denominator, sample: Sample
) -> _Logs:
    """Return `models.interest.ratio.significant_log` of many features at once."""
    logs = np.zeros(len(pages))
    (seen,) = pages.nonzero()
    if not base.informative or not len(seen):
        return logs
    rate, number, found = base.rate, pages[seen], hits[seen]
    divisor: float | _Counts = number if denominator == "binomial" else samples(0, base, denominator, sample)
    significant = np.abs(found / number - rate) / np.sqrt(rate * (1 - rate) / divisor) >= t
    expected, found = number[significant] * rate, found[significant]
    ratios = np.where(found > 0, found / expected, np.minimum(1.0, HALF_A_HIT / expected))
    logs[seen[significant]] = np.log(ratios)
    return logs


class Tally:
    """How many judged pages had each feature of one kind, how many of these were hits, and what that says. The
    counts are those of a ledger of its own; a feature's number is its slot. Log ratios are those of the last
    `work_out`: significant features only, 0 for the others.
    """

    def __init__(self, t: float, denominator: Denominator, sample: Sample = "hits") -> None:
        self._ledger = Ledger()
        self._ledger.add_predicates([NAME])
        self._t, self._denominator, self._sample = t, denominator, sample
        self._logs: _Logs = np.zeros(0)

    def numbers_of(self, names: list[str]) -> Slots:
        """Return the numbers of distinct names, in their order; new names get new numbers."""
        numbers = self._ledger.slots_of(names)
        if self._ledger.size > len(self._logs):
            self._logs = np.concatenate((self._logs, np.zeros(2 * self._ledger.size - len(self._logs))))
        return numbers

    def add(self, numbers: Slots, holds: bool) -> None:
        self._ledger.add(numbers, {NAME: holds}, 1)

    def start(self, counts: _Cells) -> None:
        """Count features that an earlier crawl counted."""
        numbers = self.numbers_of(list(counts))
        cells = np.array(list(counts.values()), np.int32).reshape(-1, 2)
        self._ledger.add(numbers, {NAME: True}, cells[:, 1])
        self._ledger.add(numbers, {NAME: False}, cells[:, 0] - cells[:, 1])

    def add_sets(self, sets: list[int], holds: bool, times: int) -> None:
        """Count a verdict ``times`` over, or take it back, under the features of ``sets``, bits of integers."""
        width = (max(map(int.bit_length, sets), default=0) + 7) // 8
        for start in range(0, len(sets), _ROWS):
            rows = b"".join(bits.to_bytes(width, "little") for bits in sets[start : start + _ROWS])
            field = np.unpackbits(np.frombuffer(rows, np.uint8).reshape(-1, width), axis=1, bitorder="little")
            found = np.add.reduce(field, axis=0, dtype=np.uint8)[: self._ledger.size]
            numbers = found.nonzero()[0]
            self._ledger.add(numbers, {NAME: holds}, found[numbers].astype(np.int32) * times)

    def work_out(self, base: Base) -> None:
        pages, hits = self._ledger.counts_of(NAME)
        self._logs = significant_logs(pages, hits, base, self._t, self._denominator, self._sample)

    def log(self, numbers: Slots) -> float:
        return float(np.add.reduce(self._logs.take(numbers))) if len(numbers) else 0.0

    def significant(self) -> dict[str, float]:
        (numbers,) = self._logs.nonzero()
        names, logs = self._ledger.names(numbers), self._logs[numbers].tolist()
        return {name: log for name, log in zip(names, logs, strict=True) if name is not None}

    def items(self) -> Iterator[tuple[str, int, int]]:
        return self._ledger.items_of(NAME)


class OwnFeatures:
    """Counts of the names that ``names`` gives for a page, and sums of the few significant log ratios."""

    def __init__(self, tally: Tally, names: Callable[[str], Iterable[str]]) -> None:
        self.tally, self._names = tally, names
        self._of_page: dict[str, tuple[str, ...]] = {}
        self._logs: dict[str, float] = {}

    def judge(self, page: str, holds: bool) -> None:
        self.tally.add(self.tally.numbers_of(list(self._names(page))), holds)

    def work_out(self, base: Base) -> None:
        self.tally.work_out(base)
        self._logs = self.tally.significant()

    def log(self, page: str) -> float:
        names = self._of_page.get(page)
        if names is None:
            names = self._of_page[page] = tuple(self._names(page))
        present = self._logs.keys() & names
        return math.fsum(map(self._logs.__getitem__, present)) if present else 0.0


class Places(dict[str, int]):
    """URLs' identifiers as numbers; two XORed are the `models.interest.factors.rank` of one to the other."""

    def __missing__(self, url: str) -> int:
        self[url] = found = int.from_bytes(identifier(url), "big")
        return found


def pack(numbers: Slots) -> int:
    """Return a set of numbers as the bits of an integer."""
    field = np.zeros(int(numbers.max(initial=-1)) + 1, np.uint8)
    field[numbers] = 1
    return int.from_bytes(np.packbits(field, bitorder="little").tobytes(), "little")


def unpack(bits: int) -> Slots:
    """Return the numbers of the bits that are set, ascending."""
    field = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8, "little"), np.uint8)
    return np.unpackbits(field, bitorder="little").view(np.bool_).nonzero()[0]


class Unions:
    """For each page the words of its sources, of which at most ``bound`` count: those of lowest rank. A judged
    page's verdict is counted in ``tally`` under each word of its union; what a source that comes later changes
    is made up for at `settle`, so that counts depend on what is known and not on the order.
    """

    def __init__(self, tally: Tally, bound: int, places: Places) -> None:
        self._tally, self._bound, self._places = tally, bound, places
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
        changes: dict[tuple[bool, int], list[int]] = {}
        for page in self._moved:
            before, holds = self._counted[page]
            after = self._bits(page)
            for times, bits in ((1, after & ~before), (-1, before & ~after)):
                changes.setdefault((holds, times), []).extend([bits] if bits else [])
            self._counted[page] = (after, holds)
        for (holds, times), sets in changes.items():
            self._tally.add_sets(sets, holds, times)
        self._moved.clear()

    def work_out(self, base: Base) -> None:
        self.settle()
        self._tally.work_out(base)
        self._logs.clear()

    def sources(self, page: str) -> list[str]:
        return [source for _, source, _ in self._sources.get(page, ())]

    def log(self, page: str) -> float:
        log = self._logs.get(page)
        if log is None:
            found = self._unions.get(page)
            if found is None:
                found = self._unions[page] = unpack(self._bits(page))
            log = self._logs[page] = self._tally.log(found)
        return log

    def _bits(self, page: str) -> int:
        united = self._united.get(page)
        if united is None:
            united = 0
            for _, _, words in self._sources.get(page, ()):
                united |= words
            self._united[page] = united
        return united
