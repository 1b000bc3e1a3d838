"""The budget of pages: how many are judged, and whether more may be fetched.

One worker that holds every partition does not pass it: it has no more in flight than is left. Of several each
knows what the others have judged as far as the learner has told, and nothing of what they have in flight. So
each takes of what is left the share that its partitions are of all, and one page at least: the last page would
wait for ever. Where the workers' pages come alike, the budget is passed by less than a page for each of them,
and by what the learner has not told yet; at the very worst by all that the others have in flight, which is
`frontier.window_max` each, or `fetch.connections` where hosts are slow.
"""

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
        """Whether a page more may be fetched: less is in flight than this worker's share of what is left."""
        if not self._pages:
            return True
        shards = self._candidates.shards
        left = max(0, self._pages - self._judged())
        return self._candidates.flights.pages * shards.partitions < left * len(shards)

    def _judged(self) -> int:
        candidates = self._candidates
        told = (candidates.scorer.judged(name) for name in candidates.queues)
        return max([candidates.shards.totals().judged, *told])
