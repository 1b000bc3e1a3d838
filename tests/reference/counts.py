"""Counts of features in a dictionary: the yardstick of `models.ledger`."""

from collections.abc import Iterable, Iterator

from scentline.models.ledger import Ledger
from scentline.models.page import Verdict


class Counts:
    """For each feature E and predicate C the pages n(E) and the hits n(C and E).

    Entries that come to zero are dropped, so that equal counts compare equal whatever led to them.

    >>> counts = Counts()
    >>> counts.add(["w:ski", "t:alps"], {"sports": True})
    >>> counts.add(["w:ski"], {"sports": False})
    >>> counts.get("w:ski", "sports")
    (2, 1)
    """

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str], tuple[int, int]] = {}

    def add(self, features: Iterable[str], verdict: Verdict, times: int = 1) -> None:
        """Count ``verdict`` ``times`` over under each of ``features``; negative ``times`` take back."""
        for feature in features:
            for predicate, holds in verdict.items():
                self._step(feature, predicate, times, times if holds else 0)

    def get(self, feature: str, predicate: str) -> tuple[int, int]:
        """Return n(E) and n(C and E), both 0 for what was never counted."""
        return self._cells.get((feature, predicate), (0, 0))

    def items(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield (feature, predicate, pages, hits) of every entry that is not zero."""
        yield from ((*names, *cell) for names, cell in tuple(self._cells.items()))

    def _step(self, feature: str, predicate: str, pages: int, hits: int) -> None:
        had = self.get(feature, predicate)
        self._cells[feature, predicate] = cell = (had[0] + pages, had[1] + hits)
        if not any(cell):
            del self._cells[feature, predicate]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self._cells == other._cells

    __hash__ = None  # type: ignore[assignment]  # mutable; the type stubs have no other way to say so


def plain(ledger: Ledger) -> Counts:
    counts = Counts()
    for feature, predicate, pages, hits in ledger.items():
        counts.add([feature], {predicate: True}, hits)
        counts.add([feature], {predicate: False}, pages - hits)
    return counts
