"""The learn agent: counts evidence by feature, learns from labels, and tells the frontiers what changed.

Reads `evidence`; keeps the table `interests` (counts in segments and blocks, a row a predicate's combiner);
writes `interests`.

What it tells are counts and combiners as they stand, so that a repetition does no harm, and need not wait for
the group to be safe.
"""

import asyncio
from collections.abc import Callable, Mapping

from scentline.agents.learn.models import ModelStore, inputs_of
from scentline.agents.learn.rows import MODEL_PREFIX, LearnRow, LearnTotals, PriorRow, name_of, prior_key
from scentline.agents.learn.store import FeatureStore, LearnShard, learn_totals
from scentline.agents.learn.telling import Telling
from scentline.models.interest.features import BASE
from scentline.models.verdict import FAILED
from scentline.streams.facts import Evidence, EvidencePack, Label, Prior, Start
from scentline.streams.inbox import Shard
from scentline.streams.logging import EventLog
from scentline.streams.metrics.catalogue import FEATURES, FORGOTTEN, LABELS, PUBLISHED
from scentline.streams.metrics.registry import Reading
from scentline.streams.outbox import Message
from scentline.streams.records import Decoder, Interests, encode
from scentline.streams.runtime import Runtime
from scentline.streams.stateful import Handler, Stateful
from scentline.streams.topics import EVIDENCE, INTERESTS


class LearnMetrics:
    """Counts what one learn agent tells; ``totals`` and ``labels`` (by predicate) are read at a scrape."""

    def __init__(
        self, runtime: Runtime, totals: Callable[[], LearnTotals], labels: Callable[[], Mapping[str, int]]
    ) -> None:
        metrics = runtime.metrics
        self._label = metrics.predicate
        self._totals = totals
        self._labels = labels
        self._told = metrics.counter(PUBLISHED)
        runtime.watch(self.measure)

    def told(self, features: int) -> None:
        """Count the features that the frontiers were told of."""
        self._told.inc(features)

    def measure(self, reading: Reading) -> None:
        """Tell how much is known."""
        totals = self._totals()
        reading.add(FEATURES, totals.features)
        reading.add(FORGOTTEN, totals.forgotten)
        for predicate, labels in self._labels().items():
            if predicate != FAILED:  # no predicate of the crawl's
                reading.add(LABELS, labels, self._label(predicate))


#: Seconds over which a commit group of counts gathers: by so much what others judge is heard of later.
GROUP_SECONDS = 0.25


log = EventLog("learn")

#: Judged pages until which every change is published at once; and the least time between two publications.
EAGER_PAGES, INTERVAL_SECONDS = 200, 0.1


