"""The ledger: how many judged pages had each feature, and how many of these satisfied each predicate.

Also helpers for arrays: growth, distinct numbers, ranges.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from scentline.models.page import Verdict

T = TypeVar("T", bound=np.generic)


def longer(array: npt.NDArray[T], least: int, fill: float = 0) -> npt.NDArray[T]:
    """Return an array with room for ``least`` entries along its second or only axis; new ones are ``fill``.

    It grows by an eighth more than needed: doubling would copy less often, and leave more of it empty.

    >>> longer(np.array([1, 2]), 2).tolist(), longer(np.array([1, 2]), 8, -1).tolist()
    ([1, 2], [1, 2, -1, -1, -1, -1, -1, -1, -1])
    """
    axis = min(1, array.ndim - 1)
    missing = least - array.shape[axis]
    if missing <= 0:
        return array
    shape = list(array.shape)
    shape[axis] = missing + least // 8
    return np.concatenate((array, np.full(shape, fill, array.dtype)), axis=axis)


def distinct(numbers: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the distinct numbers in ascending order.

    For few numbers it takes a third of the time of `numpy.unique`, which also imports numpy's masked arrays.

    >>> distinct(np.array([3, 1, 3])).tolist(), distinct(np.zeros(0, np.intp)).tolist()
    ([1, 3], [])
    """
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def joined(starts: npt.NDArray[np.integer[Any]], sizes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.intp]:
    """Return the ranges that begin at ``starts`` and have ``sizes`` numbers, one after the other.

    >>> joined(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    found: npt.NDArray[np.intp] = np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1])
    return found


#: Columns of features in the arrays.
Slots = npt.NDArray[np.intp]
#: Counts: of one predicate, a number per feature; of several, a row per predicate.
Counts = npt.NDArray[np.int32]

#: Serialised numbers: little-endian on any machine.
INT32 = np.dtype("<i4")
#: Initial capacity in features, and the slot of a feature that has none.
_LEAST, _NONE = 1024, -1


class Change(NamedTuple):
    """A verdict to count ``times`` under each of distinct ``features``; negative times take it back."""

    features: Sequence[str]
    verdict: Verdict
    times: Counts


class Cells(NamedTuple):
    """Counts of features: for each predicate a row of pages and a row of hits, with a column per name.

    The name of a free column is None.
    """

    predicates: tuple[str, ...]
    names: tuple[str | None, ...]
    counts: Counts

    @classmethod
    def of_bytes(cls, predicates: tuple[str, ...], names: tuple[str | None, ...], counts: bytes) -> "Cells":
        """Return the counts that `as_bytes` wrote; raises `ValueError` if their number does not fit."""
        return cls(predicates, names, np.frombuffer(counts, INT32).reshape(2 * len(predicates), len(names)))

    def as_bytes(self) -> bytes:
        """Return the serialised counts: `INT32`, row by row."""
        return self.counts.astype(INT32, copy=False).tobytes()


class _Slots(dict[str, int]):
    """The slots of features by name; the first look-up of a name allots its slot."""

    def __init__(self, allot: Callable[[str], int]) -> None:
        super().__init__()
        self._allot = allot

    def __missing__(self, name: str) -> int:
        slot = self[name] = self._allot(name)
        return slot


class Ledger:
    """For each feature E and predicate C the pages n(E) and the hits n(C and E), in arrays.

    Counts are a commutative group: they add up in any order, and negative times take a verdict back. A
    feature has a *slot*, its column in the arrays, until it is forgotten.
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        #: The predicates, in the order of their rows.
        self.predicates: tuple[str, ...] = ()
        #: The number of slots, free ones included.
        self.size = 0
        self._slots = _Slots(self._allot)
        self._names: list[str | None] = []
        self._free: list[int] = []
        # Two rows per predicate: pages, then hits.
        self._counts: Counts = np.zeros((0, _LEAST), np.int32)

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self._slots)

    def __contains__(self, name: str) -> bool:
        """Return whether a feature is in the ledger."""
        return name in self._slots

    def add_predicates(self, names: Iterable[str]) -> None:
        """Add predicates; new ones start without counts."""
        for name in names:
            self._place(name)

    def rows(self, predicates: Iterable[str]) -> Slots:
        """Return the rows of predicates: for each that of its pages, then that of its hits."""
        return np.array([2 * self._place(name) + hits for name in predicates for hits in (0, 1)], np.intp)

    def rows_in(self, verdict: Verdict) -> Slots:
        """Return the rows that a verdict counts in."""
        places = [(self._place(name), holds) for name, holds in verdict.items()]
        return np.array([2 * place + hits for place, holds in places for hits in range(1 + holds)], np.intp)

    # counts

    def add(self, slots: Slots, verdict: Verdict, times: Counts | int) -> None:
        """Count a verdict in distinct slots, with one number of ``times`` for all or one for each."""
        rows = self.rows_in(verdict)
        self._counts[rows[:, None], slots] += times

    def shift(self, slots: Slots, by: Counts) -> None:
        """Add to all counts in some slots; a slot may occur twice."""
        for row, more in zip(self._counts, by, strict=True):
            np.add.at(row, slots, more)

    def put(self, slots: Slots, cells: Cells) -> None:
        """Set the counts in some slots; those of predicates that ``cells`` lacks become 0."""
        rows = self.rows(cells.predicates)
        self._counts[:, slots] = 0
        self._counts[rows[:, None], slots] = cells.counts

    def get(self, name: str, predicate: str) -> tuple[int, int]:
        """Return the pages and hits of a feature, both 0 if it was never counted."""
        slot, place = self._slots.get(name), self._places.get(predicate)
        if slot is None or place is None:
            return 0, 0
        return self._counts.item(2 * place, slot), self._counts.item(2 * place + 1, slot)

    def counts(self, names: Sequence[str], predicates: Sequence[str]) -> tuple[Counts, Counts]:
        """Return the pages and hits of features, a row for each of some added predicates."""
        rows = np.array([[2 * self._places[predicate]] for predicate in predicates], np.intp)
        slots = [self._slots.get(name, _NONE) for name in names]
        pages, hits = self._counts[rows, slots], self._counts[rows + 1, slots]
        if _NONE in slots:
            known = np.array(slots) != _NONE
            pages, hits = pages * known, hits * known
        return pages, hits

    def counts_of(self, predicate: str) -> tuple[Counts, Counts]:
        """Return the current pages and hits of an added predicate, by slot."""
        row = 2 * self._places[predicate]
        return self._counts[row], self._counts[row + 1]

    def names(self, slots: Slots) -> list[str | None]:
        """Return the names of the features in some slots, None for a free slot."""
        names = self._names
        return [names[slot] for slot in slots.tolist()]

    def slots_of(self, names: Iterable[str]) -> Slots:
        """Return the slots of features; those without one get one."""
        found = np.array(list(map(self._slots.__getitem__, names)), np.intp)
        self._counts = longer(self._counts, self.size)
        return found

    def take(self, slots: Slots) -> Cells:
        """Return the counts in some slots."""
        return Cells(self.predicates, tuple(self.names(slots)), self._counts[:, slots])

    def items(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield (feature, predicate, pages, hits) of every count that is not zero."""
        for predicate in self._places:
            for name, pages, hits in self.items_of(predicate):
                yield name, predicate, pages, hits

    def items_of(self, predicate: str) -> Iterator[tuple[str, int, int]]:
        """Yield (feature, pages, hits) of every count of a predicate that is not zero."""
        pages, hits = self.counts_of(predicate)
        slots = np.flatnonzero(pages | hits)
        for name, *cell in zip(self.names(slots), pages[slots].tolist(), hits[slots].tolist(), strict=True):
            assert name is not None, "a free slot has no counts"
            yield name, cell[0], cell[1]

    # forgetting

    def rarest(self, number: int, among: npt.NDArray[np.bool_], kept: Callable[[str], bool]) -> Slots:
        """Return ``number`` slots of the mask ``among``, fewest pages first, except those of ``kept`` names."""
        used = np.array([slot for name, slot in self._slots.items() if among[slot] and not kept(name)], np.intp)
        pages = self._counts[::2, used].max(axis=0, initial=0)
        return used[np.argsort(pages, kind="stable")[:number]]

    def forget(self, slots: Slots) -> list[str]:
        """Forget the features in some slots and free these; return the names."""
        gone = [name for name in self.names(slots) if name is not None]
        self._counts[:, slots] = 0
        for name in gone:
            slot = self._slots.pop(name)
            self._names[slot] = None
            self._free.append(slot)
        return gone

    def _allot(self, name: str) -> int:
        if self._free:
            slot = self._free.pop()
            self._names[slot] = name
        else:
            slot, self.size = self.size, self.size + 1
            self._names.append(name)
        return slot

    def _place(self, predicate: str) -> int:
        place = self._places.get(predicate)
        if place is None:
            place = self._places[predicate] = len(self._places)
            self.predicates += (predicate,)
            self._counts = np.pad(self._counts, ((0, 2), (0, 0)))
        return place
