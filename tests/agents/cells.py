"""Counts as learners tell them, for tests of who hears of them."""

from collections.abc import Mapping

import numpy as np

from models.counts import Counts
from models.ledger import Cells


def a_cells(counts: Mapping[str, Mapping[str, tuple[int, int]]]) -> Cells:
    """Return counts given by feature and predicate, 0 where none are given."""
    predicates = tuple(sorted({name for cells in counts.values() for name in cells}))
    shape = (len(predicates), len(counts), 2)
    found = [[cells.get(name, (0, 0)) for cells in counts.values()] for name in predicates]
    both = np.array(found, np.int32).reshape(shape)
    return Cells(predicates, tuple(counts), both[:, :, 0], both[:, :, 1])


def cells_of(counts: Counts) -> dict[str, dict[str, tuple[int, int]]]:
    """Return counts by feature and predicate."""
    cells: dict[str, dict[str, tuple[int, int]]] = {}
    for feature, predicate, pages, hits in counts.items():
        cells.setdefault(feature, {})[predicate] = (pages, hits)
    return cells
