"""Counts of features in dictionaries: the yardstick of `models.ledger`."""

from collections.abc import Iterable, Iterator

from scentline.models.ledger import Ledger
from scentline.models.verdict import FAILED, Verdict


class Counts:
    """For each feature E and predicate C the pages n(E) and the hits n(C and E).

    Entries that come to zero are dropped, so that equal counts compare equal whatever led to them.

    >>> counts = Counts()
    >>> counts.add(["w:ski", "t:alps"], {"sports": True})
    >>> counts.add(["w:ski"], {"sports": False})
    >>> counts.get("w:ski", "sports")
    (2, 1)
    >>> counts.add(["w:ski"], {"sports": False}, times=-1)
    >>> counts.get("w:ski", "sports")
    (1, 1)
    """

    __slots__ = ("_features",)

    def __init__(self) -> None:
        self._features: dict[str, dict[str, list[int]]] = {}

    def add(self, features: Iterable[str], verdict: Verdict, times: int = 1) -> None:
        """Count ``verdict`` ``times`` over under each of ``features``; negative ``times`` take back."""
        steps = [(predicate, times, times if holds else 0) for predicate, holds in verdict.items()]
        for feature in features:
            self._step(feature, steps)

    def merge(self, other: "Counts", times: int = 1) -> None:
        """Add the counts of ``other``, ``times`` over."""
        for feature, predicate, pages, hits in other.items():
            self._step(feature, [(predicate, pages * times, hits * times)])

    def get(self, feature: str, predicate: str) -> tuple[int, int]:
        """Return n(E) and n(C and E), both 0 for what was never counted."""
        cell = self._features.get(feature, {}).get(predicate)
        return (cell[0], cell[1]) if cell else (0, 0)

    def items(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield (feature, predicate, pages, hits) of every entry that is not zero."""
        for feature, cells in tuple(self._features.items()):
            for predicate, (pages, hits) in tuple(cells.items()):
                yield feature, predicate, pages, hits

    def _step(self, feature: str, steps: list[tuple[str, int, int]]) -> None:
        cells = self._features.get(feature)
        if cells is None:
            cells = self._features[feature] = {}
        for predicate, pages, hits in steps:
            cell = cells.get(predicate)
            if cell is None:
                cell = cells[predicate] = [0, 0]
            cell[0] += pages
            cell[1] += hits
            if not (cell[0] or cell[1]):
                del cells[predicate]
        if not cells:
            del self._features[feature]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self._features == other._features

    __hash__ = None  # type: ignore[assignment]  # mutable; the type stubs have no other way to say so


def of_pages(found: Counts) -> Counts:
    """Return what was counted of pages that came, without what was of requests."""
    counts = Counts()
    counts.merge(found)
    for feature, predicate, pages, hits in found.items():
        if predicate == FAILED:
            counts.add([feature], {predicate: True}, -hits)
            counts.add([feature], {predicate: False}, hits - pages)
    return counts


def plain(ledger: Ledger) -> Counts:
    """Return what a ledger holds."""
    counts = Counts()
    for feature, predicate, pages, hits in ledger.items():
        counts.add([feature], {predicate: True}, hits)
        counts.add([feature], {predicate: False}, pages - hits)
    return counts
