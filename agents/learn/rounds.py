"""Which of a ledger's blocks are written with each of its changes, so that earlier changes may go.

A ledger is written in pieces, as rows or as messages: what changed is a *segment*, and now and then a *block*
follows, `BLOCK` slots as they stand, the one that was written longest ago. Segments go that were written before
every block was. To read the ledger again is to read the blocks, then the segments in their order.
"""

from collections.abc import Sequence
from typing import NamedTuple

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
