"""Counts as frontiers and learners tell them, for tests of who hears of them."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from scentline.agents.frontier.scorer import Scorer
from scentline.models.ledger import INT32, Cells, Change
from scentline.models.verdict import Verdict
from scentline.streams.facts import Count
from tests.models.teaching import put
from tests.reference.counts import Counts


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


def a_count(features: Iterable[str], verdict: Verdict, times: int | Sequence[int] = 1) -> Count:
    """Return a verdict counted under features, under all of them so often, or under each as ``times`` says."""
    names = tuple(features)
    numbers = np.full(len(names), times, INT32) if isinstance(times, int) else np.array(times, INT32)
    return Count(names, verdict, numbers.tobytes())


def add(counts: Counts, count: Count) -> None:
    """Count what a frontier tells."""
    for feature, times in zip(count.features, np.frombuffer(count.times, INT32).tolist(), strict=True):
        counts.add([feature], count.verdict, times)


def taken_back(count: Count) -> Count:
    """Return what takes a count back."""
    return a_count(count.features, count.verdict, (-np.frombuffer(count.times, INT32)).tolist())


def a_change(count: Count) -> Change:
    """Return a count as ledgers take it."""
    return Change.of_bytes(count.features, count.verdict, count.times)


def counts_of(names: Sequence[str], times: SearchStrategy[int]) -> SearchStrategy[Count]:
    """Return counts of some of ``names`` under some of the predicates p and q."""
    verdicts = st.dictionaries(st.sampled_from("pq"), st.booleans(), min_size=1)
    features = st.dictionaries(st.sampled_from(names), times, max_size=4)
    return st.builds(lambda found, verdict: a_count(found, verdict, list(found.values())), features, verdicts)


def teach(scorer: Scorer, cells: Cells) -> None:
    """Have a scorer learn counts of some predicates as they stand."""
    names = [name for name in cells.names if name is not None]
    for predicate, pages, hits in zip(cells.predicates, cells.pages, cells.hits, strict=True):
        counts = zip(pages.tolist(), hits.tolist(), strict=True)
        put(scorer.ledger, dict(zip(names, counts, strict=True)), predicate)
    scorer.learn(scorer.ledger.slots_of(names))
