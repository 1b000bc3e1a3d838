"""Significant interest ratios of one kind of feature (words, URL tokens, users), ready for summing."""

from collections.abc import Collection, Iterable

from models.interest.ratio import Base, Denominator, Sample, significance, significant_log

#: Pages and hits of a feature.
Cell = tuple[int, int]


class RatioTable:
    """The log ratios of those features of one kind that are significant; their counts lie elsewhere.

    ``logs`` maps a feature's name to its log ratio and ``significant`` holds the same names as a set, whose
    intersections cost half of a dictionary's. All ratios are taken against ``base``, that of
    the last `work_out`. ``sample`` is what the paper's denominator counts for features of this kind.

    >>> table = RatioTable(2.0, "binomial")
    >>> table.work_out(Base(100, 20), {"ski": (40, 16), "the": (90, 19)}.items())
    >>> {name: round(log, 3) for name, log in table.logs.items()}
    {'ski': 0.693}
    """

    __slots__ = ("_changes", "_denominator", "_memory", "_sample", "_t", "base", "logs", "significant")

    def __init__(self, t: float, denominator: Denominator, sample: Sample = "hits") -> None:
        self.logs: dict[str, float] = {}
        self.significant: set[str] = set()
        self._t = t
        self._denominator: Denominator = denominator
        self._sample: Sample = sample
        self.base = Base()
        self._memory: dict[Cell, float] = {}
        self._changes: set[str] | None = set()

    def take(self, name: str, cell: Cell) -> None:
        """Take one feature's ratio anew, from its pages and hits as they stand."""
        log = self._log(cell)
        if self._changes is not None:
            self._changes.add(name)
        known = name in self.significant
        if log:
            self.logs[name] = log
            self.significant.add(name)
        elif known:
            del self.logs[name]
            self.significant.remove(name)

    def work_out(self, base: Base, cells: Iterable[tuple[str, Cell]]) -> None:
        """Take all ratios anew, against ``base``, from the pages and hits of each feature."""
        self.base = base
        self._memory = {}
        log = self._log
        self.logs = {name: found for name, cell in cells if (found := log(cell))}
        self.significant = set(self.logs)
        self._changes = None

    def significance(self, cell: Cell) -> float:
        """Return by how many standard deviations a feature of these pages and hits differs from the base."""
        return significance(*cell, self.base, self._denominator, self._sample)

    def take_changes(self) -> Collection[str] | None:
        """Return the names whose logs may have changed since the last call, None where all may have."""
        changes = self._changes
        if changes is None or changes:
            self._changes = set()
        return changes

    def _log(self, cell: Cell) -> float:
        # Thousands of words share the same small counts.
        log = self._memory.get(cell)
        if log is None:
            log = significant_log(*cell, self.base, self._t, self._denominator, self._sample)
            self._memory[cell] = log
        return log
