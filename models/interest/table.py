"""Significant interest ratios of one kind of feature (words, URL tokens, users), ready for summing."""

from collections.abc import Collection

from models.interest.ratio import Base, Denominator, Sample, significant_log


class RatioTable:
    """The counts of features of one kind, and the log ratios of those that are significant.

    ``logs`` maps a feature's name to its log ratio and ``significant`` holds the same names as a set, whose
    intersections cost half of a dictionary's. All ratios are taken against ``base``, that of
    the last `work_out`. ``sample`` is what the paper's denominator counts for features of this kind.
    """

    __slots__ = (
        "_changes",
        "_denominator",
        "_memory",
        "_sample",
        "_t",
        "base",
        "counts",
        "logs",
        "significant",
    )

    def __init__(self, t: float, denominator: Denominator, sample: Sample = "hits") -> None:
        self.counts: dict[str, tuple[int, int]] = {}
        self.logs: dict[str, float] = {}
        self.significant: set[str] = set()
        self._t = t
        self._denominator: Denominator = denominator
        self._sample: Sample = sample
        self.base = Base()
        self._memory: dict[tuple[int, int], float] = {}
        self._changes: set[str] | None = set()

    def put(self, name: str, pages: int, hits: int) -> None:
        """Set a feature's counts; no pages forget it."""
        if pages <= 0:
            self.counts.pop(name, None)
            log = 0.0
        else:
            self.counts[name] = count = (pages, hits)
            log = self._log(count)
        if self._changes is not None:
            self._changes.add(name)
        known = name in self.significant
        if log:
            self.logs[name] = log
            self.significant.add(name)
        elif known:
            del self.logs[name]
            self.significant.remove(name)

    def work_out(self, base: Base) -> None:
        """Take all ratios anew, against ``base``."""
        self.base = base
        self._memory = {}
        log = self._log
        self.logs = {name: found for name, count in self.counts.items() if (found := log(count))}
        self.significant = set(self.logs)
        self._changes = None

    def take_changes(self) -> Collection[str] | None:
        """Return the names whose logs may have changed since the last call, None where all may have."""
        changes = self._changes
        if changes is None or changes:
            self._changes = set()
        return changes

    def _log(self, count: tuple[int, int]) -> float:
        # Thousands of words share the same small counts.
        log = self._memory.get(count)
        if log is None:
            log = significant_log(*count, self.base, self._t, self._denominator, self._sample)
            self._memory[count] = log
        return log
