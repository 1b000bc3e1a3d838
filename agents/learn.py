"""The learn agent: learns from labels, and publishes what it learned to the frontiers.

Reads `evidence`; keeps the table `interests` (a row per predicate's combiner, and per feature that an earlier
crawl counted); writes `interests`.

It publishes whole combiners, so a repetition does no harm, and they need not wait for the group's commit.
"""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

import msgspec

from scentline.models.errors import EventLog
from scentline.models.facts import Evidence, EvidencePack, Label, Prior, Start
from scentline.models.page import FAILED
from scentline.models.policy.combiner import Combining, Learner, State, failing
from scentline.models.policy.features import BASE
from scentline.models.policy.inputs import Input, inputs_with
from scentline.models.records import Decoder, Interests, Weighting, encode
from scentline.streams.inbox import Message, Shard
from scentline.streams.metrics import Reading
from scentline.streams.metrics.catalogue import LABELS
from scentline.streams.runtime import Runtime
from scentline.streams.settings import ConfigurationError
from scentline.streams.stateful import Handler, Stateful
from scentline.streams.topics import EVIDENCE, INTERESTS

log = EventLog("learn")

#: Seconds over which a commit group of labels gathers.
GROUP_SECONDS = 0.25
#: Labels up to which every change is published at once, and the seconds between publications after that.
EAGER_PAGES, INTERVAL_SECONDS = 200, 0.1
#: Features whose prior counts go into one message.
PRIORS = 1_000

PRIOR_PREFIX = b"p"
MODEL_PREFIX = b"m"
#: Key prefixes of earlier releases' rows, which had the counts here.
EARLIER_PREFIXES = (b"b", b"f", b"s")


class PriorRow(msgspec.Struct, array_like=True, frozen=True, tag="prior"):
    """What earlier crawls counted under a feature, faded: for each predicate (pages, hits)."""

    counts: dict[str, tuple[float, float]]


class ModelRow(msgspec.Struct, array_like=True, frozen=True, tag="model"):
    """A predicate's combiner: the fields of `models.policy.combiner.State`."""

    mean: bytes
    covariance: bytes
    labels: int
    calibration: bytes


LearnRow: TypeAlias = PriorRow | ModelRow
LearnShard: TypeAlias = Shard[LearnRow]


def prior_key(feature: str) -> bytes:
    """Return the key of the row of a feature's counts in earlier crawls."""
    return PRIOR_PREFIX + feature.encode()


def model_key(predicate: str) -> bytes:
    """Return the key of the row of a predicate's combiner."""
    return MODEL_PREFIX + predicate.encode()


def name_of(key: bytes) -> str:
    """Return the feature or predicate that a row's key names."""
    return key[1:].decode()


class ModelStore:
    """Learns from labels made of ``inputs``, and stages the row of each combiner that changes."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._inputs = inputs
        self._learners: dict[LearnShard, dict[str, Learner]] = {}

    def closed(self, shard: LearnShard) -> None:
        """Forget a partition."""
        self._learners.pop(shard, None)

    def learn(self, shard: LearnShard, label: Label) -> None:
        """Apply a label."""
        learner = self._learner(shard, label.predicate)
        learner.learn(label.inputs, label.holds, label.chosen)
        shard.put(model_key(label.predicate), ModelRow(*learner.state()))

    def labels(self) -> dict[str, int]:
        """Return how many labels each predicate's combiner has learned from, in owned partitions."""
        return {name: learner.labels for known in self._learners.values() for name, learner in known.items()}

    def start(self, shard: LearnShard, start: Start) -> bool:
        """Start a predicate's combiner from an earlier crawl's; return False if it has learned already."""
        learner = self._learner(shard, start.predicate)
        if learner.labels:
            return False
        learner.start(Combining(start.names, start.mean, start.covariance, start.calibration))
        shard.put(model_key(start.predicate), ModelRow(*learner.state()))
        return True

    def weighting(self, shard: LearnShard, predicate: str) -> Weighting:
        """Return a predicate's current combiner."""
        learner = self._learner(shard, predicate)
        combiner = learner.combiner
        return Weighting(combiner.mean.tobytes(), combiner.covariance.tobytes(), learner.shifts)

    def _learner(self, shard: LearnShard, predicate: str) -> Learner:
        known = self._learners.setdefault(shard, {})
        learner = known.get(predicate)
        if learner is None:
            row = shard.get(model_key(predicate))
            state = State(*msgspec.structs.astuple(row)) if isinstance(row, ModelRow) else None
            inputs = failing(self._inputs) if predicate == FAILED else self._inputs
            learner = known[predicate] = Learner(state, inputs)
        return learner


