"""The frontier's own ledger: the counts of each partition, stored in its rows, summed, and published.

The owner of a partition counts its verdicts in the group that judged them, and commits the counts with it. The
columns that a group changed are a *segment*. Now and then a *block* follows, a range of columns as they stand:
the block written longest ago. Segments older than all blocks are deleted. To load the counts, read the blocks,
then the segments in order.

Blocks are published as they stand: a repeated one does no harm, nor one of a group that is lost. Counts are a
function of rows and sighting alone, never of a clock or a model; labels also depend on choices.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import zstandard

from scentline.models.errors import EventLog
from scentline.models.facts import EVIDENCE, Label
from scentline.models.frontier import keys
from scentline.models.frontier.keys import BLOCK_PREFIX, SEGMENT_PREFIX, Rows, number_of
from scentline.models.frontier.rows import Choice, CountsRow, FrontierRow, PageRow
from scentline.models.ledger import INT32, Cells, Change, Slots, distinct
from scentline.models.page import FAILED, Verdict
from scentline.models.parts import BLOCK, Mask, Part, blocks_in, blocks_of, columns_of
from scentline.models.policy.features import always_kept
from scentline.models.policy.priorities import Scorer
from scentline.models.records import Block, Interests, partition_of

log = EventLog("frontier")

#: Share of the features that is forgotten at once when there are too many.
FORGOTTEN = 0.1
#: Columns written in blocks for each column in a segment: 1.5 times the changed columns are written, and
#: segments hold about twice as many columns as there are.
SHARE = 0.5

_Entry: TypeAlias = tuple[bytes, FrontierRow]


class Rounds:
    """Chooses the blocks to write. Segments from ``first`` up to ``end``, exclusive, were written before.

    ``stands`` has, for each block written, the number of the first segment that it does not include.

    >>> rounds = Rounds()
    >>> rounds.step(changed=1000, size=1500)
    (0, [0], range(0, 0))
    >>> rounds.step(changed=1200, size=1500)
    (1, [1], range(0, 0))
    >>> rounds.step(changed=1100, size=1500)
    (2, [2, 0], range(0, 2))
    """

    def __init__(self, stands: Sequence[int] = (), first: int = 0, end: int = 0) -> None:
        self._stands = list(stands)
        self._first = first
        self._next = end
        self._due = 0.0

    def step(self, changed: int, size: int) -> tuple[int, list[int], range]:
        """Return the segment and blocks to write for ``changed`` of ``size`` columns; and segments to drop."""
        segment, self._next = self._next, self._next + 1
        # A new block has nothing but what this segment has.
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
        return segment, blocks, gone


def take_in(part: Part, key: bytes, row: CountsRow) -> None:
    """Set a part's columns from a row; rows of blocks are applied first, then those of segments."""
    if key.startswith(SEGMENT_PREFIX):
        columns = np.frombuffer(row.columns, INT32).astype(np.intp)
    else:
        columns = columns_of(number_of(key), np.iinfo(INT32).max)[: len(row.names)]
    part.put(columns, row.cells)


class CountRows:
    """Stores the counts of a ``part`` in the rows of a shard; first loads those that are there."""

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
        """Note freed columns: they are written with the next group."""
        self._forgotten.append(columns)

    def write(self, columns: Slots) -> None:
        """Write changed and freed columns."""
        if self._forgotten:
            totals = keys.totals_of(self._shard)
            totals.forgotten += sum(map(len, self._forgotten))
            self._shard.put(keys.TOTALS_KEY, totals)
            columns, self._forgotten = distinct(np.concatenate([columns, *self._forgotten])), []
        if not len(columns):
            return
        segment, blocks, gone = self._rounds.step(len(columns), self._part.size)
        self._put(keys.segment_key(segment), columns, columns.astype(INT32, copy=False).tobytes())
        for number in blocks:
            self._put(keys.block_key(number), columns_of(number, self._part.size), stands=segment + 1)
        for number in gone:
            self._shard.delete(keys.segment_key(number))

    def committed(self) -> None:
        """Drop committed rows from memory: the part has their counts."""
        for key in self._written:
            self._shard.let_go(key)
        self._written = []

    def _put(self, key: bytes, columns: Slots, written: bytes = b"", stands: int = 0) -> None:
        cells = self._part.take(columns)
        self._shard.put(key, CountsRow(cells.predicates, cells.names, cells.as_bytes(), written, stands))
        self._written.append(key)


def _rounds(blocks: Iterable[_Entry], segments: Iterable[_Entry], size: int) -> Rounds:
    """Return the rounds that continue from the rows of ``size`` columns.

    The segments cover a block that was never written: all of them are there.
    """
    numbers = [number_of(key) for key, _ in segments]
    written = {number_of(key): row.stands for key, row in blocks if isinstance(row, CountsRow)}
    end = max([*(number + 1 for number in numbers[-1:]), *written.values()], default=0)
    first = min([*numbers[:1], end])
    return Rounds([written.get(number, first) for number in range(blocks_in(size))], first, end)


