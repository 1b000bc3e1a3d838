"""The learn agent: counts evidence by feature and publishes what moved.

Reads `evidence`; keeps the table `interests` (a row a feature); writes `interests`.

What it publishes are counts as they stand, so that a repeated publication does no harm: it is sent at once,
before the group is committed, and groups may be long, which saves writes of words that every page holds.
"""

import asyncio

from agents.learn.news import News
from agents.learn.rows import FEATURE_PREFIX, FeatureRow, LearnRow, LearnTotals, feature_key, feature_of
from agents.learn.store import FeatureStore, LearnShard, learn_totals
from models.interest.features import BASE
from streams.inbox import Shard
from streams.logging import EventLog
from streams.records import Count, Decoder, EvidencePack, Interest, encode
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import EVIDENCE, INTERESTS

#: Seconds over which a commit group of counts gathers.
GROUP_SECONDS = 1.0


log = EventLog("learn")


class LearnAgent:
    """Absorbs evidence and tells what it changes."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.settings = runtime.settings.learn
        self._store = FeatureStore(self.settings.features)
        self._news = News(self.settings.threshold, self.settings.published)
        self._changed: dict[str, LearnShard] = {}
        self._gone: list[str] = []
        self._base: dict[str, list[int]] = {}
        self._wake = asyncio.Event()
        self._reported = 0
        self.inbox: Stateful[LearnRow] = Stateful(
            runtime, EVIDENCE, "interests", LearnRow, Decoder[EvidencePack](EvidencePack), self, GROUP_SECONDS
        )

    def opened(self, shard: LearnShard) -> None:
        """Take up a partition: what changed before a crash may not have been told, so all is looked at."""
        row = shard.get(feature_key(BASE))
        if isinstance(row, FeatureRow):
            self._base = row.counts
        self._changed.update((feature_of(key), shard) for key, _ in shard.scan(FEATURE_PREFIX))
        self._wake.set()

    def closed(self, shard: LearnShard) -> None:
        """Forget a partition."""
        self._changed = {name: owner for name, owner in self._changed.items() if owner is not shard}

    def absorb(self, shard: LearnShard, fact: Count) -> None:
        """Count features under a verdict."""
        self._store.add(shard, fact)
        for feature in fact.features:
            self._changed[feature] = shard
        self._gone += [name for name in self._store.forget(shard) if self._news.forget(name)]
        self._wake.set()

    def committed(self, shard: Shard[LearnRow]) -> None:
        """Report what was forgotten; publication does not wait for a commit, it is ahead of it."""
        totals = self.totals()
        if totals.forgotten > self._reported:
            self._reported = totals.forgotten
            log.warning("rare features forgotten", forgotten=totals.forgotten, features=totals.features)

    def heard_base(self, interest: Interest) -> None:
        """Take in the base rates: they are counted in one partition and needed in all."""
        if interest.feature == BASE:
            self._base = {name: list(cell) for name, cell in interest.counts.items()}
            if self._changed:
                self._wake.set()

    async def run(self) -> None:
        """Publish whenever something changed: at once while few pages are judged, a little later then."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.publish()
            judged = max((pages for pages, _ in self._base.values()), default=0)
            if judged > self.settings.eager_pages:
                await asyncio.sleep(self.settings.interval_seconds)

    async def publish(self) -> None:
        """Publish what changed since the last time and is news."""
        changed, self._changed = self._changed, {}
        gone, self._gone = self._gone, []
        base_shard = changed.pop(BASE, None)
        if base_shard is not None:
            row = base_shard.get(feature_key(BASE))
            self._base = row.counts if isinstance(row, FeatureRow) else {}
        messages = []
        for feature, shard in changed.items():
            row = shard.get(feature_key(feature))
            if not isinstance(row, FeatureRow):
                continue
            if self._news.worth(feature, row.counts, self._base):
                messages.append(self._message(feature, row.counts))
            elif self._news.undecided(row.counts, self._base):
                self._changed.setdefault(feature, shard)
        messages += [self._message(feature, None) for feature in (*gone, *self._news.withdrawn())]
        if base_shard is not None:
            # Last, so that who has heard of a page's verdict has heard of its features too.
            messages.append(self._message(BASE, self._base))
        if messages:
            await self.runtime.publisher.send_all(messages)

    def _message(
        self, feature: str, counts: dict[str, list[int]] | None
    ) -> tuple[str, int, bytes | None, bytes | None]:
        partition = self.runtime.partition(INTERESTS, feature)
        value = None
        if counts is not None:
            told = {name: (pages, hits) for name, (pages, hits) in counts.items()}
            value = encode(Interest(feature=feature, counts=told))
        return (INTERESTS.name, partition, feature.encode(), value)

    def totals(self) -> LearnTotals:
        """Return the totals over the partitions held."""
        parts = [learn_totals(shard) for shard in self.inbox.shards.values()]
        return LearnTotals(sum(part.features for part in parts), sum(part.forgotten for part in parts))
