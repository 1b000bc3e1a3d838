"""The frontier's own ledger: what the learners have told of every feature, and its own verdicts since.

Its own verdicts count here as soon as their group is safe, and once more in what the learners tell. So each
count is kept until the learner says that it goes up to its origin: then it is in what was told.
"""

from collections import deque
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np

from agents.frontier.evidence import OwnCount
from agents.frontier.scorer import Scorer
from agents.learn.rows import always_kept
from models.ledger import Cells, Ledger, Slots
from streams.records import Count, Interests

#: Counts kept for each partition of the learner at most, should it tell nothing: about a thousand pages'.
MOST_OWN = 20_000
#: Share of the features that is forgotten at once when there are too many.
FORGOTTEN = 0.1

Origin: TypeAlias = tuple[int, int]

_BEFORE_ALL: Origin = (-1, -1)


class _Own(NamedTuple):
    """A count of this worker's that the learner has not told of yet."""

    source: str
    origin: Origin
    fact: Count


class FrontierLedger:
    """Counts of at most about ``limit`` features; ``scorer`` learns those that changed, as they are then.

    A count is what was told plus this worker's own verdicts since, so that one worker alone knows all counts
    exactly; of what others judge each knows what the learners have told.
    """

    def __init__(self, limit: int, scorer: Scorer) -> None:
        self._limit = limit
        self._scorer = scorer
        self._ledger = Ledger()
        self._own: dict[int, deque[_Own]] = {}
        self._offsets: dict[int, int] = {}
        self._origins: dict[int, dict[str, Origin]] = {}

    def count(self, source: str, counted: Sequence[OwnCount]) -> None:
        """Count verdicts that are on their way to the learners, as facts of ``source``."""
        fresh = []
        for partition, origin, fact in counted:
            told = self._origins.get(partition, {}).get(source, _BEFORE_ALL)
            if origin > told:  # after a crash it may have been told before it is emitted again
                fresh.append(fact)
                self._own.setdefault(partition, deque(maxlen=MOST_OWN)).append(_Own(source, origin, fact))
        self._changed(self._ledger.count(fresh))

    def hear(self, told: Interests) -> None:
        """Take in what a learner tells; `ValueError` where its counts are not as many as its names.

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
        before = self._ledger.take(slots)
        # Taken back, so that what is told stands alone, and counted again.
        since = [each.fact for each in left]
        self._ledger.count(since, -1)
        self._ledger.put(cells)
        self._ledger.count(since)
        after = self._ledger.take(slots)
        # What a worker alone has counted is told as it knows it.
        moved = ((before.pages != after.pages) | (before.hits != after.hits)).any(axis=0)
        self._changed(slots[moved])

    def tell_all(self) -> None:
        """Have the scorer learn all counts: it has a predicate more."""
        self._changed(np.arange(self._ledger.size))

    def _changed(self, slots: Slots) -> None:
        if len(slots):
            self._scorer.learn(self._ledger.take(slots))
        excess = len(self._ledger) - self._limit
        if excess > 0:
            self._forget(excess + int(self._limit * FORGOTTEN))

    def _forget(self, number: int) -> None:
        _, gone = self._ledger.forget_rarest(number, always_kept)
        predicates = self._ledger.predicates
        nothing = np.zeros((len(predicates), len(gone)), np.int32)
        self._scorer.learn(Cells(predicates, tuple(gone), nothing, nothing))
