"""What is estimated of pages beside the rows: URL patterns and an importance; each where it is of use."""

from random import Random

from scentline.models.frontier.book import Book
from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.keys import Rows
from scentline.models.patterns.counts import RANKINGS, VISITS
from scentline.models.policy.behaviour import BehaviourOrder, SitePatterns, VisitsOrder
from scentline.models.policy.ordering import (
    BacklinkOrder,
    HotOrder,
    Informed,
    LocationOrder,
    Ordering,
    Ranks,
    SimilarityOrder,
    WeightedOrder,
)
from scentline.models.policy.scorer import Scorer, scorer
from scentline.models.semantic.table import SemanticTable
from scentline.models.settings import CrawlSettings, FrontierSettings

#: The orderings that the depth of a page is enough for.
BY_DEPTH = ("predicates", "breadth-first")
#: The importances that `FrontierSettings.weights` weigh.
PARTS = ("backlink", "pagerank", "similarity", "location")


class Estimates:
    """Keeps the estimates that the settings have a use for; ``table`` has the vectors of words, if any."""

    def __init__(self, settings: CrawlSettings, table: SemanticTable | None) -> None:
        self.patterns = SitePatterns() if settings.behaviour else None
        self.ordering = ordering(settings.frontier, self.patterns)
        rule, printed = settings.frontier.rule, settings.frontier.candidates == "paper"
        self.scorer: Scorer = scorer(rule, settings.learn, table, self.ordering, printed=printed)
        self._settings = settings
        kept = (self.patterns, self.ordering)
        self._kept: list[Informed] = [each for each in kept if each is not None]

    def candidates(self, book: Book, random: Random) -> Candidates:
        """Return the candidates, which leave out what the book's rows advise against."""
        found = Candidates(self._settings, self.scorer, random)
        found.scope.spent, found.scope.stops = book.spaces.spent, book.stops
        found.priorities.promises = book.promises
        if self.patterns is not None and self._settings.frontier.visited_patterns_only:
            found.scope.unvisited = self.patterns.unvisited
        return found

    def open(self, shard: Rows) -> None:
        """Take up a shard."""
        for each in self._kept:
            each.open(shard)

    def close(self, shard: Rows) -> None:
        """Forget a shard that another worker has now."""
        for each in self._kept:
            each.close(shard)

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Absorb a sighting, before the rows do."""
        for each in self._kept:
            each.absorb(shard, sighting)

    def sweep(self, shard: Rows) -> bool:
        """Do what is worth doing now and then; return whether the order of candidates may have changed.

        Under the learned policy rows are scored again little by little, whatever changes.
        """
        swept = [each.sweep(shard) for each in self._kept]  # each is asked, whatever the others say
        return any(swept) and self.ordering is not None


def ordering(settings: FrontierSettings, patterns: SitePatterns | None) -> Ordering | None:
    """Return what orders the candidates, None where their depth does or a policy."""
    if settings.ordering in BY_DEPTH:
        return None
    found = _importance(settings.ordering, settings, patterns)
    return HotOrder(settings.query, found) if settings.hot else found


def _importance(name: str, settings: FrontierSettings, patterns: SitePatterns | None) -> Ordering:
    if patterns is not None and name in RANKINGS:
        return BehaviourOrder(name, patterns)
    if patterns is not None and name == VISITS:
        return VisitsOrder(patterns)
    if name == "backlink":
        return BacklinkOrder()
    if name == "location":
        return LocationOrder(settings.wanted)
    if name == "weighted":
        parts = [(weight, part) for weight, part in zip(settings.weights, PARTS, strict=True) if weight]
        return WeightedOrder([(weight, _importance(part, settings, patterns)) for weight, part in parts])
    return SimilarityOrder(settings.query) if name == "similarity" else Ranks()