class LearnAgent(Handler[LearnRow]):
    """Absorbs labels and publishes what they change."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._models = ModelStore(inputs_with(runtime.settings.semantic is not None))
        runtime.watch(self._measure)
        self._learned: dict[str, LearnShard] = {}
        #: Shards whose counts of earlier crawls await publication, and partitions with uncommitted ones.
        self._inherited: dict[int, LearnShard] = {}
        self._inheriting: set[int] = set()
        self._predicates: set[str] = set()
        self._wake = asyncio.Event()
        self._sending = asyncio.Lock()
        self.inbox: Stateful[LearnRow] = Stateful(
            runtime, EVIDENCE, "interests", LearnRow, Decoder[EvidencePack](EvidencePack), self, GROUP_SECONDS
        )

    def opened(self, shard: LearnShard) -> None:
        """Open a partition, and publish all its rows: a crash may have left changes unpublished.

        Raises `ConfigurationError` for rows of an earlier release.
        """
        if any(True for prefix in EARLIER_PREFIXES for _ in shard.store.scan(prefix)):
            raise ConfigurationError(
                "table interests: an earlier release wrote it, with the counts of verdicts; expected one of "
                "this release: finish the crawl with that release, or begin another in a data directory of its "
                "own"
            )
        self._learned.update((name_of(key), shard) for key, _ in shard.scan(MODEL_PREFIX))
        self._inherited[shard.partition] = shard
        self._wake.set()

    def closed(self, shard: LearnShard) -> None:
        """Forget a partition."""
        self._inherited.pop(shard.partition, None)
        self._inheriting.discard(shard.partition)
        self._learned = {name: owner for name, owner in self._learned.items() if owner is not shard}
        self._models.closed(shard)

    def restored(self, shard: LearnShard) -> None:
        """Read the combiners again from their rows."""
        self._models.closed(shard)

    def absorb(self, shard: LearnShard, fact: Evidence) -> None:
        """Learn from a label, or apply what an earlier crawl learned."""
        if isinstance(fact, Label):
            self._models.learn(shard, fact)
            self._learned[fact.predicate] = shard
            self._wake.set()
        elif isinstance(fact, Start):
            self._start(shard, fact)
        else:
            self._inherit(shard, fact)

    def _start(self, shard: LearnShard, start: Start) -> None:
        if self._models.start(shard, start):
            self._learned[start.predicate] = shard
        else:
            log.info("has learned already: ignored an earlier crawl's weights", predicate=start.predicate)

    def _inherit(self, shard: LearnShard, prior: Prior) -> None:
        key = prior_key(prior.feature)
        row = shard.get(key)
        before = row.counts if isinstance(row, PriorRow) else {}
        added = {name: _sum(before.get(name, (0.0, 0.0)), cell) for name, cell in prior.counts.items()}
        shard.put(key, PriorRow(before | added))
        self._inheriting.add(shard.partition)
        if prior.feature == BASE:
            for name in sorted(prior.counts.keys() - self._predicates - {FAILED}):
                log.warning("skipped an earlier crawl's predicate that this one doesn't have", predicate=name)

    def committed(self, shard: Shard[LearnRow]) -> None:
        """Have the group's changes published."""
        if shard.partition in self._inheriting:
            self._inheriting.discard(shard.partition)
            self._inherited[shard.partition] = shard
        self._wake.set()

    def heard_predicate(self, name: str) -> None:
        """Note that the crawl has a predicate."""
        self._predicates.add(name)

    def _measure(self, reading: Reading) -> None:
        for predicate, labels in self._models.labels().items():
            if predicate != FAILED:  # not a predicate of the crawl
                reading.add(LABELS, labels, self.runtime.metrics.predicate(predicate))

    async def run(self) -> None:
        """Publish every change: at once while labels are few, at intervals later."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._tell()
            if max(self._models.labels().values(), default=0) > EAGER_PAGES:
                await asyncio.sleep(INTERVAL_SECONDS)

    async def publish(self) -> None:
        """Commit what was absorbed, and publish every pending change."""
        await self.inbox.flush()
        await self._tell()

    async def _tell(self) -> None:
        """Send the pending changes, in the order in which they arose."""
        async with self._sending:
            messages = self._combiners() + list(self._priors())
            if messages:
                await self.runtime.bus.send_all(messages)

    def _combiners(self) -> list[Message]:
        learned, self._learned = self._learned, {}
        return [self._combiner(predicate, shard) for predicate, shard in learned.items()]

    def _combiner(self, predicate: str, shard: LearnShard) -> Message:
        weightings = {predicate: self._models.weighting(shard, predicate)}
        key = MODEL_PREFIX + predicate.encode()
        partition = self.runtime.partition(INTERESTS, predicate)
        return INTERESTS.name, partition, key, encode(Interests(weightings=weightings))

    def _priors(self) -> Iterator[Message]:
        inherited, self._inherited = self._inherited, {}
        for partition, shard in inherited.items():
            rows = ((name_of(key), row) for key, row in shard.scan(PRIOR_PREFIX))
            priors = ((name, row.counts) for name, row in rows if isinstance(row, PriorRow))
            number = 0
            while told := dict(islice(priors, PRIORS)):
                key = f"{partition}/p{number}".encode()
                yield INTERESTS.name, partition, key, encode(Interests(prior=told))
                number += 1


def _sum(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]
