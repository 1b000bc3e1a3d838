"""The learner: its counts are exact, forgetting begins with the rarest, and what changed is told once.

Its combiners are a function of the labels, whatever happens in between.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.learn.rows import BLOCK, BLOCK_PREFIX, SEGMENT_PREFIX, CountsRow, ModelRow, model_key
from scentline.agents.learn.store import FeatureStore, LearnShard, learn_totals
from scentline.models.interest.features import BASE
from scentline.models.learner.combiner import Learner
from scentline.models.learner.inputs import INPUTS, Input
from scentline.models.learner.semantic import inputs_with
from scentline.streams.configuration import ConfigurationError
from scentline.streams.facts import Count, Label
from scentline.streams.records import Interests, Weighting
from tests.agents.cells import a_count, add, cells_of, counts_of, taken_back
from tests.agents.learnt import a_shard, an_agent, told
from tests.agents.shards import Disk, put, take_in, write
from tests.cases import each_case
from tests.reference.counts import Counts


class Counting:
    """A store on a shard, as the agent uses it: what a message brings is a group."""

    def __init__(self, rows: Disk, limit: int = 10_000) -> None:
        self.shard = a_shard(rows)
        self.store = FeatureStore(self.shard, limit)

    def add(self, *facts: Count) -> None:
        take_in(self.shard, self, *facts)
        write(self.shard)
        self.store.committed()

    def absorb(self, _: LearnShard, fact: Count) -> None:
        self.store.add(fact)

    def cells(self) -> dict[str, dict[str, tuple[int, int]]]:
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for feature, predicate, *cell in self.store.ledger.items():
            found.setdefault(feature, {})[predicate] = (cell[0], cell[1])
        return found


def seen(pages: int, *features: str) -> list[Count]:
    return [a_count(features, {"p": False})] * pages


# counting: `test_laws` has the laws


@pytest.mark.parametrize("seed", range(2))
def test_counts_stay_exact_in_bounded_rows_however_long_a_crawl_is(rows: Disk, seed: int) -> None:
    random = Random(seed)
    names = [f"w:{number}" for number in range(3 * BLOCK)]
    learner, expected, written = Counting(rows), Counts(), 0
    for number in range(300):
        some = tuple(random.sample(names, random.choice([1, 30, 200])))
        fact = a_count(some, {"p": random.random() < 0.3, "q": False})
        group = [fact, fact, taken_back(fact)][: random.choice([1, 3])]
        for each in group:
            add(expected, each)
        learner.add(*group)
        written += len(some)
        if number % 50 == 49:
            learner = Counting(rows)
    assert learner.cells() == cells_of(expected)
    assert learn_totals(learner.shard).features == len(cells_of(expected))
    kept = [row for prefix in (BLOCK_PREFIX, SEGMENT_PREFIX) for _, row in learner.shard.scan(prefix)]
    entries = sum(len(row.names) for row in kept if isinstance(row, CountsRow))
    assert entries <= 5 * len(learner.store.ledger) + 200 < written


def test_what_an_earlier_release_wrote_is_refused_with_a_sentence(rows: Disk) -> None:
    put(a_shard(rows).store, {b"fw:ski": b"anything"})
    with pytest.raises(ConfigurationError, match="table interests: an earlier release wrote it"):
        Counting(rows)


@each_case(
    ("features", "times"),
    [
        (("w:a",), b""), (("w:a",), b"\0" * 8), (("w:a",), b"\0"), (("w:a",) * 2, b"\0" * 8),
        *((("w:a",), number.to_bytes(4, "little", signed=True)) for number in (2**24 + 1, -(2**24) - 1)),
    ],
)  # fmt: skip
def test_a_fact_of_numbers_that_none_has_is_none(rows: Disk, features: tuple[str, ...], times: bytes) -> None:
    with pytest.raises(ValueError, match=r"one of each, once|buffer size|expected 16777216 at most"):
        Counting(rows).store.add(Count(features, {"p": True}, times))


def test_how_many_pages_were_judged_is_told_before_all_else_and_nothing_waits_for_ever(rows: Disk) -> None:
    learner = Counting(rows)
    words = [f"w:{n}" for n in range(10)]
    learner.add(*seen(1, *words, BASE))
    found: set[str | None] = set()
    for _ in range(6):
        taken = learner.store.ledger.take(learner.store.take_changes(3)[0]).names
        assert BASE in taken
        found.update(taken)
        learner.add(*seen(1, BASE))
    assert found == {BASE, *words}


# forgetting


def test_the_rarest_features_are_forgotten_first_and_reported_and_none_while_there_is_room(rows: Disk) -> None:
    learner = Counting(rows, limit=20)
    common = [f"w:common{n}" for n in range(15)]
    learner.add(*seen(5, *common), *seen(1, *(f"t:rare{n}" for n in range(5))))
    assert (learner.store.take_changes()[1], learn_totals(learner.shard).forgotten) == ([], 0)
    for number in range(5, 200):
        learner.add(*seen(1, f"t:rare{number}"))
    assert set(common) <= learner.cells().keys()
    assert len(learner.cells()) <= 20
    _, gone = learner.store.take_changes()
    assert all(name.startswith("t:rare") for name in gone)
    totals = learn_totals(learner.shard)
    assert totals.forgotten == len(gone) > 150
    assert totals.features == len(learner.cells())
    assert Counting(rows).cells() == learner.cells()


def test_the_base_links_and_regions_are_never_forgotten_and_all_else_is(rows: Disk) -> None:
    learner = Counting(rows, limit=4)
    learner.add(*seen(1, BASE, "l:p:0", "l:p:1", "r:p"))
    kinds = ("w:", "t:", "u:", "s:", "p:", "a:", "c:", "k:", "x:")
    for number in range(5):
        learner.add(*seen(1, *(f"{kind}{number}" for kind in kinds)))
    for _ in range(20):
        learner.add(*seen(1, BASE))
    assert set(learner.cells()) == {BASE, "l:p:0", "l:p:1", "r:p"}
    assert {name[:2] for name in learner.store.take_changes()[1]} == set(kinds)


@given(
    facts=st.lists(counts_of(["", "w:a", "w:b", "t:a", "l:p:1"], st.integers(1, 3)), min_size=1, max_size=12),
    random=st.randoms(use_true_random=False),
)
def test_what_is_taken_back_of_a_forgotten_feature_leaves_no_more_than_was_counted(
    one_disk: Disk, facts: list[Count], random: Random
) -> None:
    one_disk.clear()
    learner, expected = Counting(one_disk), Counts()
    ledger = learner.store.ledger
    standing: list[Count] = []
    for fact in facts:
        if standing and random.random() < 0.5:
            now = taken_back(standing.pop(random.randrange(len(standing))))
        else:
            standing.append(now := fact)
        learner.add(now)
        add(expected, now)
        if random.random() < 0.3:
            ledger.forget(ledger.rarest(1, lambda name: name != "w:a"))
        for name in "pq":
            pages, hits = ledger.get("w:a", name)
            most_pages, most_hits = expected.get("w:a", name)
            assert 0 <= pages <= most_pages
            assert 0 <= hits <= min(pages, most_hits)


# labels


def weightings(found: Iterable[Interests]) -> dict[str, Weighting]:
    return {name: weighting for interests in found for name, weighting in interests.weightings.items()}


def labels(count: int, seed: int = 0, predicates: str = "p", inputs: Sequence[Input] = INPUTS) -> list[Label]:
    random = Random(seed)
    return [
        Label(
            random.choice(predicates),
            (*(random.gauss(0, 1) for _ in inputs[1:]), 1.0),
            random.random() < 0.4,
            random.choice(["selected", "selected", "explored", "other"]),
        )
        for _ in range(count)
    ]


def learned(facts: Iterable[Label], inputs: Sequence[Input] = INPUTS) -> dict[str, Learner]:
    """Return what learns the same without an agent."""
    learners: dict[str, Learner] = {}
    for fact in facts:
        learner = learners.setdefault(fact.predicate, Learner(inputs=inputs))
        learner.learn(fact.inputs, fact.holds, fact.chosen)
    return learners


def models(shard: LearnShard, predicates: str) -> dict[str, object]:
    return {name: shard.get(model_key(name)) for name in predicates}


def check(shard: LearnShard, heard: dict[str, Weighting], expected: dict[str, Learner]) -> None:
    """Assert that a shard has, and has told, the combiners of learners without an agent."""
    assert heard.keys() == expected.keys() == {"p", "q"}
    assert models(shard, "pq") == {name: ModelRow(*learner.state()) for name, learner in expected.items()}
    for predicate, learner in expected.items():
        weighting = heard[predicate]
        assert weighting.shifts == learner.shifts
        assert np.frombuffer(weighting.mean).tolist() == learner.combiner.mean.tolist()
        assert weighting.covariance == learner.combiner.covariance.tobytes()


@pytest.mark.parametrize("table", [None, "words.table"])
def test_a_combiner_learns_from_its_labels_and_is_told(tmp_path: Path, rows: Disk, table: str | None) -> None:
    inputs = inputs_with(table is not None)
    facts, shard = labels(60, predicates="pq", inputs=inputs), a_shard(rows)
    with an_agent(tmp_path, semantic=table) as agent:
        take_in(shard, agent, *facts)
        check(shard, weightings(told(agent)), learned(facts, inputs))


def test_what_changed_is_told_once(tmp_path: Path, rows: Disk) -> None:
    shard = a_shard(rows)
    with an_agent(tmp_path) as agent:
        for facts, features, predicates in (
            ([a_count((BASE, "p:ski"), {"p": True}), *labels(1)], {BASE, "p:ski"}, {"p"}),
            ([a_count((BASE,), {"p": False})], {BASE}, set()),
            (labels(1), set(), {"p"}),
        ):
            take_in(shard, agent, *facts)
            write(shard)
            found = told(agent)
            assert {name for interests in found for name in interests.names} == features
            assert weightings(found).keys() == predicates
        assert told(agent) == []


@pytest.mark.parametrize("lost_at", [0, 7, 28, 60])
def test_after_a_crash_the_labels_since_the_mark_give_the_same_rows_and_every_combiner_is_told_again(
    tmp_path: Path, rows: Disk, lost_at: int
) -> None:
    facts = labels(60, seed=lost_at, predicates="pq")
    groups = [facts[start : start + 10] for start in range(0, 60, 10)]
    shard = a_shard(rows)
    with an_agent(tmp_path / "first") as agent:
        for group in groups[: lost_at // 10]:
            take_in(shard, agent, *group)
            write(shard)
        # Absorbed and told, but never written.
        take_in(shard, agent, *facts[lost_at // 10 * 10 : lost_at])
        told(agent)
    with an_agent(tmp_path / "second") as agent:
        again = a_shard(rows)
        agent.opened(again)
        for group in groups[again.mark.offset + 1 :]:
            take_in(again, agent, *group)
            write(again)
        check(a_shard(rows), weightings(told(agent)), learned(facts))


def test_a_partition_that_went_to_another_worker_leaves_nothing_behind(tmp_path: Path, rows: Disk) -> None:
    shard = a_shard(rows)
    with an_agent(tmp_path) as agent:
        take_in(shard, agent, *labels(10))
        agent.closed(shard)
        assert told(agent) == []
        again = a_shard(rows)  # nothing was written
        agent.opened(again)
        take_in(again, agent, *labels(5, seed=1))
    assert models(again, "p") == {"p": ModelRow(*learned(labels(5, seed=1))["p"].state())}
