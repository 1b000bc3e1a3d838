"""What the frontiers are told of a partition's counts: what changed, and now and then a block as it stands.

Messages are keyed, so that the compacted topic keeps what whoever starts has to read: a ledger in pieces
(`agents.learn.rows`). They hold counts as they stand, so that what is told twice does no harm.

What changed before a crash may not have been told, so whoever takes a partition up tells all of it again: block
after block, in as many rounds as it takes, and in each how many pages were judged. What changes meanwhile is
told after that: until then the topic keeps what an earlier owner told last, under keys that are used again.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from scentline.agents.learn.rows import BLOCK, PRIOR_PREFIX, PriorRow, Rounds, block_slots, name_of
from scentline.agents.learn.store import FeatureStore, LearnShard
from scentline.models.interest.features import BASE
from scentline.models.ledger import Cells, Slots
from scentline.streams.outbox import Message
from scentline.streams.records import Interests, encode
from scentline.streams.topics import INTERESTS, SIGHTINGS

#: Features whose prior counts are told in one message.
PRIORS = 1_000
#: Bytes of one message of counts, about, and of those a name's, about.
MOST_BYTES = 1024 * 1024
NAME_BYTES = 32

_FRONTIERS = f"{SIGHTINGS.name}/"


class Telling:
    """Tells what a shard's store counts, at first all of it."""

    def __init__(self, shard: LearnShard, store: FeatureStore) -> None:
        self._shard = shard
        self._store = store
        self._ledger = store.ledger
        self._rounds = Rounds()
        self._keys: dict[int, int] = {}
        self._free: list[int] = []
        self._blocks: deque[int] | None = None
        self._priors = True

    @property
    def waiting(self) -> bool:
        """Whether there is more to tell."""
        return bool(self._blocks) or self._store.waiting

    def inherited(self) -> None:
        """Note that counts of earlier crawls came."""
        self._priors = True

    def messages(self, features: int | None = None) -> tuple[list[Message], int]:
        """Return what there is to tell, and of how many features it is: so many at most, or a block more."""
        found = list(self._all_priors()) if self._priors else []
        self._priors = False
        blocks, told = self._open(features)
        found += blocks
        left = None if features is None else max(0, features - told)
        if self._blocks or left == 0:
            return found, told
        slots, gone = self._store.take_changes(left)
        most = max(1, MOST_BYTES // (NAME_BYTES + 8 * len(self._ledger.predicates)))
        for start in range(0, len(slots), most):
            found += self._segment(slots[start : start + most], gone if not start else ())
        return found, told + len(slots)

    def _open(self, features: int | None) -> tuple[list[Message], int]:
        """Return blocks of those that are told first, and of how many features they are."""
        if self._blocks is None:
            self._store.take_changes()  # the blocks say them
            self._blocks = deque(range(-(-self._ledger.size // BLOCK)))
        found: list[Message] = []
        told = 0
        while self._blocks and (features is None or told < features):
            number = self._blocks.popleft()
            found.append(self._block(number))
            told += len(block_slots(number, self._ledger.size))
        if found and BASE in self._ledger:
            found.append(self._about("base", self._counts(self._ledger.slots_of([BASE]))))
        return found, told

    def _segment(self, slots: Slots, gone: Sequence[str]) -> Iterator[Message]:
        step = self._rounds.step(len(slots), self._ledger.size)
        key = self._keys[step.segment] = self._free.pop() if self._free else len(self._keys)
        yield self._about(f"s{key}", self._counts(slots, gone))
        for number in step.blocks:
            yield self._block(number)
        # What is left of them until their keys are used again lies before the blocks, and so does no harm.
        self._free += [self._keys.pop(number) for number in step.gone]

    def _block(self, number: int) -> Message:
        slots = block_slots(number, self._ledger.size)
        return self._about(f"b{number}", self._counts(slots, block=True))

    def _counts(self, slots: Slots, gone: Sequence[str] = (), *, block: bool = False) -> Interests:
        cells = self._ledger.take(slots)
        used = np.array([name is not None for name in cells.names], bool)
        nothing = np.zeros((len(cells.predicates), len(gone)), np.int32)
        counts = (np.hstack((each[:, used], nothing)) for each in (cells.pages, cells.hits))
        names = (*(name for name in cells.names if name is not None), *gone)
        pages, hits = Cells(cells.predicates, names, *counts).as_bytes()
        store = self._store
        origins = {name: last for name, last in store.origins.items() if name.startswith(_FRONTIERS)}
        return Interests(
            partition=self._shard.partition, offset=store.offset, origins=origins, block=block,
            predicates=cells.predicates, names=names, pages=pages, hits=hits,
        )  # fmt: skip

    def _all_priors(self) -> Iterator[Message]:
        rows = ((name_of(key), row) for key, row in self._shard.scan(PRIOR_PREFIX))
        priors = ((name, row.counts) for name, row in rows if isinstance(row, PriorRow))
        number = 0
        while told := dict(islice(priors, PRIORS)):
            yield self._about(f"p{number}", Interests(partition=self._shard.partition, prior=told))
            number += 1

    def _about(self, what: str, interests: Interests) -> Message:
        key = f"{self._shard.partition}/{what}".encode()
        return (INTERESTS.name, self._shard.partition, key, encode(interests))
