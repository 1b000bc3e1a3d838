"""What a virtual crawl of a paper's policy takes up of an earlier one: whole counts, by kind of feature."""

from models.interest.features import BASE
from models.reuse import Learned, whole

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