class EvidenceEmitter:
    """Gathers counts from `begin` on, which `keep` makes a change for each verdict; and emits labels."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._gathered: dict[tuple[tuple[str, bool], ...], dict[str, int]] = {}
        self._kept: dict[int, list[Change]] = {}

    def take(self, shard: Rows) -> list[Change]:
        """Return and drop the changes of a shard since the last call."""
        return self._kept.pop(shard.partition, [])

    def begin(self) -> None:
        """Discard the counts of a sighting that failed half-way."""
        self._gathered = {}

    def count(self, features: Iterable[str], verdict: Verdict, times: int = 1) -> None:
        """Count features ``times`` times under a verdict; where negative, take counts back."""
        if verdict and times:
            found = self._gathered.setdefault(tuple(verdict.items()), {})
            for feature in features:
                found[feature] = found.get(feature, 0) + times

    def change(self, verdict: Verdict, added: Iterable[str], removed: Iterable[str]) -> None:
        """Count a judged page under the features ``added``, and no longer under those ``removed``."""
        self.count(added, verdict)
        self.count(removed, verdict, -1)

    def keep(self, shard: Rows) -> None:
        """Keep the gathered counts as changes of a shard."""
        gathered, self._gathered = self._gathered, {}
        for verdict, found in gathered.items():
            # In the order of their names: it numbers the slots, which decides how sums round.
            features = sorted([name for name, times in found.items() if times])
            if features:
                change = Change(features, dict(verdict), np.array([found[name] for name in features], INT32))
                self._kept.setdefault(shard.partition, []).append(change)

    def label(self, shard: Rows, row: PageRow, verdict: Verdict) -> None:
        """Emit labels for the combiners: a page's verdict with the inputs it was chosen by; none for a seed.

        Choice and inputs come from no message, so that a replay after a crash may have fewer or more of them.
        The other facts of the message must keep their origins, so each predicate takes one, emitted or not.
        """
        for predicate, holds in verdict.items():
            if row.seed or row.silent or row.choice is None or predicate not in row.inputs:
                shard.skip()
                continue
            fact = Label(predicate, row.inputs[predicate], holds, _chosen(row.choice, predicate))
            shard.emit(EVIDENCE, partition_of(predicate, self._partitions), fact)


def _chosen(choice: Choice, predicate: str) -> str:
    """Return how a page was chosen, as a predicate sees it (`models.facts.Label`)."""
    if predicate == FAILED:
        return "selected"  # every choice uses it
    if choice.predicate != predicate:
        return "other"
    return "explored" if choice.explored else "selected"


class FrontierLedger:
    """Sums the counts of ``partitions`` in the ledger of ``scorer``, which learns what changed.

    This worker's own partitions count at most ``counted`` features, a feature once for each of them: beyond
    that the rarest are forgotten, except the base, links and regions. At most ``known`` features are kept in
    memory, or all that it counts: beyond that the rarest of the others are forgotten until published again.
    """

    def __init__(self, scorer: Scorer, counted: int, known: int, partitions: int = 1) -> None:
        self._scorer = scorer
        self._ledger = scorer.ledger
        self._counted = counted
        self._known = known
        self._partitions = partitions
        self._parts: dict[int, Part] = {}
        self._rows: dict[int, CountRows] = {}
        #: By own partition, which blocks changed since they were published.
        self._due: dict[int, Mask] = {}
        self._told = (-1, -1)

    # own partitions

    @property
    def share(self) -> float:
        """The share of all partitions that is this worker's."""
        return len(self._due) / self._partitions

    @property
    def features(self) -> int:
        """The features that this worker's partitions count."""
        return sum(len(self._parts[partition]) for partition in self._due)

    def open(self, shard: Rows) -> None:
        """Start counting in a partition from its rows; published counts of it are discarded."""
        part = Part(self._ledger)
        self._rows[shard.partition] = CountRows(shard, part)
        self.begin(shard.partition, part)

    def begin(self, partition: int, part: Part | None = None) -> None:
        """Start counting in a partition from ``part``."""
        part = Part(self._ledger) if part is None else part
        part.begin()
        told = self._parts.pop(partition, None)
        changed = [part.slots(np.arange(part.size))] + ([] if told is None else [told.cut(0)])
        self._parts[partition] = part
        self._due[partition] = np.ones(blocks_in(part.size), np.bool_)
        self._learn(np.concatenate(changed))

    def close(self, partition: int) -> None:
        """Stop counting in a partition: its counts are kept until its next owner publishes."""
        self._parts[partition].end()
        self._rows.pop(partition, None)
        del self._due[partition]

    def count(self, partition: int, changes: Sequence[Change]) -> None:
        """Count the changes of a group, and stage them in rows."""
        part = self._parts[partition]
        columns = part.count(changes)
        self._learn(part.slots(columns))
        self._forget_own()
        if partition in self._rows:
            self._rows[partition].write(columns)
        self._change(partition, columns)

    def committed(self, partition: int) -> None:
        """Note that the rows of a partition's last group are committed."""
        self._rows[partition].committed()

    def _change(self, partition: int, columns: Slots) -> None:
        due, blocks = self._due[partition], blocks_in(self._parts[partition].size)
        if len(due) < blocks:
            due = self._due[partition] = np.concatenate((due, np.ones(blocks - len(due), np.bool_)))
        due[blocks_of(columns)] = True

    # other workers

    def hear(self, told: Interests) -> None:
        """Apply what others publish; `ValueError` where a block's names and columns differ in number."""
        for predicate, weighting in told.weightings.items():
            self._scorer.take(predicate, weighting)
        if told.prior:
            self._scorer.inherit(told.prior)
            self._ledger.add_predicates(chain.from_iterable(told.prior.values()))
            self._learn(self._ledger.slots_of(told.prior))
        if told.block is not None:
            self._hear_block(told.block)
        self._forget_others()

    def _hear_block(self, told: Block) -> None:
        size = INT32.itemsize * 2 * len(told.predicates) * len(told.names)
        with zstandard.ZstdDecompressor().stream_reader(told.counts) as reader:
            counts = reader.read(size)
        cells = Cells.of_bytes(told.predicates, told.names, counts)
        columns = columns_of(told.number, told.size)
        if len(columns) != len(cells.names):
            raise ValueError(f"{len(cells.names)} names of a block, expected {len(columns)}")
        if told.partition in self._due:
            # Our own block, or a late one of the owner before us: a worker that starts would rely on it.
            part = self._parts[told.partition]
            if told.size > part.size or not part.has(columns, cells):
                due = self._due[told.partition]
                due[0] = due[told.number : told.number + 1] = True
            return
        part = self._parts.setdefault(told.partition, Part(self._ledger))
        gone = part.cut(told.size)
        self._learn(np.concatenate((part.put(columns, cells), gone)))

    def tell(self, most: float) -> tuple[list[Block], int]:
        """Return the blocks to publish, and how many columns they have: up to ``most``, or a block more.

        Without other workers there are none. First come the blocks with the number of judged pages, as the
        budget of a crawl with several frontiers waits for it; the other blocks take turns.
        """
        blocks: list[Block] = []
        told = 0
        for partition, number in self._places() if len(self._due) < self._partitions else ():
            if told >= most:
                break
            blocks.append(self._block(partition, number))
            self._due[partition][number] = False
            told += len(columns_of(number, self._parts[partition].size))
            self._told = (partition, number) if number else self._told
        return blocks, told

    def _places(self) -> list[tuple[int, int]]:
        """Return the blocks that are due, from where the last call ended."""
        places = [
            (partition, number)
            for partition, due in sorted(self._due.items())
            for number in np.flatnonzero(due).tolist()
        ]
        return sorted(places, key=lambda place: (place[1] > 0, place <= self._told))

    def _block(self, partition: int, number: int) -> Block:
        part = self._parts[partition]
        cells = part.take(columns_of(number, part.size))
        counts = zstandard.ZstdCompressor(level=1).compress(cells.as_bytes())
        return Block(partition, number, part.size, cells.predicates, cells.names, counts)

    # what is known

    def tell_all(self) -> None:
        """Have the scorer learn all counts: it has a new predicate."""
        self._learn(np.arange(self._ledger.size))

    def _learn(self, slots: Slots) -> None:
        if len(slots):
            self._scorer.learn(slots)

    def _forget_own(self) -> None:
        excess = self.features - self._counted
        if excess <= 0:
            return
        slots, gone = self._rarest(excess + int(self._counted * FORGOTTEN), self._held(self._due))
        for partition in self._due:
            columns = self._parts[partition].forget(gone)
            self._change(partition, columns)
            if partition in self._rows:
                self._rows[partition].forgot(columns)
        log.warning("rare features forgotten", forgotten=len(slots), features=self.features)
        told = self._held(self._parts.keys() - self._due.keys())[slots]
        self._learn(slots[told])
        self._drop(slots[~told])

    def _forget_others(self) -> None:
        excess = len(self._ledger) - max(self._known, self.features)
        if excess <= 0:
            return
        slots, gone = self._rarest(excess + int(self._known * FORGOTTEN), ~self._held(self._due))
        for partition in self._parts.keys() - self._due.keys():
            self._parts[partition].forget(gone)
        self._drop(slots)

    def _held(self, partitions: Iterable[int]) -> Mask:
        found = np.zeros(self._ledger.size, np.bool_)
        for partition in partitions:
            found |= self._parts[partition].held
        return found

    def _rarest(self, number: int, among: Mask) -> tuple[Slots, Mask]:
        """Return the ``number`` slots ``among`` some that have the fewest pages, and their mask."""
        slots = self._ledger.rarest(number, among, always_kept)
        gone = np.zeros(self._ledger.size, np.bool_)
        gone[slots] = True
        return slots, gone

    def _drop(self, slots: Slots) -> None:
        self._scorer.forget(slots, self._ledger.forget(slots))
