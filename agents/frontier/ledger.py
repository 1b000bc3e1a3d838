"""The frontier's own ledger: what the learners have told of every feature, and its own verdicts since.

Its own verdicts count here as soon as their group is safe, and once more in what the learners tell. So each
count is kept until the learner says that it goes up to its origin: then it is in what was told.

What it tells the learner are verdicts counted under features, and labels for the combiners. Counts are a
function of the rows and the sighting alone, never of a clock, a model or chance, so that a repeated sighting
repeats its counts. Labels tell of choices too.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np

from scentline.agents.frontier.rows import Choice, FrontierShard, PageRow
from scentline.agents.frontier.scorer import Scorer
from scentline.models.interest.features import always_kept
from scentline.models.ledger import INT32, Cells, Change, Counts, Slots
from scentline.models.verdict import FAILED, Verdict
from scentline.streams.facts import Count, Label
from scentline.streams.records import Interests
from scentline.streams.topics import EVIDENCE, partition_of


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
        if not self._gathered:  # as of any access to a page that was not judged
            return
        gathered, self._gathered = self._gathered, {}
        for verdict, found in gathered.items():
            # In the order of their names: it numbers the slots, and sums are rounded by that.
            for partition, features in self._split(sorted(name for name, times in found.items() if times)):
                change = Change(features, dict(verdict), np.array([found[name] for name in features], INT32))
                fact = Count(tuple(features), change.verdict, change.times.tobytes())
                origin = shard.outbox.emit(EVIDENCE.name, partition, fact)
                self._counted.setdefault(shard.partition, []).append(OwnCount(partition, origin, change))

    def _split(self, features: list[str]) -> Iterator[tuple[int, list[str]]]:
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
    """Return how a page came to be chosen, as a predicate sees it (`streams.facts.Label`)."""
    if predicate == FAILED:
        return "selected"  # every choice goes by it
    if choice.predicate != predicate:
        return "other"
    return "explored" if choice.explored else "selected"


#: Counts kept for each partition of the learner at most, should it tell nothing: about a thousand pages'.
MOST_OWN = 2_000
#: Share of the features that is forgotten at once when there are too many.
FORGOTTEN = 0.1

Origin: TypeAlias = tuple[int, int]

_BEFORE_ALL: Origin = (-1, -1)


class _Own(NamedTuple):
    """A count of this worker's that the learner has not told of yet."""

    source: str
    origin: Origin
    slots: Slots
    verdict: Verdict
    times: Counts


class FrontierLedger:
    """Counts of at most about ``limit`` features, in the ledger of ``scorer``, which is told what changed.

    A count is what was told plus this worker's own verdicts since, so that one worker alone knows all counts
    exactly; of what others judge each knows what the learners have told.
    """

    def __init__(self, limit: int, scorer: Scorer) -> None:
        self._limit = limit
        self._scorer = scorer
        self._ledger = scorer.ledger
        self._own: dict[int, deque[_Own]] = {}
        self._offsets: dict[int, int] = {}
        self._origins: dict[int, dict[str, Origin]] = {}

    def count(self, source: str, counted: Sequence[OwnCount]) -> None:
        """Count verdicts that are on their way to the learners, as facts of ``source``."""
        changed = [np.zeros(0, np.intp)]
        for partition, origin, (features, verdict, times) in counted:
            told = self._origins.get(partition, {}).get(source, _BEFORE_ALL)
            if origin > told:  # after a crash it may have been told before it is emitted again
                slots = self._ledger.slots_of(features)
                self._ledger.add(slots, verdict, times)
                own = self._own.setdefault(partition, deque(maxlen=MOST_OWN))
                own.append(_Own(source, origin, slots, verdict, times))
                changed.append(slots)
        self._changed(np.concatenate(changed))

    def hear(self, told: Interests) -> None:
        """Apply what a learner tells; `ValueError` where its counts are not as many as its names.

        Where a learner comes back after a crash, it may tell less than it has told: what has changed since is
        told again.
        """
        for predicate, weighting in told.weightings.items():
            self._scorer.take(predicate, weighting)
        if told.prior:
            self._scorer.inherit(told.prior)
            self._ledger.add_predicates(chain.from_iterable(told.prior.values()))
            self._changed(self._ledger.slots_of(told.prior))
        if told.names:
            self._hear_counts(told)

    def _hear_counts(self, told: Interests) -> None:
        partition = told.partition
        cells = Cells.of_bytes(told.predicates, told.names, told.pages, told.hits)
        if told.offset >= self._offsets.get(partition, -1):
            self._offsets[partition], self._origins[partition] = told.offset, told.origins
        elif not told.block:
            return
        own = self._own.get(partition, ())
        left = [each for each in own if each.origin > told.origins.get(each.source, _BEFORE_ALL)]
        self._own[partition] = deque(left, maxlen=MOST_OWN)
        self._ledger.add_predicates(told.predicates)
        slots = self._ledger.slots_of(told.names)
        before = self._ledger.counts_in(slots)
        self._ledger.put(slots, cells)
        self._count_again(left, slots)
        # What a worker alone has counted is told as it knows it.
        moved = np.not_equal(before, self._ledger.counts_in(slots)).any(axis=(0, 1))
        self._changed(slots[moved])

    def _count_again(self, own: Sequence[_Own], slots: Slots) -> None:
        """Count own verdicts on top of what was told, in the slots that were."""
        told = np.zeros(self._ledger.size, bool)
        told[slots] = True
        for each in own:
            among = told[each.slots]
            if among.any():
                self._ledger.add(each.slots[among], each.verdict, each.times[among])

    def tell_all(self) -> None:
        """Have the scorer learn all counts: it has a predicate more."""
        self._changed(np.arange(self._ledger.size))

    def _changed(self, slots: Slots) -> None:
        if len(slots):
            self._scorer.learn(slots)
        excess = len(self._ledger) - self._limit
        if excess > 0:
            self._forget(excess + int(self._limit * FORGOTTEN))

    def _forget(self, number: int) -> None:
        slots = self._ledger.rarest(number, always_kept)
        for partition, own in self._own.items():
            self._own[partition] = deque((_without(each, slots) for each in own), maxlen=MOST_OWN)
        self._scorer.forget(slots, self._ledger.forget(slots))


def _without(own: _Own, slots: Slots) -> _Own:
    """Return a count without some slots, which may soon be another feature's."""
    left = ~np.isin(own.slots, slots)
    return own._replace(slots=own.slots[left], times=own.times[left])
