"""Word sets as bit masks, so that the words of many in-linking pages are united and summed in microseconds.

A candidate's content score needs the union of its in-linking pages' words (Aggarwal 2004, section 3: each word
once over all in-linking pages) and the sum of the logs of those that are significant (equation 7). Every word
that was ever significant gets a bit; a page's words are a mask of such bits, a union is an OR of masks, and the
sum is a product of the mask with the vector of logs.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scentline.models.interest.ratio import RatioTable


class Mask(NamedTuple):
    """A word set's mask: ``bits`` over the first ``seen`` words that have a bit."""

    seen: int
    bits: int


#: The mask of a word set that was not looked at yet.
UNSEEN = Mask(0, 0)


class WordMasks:
    """The bits of a table's significant words, and their logs.

    >>> from scentline.models.interest.ratio import Base
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
