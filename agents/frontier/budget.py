"""The budget of pages: how many are judged, and whether more may be fetched."""

from agents.frontier.candidates import Candidates


class Budget:
    """Counts the pages judged, those of other workers too as far as the learner has told of them."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._pages = candidates.settings.budget

    @property
    def spent(self) -> bool:
        """Whether as many pages are judged as may be."""
        return bool(self._pages) and self._judged() >= self._pages

    @property
    def left(self) -> bool:
        """Whether a page more may be fetched, if those in flight are all judged."""
        return not self._pages or self._judged() + self._candidates.flights.pages < self._pages

    def _judged(self) -> int:
        candidates = self._candidates
        told = (candidates.scorer.judged(name) for name in candidates.queues)
        return max([candidates.shards.totals().judged, *told])
