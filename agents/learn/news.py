"""What of the learner's counts is worth telling the frontiers."""

import math
from collections.abc import Mapping

from models.interest.features import BASE, LINK

#: Pages assumed at the base rate when a ratio is judged for its news: few pages move it little.
PRIOR_PAGES = 2.0
#: Hits that a feature without any must have missed before that is news.
MISSED_HITS = 2.0
#: Share of the published features that is withdrawn at once when there are too many.
WITHDRAWN = 0.1

Counts = Mapping[str, list[int]]


class News:
    """Decides which features are published: those whose shrunk log ratio moved, of largest effect.

    ``threshold`` is the least move of L(c, n) = ln(((c + a p) / (n + a)) / p), with a = 2, since the last
    publication; a feature without a hit is at its default until it missed two. ``limit`` bounds the features
    that are published at a time: the least of effect are withdrawn.
    """

    def __init__(self, threshold: float, limit: int) -> None:
        self._threshold = threshold
        self._limit = limit
        self._told: dict[str, dict[str, float]] = {}
        self._least = 0.0

    def worth(self, feature: str, counts: Counts, base: Counts) -> bool:
        """Return whether the feature's counts are news; if so they count as told."""
        if feature == BASE or feature.startswith(LINK):
            return True
        told = self._told.get(feature)
        moved = False
        for predicate, (pages, hits) in counts.items():
            judged, satisfying = base.get(predicate, (0, 0))
            last = told.get(predicate) if told is not None else None
            if satisfying <= 0 or (last is None and not hits and pages * satisfying < MISSED_HITS * judged):
                continue
            ratio = shrunk_log_ratio(pages, hits, satisfying / judged)
            if abs(ratio - (last or 0.0)) > self._threshold and (last is not None or abs(ratio) > self._least):
                moved = True
        if moved:
            self._told[feature] = {
                predicate: shrunk_log_ratio(pages, hits, base[predicate][1] / base[predicate][0])
                for predicate, (pages, hits) in counts.items()
                if base.get(predicate, (0, 0))[1] > 0
            }
        return moved

    def withdrawn(self) -> list[str]:
        """Return the features to withdraw, when more than the limit are published."""
        if len(self._told) <= self._limit:
            return []
        effects = sorted((max(map(abs, told.values())), feature) for feature, told in self._told.items())
        gone = effects[: max(len(self._told) - self._limit, int(self._limit * WITHDRAWN))]
        self._least = gone[-1][0]
        for _, feature in gone:
            del self._told[feature]
        return [feature for _, feature in gone]

    def forget(self, feature: str) -> bool:
        """Forget a feature whose counts are gone; return whether it was published."""
        return self._told.pop(feature, None) is not None


def shrunk_log_ratio(pages: int, hits: int, rate: float, prior: float = PRIOR_PAGES) -> float:
    """Return ln(((c + a p) / (n + a)) / p) of c hits on n pages at the base rate p, with a prior pages.

    >>> shrunk_log_ratio(0, 0, 0.1)
    0.0
    >>> round(shrunk_log_ratio(8, 8, 0.1), 3)
    2.104
    """
    return math.log((hits + prior * rate) / (pages + prior) / rate)