class LearnAgent(Handler[LearnRow]):
    """Absorbs evidence and tells what it changes."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.settings = runtime.settings.learn
        self._stores: dict[LearnShard, FeatureStore] = {}
        self._telling: dict[LearnShard, Telling] = {}
        self._models = ModelStore(inputs_of(runtime.settings))
        self._metrics = LearnMetrics(runtime, self.totals, self._models.labels)
        self._learned: dict[str, LearnShard] = {}
        self._predicates: set[str] = set()
        self._wake = asyncio.Event()
        self._sending = asyncio.Lock()
        self._room = 1.0
        self._told_at = 0.0
        self._reported = 0
        self.inbox: Stateful[LearnRow] = Stateful(
            runtime, EVIDENCE, "interests", LearnRow, Decoder[EvidencePack](EvidencePack), self, GROUP_SECONDS
        )

    def opened(self, shard: LearnShard) -> None:
        """Take up a partition: what changed before a crash may not have been told, so all is."""
        self._store(shard)
        self._learned.update((name_of(key), shard) for key, _ in shard.scan(MODEL_PREFIX))
        self._wake.set()

    def _store(self, shard: LearnShard) -> FeatureStore:
        store = self._stores.get(shard)
        if store is None:
            store = self._stores[shard] = FeatureStore(shard, self.settings.features)
            self._telling[shard] = Telling(shard, store)
        return store

    def closed(self, shard: LearnShard) -> None:
        """Forget a partition."""
        self._stores.pop(shard, None)
        self._telling.pop(shard, None)
        self._learned = {name: owner for name, owner in self._learned.items() if owner is not shard}
        self._models.closed(shard)

    def restored(self, shard: LearnShard) -> None:
        """Read the combiners again from their rows; count what comes again as if for the first time."""
        self._store(shard).undo()
        self._models.closed(shard)

    def absorb(self, shard: LearnShard, fact: Evidence) -> None:
        """Count features under a verdict, or learn from a label."""
        if isinstance(fact, Label):
            self._models.learn(shard, fact)
            self._learned[fact.predicate] = shard
            self._wake.set()
        elif isinstance(fact, Start):
            self._start(shard, fact)
        elif isinstance(fact, Prior):
            self._inherit(shard, fact)
        else:
            self._store(shard).add(fact)

    def _start(self, shard: LearnShard, start: Start) -> None:
        if self._models.start(shard, start):
            self._learned[start.predicate] = shard
        else:
            log.info("has learned already: ignored an earlier crawl's weights", predicate=start.predicate)

    def _inherit(self, shard: LearnShard, prior: Prior) -> None:
        self._store(shard)
        key = prior_key(prior.feature)
        row = shard.get(key)
        before = row.counts if isinstance(row, PriorRow) else {}
        added = {name: _sum(before.get(name, (0.0, 0.0)), cell) for name, cell in prior.counts.items()}
        shard.put(key, PriorRow(before | added))
        self._telling[shard].inherited()
        if prior.feature == BASE:
            for name in sorted(prior.counts.keys() - self._predicates - {FAILED}):
                log.warning("skipped an earlier crawl's predicate that this one doesn't have", predicate=name)

    def committed(self, shard: Shard[LearnRow]) -> None:
        """Have what the group changed told, and report what was forgotten."""
        self._store(shard).committed()
        self._wake.set()
        totals = self.totals()
        if totals.forgotten > self._reported:
            self._reported = totals.forgotten
            log.warning("rare features forgotten", forgotten=totals.forgotten, features=totals.features)

    def heard_predicate(self, name: str) -> None:
        """Note that the crawl has a predicate."""
        self._predicates.add(name)

    async def run(self) -> None:
        """Tell whenever something changed: at once while few pages are judged, a little later then."""
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._tell(self._allowed(loop.time()))
            if any(telling.waiting for telling in self._telling.values()):
                loop.call_later(INTERVAL_SECONDS, self._wake.set)
            if max(self._models.labels().values(), default=0) > EAGER_PAGES:
                await asyncio.sleep(INTERVAL_SECONDS)

    async def publish(self) -> None:
        """Commit what was absorbed, and tell all that there is to tell."""
        await self.inbox.flush()
        await self._tell(None)

    def _allowed(self, now: float) -> int:
        """Return how many features may be told: those of the time since the last ones, a second's at most."""
        share = len(self._telling) / self.runtime.bus.partitions(EVIDENCE.name)
        passed, self._told_at = min(1.0, now - self._told_at), now
        self._room = min(self._room + passed, 1.0)
        return int(self._room * self.settings.told * share)

    async def _tell(self, features: int | None) -> None:
        """Send what there is to tell, of so many features at most: in the order in which it came to be."""
        async with self._sending:
            messages = self._combiners() + self._counts(features)
            if messages:
                await self.runtime.bus.send_all(messages)

    def _counts(self, features: int | None) -> list[Message]:
        messages: list[Message] = []
        left = features
        for telling in self._telling.values():
            found, told = telling.messages(left)
            messages += found
            self._metrics.told(told)
            if left is not None:
                left = max(0, left - told)
        if features:
            self._room *= (left or 0) / features
        return messages

    def _combiners(self) -> list[Message]:
        learned, self._learned = self._learned, {}
        return [self._combiner(predicate, shard) for predicate, shard in learned.items()]

    def _combiner(self, predicate: str, shard: LearnShard) -> Message:
        weightings = {predicate: self._models.weighting(shard, predicate)}
        key = MODEL_PREFIX + predicate.encode()
        partition = self.runtime.partition(INTERESTS, predicate)
        return (INTERESTS.name, partition, key, encode(Interests(weightings=weightings)))

    def totals(self) -> LearnTotals:
        """Return the totals over the partitions held."""
        parts = [learn_totals(shard) for shard in self.inbox.shards.values()]
        return LearnTotals(sum(part.features for part in parts), sum(part.forgotten for part in parts))


def _sum(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]
