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
    publication, told counts and counts of now both taken against the base of now; a feature without a hit is at
    its default until it missed two. ``limit`` bounds the features that are published at a time: the least of
    effect are withdrawn.
    """

    def __init__(self, threshold: float, limit: int) -> None:
        self._threshold = threshold
        self._limit = limit
        self._told: dict[str, dict[str, tuple[int, int]]] = {}
        self._effects: dict[str, float] = {}
        self._least = 0.0

    def worth(self, feature: str, counts: Counts, base: Counts) -> bool:
        """Return whether the feature's counts are news; if so they count as told."""
        if feature == BASE or feature.startswith(LINK):
            return True
        told = self._told.get(feature, {})
        moved = False
        effect = 0.0
        for predicate, (pages, hits) in counts.items():
            judged, satisfying = base.get(predicate, (0, 0))
            last = told.get(predicate)
            if satisfying <= 0 or (last is None and not hits and pages * satisfying < MISSED_HITS * judged):
                continue
            rate = satisfying / judged
            ratio = shrunk_log_ratio(pages, hits, rate)
            known = shrunk_log_ratio(*last, rate) if last is not None else 0.0
            effect = max(effect, abs(ratio))
            if abs(ratio - known) > self._threshold and (last is not None or abs(ratio) > self._least):
                moved = True
        if moved:
            self._told[feature] = {predicate: (pages, hits) for predicate, (pages, hits) in counts.items()}
            self._effects[feature] = effect
        return moved

    def withdrawn(self) -> list[str]:
        """Return the features to withdraw, when more than the limit are published."""
        if len(self._told) <= self._limit:
            return []
        effects = sorted((effect, feature) for feature, effect in self._effects.items())
        gone = effects[: max(len(self._told) - self._limit, int(self._limit * WITHDRAWN))]
        self._least = gone[-1][0]
        for _, feature in gone:
            self.forget(feature)
        return [feature for _, feature in gone]

    @staticmethod
    def undecided(counts: Counts, base: Counts) -> bool:
        """Return whether the counts hold a hit that the base does not know of yet."""
        return any(hits and base.get(name, (0, 0))[1] <= 0 for name, (_, hits) in counts.items())

    def forget(self, feature: str) -> bool:
        """Forget a feature whose counts are gone; return whether it was published."""
        self._effects.pop(feature, None)
        return self._told.pop(feature, None) is not None


def shrunk_log_ratio(pages: int, hits: int, rate: float, prior: float = PRIOR_PAGES) -> float:
    """Return ln(((c + a p) / (n + a)) / p) of c hits on n pages at the base rate p, with a prior pages.

    >>> shrunk_log_ratio(0, 0, 0.1)
    0.0
    >>> round(shrunk_log_ratio(8, 8, 0.1), 3)
    2.104
    """
    return math.log((hits + prior * rate) / (pages + prior) / rate)
