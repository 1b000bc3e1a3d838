"""Why a URL was or was not fetched: its row, and each feature's counts, ratio and significance."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from agents.frontier.rows import FrontierRow, PageRow, page_key
from agents.frontier.scoring import Scorer
from agents.learn.rows import FeatureRow, LearnRow, feature_key
from models.interest.content import union
from models.interest.features import BASE, link, token, word
from models.interest.linkage import Contribution, contributions
from models.url import host, tokens
from streams.inbox import Codec, Shard
from streams.records import Interest
from streams.settings import Settings
from streams.tables import TablePartition, open_read_only
from streams.topics import partition_of


@dataclass(frozen=True)
class Explanation:
    """A URL's row, and for each predicate its priority now and what makes it, the largest effect first."""

    row: PageRow
    priorities: dict[str, float]
    contributions: dict[str, list[Contribution]]


def explain(settings: Settings, url: str) -> Explanation | None:
    """Return what is known of a canonical URL; None when the crawl never met it."""
    frontier = open_read_only(settings.data, "frontier")
    partition = partition_of(host(url), len(frontier))
    codec: Codec[FrontierRow] = Codec(FrontierRow)
    shard: Shard[FrontierRow] = Shard(partition, "explain", frontier[partition], codec, 10_000)
    row = shard.get(page_key(url))
    if not isinstance(row, PageRow):
        return None
    learned = _Learned(settings.data)
    scorer = Scorer(settings.learn)
    found: dict[str, list[Contribution]] = {}
    priorities: dict[str, float] = {}
    for predicate in sorted(learned.counts(BASE)):
        scorer.add_predicate(predicate, drift=0)
        evidence = scorer.evidence(shard, row, predicate)
        features = [BASE, link(predicate, True), link(predicate, False)]
        features += [token(name) for name in tokens(url)]
        features += [word(name) for name in union(evidence.parents)]
        for feature in features:
            scorer.learn(Interest(feature=feature, counts=learned.counts(feature)))
        found[predicate] = contributions(evidence, scorer.weights(predicate))
        priorities[predicate] = scorer.priority(shard, row, predicate)
    return Explanation(row, priorities, found)


class _Learned:
    """The learner's table, for reading."""

    def __init__(self, data: Path) -> None:
        self._parts: dict[int, TablePartition] = open_read_only(data, "interests")
        self._decode = msgspec.msgpack.Decoder(LearnRow).decode

    def counts(self, feature: str) -> dict[str, tuple[int, int]]:
        """Return a feature's counts for each predicate."""
        raw = self._parts[partition_of(feature, len(self._parts))].get(feature_key(feature))
        row = self._decode(raw) if raw is not None else None
        if not isinstance(row, FeatureRow):
            return {}
        return {name: (pages, hits) for name, (pages, hits) in row.counts.items()}
