"""A partition's counts as rows: in segments and blocks.

What changed in a group is a *segment*, and now and then a *block* follows, columns as they stand, the one that
was written longest ago. Segments go that were written before every block was. To read the counts again is to
read the blocks, then the segments in their order.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scentline.models.frontier.keys import (
    BLOCK_PREFIX,
    SEGMENT_PREFIX,
    TOTALS_KEY,
    Rows,
    block_key,
    number_of,
    segment_key,
    totals_of,
)
from scentline.models.frontier.rows import CountsRow, FrontierRow
from scentline.models.ledger import INT32, Slots, distinct
from scentline.models.parts import BLOCK, Part, blocks_in, columns_of

#: Columns in blocks that are written for each column in a segment: half as much again as what changed is
#: written, and segments hold about twice what there is.
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
    Step(segment=0, blocks=[0], gone=range(0, 0))
    >>> rounds.step(changed=1200, size=1500)
    Step(segment=1, blocks=[1], gone=range(0, 0))
    >>> rounds.step(changed=1100, size=1500)
    Step(segment=2, blocks=[2, 0], gone=range(0, 2))
    """

    def __init__(self, stands: Sequence[int] = (), first: int = 0, end: int = 0) -> None:
        self._stands = list(stands)
        self._first = first
        self._next = end
        self._due = 0.0

    def step(self, changed: int, size: int) -> Step:
        """Return what to write when so many columns of ``size`` changed."""
        segment, self._next = self._next, self._next + 1
        # Nothing is in a new block but what this segment says.
        self._stands += [segment] * (blocks_in(size) - len(self._stands))
        self._due += changed * SHARE
        blocks: list[int] = []
        while len(blocks) < len(self._stands):
            block = self._stands.index(min(self._stands))
            columns = len(columns_of(block, size))
            if self._due < columns:
                break
            self._stands[block] = self._next
            self._due -= columns
            blocks.append(block)
        self._due = min(self._due, BLOCK)
        gone = range(self._first, min(self._stands, default=self._first))
        self._first = gone.stop
        return Step(segment, blocks, gone)


def take_in(part: Part, key: bytes, row: CountsRow) -> None:
    """Set a part's columns as a row has them: those of all blocks come first, then those of segments."""
    if key.startswith(SEGMENT_PREFIX):
        columns = np.frombuffer(row.columns, INT32).astype(np.intp)
    else:
        columns = columns_of(number_of(key), np.iinfo(INT32).max)[: len(row.names)]
    part.put(columns, row.cells)


class CountRows:
    """Keeps what a ``part`` counts in the rows of a shard; at first the part takes in what is in them."""

    def __init__(self, shard: Rows, part: Part) -> None:
        blocks, segments = list(shard.scan(BLOCK_PREFIX)), list(shard.scan(SEGMENT_PREFIX))
        for key, row in (*blocks, *segments):
            if isinstance(row, CountsRow):
                take_in(part, key, row)
        self._shard = shard
        self._part = part
        self._rounds = _rounds(blocks, segments, part.size)
        self._forgotten: list[Slots] = []
        self._written: list[bytes] = []

    def forgot(self, columns: Slots) -> None:
        """Note that columns are free: it is written with the next group."""
        self._forgotten.append(columns)

    def write(self, columns: Slots) -> None:
        """Write columns that changed, and what was forgotten."""
        if self._forgotten:
            totals = totals_of(self._shard)
            totals.forgotten += sum(map(len, self._forgotten))
            self._shard.put(TOTALS_KEY, totals)
            columns, self._forgotten = distinct(np.concatenate([columns, *self._forgotten])), []
        if not len(columns):
            return
        step = self._rounds.step(len(columns), self._part.size)
        self._put(segment_key(step.segment), columns, columns.astype(INT32, copy=False).tobytes())
        for number in step.blocks:
            self._put(block_key(number), columns_of(number, self._part.size), stands=step.segment + 1)
        for number in step.gone:
            self._shard.delete(segment_key(number))

    def committed(self) -> None:
        """Let go of rows that are on disk: the part has what they say."""
        for key in self._written:
            self._shard.let_go(key)
        self._written = []

    def _put(self, key: bytes, columns: Slots, written: bytes = b"", stands: int = 0) -> None:
        cells = self._part.take(columns)
        self._shard.put(key, CountsRow(cells.predicates, cells.names, cells.as_bytes(), written, stands))
        self._written.append(key)


def _rounds(
    blocks: Sequence[tuple[bytes, FrontierRow]], segments: Sequence[tuple[bytes, FrontierRow]], size: int
) -> Rounds:
    """Return the rounds that go on where rows of ``size`` columns end.

    What a block says that was never written is in the segments, all of them.
    """
    numbers = [number_of(key) for key, _ in segments]
    written = {number_of(key): row.stands for key, row in blocks if isinstance(row, CountsRow)}
    end = max([*(number + 1 for number in numbers[-1:]), *written.values()], default=0)
    first = min([*numbers[:1], end])
    return Rounds([written.get(number, first) for number in range(blocks_in(size))], first, end)
