"""Words that pages have from others, united and counted: those of in-linking pages, and signatures."""

from bisect import insort
from collections.abc import Iterable

import numpy as np

from models.evaluate.tally import Tally
from models.interest.ratio import Base
from models.ledger import Slots
from models.url import identifier


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
