"""What is told of the mode "instant": hubs, revisits, and how late news are fetched."""

from typing import Protocol

from streams.metrics.catalogue import HUBS, NEW_NEWS, NEWS_DELAY, REVISITS
from streams.metrics.reading import Reading
from streams.metrics.registry import Outcomes
from streams.runtime import Runtime

#: What comes of a revisit (`streams.records.Revisited`), or of its lease.
OUTCOMES = ("changed", "unchanged", "early", "moved", "retry", "failed", "lost")


class Figures(Protocol):
    """What is read at a scrape."""

    @property
    def hubs(self) -> int:
        """How many hubs are revisited."""

    @property
    def waiting(self) -> int:
        """How many new links to news wait."""


class InstantMetrics:
    """Counts the revisits of one frontier agent; all is 0 while no ``figures`` are given."""

    def __init__(self, runtime: Runtime) -> None:
        self.figures: Figures | None = None
        self._revisits = Outcomes(runtime.metrics, REVISITS, OUTCOMES)
        self._delay = runtime.metrics.histogram(NEWS_DELAY)
        runtime.watch(self.measure)

    def revisited(self, outcome: str) -> None:
        """Count a revisit by what came of it."""
        self._revisits.count(outcome)

    def fetched(self, delay: float) -> None:
        """Count a new link to news that was fetched ``delay`` seconds after its publication."""
        self._delay.observe(delay)

    def measure(self, reading: Reading) -> None:
        """Tell of hubs and of what waits."""
        reading.add(HUBS, 0 if self.figures is None else self.figures.hubs)
        reading.add(NEW_NEWS, 0 if self.figures is None else self.figures.waiting)
