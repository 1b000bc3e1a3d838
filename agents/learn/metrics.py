"""What is told of the learner: how much it knows, what it forgot, and when a predicate's pages changed."""

from collections.abc import Callable, Mapping

from agents.learn.rows import LearnTotals
from models.verdict import FAILED
from streams.metrics.catalogue import DRIFTS, FEATURES, FORGOTTEN, LABELS, PUBLISHED
from streams.metrics.reading import Reading
from streams.metrics.registry import ByPredicate
from streams.runtime import Runtime


class LearnMetrics:
    """Counts what one learn agent tells; ``totals`` and ``labels`` (by predicate) are read at a scrape."""

    def __init__(
        self, runtime: Runtime, totals: Callable[[], LearnTotals], labels: Callable[[], Mapping[str, int]]
    ) -> None:
        metrics = runtime.metrics
        self._label = metrics.predicate
        self._totals = totals
        self._labels = labels
        self._drifts = ByPredicate(metrics, DRIFTS)
        self._told = metrics.counter(PUBLISHED)
        runtime.watch(self.measure)

    def known(self, predicate: str) -> None:
        """Have a predicate in the figures before anything is learned of it."""
        self._drifts.count(predicate, 0)

    def drifted(self, predicate: str) -> None:
        """Count that a predicate's pages have changed."""
        self._drifts.count(predicate)

    def told(self, features: int) -> None:
        """Count the features that the frontiers were told of."""
        self._told.inc(features)

    def measure(self, reading: Reading) -> None:
        """Tell how much is known."""
        totals = self._totals()
        reading.add(FEATURES, totals.features)
        reading.add(FORGOTTEN, totals.forgotten)
        for predicate, labels in self._labels().items():
            if predicate != FAILED:  # no predicate of the crawl's
                reading.add(LABELS, labels, self._label(predicate))
