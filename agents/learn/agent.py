"""The learn agent: counts evidence by feature, learns from labels, and publishes what moved.

Reads `evidence`; keeps the table `interests` (a row a feature, and one a predicate's combiner); writes
`interests`.

What it publishes are counts and combiners as they stand, so that a repeated publication does no harm: it is
sent at once, before the group is committed, and groups may be long, which saves writes of words that every
page holds.
"""

import asyncio
from collections.abc import Mapping

from agents.learn.inputs import inputs_of
from agents.learn.models import ModelStore
from agents.learn.news import News
from agents.learn.rows import (
    FEATURE_PREFIX,
    MODEL_PREFIX,
    FeatureRow,
    LearnRow,
    LearnTotals,
    feature_key,
    feature_of,
    predicate_of,
)
from agents.learn.store import FeatureStore, LearnShard, learn_totals
from agents.metrics.learn import LearnMetrics
from models.interest.features import BASE
from models.learner.shrinkage import base_rate, log_lift
from streams.handler import Handler
from streams.inbox import Shard
from streams.logging import EventLog
from streams.outbox import Message
from streams.records import COMBINER, Decoder, Evidence, EvidencePack, Interest, Label, Prior, Start, encode
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import EVIDENCE, INTERESTS

#: Seconds over which a commit group of counts gathers.
GROUP_SECONDS = 1.0


log = EventLog("learn")


class LearnAgent(Handler[LearnRow]):
    """Absorbs evidence and tells what it changes."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.settings = runtime.settings.learn
        self._store = FeatureStore(self.settings.features)
        self._news = News(self.settings.threshold, self.settings.published)
        self._models = ModelStore(self.settings, inputs_of(runtime.settings))
        if runtime.settings.frontier.rule == "learned":
            self._models.load()
        self._metrics = LearnMetrics(runtime, self.totals, self._models.labels)
        self._changed: dict[str, LearnShard] = {}
        self._learned: dict[str, LearnShard] = {}
        self._gone: list[str] = []
        self._base: dict[str, list[int]] = {}
        self._earlier: dict[str, tuple[float, float]] = {}
        self._predicates: set[str] = set()
        self._wake = asyncio.Event()
        self._reported = 0
        self.inbox: Stateful[LearnRow] = Stateful(
            runtime, EVIDENCE, "interests", LearnRow, Decoder[EvidencePack](EvidencePack), self, GROUP_SECONDS
        )

    def opened(self, shard: LearnShard) -> None:
        """Take up a partition: what changed before a crash may not have been told, so all is looked at."""
        row = shard.get(feature_key(BASE))
        if isinstance(row, FeatureRow):
            self._base, self._earlier = row.counts, row.prior
        self._changed.update((feature_of(key), shard) for key, _ in shard.scan(FEATURE_PREFIX))
        self._learned.update((predicate_of(key), shard) for key, _ in shard.scan(MODEL_PREFIX))
        self._wake.set()

    def closed(self, shard: LearnShard) -> None:
        """Forget a partition."""
        self._changed = {name: owner for name, owner in self._changed.items() if owner is not shard}
        self._learned = {name: owner for name, owner in self._learned.items() if owner is not shard}
        self._models.closed(shard)

    def restored(self, shard: LearnShard) -> None:
        """Read the combiners again from their rows."""
        self._models.closed(shard)

    def absorb(self, shard: LearnShard, fact: Evidence) -> None:
        """Count features under a verdict, or learn from a label."""
        if isinstance(fact, Label):
            if self._models.learn(shard, fact):
                self._metrics.drifted(fact.predicate)
            self._learned[fact.predicate] = shard
        elif isinstance(fact, Start):
            self._start(shard, fact)
        elif isinstance(fact, Prior):
            self._inherit(shard, fact)
        else:
            self._store.add(shard, fact)
            self._changed.update(dict.fromkeys(fact.features, shard))
            self._forget(shard)
        self._wake.set()

    def _forget(self, shard: LearnShard) -> None:
        self._gone += [name for name in self._store.forget(shard) if self._news.forget(name)]

    def _start(self, shard: LearnShard, start: Start) -> None:
        if self._models.start(shard, start):
            self._learned[start.predicate] = shard
        else:
            log.info(
                "has learned already: an earlier crawl's weights are passed over", predicate=start.predicate
            )

    def _inherit(self, shard: LearnShard, prior: Prior) -> None:
        self._store.start(shard, prior)
        # What was told of it before was told without this.
        self._news.forget(prior.feature)
        self._changed[prior.feature] = shard
        if prior.feature == BASE:
            self._earlier = self._earlier | prior.counts
            for name in sorted(prior.counts.keys() - self._predicates):
                log.warning("an earlier crawl's predicate is none of this one: passed over", predicate=name)
        self._forget(shard)

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
            self._earlier = interest.prior
            if self._changed:
                self._wake.set()

    def heard_predicate(self, name: str) -> None:
        """Take in that the crawl has a predicate."""
        self._predicates.add(name)
        self._metrics.known(name)

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
            base = row if isinstance(row, FeatureRow) else FeatureRow()
            self._base, self._earlier = base.counts, base.prior
        learned, self._learned = self._learned, {}
        messages = []
        for feature, shard in changed.items():
            row = shard.get(feature_key(feature))
            if not isinstance(row, FeatureRow):
                continue
            if self._news.worth(feature, row.counts, self._base, self._effect(row.prior)):
                messages.append(self._counts(feature, row))
            elif self._news.undecided(row.counts, self._base):
                self._changed.setdefault(feature, shard)
        messages += [self._about(feature, None) for feature in (*gone, *self._news.withdrawn())]
        messages += [self._combiner(predicate, shard) for predicate, shard in learned.items()]
        if base_shard is not None:
            # Last, so that who has heard of a page's verdict has heard of its features too.
            messages.append(self._counts(BASE, base))
        if messages:
            await self.runtime.publisher.send_all(messages)
            self._metrics.published(len(messages))

    def _effect(self, prior: Mapping[str, tuple[float, float]]) -> float:
        """Return the greatest shrunk log ratio, either way, of what an earlier crawl counted."""
        rates = ((cell, base_rate(*self._earlier.get(name, (0, 0)))) for name, cell in prior.items())
        return max((abs(log_lift(*cell, rate)) for cell, rate in rates), default=0.0)

    def _counts(self, feature: str, row: FeatureRow) -> Message:
        told = {name: (pages, hits) for name, (pages, hits) in row.counts.items()}
        return self._about(feature, Interest(feature=feature, counts=told, prior=row.prior))

    def _combiner(self, predicate: str, shard: LearnShard) -> Message:
        name = COMBINER + predicate
        weighting = self._models.weighting(shard, predicate)
        return self._about(name, Interest(feature=name, counts={}, weighting=weighting))

    def _about(self, name: str, interest: Interest | None) -> Message:
        partition = self.runtime.partition(INTERESTS, name)
        return (INTERESTS.name, partition, name.encode(), encode(interest) if interest else None)

    def totals(self) -> LearnTotals:
        """Return the totals over the partitions held."""
        parts = [learn_totals(shard) for shard in self.inbox.shards.values()]
        return LearnTotals(sum(part.features for part in parts), sum(part.forgotten for part in parts))
