"""The bounded store of counts: adds evidence, forgets the rarest features first."""

from dataclasses import dataclass
from itertools import islice

from agents.learn.rows import (
    FEATURE_PREFIX,
    TOTALS_KEY,
    FeatureRow,
    LearnRow,
    LearnTotals,
    always_kept,
    feature_key,
    feature_of,
)
from streams.inbox import Shard
from streams.records import Count, Prior

LearnShard = Shard[LearnRow]

#: Rows looked at for forgetting with each message while there are too many.
LOOKED_AT = 2_000


@dataclass
class _Round:
    """How far a shard's rows were looked through, and up to how many pages a feature is forgotten."""

    level: int = 1
    cursor: bytes | None = None


class FeatureStore:
    """Counts features in shards, at most about ``limit`` of them in each.

    While there are more, each message also looks through a few rows and forgets features seen on no more pages
    than the level of this round: 1 in the first, one higher in each that follows until there is room again.
    The base and what there are only a few of, links and regions, are never forgotten.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rounds: dict[int, _Round] = {}

    def start(self, shard: LearnShard, prior: Prior) -> None:
        """Add what an earlier crawl counted under a feature."""
        key = feature_key(prior.feature)
        row = shard.get(key)
        if not isinstance(row, FeatureRow):
            row = FeatureRow()
            _count_fresh(shard, 1)
        before = row.prior
        added = {name: _sum(before.get(name, (0.0, 0.0)), cell) for name, cell in prior.counts.items()}
        shard.put(key, FeatureRow(row.counts, before | added))

    def add(self, shard: LearnShard, count: Count) -> None:
        """Add one count of features."""
        fresh = 0
        times = count.times
        for feature in count.features:
            key = feature_key(feature)
            row = shard.get(key)
            if not isinstance(row, FeatureRow):
                row = FeatureRow()
                fresh += 1
            for predicate, satisfied in count.verdict.items():
                cell = row.counts.get(predicate)
                if cell is None:
                    cell = row.counts[predicate] = [0, 0]
                # What is taken back may have been counted before the feature was forgotten.
                cell[0] = max(0, cell[0] + times)
                cell[1] = min(cell[0], max(0, cell[1] + times * satisfied))
            shard.put(key, row)
        if fresh:
            _count_fresh(shard, fresh)

    def forget(self, shard: LearnShard) -> list[str]:
        """Forget some of the rarest features if there are too many; return which."""
        totals = learn_totals(shard)
        current = self._rounds.setdefault(shard.partition, _Round())
        if totals.features <= self._limit:
            current.level = 1
            return []
        rare: list[bytes] = []
        key = None
        for key, row in islice(shard.scan(FEATURE_PREFIX, current.cursor), LOOKED_AT):
            if isinstance(row, FeatureRow) and row.pages <= current.level and _forgettable(key):
                rare.append(key)
        current.cursor = key
        if key is None:
            current.level += 1
        for gone in rare:
            shard.delete(gone)
        totals.features -= len(rare)
        totals.forgotten += len(rare)
        shard.put(TOTALS_KEY, totals)
        return [feature_of(gone) for gone in rare]


def _count_fresh(shard: LearnShard, features: int) -> None:
    totals = learn_totals(shard)
    totals.features += features
    shard.put(TOTALS_KEY, totals)


def _sum(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]


def _forgettable(key: bytes) -> bool:
    return not always_kept(feature_of(key))


def learn_totals(shard: LearnShard) -> LearnTotals:
    """Return the partition's totals."""
    row = shard.get(TOTALS_KEY)
    return row if isinstance(row, LearnTotals) else LearnTotals()
