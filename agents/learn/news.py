"""What of the learner's counts is worth telling the frontiers."""

from collections.abc import Mapping

from agents.learn.rows import always_kept
from models.interest.features import SUBJECT
from models.learner.shrinkage import log_lift

#: Hits that a feature without any must have missed before that is news.
MISSED_HITS = 2.0
#: Base rate at most at which ratios are judged for their news. The first pages are often all hits: against
#: their own rate nothing would be news of them, and most of their words are never met again.
MOST_RATE = 0.5
#: Share of the published features that is withdrawn at once when there are too many.
WITHDRAWN = 0.1

Counts = Mapping[str, list[int]]


class News:
    """Decides which features are published: those whose shrunk log ratio moved, of largest effect.

    ``threshold`` is the least move of L(c, n) = ln(((c + a p) / (n + a)) / p), with a = 2, since the last
    publication, told counts and counts of now both taken against the base of now, or `MOST_RATE`; a feature
    without a hit is at its default until it missed two. ``limit`` bounds the features that are published at a
    time: the least of effect are withdrawn.

    A page's subject is an example, whose verdict counts either way: it is always news. It has no effect, so
    that subjects are withdrawn first: whoever heard of one has learned from it for good, and misses and hits
    alike must go, lest those who hear what is left take the rate for another.
    """

    def __init__(self, threshold: float, limit: int) -> None:
        self._threshold = threshold
        self._limit = limit
        self._told: dict[str, dict[str, tuple[int, int]]] = {}
        self._effects: dict[str, float] = {}
        self._least = 0.0

    def worth(self, feature: str, counts: Counts, base: Counts, inherited: float = 0.0) -> bool:
        """Return whether the feature's counts are news; if so they count as told.

        ``inherited`` is the effect of what an earlier crawl counted under it, which is told once.
        """
        if always_kept(feature):
            return True
        if feature.startswith(SUBJECT):
            return self._is_new(feature, counts)
        told = self._told.get(feature, {})
        moved = inherited > self._least and feature not in self._told
        effect = inherited
        for predicate, (pages, hits) in counts.items():
            judged, satisfying = base.get(predicate, (0, 0))
            last = told.get(predicate)
            if satisfying <= 0 or (last is None and not hits and pages * satisfying < MISSED_HITS * judged):
                continue
            rate = min(MOST_RATE, satisfying / judged)
            ratio = log_lift(pages, hits, rate)
            known = log_lift(*last, rate) if last is not None else 0.0
            effect = max(effect, abs(ratio))
            if abs(ratio - known) > self._threshold and (last is not None or abs(ratio) > self._least):
                moved = True
        if moved:
            self._tell(feature, counts, effect)
        return moved

    def _is_new(self, subject: str, counts: Counts) -> bool:
        told = self._told.get(subject, {})
        moved = any(told.get(predicate) != (pages, hits) for predicate, (pages, hits) in counts.items())
        if moved:
            self._tell(subject, counts, 0.0)
        return moved

    def _tell(self, feature: str, counts: Counts, effect: float) -> None:
        self._told[feature] = {predicate: (pages, hits) for predicate, (pages, hits) in counts.items()}
        self._effects[feature] = effect

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
