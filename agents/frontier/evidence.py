"""What the frontier tells the learner: verdicts counted under features, and labels for the combiners.

Counts are a function of the rows and the sighting alone, never of a clock, a model or chance, so that a
repeated sighting repeats its counts. Labels tell of choices too.
"""

from collections.abc import Iterable
from typing import NamedTuple

from agents.frontier.rows import Choice, FrontierShard, PageRow
from models.verdict import Verdict
from streams.records import Count, Label
from streams.topics import EVIDENCE, partition_of


class OwnCount(NamedTuple):
    """A count that was emitted: to which partition of `evidence`, with which origin."""

    partition: int
    origin: tuple[int, int]
    fact: Count


class EvidenceEmitter:
    """Emits evidence to the partition of each feature, or of each predicate.

    What it has counted of each shard's open group it keeps, for the frontier's own ledger, until it is taken.
    """

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._counted: dict[int, list[OwnCount]] = {}

    def take(self, shard: FrontierShard) -> list[OwnCount]:
        """Return what was counted of a shard since the last call, and forget it."""
        return self._counted.pop(shard.partition, [])

    def count(self, shard: FrontierShard, features: Iterable[str], verdict: Verdict, times: int = 1) -> None:
        """Emit a count of features under a verdict, split by the features' partitions."""
        if not times:
            return
        parts: dict[int, list[str]] = {}
        for feature in sorted(features):  # sorted, so that a repeated emission is the same one
            parts.setdefault(partition_of(feature, self._partitions), []).append(feature)
        counted = self._counted.setdefault(shard.partition, [])
        for partition in sorted(parts):
            fact = Count(tuple(parts[partition]), verdict, times)
            counted.append(OwnCount(partition, shard.outbox.emit(EVIDENCE.name, partition, fact), fact))

    def change(
        self, shard: FrontierShard, verdict: Verdict, added: Iterable[str], removed: Iterable[str]
    ) -> None:
        """Emit what a judged page is counted under from now on, and what no longer."""
        self.count(shard, added, verdict)
        self.count(shard, removed, verdict, -1)

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
    if choice.predicate != predicate:
        return "other"
    return "explored" if choice.explored else "selected"
