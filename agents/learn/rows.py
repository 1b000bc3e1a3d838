"""The learner's rows: counts in segments and blocks, one a predicate's combiner, and a partition's totals.

A ledger is written in pieces, as rows or as messages: what changed is a *segment*, and now and then a *block*
follows, `BLOCK` slots as they stand, the one that was written longest ago. Segments go that were written before
every block was. To read the ledger again is to read the blocks, then the segments in their order.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np

from scentline.models.ledger import Cells, Slots

#: Slots in a block.
BLOCK = 1024
#: Slots in blocks that are written for each slot in a segment: half as much again as what changed is written,
#: and segments hold about twice what there is.
SHARE = 0.5


class Step(NamedTuple):
    """What is written next: the segment's number, the blocks' numbers, and the segments that go."""

    segment: int
    blocks: list[int]
    gone: range


class Rounds:
    """Chooses the blocks. Segments from ``first`` on, up to ``end``, were written before.

    ``stands`` says of each block that was written up to which segment, that one left out, it has what they say.

    >>> rounds = Rounds()
    >>> rounds.step(changed=1000, size=1500)
    Step(segment=0, blocks=[], gone=range(0, 0))
    >>> rounds.step(changed=1200, size=1500)
    Step(segment=1, blocks=[0], gone=range(0, 0))
    >>> rounds.step(changed=2000, size=1500)
    Step(segment=2, blocks=[1], gone=range(0, 2))
    """

    def __init__(self, stands: Sequence[int] = (), first: int = 0, end: int = 0) -> None:
        self._stands = list(stands)
        self._first = first
        self._next = end
        self._due = 0.0

    def step(self, changed: int, size: int) -> Step:
        """Return what to write when so many slots of ``size`` changed."""
        segment, self._next = self._next, self._next + 1
        while len(self._stands) * BLOCK < size:
            self._stands.append(segment)  # nothing is in it but what this segment says
        self._due += changed * SHARE
        blocks: list[int] = []
        while self._due >= BLOCK and len(blocks) < len(self._stands):
            block = self._stands.index(min(self._stands))
            self._stands[block] = self._next
            self._due -= BLOCK
            blocks.append(block)
        self._due = min(self._due, BLOCK)
        gone = range(self._first, min(self._stands, default=self._first))
        self._first = gone.stop
        return Step(segment, blocks, gone)


TOTALS_KEY = b"t"
BLOCK_PREFIX = b"b"
SEGMENT_PREFIX = b"s"
PRIOR_PREFIX = b"p"
MODEL_PREFIX = b"m"
#: What rows of earlier releases begin with, which had one a feature.
EARLIER_PREFIX = b"f"


class CountsRow(msgspec.Struct, array_like=True, frozen=True, tag="counts"):
    """Counts of the features ``names``: int32, a row for each of ``predicates``, a column a name.

    In a segment ``slots`` says where in the ledger they are, int32 too; a block's are its own, in their order,
    and it has what the segments before ``stands`` say. A name is None where the slot is free.
    """

    predicates: tuple[str, ...]
    names: tuple[str | None, ...]
    pages: bytes
    hits: bytes
    slots: bytes = b""
    stands: int = 0

    @property
    def cells(self) -> Cells:
        """The counts as arrays."""
        return Cells.of_bytes(self.predicates, self.names, self.pages, self.hits)


class PriorRow(msgspec.Struct, array_like=True, frozen=True, tag="prior"):
    """What earlier crawls counted under a feature, faded: for each predicate (pages, hits)."""

    counts: dict[str, tuple[float, float]]


class ModelRow(msgspec.Struct, array_like=True, frozen=True, tag="model"):
    """What has learned from a predicate's labels: the fields of `models.learner.combiner.State`."""

    mean: bytes
    covariance: bytes
    labels: int
    calibration: bytes


class LearnTotals(msgspec.Struct, array_like=True, tag="totals"):
    """Features kept, and how many were forgotten for want of room."""

    features: int = 0
    forgotten: int = 0


LearnRow: TypeAlias = CountsRow | PriorRow | ModelRow | LearnTotals


def segment_key(number: int) -> bytes:
    """Return the key of a segment's row; they come in the order of their numbers."""
    return SEGMENT_PREFIX + number.to_bytes(8, "big")


def block_key(number: int) -> bytes:
    """Return the key of a block's row."""
    return BLOCK_PREFIX + number.to_bytes(4, "big")


def number_of(key: bytes) -> int:
    """Return the number of a segment or block that a row's key names."""
    return int.from_bytes(key[1:], "big")


def block_slots(number: int, size: int) -> Slots:
    """Return the slots of a block in a ledger of ``size`` slots."""
    return np.arange(number * BLOCK, min((number + 1) * BLOCK, size))


def prior_key(feature: str) -> bytes:
    """Return the key of the row of what earlier crawls counted under a feature."""
    return PRIOR_PREFIX + feature.encode()


def model_key(predicate: str) -> bytes:
    """Return the key of the row of a predicate's combiner."""
    return MODEL_PREFIX + predicate.encode()


def name_of(key: bytes) -> str:
    """Return the feature or predicate that the key of a row names."""
    return key[1:].decode()
