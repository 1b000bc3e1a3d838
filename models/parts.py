"""A ledger in parts: each partition counts in columns, and the ledger has their sums."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scentline.models.ledger import Cells, Change, Counts, Ledger, Slots, distinct, longer
from scentline.models.policy.features import BASE

#: Columns in a block.
BLOCK = 1024
#: The slot of a free column, and the column of a slot without one.
_NONE = -1

Mask = npt.NDArray[np.bool_]


def columns_of(block: int, size: int) -> Slots:
    """Return the columns of a block in a part of ``size`` columns.

    The first column, that of the base, is a block of its own: the number of judged pages goes out first.

    >>> columns_of(0, 1500), len(columns_of(1, 1500)), columns_of(2, 1500)[[0, -1]]
    (array([0]), 1024, array([1025, 1499]))
    """
    start, end = (1 + (block - 1) * BLOCK, 1 + block * BLOCK) if block else (0, 1)
    return np.arange(start, min(end, size))


def blocks_of(columns: Slots) -> Slots:
    """Return the distinct blocks of columns in ascending order."""
    return distinct((columns + BLOCK - 1) // BLOCK)


def blocks_in(size: int) -> int:
    """Return the number of blocks in a part of ``size`` columns."""
    return 1 + -(-(size - 1) // BLOCK) if size else 0


class Part:
    """The counts of one partition: a feature has a column here, and a slot in the ledger that sums the parts.

    The owner of the partition counts (`begin`, `count`); others apply the columns that it publishes (`put`).
    Either way the ledger has the sum of its parts.

    >>> ledger = Ledger()
    >>> one, other = Part(ledger), Part(ledger)
    >>> one.begin()
    >>> columns = one.count([Change(["w:ski"], {"sports": True}, np.array([2]))])
    >>> changed = other.put(np.array([7]), Cells(("sports",), ("w:ski",), np.array([[3], [1]])))
    >>> changed = other.put(np.array([7]), Cells(("sports",), ("w:ski",), np.array([[4], [1]])))
    >>> columns, ledger.get("w:ski", "sports")
    (array([1]), (6, 3))
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        #: Number of columns, free ones included.
        self.size = 0
        self._slots: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._counts: Counts = np.zeros((0, 0), np.int32)
        # While counting: the columns by slot, and the free ones.
        self._columns: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._free: list[int] = []

    def __len__(self) -> int:
        """Return the number of features counted here."""
        return self.size - len(self._free)

    def slots(self, columns: Slots) -> Slots:
        """Return the slots of the features in some columns, free ones left out."""
        slots = self._slots_in(columns)
        return slots[slots >= 0]

    @property
    def held(self) -> Mask:
        """Which slots of the ledger have a column here."""
        found = np.zeros(self._ledger.size, np.bool_)
        found[self.slots(np.arange(self.size))] = True
        return found

    # applying what the owner publishes

    def put(self, columns: Slots, cells: Cells) -> Slots:
        """Set some columns, names included; return the slots whose sums may have changed.

        Until the last of the owner's columns is applied, a feature may be in two of them.
        """
        after = self._counts_of(cells)
        self._make_room(max(self.size, 1 + int(columns.max(initial=-1))))
        was, before = self._slots_in(columns), self._counts[:, columns]
        now = was if cells.names == self._names(was) else self._slots_of(cells.names)
        moved = (was != now) | (before != after).any(axis=0)
        for slots, counts in ((was, -before), (now, after)):
            there = moved & (slots >= 0)
            self._ledger.shift(slots[there], counts[:, there])
        self._slots[columns], self._counts[:, columns] = now, after
        changed = distinct(np.concatenate((was[moved], now[moved])))
        return changed[changed >= 0]

    def take(self, columns: Slots) -> Cells:
        """Return the cells of some columns."""
        self._make_room(self.size)
        return Cells(self._ledger.predicates, self._names(self._slots_in(columns)), self._counts[:, columns])

    def has(self, columns: Slots, cells: Cells) -> bool:
        """Return whether some columns hold these cells."""
        counts = self._counts_of(cells)
        self._make_room(self.size)
        same = cells.names == self._names(self._slots_in(columns))
        return same and np.array_equal(counts, self._counts[:, columns])

    def cut(self, size: int) -> Slots:
        """Drop all columns beyond ``size``; return the slots of those dropped."""
        gone = np.arange(size, self.size)
        nothing = np.zeros((0, len(gone)), np.int32)
        changed = self.put(gone, Cells((), (None,) * len(gone), nothing))
        self.size = min(size, self.size)
        return changed

    # counting

    def begin(self) -> None:
        """Start to count, from the columns as they are."""
        self._columns = np.full(self._ledger.size, _NONE, np.int32)
        used = np.flatnonzero(self._slots[: self.size] >= 0)
        self._columns[self._slots[used]] = used
        self._free = sorted({*range(1, self.size)} - {*used.tolist()}, reverse=True)
        if 0 not in used[:1]:
            self._make_room(max(1, self.size))
            [slot] = self._ledger.slots_of([BASE])
            self._columns = longer(self._columns, self._ledger.size, _NONE)
            self._slots[0], self._columns[slot] = slot, 0

    def end(self) -> None:
        """Stop counting: another owns the partition now, and publishes its columns."""
        self._columns, self._free = np.zeros(0, np.int32), []

    def count(self, changes: Sequence[Change]) -> Slots:
        """Count verdicts; return the columns that changed, each once.

        Taking back what was forgotten leaves 0: no count falls below zero.
        """
        placed = [
            (self._columns_of(features), self._ledger.rows_in(verdict), times)
            for features, verdict, times in changes
        ]
        changed = distinct(np.concatenate([np.zeros(0, np.intp), *(columns for columns, *_ in placed)]))
        self._make_room(self.size)
        before = self._counts[:, changed]
        for columns, rows, times in placed:
            self._counts[rows[:, None], columns] += times
        after = np.maximum(self._counts[:, changed], 0)
        after[1::2] = np.minimum(after[1::2], after[::2])
        self._counts[:, changed] = after
        self._ledger.shift(self._slots_in(changed), after - before)
        return changed

    def forget(self, gone: Mask) -> Slots:
        """Forget the features in some of the ledger's slots; return the columns that this frees."""
        self._make_room(self.size)
        slots = self._slots_in(np.arange(self.size))
        columns = np.flatnonzero((slots >= 0) & gone[slots])
        self._ledger.shift(slots[columns], -self._counts[:, columns])
        if len(self._columns):
            self._columns[slots[columns]] = _NONE
            self._free += columns.tolist()
        self._slots[columns], self._counts[:, columns] = _NONE, 0
        return columns

    def _columns_of(self, features: Sequence[str]) -> Slots:
        slots = self._ledger.slots_of(features)
        self._columns = longer(self._columns, self._ledger.size, _NONE)
        columns = self._columns[slots].astype(np.intp)
        fresh = np.flatnonzero(columns == _NONE)
        if len(fresh):
            columns[fresh] = self._allot(len(fresh))
            self._slots[columns[fresh]] = slots[fresh]
            self._columns[slots[fresh]] = columns[fresh]
        return columns

    def _allot(self, number: int) -> list[int]:
        used = self._free[-number:][::-1]
        del self._free[len(self._free) - len(used) :]
        more = range(self.size, self.size + number - len(used))
        self._make_room(self.size + len(more))
        return [*used, *more]

    # columns

    def _make_room(self, size: int) -> None:
        """Make room for ``size`` columns and for all of the ledger's rows."""
        self.size = size
        if size > len(self._slots):
            self._slots, self._counts = longer(self._slots, size, _NONE), longer(self._counts, size)
        missing = 2 * len(self._ledger.predicates) - len(self._counts)
        if missing:
            self._counts = np.pad(self._counts, ((0, missing), (0, 0)))

    def _counts_of(self, cells: Cells) -> Counts:
        rows = self._ledger.rows(cells.predicates)
        found = np.zeros((2 * len(self._ledger.predicates), len(cells.names)), np.int32)
        found[rows] = cells.counts
        return found

    def _names(self, slots: Slots) -> tuple[str | None, ...]:
        if slots.min(initial=0) >= 0:
            return tuple(self._ledger.names(slots))
        found = iter(self._ledger.names(slots[slots >= 0]))
        return tuple(next(found) if there else None for there in (slots >= 0).tolist())

    def _slots_in(self, columns: Slots) -> Slots:
        return self._slots[columns].astype(np.intp)

    def _slots_of(self, names: Sequence[str | None]) -> Slots:
        found = np.full(len(names), _NONE)
        there = np.array([name is not None for name in names], np.bool_)
        found[there] = self._ledger.slots_of(name for name in names if name is not None)
        return found
