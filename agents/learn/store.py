"""A partition's counts: a ledger in memory, segments and blocks on disk; the rarest are forgotten first."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from scentline.agents.learn.rows import (
    BLOCK,
    BLOCK_PREFIX,
    EARLIER_PREFIX,
    SEGMENT_PREFIX,
    TOTALS_KEY,
    CountsRow,
    LearnRow,
    LearnTotals,
    Rounds,
    block_key,
    block_slots,
    number_of,
    segment_key,
)
from scentline.models.interest.features import BASE, always_kept
from scentline.models.ledger import INT32, Change, Ledger, Slots, distinct
from scentline.streams.configuration import ConfigurationError
from scentline.streams.facts import Count
from scentline.streams.inbox import Shard

LearnShard: TypeAlias = Shard[LearnRow]

#: Share of the features that is forgotten at once when there are too many.
FORGOTTEN = 0.1
#: Times at most that one fact counts a verdict over: what was counted must fit into 32 bits.
MOST_TIMES = 2**24


class FeatureStore:
    """Counts the features of a shard, at most about ``limit`` of them.

    Facts of the open group wait; they are counted when it is closed, all at once, and what changed becomes one
    segment and a few blocks (`agents.learn.rows`). Beyond the limit those of fewest pages are forgotten; the
    base and what there are only a few of, links and regions, never are. ``offset`` and ``origins`` say how far
    of the inbox, and of its sources, is counted.
    """

    def __init__(self, shard: LearnShard, limit: int) -> None:
        if any(True for _ in shard.store.scan(EARLIER_PREFIX)):
            raise ConfigurationError(
                "table interests: an earlier release wrote it, with a row a feature; expected one of this "
                "release: finish the crawl with that release, or begin another in a data directory of its own"
            )
        blocks, segments = list(shard.scan(BLOCK_PREFIX)), list(shard.scan(SEGMENT_PREFIX))
        self.ledger = ledger_of([*blocks, *segments])
        self._rounds = _rounds(blocks, segments, self.ledger.size)
        self._shard = shard
        self._limit = limit
        self._open: list[Change] = []
        self._written: list[bytes] = []
        self._changed: list[Slots] = []
        self._gone: list[str] = []
        self._turn = 0
        self._note_mark()
        shard.closing = self._close_group

    def add(self, count: Count) -> None:
        """Absorb one count of features; `ValueError` for one that is none, or counts too much at once."""
        change = Change.of_bytes(count.features, count.verdict, count.times)
        most, least = change.times.max(initial=0), change.times.min(initial=0)
        if most > MOST_TIMES or least < -MOST_TIMES:
            raise ValueError(f"a verdict counted {most} or {least} times, expected {MOST_TIMES} at most")
        self._open.append(change)

    def undo(self) -> None:
        """Forget what the open group has taken in."""
        self._open = []

    def take_changes(self, most: int | None = None) -> tuple[Slots, list[str]]:
        """Return the slots that changed, and what was forgotten, since the last call.

        Of more than ``most`` slots the next calls return the others. How many pages were judged is never among
        those: the budget of a crawl with several frontiers waits for it.
        """
        changed = self._changed[0] if len(self._changed) == 1 else _united(self._changed)
        if most is not None and len(changed) > most:
            # On from where the last call ended, so that each has its turn.
            changed = np.roll(changed, -int(changed.searchsorted(self._turn)))
            base = np.isin(changed, self.ledger.slots_of([BASE] if BASE in self.ledger else []))
            changed = np.concatenate([changed[base], changed[~base]])
            self._turn = int(changed[most])
            self._changed, changed = [changed[most:]], changed[:most]
        else:
            self._changed = []
        gone = [name for name in self._gone if name not in self.ledger]
        self._gone = []
        return changed, gone

    @property
    def waiting(self) -> bool:
        """Whether there are changes that were not taken."""
        return bool(self._changed)

    def committed(self) -> None:
        """Let go of rows that are on disk: the ledger has what they say."""
        for key in self._written:
            self._shard.let_go(key)
        self._written = []

    def _close_group(self) -> None:
        self._note_mark()
        changes, self._open = self._open, []
        changed = self.ledger.count(changes)
        if not len(changed):
            return
        self.ledger.floor(changed)
        free, gone = self._forget()
        if len(free):
            changed = np.union1d(changed, free)
        self._changed.append(changed)
        self._gone += gone
        step = self._rounds.step(len(changed), self.ledger.size)
        self._put(segment_key(step.segment), changed, changed.astype(INT32).tobytes())
        for number in step.blocks:
            self._put(block_key(number), block_slots(number, self.ledger.size), stands=step.segment + 1)
        for number in step.gone:
            self._shard.delete(segment_key(number))
        self._count_features(len(gone))

    def _note_mark(self) -> None:
        self.offset, self.origins = self._shard.mark.offset, dict(self._shard.mark.origins)

    def _put(self, key: bytes, slots: Slots, written: bytes = b"", stands: int = 0) -> None:
        cells = self.ledger.take(slots)
        self._shard.put(key, CountsRow(cells.predicates, cells.names, *cells.as_bytes(), written, stands))
        self._written.append(key)

    def _forget(self) -> tuple[Slots, list[str]]:
        excess = len(self.ledger) - self._limit
        if excess <= 0:
            return np.zeros(0, np.intp), []
        slots = self.ledger.rarest(excess + int(self._limit * FORGOTTEN), always_kept)
        return slots, self.ledger.forget(slots)

    def _count_features(self, gone: int) -> None:
        totals, features = learn_totals(self._shard), len(self.ledger)
        if gone or features != totals.features:
            self._shard.put(TOTALS_KEY, LearnTotals(features, totals.forgotten + gone))


def _united(slots: Sequence[Slots]) -> Slots:
    return distinct(np.concatenate([np.zeros(0, np.intp), *slots]))


def _rounds(
    blocks: Sequence[tuple[bytes, LearnRow]], segments: Sequence[tuple[bytes, LearnRow]], size: int
) -> Rounds:
    """Return the rounds that go on where rows of a ledger of ``size`` slots end.

    What a block says that was never written is in the segments, all of them.
    """
    numbers = [number_of(key) for key, _ in segments]
    written = {number_of(key): row.stands for key, row in blocks if isinstance(row, CountsRow)}
    end = max([*(number + 1 for number in numbers[-1:]), *written.values()], default=0)
    first = min([*numbers[:1], end])
    return Rounds([written.get(number, first) for number in range(-(-size // BLOCK))], first, end)


def ledger_of(rows: Iterable[tuple[bytes, LearnRow]]) -> Ledger:
    """Return the ledger that rows hold: those of blocks, then those of segments in their order."""
    ledger = Ledger()
    for key, row in rows:
        assert isinstance(row, CountsRow)
        put_back(ledger, key, row)
    ledger.restored()
    return ledger


def put_back(ledger: Ledger, key: bytes, row: CountsRow) -> None:
    """Put the counts of one row where they were, as `ledger_of` does of each; `Ledger.restored` ends it."""
    if key.startswith(SEGMENT_PREFIX):
        slots = np.frombuffer(row.slots, INT32).astype(np.intp)
    else:
        slots = number_of(key) * BLOCK + np.arange(len(row.names))
    ledger.restore(slots, row.cells)


def learn_totals(shard: LearnShard) -> LearnTotals:
    """Return the partition's totals."""
    row = shard.get(TOTALS_KEY)
    return row if isinstance(row, LearnTotals) else LearnTotals()
