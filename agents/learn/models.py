"""The combiners of a worker's predicates, decoded in memory, and the learner's rows."""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from scentline.models.facts import Label, Start
from scentline.models.page import FAILED
from scentline.models.policy.combiner import Combining, Learner, State, failing
from scentline.models.policy.inputs import Input
from scentline.models.records import Weighting
from scentline.models.semantic import inputs_with
from scentline.streams.inbox import Shard
from scentline.streams.settings import Settings

PRIOR_PREFIX = b"p"
MODEL_PREFIX = b"m"
#: What rows of earlier releases begin with, which had the counts here.
EARLIER_PREFIXES = (b"b", b"f", b"s")


class PriorRow(msgspec.Struct, array_like=True, frozen=True, tag="prior"):
    """What earlier crawls counted under a feature, faded: for each predicate (pages, hits)."""

    counts: dict[str, tuple[float, float]]


class ModelRow(msgspec.Struct, array_like=True, frozen=True, tag="model"):
    """What has learned from a predicate's labels: the fields of `models.policy.combiner.State`."""

    mean: bytes
    covariance: bytes
    labels: int
    calibration: bytes


LearnRow: TypeAlias = PriorRow | ModelRow
LearnShard: TypeAlias = Shard[LearnRow]


def prior_key(feature: str) -> bytes:
    """Return the key of the row of what earlier crawls counted under a feature."""
    return PRIOR_PREFIX + feature.encode()


def model_key(predicate: str) -> bytes:
    """Return the key of the row of a predicate's combiner."""
    return MODEL_PREFIX + predicate.encode()


def name_of(key: bytes) -> str:
    """Return the feature or predicate that the key of a row names."""
    return key[1:].decode()


class ModelStore:
    """Learns from labels, made of ``inputs``; each also stages the row of its predicate's combiner."""

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
        """Return how many labels each predicate's combiner has learned from, of the partitions held."""
        return {name: learner.labels for known in self._learners.values() for name, learner in known.items()}

    def start(self, shard: LearnShard, start: Start) -> bool:
        """Start a predicate's combiner where an earlier crawl's stood; return False where it has learned."""
        learner = self._learner(shard, start.predicate)
        if learner.labels:
            return False
        learner.start(Combining(start.names, start.mean, start.covariance, start.calibration))
        shard.put(model_key(start.predicate), ModelRow(*learner.state()))
        return True

    def weighting(self, shard: LearnShard, predicate: str) -> Weighting:
        """Return a predicate's combiner as it stands."""
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


def inputs_of(settings: Settings) -> tuple[Input, ...]:
    """Return the inputs, in their order."""
    return inputs_with(settings.semantic is not None)
