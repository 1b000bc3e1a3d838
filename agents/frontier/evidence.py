"""What the frontier tells the learner: verdicts counted under features, and labels for the combiners.

Counts are a function of the rows and the sighting alone, never of a clock, a model or chance, so that a
repeated sighting repeats its counts. Labels tell of choices too.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from agents.frontier.rows import Choice, FrontierShard, PageRow
from models.ledger import INT32, Change
from models.verdict import FAILED, Verdict
from streams.records import Count, Label
from streams.topics import EVIDENCE, partition_of


class OwnCount(NamedTuple):
    """A count that was emitted: to which partition of `evidence`, with which origin."""

    partition: int
    origin: tuple[int, int]
    change: Change


class EvidenceEmitter:
    """Emits evidence to the partition of each feature, or of each predicate.

    What a sighting gives is gathered from `begin` on, and `emit` makes one fact of it for each verdict and
    partition. What was emitted in each shard's open group is kept, for the frontier's own ledger, until it is
    taken.
    """

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._gathered: dict[tuple[tuple[str, bool], ...], dict[str, int]] = {}
        self._counted: dict[int, list[OwnCount]] = {}

    def take(self, shard: FrontierShard) -> list[OwnCount]:
        """Return what was counted of a shard since the last call, and forget it."""
        return self._counted.pop(shard.partition, [])

    def begin(self) -> None:
        """Forget what a sighting that failed half-way has gathered."""
        self._gathered = {}

    def count(self, features: Iterable[str], verdict: Verdict, times: int = 1) -> None:
        """Count features ``times`` over under a verdict; taken back, where negative."""
        if verdict and times:
            found = self._gathered.setdefault(tuple(verdict.items()), {})
            for feature in features:
                found[feature] = found.get(feature, 0) + times

    def change(self, verdict: Verdict, added: Iterable[str], removed: Iterable[str]) -> None:
        """Count a judged page under what it is from now on, and no longer under what it was."""
        self.count(added, verdict)
        self.count(removed, verdict, -1)

    def emit(self, shard: FrontierShard) -> None:
        """Emit what was gathered."""
        gathered, self._gathered = self._gathered, {}
        for verdict, found in gathered.items():
            for partition, features in self._split([name for name, times in found.items() if times]):
                change = Change(features, dict(verdict), np.array([found[name] for name in features], INT32))
                fact = Count(tuple(features), change.verdict, change.times.tobytes())
                origin = shard.outbox.emit(EVIDENCE.name, partition, fact)
                self._counted.setdefault(shard.partition, []).append(OwnCount(partition, origin, change))

    def _split(self, features: list[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield each partition with its features."""
        parts: dict[int, list[str]] = {}
        if features and self._partitions == 1:
            parts[0] = features
        else:
            for feature in features:
                parts.setdefault(partition_of(feature, self._partitions), []).append(feature)
        yield from sorted(parts.items())

    def label(self, shard: FrontierShard, row: PageRow, verdict: Verdict) -> None:
        """Tell the combiners what came of the inputs that a page was chosen by; a seed was not chosen.

        Choice and inputs come from no message, so that after a crash there may be fewer or more of them than
        the first time. What else the message gives rise to must keep its origin: hence one for each predicate.
        """
        for predicate, holds in verdict.items():
            if row.seed or row.silent or row.choice is None or predicate not in row.inputs:
                shard.outbox.skip()
                continue
            fact = Label(predicate, row.inputs[predicate], holds, _chosen(row.choice, predicate))
            shard.outbox.emit(EVIDENCE.name, partition_of(predicate, self._partitions), fact)


def _chosen(choice: Choice, predicate: str) -> str:
    """Return how a page came to be chosen, as a predicate sees it (`streams.records.Label`)."""
    if predicate == FAILED:
        return "selected"  # every choice goes by it
    if choice.predicate != predicate:
        return "other"
    return "explored" if choice.explored else "selected"
