"""A candidate's priority for each predicate, from its rows and what the learner has published."""

from collections.abc import Iterable

from agents.frontier.book import FrontierShard
from agents.frontier.rows import PageRow, ParentRow, parent_key
from models.interest.linkage import Evidence, score
from models.interest.weights import Weights
from models.url import tokens
from streams.records import Interest
from streams.settings import LearnSettings

#: Linking pages whose significant words are kept in memory for each predicate.
CACHED_PARENTS = 50_000


class Scorer:
    """Keeps each predicate's weights as `interests` brings them, and scores rows against them."""

    def __init__(self, settings: LearnSettings) -> None:
        self._settings = settings
        self.weights: dict[str, Weights] = {}
        self._significant: dict[str, tuple[int, dict[bytes, frozenset[str]]]] = {}

    def add_predicate(self, name: str) -> None:
        """Start keeping a predicate's weights."""
        if name not in self.weights:
            self.weights[name] = Weights(name, self._settings.t, self._settings.significance)

    def learn(self, interest: Interest) -> None:
        """Take in what is known of a feature."""
        for name, (pages, hits) in interest.counts.items():
            self.add_predicate(name)
            self.weights[name].update(interest.feature, pages, hits)

    @property
    def judged(self) -> int:
        """Judged pages that the published base rates know of."""
        return max((weights.base.pages for weights in self.weights.values()), default=0)

    def evidence(
        self, shard: FrontierShard, row: PageRow, predicate: str, *, whole: bool = False
    ) -> Evidence:
        """Return what is known of a candidate for a predicate.

        Its linking pages' words are cut down to the significant ones, which scores the same, unless ``whole``.
        """
        parents = [(page, found) for page in row.parents if (found := _parent(shard, page)) is not None]
        siblings: dict[bytes, bool] = {}
        for _, parent in parents:
            for child, verdict in parent.children.items():
                if predicate in verdict:
                    siblings[child] = verdict[predicate]
        k, m = row.links.get(predicate, (0, 0))
        words = (
            tuple(parent.words for _, parent in parents)
            if whole
            else tuple(self._cut(predicate, page, parent.words) for page, parent in parents)
        )
        return Evidence(words, tokens(row.url), k=k, m=m, v=len(siblings), s=sum(siblings.values()))

    def priority(self, shard: FrontierShard, row: PageRow, predicate: str) -> float:
        """Return the candidate's priority: at least what it inherited from a URL that redirects to it."""
        total = score(
            self.evidence(shard, row, predicate), self.weights[predicate], self._settings.weights
        ).total
        inherited = row.inherited.get(predicate)
        return total if inherited is None else max(total, inherited)

    def _cut(self, predicate: str, page: bytes, words: frozenset[str]) -> frozenset[str]:
        weights = self.weights[predicate]
        version, kept = self._significant.get(predicate, (-1, {}))
        if version != weights.version or len(kept) > CACHED_PARENTS:
            kept = {}
            self._significant[predicate] = (weights.version, kept)
        found = kept.get(page)
        if found is None:
            found = kept[page] = weights.significant(words)
        return found


def _parent(shard: FrontierShard, page: bytes) -> ParentRow | None:
    row = shard.get(parent_key(page))
    return row if isinstance(row, ParentRow) else None


def highest(priorities: Iterable[float]) -> float:
    """Return the highest of a candidate's priorities, minus infinity where it has none."""
    return max(priorities, default=float("-inf"))
