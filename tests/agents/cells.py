"""Counts as frontiers take them, for tests of who makes what of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scentline.models.frontier.ledger import FrontierLedger
from scentline.models.ledger import INT32, Cells, Change, Ledger, Slots
from scentline.models.page import Link, Verdict
from scentline.models.policy.priorities import Scorer
from scentline.models.published import Outcome
from tests.models.teaching import put
from tests.reference.counts import Counts, plain


def a_cells(counts: Mapping[str, Mapping[str, tuple[int, int]]]) -> Cells:
    """Return counts given by feature and predicate, 0 where none are given."""
    predicates = tuple(sorted({name for cells in counts.values() for name in cells}))
    found = [
        [cells.get(name, (0, 0))[hits] for cells in counts.values()] for name in predicates for hits in (0, 1)
    ]
    return Cells(predicates, tuple(counts), np.array(found, np.int32).reshape(2 * len(predicates), len(counts)))


def cells_of(counts: Counts) -> dict[str, dict[str, tuple[int, int]]]:
    cells: dict[str, dict[str, tuple[int, int]]] = {}
    for feature, predicate, pages, hits in counts.items():
        cells.setdefault(feature, {})[predicate] = (pages, hits)
    return cells


def a_change(features: Iterable[str], verdict: Verdict, times: int = 1) -> Change:
    names = sorted(features)
    return Change(names, verdict, np.full(len(names), times, INT32))


def taken_back(change: Change) -> Change:
    return change._replace(times=-change.times)


def add(counts: Counts, change: Change) -> None:
    for feature, times in zip(change.features, change.times.tolist(), strict=True):
        counts.add([feature], change.verdict, times)


class Learns:
    """A scorer that keeps what it is told."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.cells: dict[str, tuple[int, ...]] = {}

    def learn(self, slots: Slots) -> None:
        cells = self.ledger.take(slots)
        for place, name in enumerate(cells.names):
            assert name is not None
            self.cells[name] = tuple(cells.counts[:, place].tolist())

    def forget(self, slots: Slots, names: Sequence[str]) -> None:
        assert len(slots) == len(names)
        for name in names:
            del self.cells[name]

    def check(self, expected: Counts) -> None:
        """Assert that the ledger holds these counts, and that all of them were told."""
        assert plain(self.ledger) == expected
        counted = {name: row for name, row in self.cells.items() if any(row)}
        assert counted.keys() == {name for name, *_ in self.ledger.items()}
        for name, row in counted.items():
            known = self.ledger.take(self.ledger.slots_of([name])).counts[:, 0].tolist()
            assert (*row, *[0] * (len(known) - len(row))) == (*known,)


def a_ledger(partitions: int = 1, counted: int = 10_000, known: int = 10_000) -> tuple[FrontierLedger, Learns]:
    """Return a frontier's ledger, and what it tells of what changed."""
    learns: Any = Learns()
    return FrontierLedger(learns, counted, known, partitions), learns


def teach(scorer: Scorer, cells: Cells) -> None:
    """Have a scorer learn counts of some predicates as they stand."""
    names = [name for name in cells.names if name is not None]
    for number, predicate in enumerate(cells.predicates):
        counts = zip(*cells.counts[2 * number : 2 * number + 2].tolist(), strict=True)
        put(scorer.ledger, dict(zip(names, counts, strict=True)), predicate)
    scorer.learn(scorer.ledger.slots_of(names))


def an_outcome(url: str, verdict: Verdict, links: Iterable[Link], **said: Any) -> Outcome:
    given: dict[str, Any] = {
        "time": 1.0, "title": "", "predicate": "p", "policy": "", "explored": False, "probability": 1.0,
        "priority": 0.0, "expected": None, "depth": 0, "words": (), "origin": "pages/0@0",
    }  # fmt: skip
    return Outcome(url=url, verdict=verdict, links=tuple(links), **given | said)
