"""The learner: its counts are exact, forgetting begins with the rarest, and what changed is told once.

Its combiners are a function of the labels, whatever happens in between.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.learn.agent import LearnAgent
from scentline.agents.learn.rows import (
    BLOCK,
    BLOCK_PREFIX,
    SEGMENT_PREFIX,
    CountsRow,
    LearnRow,
    ModelRow,
    model_key,
)
from scentline.agents.learn.store import FeatureStore, LearnShard, learn_totals
from scentline.models.interest.features import BASE
from scentline.models.learner.inputs import INPUTS, Input
from scentline.models.learner.semantic import inputs_with
from scentline.models.learner.state import Learner
from scentline.streams.configuration import ConfigurationError
from scentline.streams.facts import Count, Label
from scentline.streams.records import Decoder, Interests, Pack
from scentline.streams.settings import Settings
from scentline.streams.topics import EVIDENCE, INTERESTS
from scentline.streams.transport.publisher import JournalPublisher
from tests.agents.cells import a_count, add, cells_of, counts_of, taken_back
from tests.agents.shards import Disk, a_runtime, disk, put, take_in, write
from tests.cases import each_case
from tests.reference.counts import Counts


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def one_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    with disk(tmp_path_factory.mktemp("learn")) as opened:
        yield opened


def a_shard(rows: Disk, partition: int = 0) -> LearnShard:
    return rows.shard(LearnRow, EVIDENCE, partition)


class Counting:
    """A store on a shard, as the agent uses it: what a message brings is a group."""

    def __init__(self, shard: LearnShard, limit: int = 10_000) -> None:
        self.shard = shard
        self.store = FeatureStore(shard, limit)

    def add(self, *facts: Count) -> None:
        pack: Pack[Count] = Pack(facts=[(0, 0, fact) for fact in facts])
        for fact in self.shard.accept(self.shard.mark.offset + 1, pack):
            self.store.add(fact)
        write(self.shard)
        self.store.committed()

    def cells(self) -> dict[str, dict[str, tuple[int, int]]]:
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for feature, predicate, *cell in self.store.ledger.items():
            found.setdefault(feature, {})[predicate] = (cell[0], cell[1])
        return found


def clear(shard: LearnShard) -> None:
    for key, _ in list(shard.store.scan(b"")):
        shard.delete(key)
    write(shard)


def seen(pages: int, *features: str, hit: bool = False) -> list[Count]:
    return [a_count(features, {"p": hit})] * pages


# counting

FACTS = counts_of(["", "w:a", "w:b", "t:a", "l:p:1"], st.integers(1, 3))


@given(
    facts=st.lists(FACTS, max_size=20),
    back=st.lists(st.integers(0, 19), unique=True),
    restarts=st.sets(st.integers(0, 40)),
)
def test_the_counts_of_any_evidence_are_exact_in_any_groups_and_after_any_restart(
    one_disk: Disk, facts: list[Count], back: list[int], restarts: set[int]
) -> None:
    evidence = facts + [taken_back(facts[n]) for n in back if n < len(facts)]
    clear(a_shard(one_disk))
    learner = Counting(a_shard(one_disk))
    for number in range(0, len(evidence), 2):
        learner.add(*evidence[number : number + 2])
        if number in restarts:
            learner = Counting(a_shard(one_disk))
    expected = Counts()
    for fact in evidence:
        add(expected, fact)
    assert learner.cells() == cells_of(expected)
    again = Counting(a_shard(one_disk))
    assert again.cells() == cells_of(expected)
    assert learn_totals(again.shard).features == len({name for fact in evidence for name in fact.features})


@pytest.mark.parametrize("seed", range(2))
def test_rows_are_bounded_by_what_is_counted_however_long_a_crawl_is(rows: Disk, seed: int) -> None:
    random = Random(seed)
    names = [f"w:{number}" for number in range(3 * BLOCK)]
    learner, expected, written = Counting(a_shard(rows)), Counts(), 0
    for number in range(300):
        some = tuple(random.sample(names, random.choice([1, 30, 200])))
        fact = a_count(some, {"p": random.random() < 0.3, "q": False})
        expected.add(fact.features, fact.verdict)
        learner.add(fact)
        written += len(some)
        if number % 50 == 49:
            learner = Counting(a_shard(rows))
    assert learner.cells() == cells_of(expected)
    kept = [row for prefix in (BLOCK_PREFIX, SEGMENT_PREFIX) for _, row in learner.shard.scan(prefix)]
    entries = sum(len(row.names) for row in kept if isinstance(row, CountsRow))
    assert entries <= 5 * len(learner.store.ledger) + 200 < written


def test_what_an_earlier_release_wrote_is_refused_with_a_sentence(rows: Disk) -> None:
    shard = a_shard(rows)
    put(shard.store, {b"fw:ski": b"anything"})
    with pytest.raises(ConfigurationError, match="table interests: an earlier release wrote it"):
        FeatureStore(a_shard(rows), 10)


@each_case(
    ("features", "times"),
    [
        (("w:a",), b""), (("w:a",), b"\0" * 8), (("w:a",), b"\0"), (("w:a",) * 2, b"\0" * 8),
        *((("w:a",), number.to_bytes(4, "little", signed=True)) for number in (2**24 + 1, -(2**24) - 1)),
    ],
)  # fmt: skip
def test_a_fact_with_too_large_or_other_than_one_number_a_feature_is_none(
    rows: Disk, features: tuple[str, ...], times: bytes
) -> None:
    with pytest.raises(ValueError, match=r"one of each, once|buffer size|expected 16777216 at most"):
        FeatureStore(a_shard(rows), 10).add(Count(features, {"p": True}, times))


def test_how_many_pages_were_judged_is_told_before_all_else_and_nothing_waits_for_ever(rows: Disk) -> None:
    learner = Counting(a_shard(rows))
    words = [f"w:{n}" for n in range(10)]
    learner.add(*seen(1, *words, BASE))
    names = learner.store.ledger.take
    told: set[str | None] = set()
    for _ in range(6):
        taken = names(learner.store.take_changes(3)[0]).names
        assert BASE in taken
        told.update(taken)
        learner.add(*seen(1, BASE))
    assert told == {BASE, *words}


# forgetting


def test_nothing_is_forgotten_while_there_is_room(rows: Disk) -> None:
    learner = Counting(a_shard(rows), limit=10)
    learner.add(*seen(1, *(f"w:{n}" for n in range(10))), *seen(1, "w:0"))
    assert learner.store.take_changes()[1] == []
    assert learn_totals(learner.shard).forgotten == 0


def test_the_rarest_features_are_forgotten_first_and_reported(rows: Disk) -> None:
    learner = Counting(a_shard(rows), limit=20)
    common = [f"w:common{n}" for n in range(15)]
    for _ in range(5):
        learner.add(*seen(1, *common))
    for number in range(200):
        learner.add(*seen(1, f"t:rare{number}"))
    assert set(common) <= learner.cells().keys()
    assert len(learner.cells()) <= 20
    _, gone = learner.store.take_changes()
    assert all(name.startswith("t:rare") for name in gone)
    totals = learn_totals(learner.shard)
    assert totals.forgotten == len(gone) > 150
    assert totals.features == len(learner.cells())
    assert Counting(a_shard(rows)).cells() == learner.cells()


def test_the_base_links_and_regions_are_never_forgotten_and_all_else_is(rows: Disk) -> None:
    learner = Counting(a_shard(rows), limit=4)
    learner.add(*seen(1, BASE, "l:p:0", "l:p:1", "r:p"))
    kinds = ("w:", "t:", "u:", "s:", "p:", "a:", "c:", "k:", "x:")
    for number in range(5):
        learner.add(*seen(1, *(f"{kind}{number}" for kind in kinds)))
    for _ in range(20):
        learner.add(*seen(1, BASE))
    assert set(learner.cells()) == {BASE, "l:p:0", "l:p:1", "r:p"}
    assert {name[:2] for name in learner.store.take_changes()[1]} == set(kinds)


@given(facts=st.lists(FACTS, min_size=1, max_size=12), seed=st.integers(0, 1000))
def test_what_is_taken_back_of_a_forgotten_feature_leaves_no_more_than_was_counted(
    one_disk: Disk, facts: list[Count], seed: int
) -> None:
    clear(a_shard(one_disk))
    learner, expected = Counting(a_shard(one_disk)), Counts()
    random = Random(seed)
    open_facts: list[Count] = []
    for fact in facts:
        if open_facts and random.random() < 0.5:
            taken = open_facts.pop(random.randrange(len(open_facts)))
            back = taken_back(taken)
        else:
            open_facts.append(fact)
            back = fact
        learner.add(back)
        add(expected, back)
        if random.random() < 0.3:
            ledger = learner.store.ledger
            ledger.forget(ledger.rarest(1, lambda name: name != "w:a"))
        for name in "pq":
            pages, hits = learner.store.ledger.get("w:a", name)
            most_pages, most_hits = expected.get("w:a", name)
            assert 0 <= pages <= most_pages
            assert 0 <= hits <= min(pages, most_hits)


# labels


@contextmanager
def an_agent(data: Path, **learn: object) -> Iterator[LearnAgent]:
    given = {"semantic": None} | learn
    with a_runtime(Settings.model_validate({"data": data, "learn": given})) as runtime:
        yield LearnAgent(runtime)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[LearnAgent]:
    with an_agent(tmp_path / "data") as opened:
        yield opened


def told(agent: LearnAgent) -> list[Interests]:
    """Have the agent tell what changed; return that."""
    publisher = agent.runtime.publisher
    assert isinstance(publisher, JournalPublisher)
    start = publisher._journal.end(INTERESTS.name, 0)
    asyncio.run(agent.publish())
    decode = Decoder[Interests](Interests)
    return [decode(entry.value or b"") for entry in publisher._journal.read(INTERESTS.name, 0, start, 10_000)]


def told_of(agent: LearnAgent) -> tuple[set[str], set[str]]:
    """Have the agent tell what changed; return the features and the predicates that it told of."""
    found = told(agent)
    features = {name for interests in found for name in interests.names}
    return features, {name for interests in found for name in interests.weightings}


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


def row_of(shard: LearnShard, predicate: str) -> ModelRow:
    row = shard.get(model_key(predicate))
    assert isinstance(row, ModelRow)
    return row


@pytest.mark.parametrize("table", [None, "words.table"])
def test_a_combiner_learns_from_every_label_of_its_predicate_and_is_told(
    tmp_path: Path, rows: Disk, table: str | None
) -> None:
    inputs = inputs_with(table is not None)
    with an_agent(tmp_path / "data", semantic=table) as agent:
        facts = labels(60, predicates="pq", inputs=inputs)
        shard = a_shard(rows)
        take_in(shard, agent, *facts)
        heard = {name: found for each in told(agent) for name, found in each.weightings.items()}
    expected = learned(facts, inputs)
    assert heard.keys() == {"p", "q"}
    for predicate, learner in expected.items():
        assert row_of(shard, predicate) == ModelRow(*learner.state())
        weighting = heard[predicate]
        assert weighting.shifts == learner.shifts
        assert np.frombuffer(weighting.mean).tolist() == learner.combiner.mean.tolist()
        assert weighting.covariance == learner.combiner.covariance.tobytes()


def test_what_changed_is_told_once(agent: LearnAgent, rows: Disk) -> None:
    shard = a_shard(rows)
    take_in(shard, agent, a_count((BASE, "p:ski"), {"p": True}), *labels(1))
    write(shard)
    assert told_of(agent) == ({BASE, "p:ski"}, {"p"})
    take_in(shard, agent, a_count((BASE,), {"p": False}))
    write(shard)
    assert told_of(agent) == ({BASE}, set())
    take_in(shard, agent, *labels(1))
    assert told_of(agent) == (set(), {"p"})
    assert told(agent) == []


@pytest.mark.parametrize("lost_at", [0, 7, 28, 56])
def test_after_a_crash_the_labels_since_the_mark_give_the_same_rows(
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
        take_in(shard, agent, *groups[lost_at // 10][: lost_at % 10])
        told(agent)
    with an_agent(tmp_path / "second") as agent:
        again = a_shard(rows)
        agent.opened(again)
        for group in groups[again.mark.offset + 1 :]:
            take_in(again, agent, *group)
            write(again)
    expected = learned(facts)
    assert {name: row_of(a_shard(rows), name) for name in "pq"} == {
        name: ModelRow(*learner.state()) for name, learner in expected.items()
    }


def test_after_a_restart_every_combiner_is_told_again(tmp_path: Path, rows: Disk) -> None:
    shard = a_shard(rows)
    with an_agent(tmp_path / "first") as agent:
        take_in(shard, agent, *labels(20, predicates="pq"))
        before = told(agent)
        write(shard)
    with an_agent(tmp_path / "second") as agent:
        agent.opened(a_shard(rows))
        after = told(agent)
    assert {name: found for each in after for name, found in each.weightings.items()} == {
        name: found for each in before for name, found in each.weightings.items()
    }


def test_a_partition_that_went_to_another_worker_leaves_nothing_behind(agent: LearnAgent, rows: Disk) -> None:
    shard = a_shard(rows)
    take_in(shard, agent, *labels(10))
    agent.closed(shard)
    assert told(agent) == []
    again = a_shard(rows)  # nothing was written
    agent.opened(again)
    take_in(again, agent, *labels(5, seed=1))
    assert row_of(again, "p") == ModelRow(*learned(labels(5, seed=1))["p"].state())
