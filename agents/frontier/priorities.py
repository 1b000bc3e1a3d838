"""A candidate's priority: by the policy, by the order of discovery, or by what a redirect handed on."""

from agents.frontier.rows import FrontierShard, PageRow
from agents.frontier.scorer import Scorer
from streams.settings import FrontierSettings

#: Where breadth-first puts URLs that no fetched page links to.
UNLINKED_DEPTH = 1e9
#: Policies whose priorities can be below the threshold: they are sums of logs, or a logit.
LEARNED = ("learned", "combined", "collaborative", "linkage")


class Priorities:
    """Works out priorities; a higher one comes first."""

    def __init__(self, settings: FrontierSettings, scorer: Scorer) -> None:
        self._rule = settings.rule
        self._threshold = settings.threshold if settings.rule in LEARNED else None
        self._scorer = scorer

    def of(self, shard: FrontierShard, row: PageRow, predicate: str) -> float:
        """Return a candidate's priority under the policy, at least what a redirect to it handed on.

        Chance and breadth-first have none but order.
        """
        if self._rule == "random":
            return 0.0
        if self._rule == "breadth-first":
            # What is known from the log alone is at no distance from the seeds: it comes last.
            near = row.seed or row.links or row.inherited or row.found
            return -float(row.depth) if near else -UNLINKED_DEPTH
        found = self._scorer.priority(shard, row, predicate)
        inherited = row.inherited.get(predicate)
        return found if inherited is None else max(found, inherited)

    def keeps(self, row: PageRow, priority: float) -> bool:
        """Return whether a candidate is worth keeping (ExpandList in Aggarwal 2004, Figure 1)."""
        return row.seed or self._threshold is None or priority >= self._threshold
