"""Features that a page has of itself, such as its URL's tokens and its visitors, counted and summed."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from models.evaluate.tally import Tally
from models.interest.ratio import Base


class OwnFeatures:
    """Counts of the names that ``names`` gives for a page, and the sums of their log ratios.

    Few of them are significant, so a page's sum is worked out from those alone.
    """

    def __init__(self, tally: Tally, names: Callable[[str], Iterable[str]]) -> None:
        self._tally = tally
        self._names = names
        self._of_page: dict[str, tuple[str, ...]] = {}
        self._logs: dict[str, float] = {}
        self._significant: set[str] = set()

    def start(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Count features (pages, hits) that an earlier crawl counted."""
        self._tally.start(counts)

    def judge(self, page: str, holds: bool) -> None:
        """Count a page's verdict under each of its features."""
        self._tally.add(self._tally.numbers_of(list(self._names(page))), holds)

    def work_out(self, base: Base) -> None:
        """Take all ratios anew, against ``base``."""
        self._tally.work_out(base)
        self._logs = self._tally.significant()
        self._significant = set(self._logs)

    def log(self, page: str) -> float:
        """Return the sum of the log ratios of a candidate's features."""
        names = self._of_page.get(page)
        if names is None:
            names = self._of_page[page] = tuple(self._names(page))
        present = self._significant.intersection(names)
        return math.fsum(map(self._logs.__getitem__, present)) if present else 0.0

    def items(self) -> Iterator[tuple[str, int, int]]:
        """Yield (name, pages, hits) of every feature that was counted."""
        return self._tally.items()
