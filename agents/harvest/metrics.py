"""What is told of the harvest: each predicate's pages and hits, in all, of late, and by chance."""

from collections.abc import Callable, Iterable
from typing import Final

from models.harvest import RANDOM, Harvest, explored_rate
from streams.metrics.catalogue import (
    CHANCE_HITS,
    CHANCE_PAGES,
    HARVEST_HITS,
    HARVEST_LIFT,
    HARVEST_PAGES,
    HARVEST_RATE,
    HITS,
    JUDGED,
    WINDOW_HITS,
    WINDOW_PAGES,
)
from streams.metrics.reading import Reading
from streams.metrics.registry import OTHER, ByPredicate
from streams.runtime import Runtime

#: What is told of each predicate, and added up over those that share a label, in the order of `_numbers`.
_SUMS: Final = (HARVEST_PAGES, HARVEST_HITS, WINDOW_PAGES, WINDOW_HITS, CHANCE_PAGES, CHANCE_HITS)


class HarvestMetrics:
    """Counts the outcomes that one harvest agent counts.

    ``states`` yields the statistics of predicates, each of the whole crawl and told by one worker alone: so a
    sum over workers counts nothing twice. It is asked at a scrape.
    """

    def __init__(self, runtime: Runtime, states: Callable[[], Iterable[tuple[str, Harvest]]]) -> None:
        metrics = runtime.metrics
        self._label = metrics.predicate
        self._states = states
        self._pages = ByPredicate(metrics, JUDGED)
        self._hits = ByPredicate(metrics, HITS)
        runtime.watch(self.measure)

    def counted(self, predicate: str, hit: bool) -> None:
        """Count a judged page."""
        self._pages.count(predicate)
        self._hits.count(predicate, hit)

    def measure(self, reading: Reading) -> None:
        """Tell each predicate's figures."""
        found: dict[str, list[int]] = {}
        for predicate, state in self._states():
            sums = found.setdefault(self._label(predicate), [0] * len(_SUMS))
            for place, number in enumerate(_numbers(state)):
                sums[place] += number
        for label, sums in found.items():
            for metric, number in zip(_SUMS, sums, strict=True):
                reading.add(metric, number, label)
            if label != OTHER:
                self._measure_rates(reading, label, *sums)

    def _measure_rates(
        self, reading: Reading, label: str, pages: int, hits: int, _: int, __: int, chosen: int, found: int
    ) -> None:
        rate = hits / pages if pages else 0.0
        reading.add(HARVEST_RATE, rate, label)
        by_chance = explored_rate(chosen, found)
        if by_chance is not None:
            reading.add(HARVEST_LIFT, rate / by_chance, label)


def _numbers(state: Harvest) -> tuple[int, ...]:
    recent = min(state.pages, state.window_pages)
    return (state.pages, state.hits, recent, state.ring_hits, *state.policies.get(RANDOM, (0, 0)))
