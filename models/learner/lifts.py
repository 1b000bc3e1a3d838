"""The lifts of one kind of feature (words of pages, words of anchors, users), worked out when asked for."""

from collections.abc import Iterable, Iterator

from models.learner.shrinkage import log_lift

#: Bound of one feature's weight, either way.
MOST = 3.0

Cell = tuple[float, float]


def with_earlier(counted: Cell, pages: float, hits: float, ratio: float) -> Cell:
    """Return counts with those of an earlier crawl, whose hits are scaled by ``ratio``, p now over p then.

    >>> with_earlier((2, 1), 8, 4, 0.5)
    (10, 3.0)
    """
    return counted[0] + pages, counted[1] + min(pages, hits * ratio)


class LiftTable:
    """Counts (pages, hits) by name, and their shrunk log ratios at the base rate of the moment.

    A weight depends on its counts and the base rate alone, and thousands of words share the same few counts:
    each pair of counts is worked out once a base rate, so a new base rate costs nothing by itself.

    >>> table = LiftTable()
    >>> table.put("ski", 8, 8)
    >>> table.rebase(0.1)
    >>> round(table.sum(["ski", "snow"]), 3)
    2.104
    """

    __slots__ = ("_earlier", "_rate", "_ratio", "_started", "_weights", "counts")

    def __init__(self) -> None:
        self._started: dict[str, float] = {}
        self.counts: dict[str, Cell] = {}
        self._weights: dict[Cell, float] = {}
        self._rate = 0.1
        self._earlier: dict[str, Cell] = {}
        self._ratio = 0.0

    def start(self, name: str, hits: float) -> None:
        """Take a feature to have ``hits`` pages behind it, all of them hits, beside what is counted."""
        self._started[name] = hits
        self.put(name, 0, 0)

    def put(self, name: str, pages: float, hits: float) -> None:
        """Set a feature's counts; no pages forget it."""
        if name in self._started:
            pages, hits = pages + self._started[name], hits + self._started[name]
        if pages > 0:
            self.counts[name] = (pages, hits)
        else:
            self.counts.pop(name, None)

    def inherit(self, name: str, pages: float, hits: float) -> None:
        """Set what an earlier crawl counted of a feature; it counts beside what is counted now."""
        if pages > 0:
            self._earlier[name] = (pages, hits)
        else:
            self._earlier.pop(name, None)

    def add(self, name: str, pages: float, hits: float) -> None:
        """Add to a feature's counts, or take from them."""
        known = self.counts.get(name)
        if known is None:
            self.put(name, pages, hits)
        elif known[0] + pages > 0:
            self.counts[name] = (known[0] + pages, known[1] + hits)
        else:
            del self.counts[name]

    def items(self) -> Iterator[tuple[str, float, float]]:
        """Yield (name, pages, hits) as they were counted, without what a feature was started with."""
        for name, (pages, hits) in self.counts.items():
            started = self._started.get(name, 0.0)
            if pages > started:
                yield name, pages - started, hits - started

    def rebase(self, rate: float, earlier: float = 0.0) -> None:
        """Take all weights against another base rate from now on.

        ``earlier`` is the base rate of what was inherited: its hits count by the ratio of the two rates, so
        that lifts carry over, and not rates. At 0 nothing inherited counts.
        """
        self._rate = rate
        self._ratio = rate / earlier if earlier else 0.0
        self._weights = {}

    def cell(self, name: str) -> Cell | None:
        """Return a feature's counts, with what was inherited at the base rate of now; None without any."""
        counted = self.counts.get(name)
        earlier = self._earlier.get(name) if self._ratio else None
        if earlier is None:
            return counted
        pages, hits = earlier
        return with_earlier(counted or (0, 0), pages, hits, self._ratio)

    def sum(self, names: Iterable[str]) -> float:
        """Return the sum of the weights; a name that was never counted weighs 0."""
        counts, earlier, weights = self.counts, self._earlier, self._weights
        total = 0.0
        for name in names:
            cell = self.cell(name) if name in earlier else counts.get(name)
            if cell is not None:
                if cell in weights:
                    total += weights[cell]
                else:
                    total += self._weight(cell)
        return total

    def mean(self, names: Iterable[str]) -> float:
        """Return the mean weight of the names that were counted; 0 where none was."""
        found = [name for name in names if name in self.counts]
        return self.sum(found) / len(found) if found else 0.0

    def weight(self, name: str) -> float:
        """Return one name's weight."""
        return self.sum((name,))

    def _weight(self, cell: Cell) -> float:
        weight = self._weights[cell] = max(-MOST, min(MOST, log_lift(*cell, self._rate)))
        return weight
