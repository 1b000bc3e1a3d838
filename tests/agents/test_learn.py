"""The learner: its counts are exact, forgetting begins with the rarest, and what it tells is enough to know.

Its combiners are a function of the labels, whatever happens in between.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.learn.agent import LearnAgent
from agents.learn.news import News
from agents.learn.rows import FEATURE_PREFIX, FeatureRow, LearnRow, ModelRow, feature_key, feature_of, model_key
from agents.learn.store import FeatureStore, LearnShard, learn_totals
from models.counts import Counts
from models.interest.features import BASE
from models.interest.weights import Weights
from models.learner.inputs import INPUTS, NAMES, Input
from models.learner.semantic import inputs_with
from models.learner.shrinkage import log_lift
from models.learner.state import CombinerKind, Learner
from streams.metrics.catalogue import DRIFTS
from streams.records import COMBINER, Count, Decoder, Interest, Label, Pack
from streams.settings import Settings
from streams.topics import EVIDENCE, INTERESTS
from streams.transport.publisher import JournalPublisher
from tests.agents.shards import Disk, a_runtime, disk, take_in, write


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
    """A store on a shard, as the agent uses it: it may forget after each fact."""

    def __init__(self, shard: LearnShard, limit: int = 1000) -> None:
        self.shard = shard
        self.store = FeatureStore(limit)
        self.forgotten: list[str] = []

    def add(self, *facts: Count) -> None:
        pack: Pack[Count] = Pack(facts=[(0, 0, fact) for fact in facts])
        for fact in self.shard.accept(self.shard.mark.offset + 1, pack):
            self.store.add(self.shard, fact)
            self.forgotten += self.store.forget(self.shard)
        write(self.shard)

    def cells(self) -> dict[str, dict[str, list[int]]]:
        found = {}
        for key, row in self.shard.scan(FEATURE_PREFIX):
            assert isinstance(row, FeatureRow)
            cells = {name: cell for name, cell in row.counts.items() if any(cell)}
            if cells:
                found[feature_of(key)] = cells
        return found


def cells_of(counts: Counts) -> dict[str, dict[str, list[int]]]:
    cells: dict[str, dict[str, list[int]]] = {}
    for feature, predicate, pages, hits in counts.items():
        cells.setdefault(feature, {})[predicate] = [pages, hits]
    return cells


def seen(pages: int, *features: str, hit: bool = False) -> list[Count]:
    return [Count(features, {"p": hit})] * pages


# counting

FACTS = st.builds(
    Count,
    st.lists(st.sampled_from(["", "w:a", "w:b", "t:a", "l:p:1"]), unique=True, max_size=4).map(tuple),
    st.dictionaries(st.sampled_from("pq"), st.booleans(), min_size=1),
    st.integers(1, 3),
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(facts=st.lists(FACTS, max_size=20), taken_back=st.lists(st.integers(0, 19), unique=True))
def test_the_counts_of_any_evidence_are_exact(
    one_disk: Disk, facts: list[Count], taken_back: list[int]
) -> None:
    evidence = facts + [
        Count(facts[n].features, facts[n].verdict, -facts[n].times) for n in taken_back if n < len(facts)
    ]
    shard = a_shard(one_disk)
    for key, _ in list(shard.store.scan(b"")):
        shard.delete(key)
    write(shard)
    learner = Counting(shard)
    learner.add(*evidence)
    expected = Counts()
    for fact in evidence:
        expected.add(fact.features, fact.verdict, fact.times)
    assert learner.cells() == cells_of(expected)
    assert learn_totals(shard).features == len({name for fact in evidence for name in fact.features})


# forgetting


def test_nothing_is_forgotten_while_there_is_room(rows: Disk) -> None:
    learner = Counting(a_shard(rows), limit=10)
    learner.add(*seen(1, *(f"w:{n}" for n in range(10))), *seen(1, "w:0"))
    assert learner.forgotten == []
    assert learn_totals(learner.shard).forgotten == 0


def test_the_rarest_features_are_forgotten_first_and_reported(rows: Disk) -> None:
    learner = Counting(a_shard(rows), limit=20)
    common = [f"w:common{n}" for n in range(15)]
    for _ in range(5):
        learner.add(*seen(1, *common))
    for number in range(200):
        learner.add(*seen(1, f"t:rare{number}"))
    assert set(common) <= learner.cells().keys()
    assert len(learner.cells()) <= 25
    assert all(name.startswith("t:rare") for name in learner.forgotten)
    totals = learn_totals(learner.shard)
    assert totals.forgotten == len(learner.forgotten) > 150
    assert totals.features == len(learner.cells())


def test_the_base_links_and_regions_are_never_forgotten_and_all_else_is(rows: Disk) -> None:
    learner = Counting(a_shard(rows), limit=4)
    learner.add(*seen(1, BASE, "l:p:0", "l:p:1", "r:p"))
    kinds = ("w:", "t:", "u:", "s:", "p:", "a:", "c:", "k:", "x:")
    for number in range(5):
        learner.add(*seen(1, *(f"{kind}{number}" for kind in kinds)))
    for _ in range(20):
        learner.add(*seen(1, BASE))
    assert set(learner.cells()) == {BASE, "l:p:0", "l:p:1", "r:p"}
    assert {name[:2] for name in learner.forgotten} == set(kinds)


def test_each_of_several_partitions_keeps_within_the_limit(rows: Disk) -> None:
    shards = [a_shard(rows, partition) for partition in range(3)]
    store = FeatureStore(20)
    for number in range(400):
        for shard in shards:
            store.add(shard, Count((f"w:{number}",), {"p": False}))
            store.forget(shard)
            write(shard)
    assert [learn_totals(shard).features <= 40 for shard in shards] == [True] * 3


@settings(derandomize=True, deadline=None, max_examples=60)
@given(facts=st.lists(FACTS, min_size=1, max_size=12), seed=st.integers(0, 1000))
def test_what_is_taken_back_of_a_forgotten_feature_leaves_no_more_than_was_counted(
    one_disk: Disk, facts: list[Count], seed: int
) -> None:
    shard = a_shard(one_disk)
    for key, _ in list(shard.store.scan(b"")):
        shard.delete(key)
    write(shard)
    random = Random(seed)
    store, expected = FeatureStore(1000), Counts()
    open_facts: list[Count] = []
    for fact in facts:
        if open_facts and random.random() < 0.5:
            taken = open_facts.pop(random.randrange(len(open_facts)))
            back = Count(taken.features, taken.verdict, -taken.times)
        else:
            open_facts.append(fact)
            back = fact
        store.add(shard, back)
        expected.add(back.features, back.verdict, back.times)
        if random.random() < 0.3:
            shard.delete(feature_key("w:a"))
        row = shard.get(feature_key("w:a"))
        for name, (pages, hits) in row.counts.items() if isinstance(row, FeatureRow) else ():
            most_pages, most_hits = expected.get("w:a", name)
            assert 0 <= pages <= most_pages
            assert 0 <= hits <= min(pages, most_hits)


# news

BASE_COUNTS = {"p": [1000, 100]}


def test_a_first_hit_is_news_at_once_and_a_first_miss_is_not() -> None:
    news = News(0.1, 1000)
    assert news.worth("w:hit", {"p": [1, 1]}, BASE_COUNTS)
    assert not news.worth("w:miss", {"p": [1, 0]}, BASE_COUNTS)
    assert not news.worth("w:miss", {"p": [19, 0]}, BASE_COUNTS)
    assert news.worth("w:miss", {"p": [20, 0]}, BASE_COUNTS)


def test_the_base_links_and_regions_are_always_news() -> None:
    news = News(0.1, 1000)
    few = (BASE, "l:p:0", "l:p:1", "r:p")
    assert all(news.worth(name, {"p": [1, 0]}, {}) for name in few for _ in range(2))


def test_a_small_move_is_no_news_until_small_moves_add_up() -> None:
    news = News(0.1, 1000)
    told = [pages for pages in range(100, 200) if news.worth("w:a", {"p": [pages, 50]}, BASE_COUNTS)]
    assert told[0] == 100
    ratios = [log_lift(pages, 50, 0.1) for pages in told]
    assert all(0.1 < before - after < 0.12 for before, after in pairwise(ratios))
    assert 4 <= len(told) <= 8


def test_each_predicate_makes_news_and_one_without_a_hit_yet_makes_none() -> None:
    news = News(0.1, 1000)
    base = {"p": [1000, 100], "q": [1000, 100], "none": [1000, 0]}
    assert not news.worth("w:a", {"none": [500, 0]}, base)
    assert news.worth("w:a", {"p": [10, 5], "none": [500, 0]}, base)
    assert news.worth("w:a", {"p": [10, 5], "q": [10, 5], "none": [500, 0]}, base)
    assert not news.worth("w:a", {"p": [10, 5], "q": [10, 5], "none": [900, 0]}, base)


def test_hits_that_the_base_does_not_know_of_yet_are_kept_for_when_it_does() -> None:
    news = News(0.1, 1000)
    counts = {"p": [1, 1], "q": [1, 0]}
    assert not news.worth("w:a", counts, {})
    assert news.undecided(counts, {})
    assert news.undecided(counts, {"p": [5, 0], "q": [5, 1]})
    assert not news.undecided(counts, {"p": [5, 1]})


def test_a_move_of_the_base_alone_is_no_news() -> None:
    news = News(0.1, 1000)
    assert news.worth("w:a", {"p": [100, 50]}, {"p": [1000, 100]})
    assert not news.worth("w:a", {"p": [100, 50]}, {"p": [1000, 300]})


def test_beyond_the_limit_the_features_of_least_effect_are_withdrawn() -> None:
    news = News(0.1, 100)
    for number in range(101):
        assert news.worth(f"w:{number}", {"p": [200 + number, 150]}, BASE_COUNTS)
    gone = news.withdrawn()
    assert gone == [f"w:{number}" for number in range(100, 90, -1)]
    assert news.withdrawn() == []
    assert not news.worth("w:weak", {"p": [310, 150]}, BASE_COUNTS), "of less effect than what was withdrawn"
    assert news.worth("w:strong", {"p": [150, 150]}, BASE_COUNTS)
    assert not news.forget("w:100")
    assert news.forget("w:strong")


@settings(derandomize=True, deadline=None, max_examples=100)
@given(pages=st.integers(0, 50), hits=st.integers(0, 50), told=st.booleans())
def test_any_counts_can_be_weighed(pages: int, hits: int, told: bool) -> None:
    news = News(0.1, 100)
    if told:
        news.worth("w:a", {"p": [10, 5]}, BASE_COUNTS)
    news.worth("w:a", {"p": [pages, min(pages, hits)]}, BASE_COUNTS)


def test_a_subject_is_news_whatever_its_verdict_and_once() -> None:
    news = News(0.1, 1000)
    for hits in (0, 1):
        assert news.worth(f"y:of {hits}", {"p": [1, hits]}, {"p": [1000, 500]})
        assert not news.worth(f"y:of {hits}", {"p": [1, hits]}, {"p": [2000, 500]})
        assert news.worth(f"y:of {hits}", {"p": [2, hits]}, {"p": [2000, 500]})
    assert news.forget("y:of 0")
    assert news.worth("y:of 0", {"p": [2, 0]}, {"p": [2000, 500]})


def test_beyond_the_limit_subjects_go_first_hits_and_misses_alike() -> None:
    news = News(0.1, 40)
    for number in range(20):
        assert news.worth(f"y:{number:02}", {"p": [1, number % 2]}, BASE_COUNTS)
        assert news.worth(f"w:{number:02}", {"p": [40, 40]}, BASE_COUNTS)
    assert news.withdrawn() == []
    assert news.worth("y:20", {"p": [1, 0]}, BASE_COUNTS)
    assert news.withdrawn() == ["y:00", "y:01", "y:02", "y:03"]
    assert news.worth("w:20", {"p": [40, 40]}, BASE_COUNTS), "subjects say nothing of what words are worth"


# what a frontier knows of it


def published(evidence: Iterable[Count], news: News) -> tuple[dict[str, tuple[int, int]], Counts]:
    """Return the counts a frontier knows in the end, and the true ones."""
    told: dict[str, tuple[int, int]] = {}
    counts = Counts()
    for fact in evidence:
        counts.add(fact.features, fact.verdict, fact.times)
        base = {"p": list(counts.get(BASE, "p"))}
        for feature in fact.features:
            if news.worth(feature, {"p": list(counts.get(feature, "p"))}, base):
                told[feature] = counts.get(feature, "p")
        for feature in news.withdrawn():
            del told[feature]
    return told, counts


def crawl(random: Random, pages: int, rates: Mapping[str, float]) -> list[Count]:
    """Evidence of pages under words that each raise the chance of a hit by their own rate."""
    evidence = []
    for _ in range(pages):
        words = random.sample(sorted(rates), 4)
        hit = random.random() < max(rates[word] for word in words)
        evidence.append(Count((BASE, *words), {"p": hit}))
    return evidence


@pytest.mark.parametrize("seed", range(5))
def test_a_frontier_knows_every_weight_to_about_the_threshold(seed: int) -> None:
    random = Random(seed)
    rates = {f"w:{number}": random.choice([0.0, 0.05, 0.3, 0.8]) for number in range(30)}
    threshold = 0.1
    told, counts = published(crawl(random, 400, rates), News(threshold, 1000))
    pages, hits = counts.get(BASE, "p")
    rate = hits / pages
    assert told[BASE] == (pages, hits)
    known_weights, true_weights = Weights("p", drift=0), Weights("p", drift=0)
    for feature in (BASE, *rates):
        true = counts.get(feature, "p")
        true_weights.update(feature, *true)
        known_weights.update(feature, *told.get(feature, (0, 0)))
        if feature == BASE:
            continue
        if feature not in told:
            assert true[1] == 0, "a hit is told at once"
            continue
        moved = abs(log_lift(*told[feature], rate) - log_lift(*true, rate))
        assert moved <= threshold + 0.05
    for feature in rates:
        words = [frozenset({feature[2:]})]
        known, true_log = known_weights.content_log(words), true_weights.content_log(words)
        if known and true_log:  # both significant
            assert abs(known - true_log) < 3 * threshold


def test_a_first_hit_on_a_rare_word_of_the_learned_policy_is_news_at_once() -> None:
    for kind in ("p:", "a:", "c:", "k:", "x:", "u:"):
        news = News(0.1, 1000)
        assert news.worth(f"{kind}rare", {"p": [1, 1]}, {"p": [30, 2]})
        assert not news.worth(f"{kind}rare", {"p": [1, 1]}, {"p": [31, 2]})


def test_words_of_the_first_pages_are_news_though_all_of_these_are_hits() -> None:
    news = News(0.1, 1000)
    for pages in range(1, 20):
        assert news.worth(f"p:of-page-{pages}", {"p": [1, 1]}, {"p": [pages, pages]})


# labels


@contextmanager
def an_agent(data: Path, **learn: object) -> Iterator[LearnAgent]:
    with a_runtime(Settings.model_validate({"data": data, "learn": learn})) as runtime:
        yield LearnAgent(runtime)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[LearnAgent]:
    with an_agent(tmp_path / "data") as opened:
        yield opened


def told(agent: LearnAgent) -> list[Interest]:
    """Have the agent publish what changed; return it."""
    publisher = agent.runtime.publisher
    assert isinstance(publisher, JournalPublisher)
    start = publisher._journal.end(INTERESTS.name, 0)
    asyncio.run(agent.publish())
    decode = Decoder[Interest](Interest)
    return [decode(entry.value or b"") for entry in publisher._journal.read(INTERESTS.name, 0, start, 10_000)]


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


def learned(
    facts: Iterable[Label], kind: CombinerKind = "bayesian", inputs: Sequence[Input] = INPUTS
) -> dict[str, Learner]:
    """Return what learns the same without an agent."""
    learners: dict[str, Learner] = {}
    for fact in facts:
        learner = learners.setdefault(fact.predicate, Learner(kind, inputs=inputs))
        learner.learn(fact.inputs, fact.holds, fact.chosen)
    return learners


def row_of(shard: LearnShard, predicate: str) -> ModelRow:
    row = shard.get(model_key(predicate))
    assert isinstance(row, ModelRow)
    return row


@pytest.mark.parametrize("kind", ["bayesian", "river"])
@pytest.mark.parametrize("table", [None, "words.table"])
def test_a_combiner_learns_from_every_label_of_its_predicate_and_is_told(
    tmp_path: Path, rows: Disk, kind: CombinerKind, table: str | None
) -> None:
    inputs = inputs_with(table is not None)
    with an_agent(tmp_path / "data", combiner=kind, semantic=table) as agent:
        facts = labels(60, predicates="pq", inputs=inputs)
        shard = a_shard(rows)
        take_in(shard, agent, *facts)
        heard = {interest.feature: interest for interest in told(agent)}
    expected = learned(facts, kind, inputs)
    assert heard.keys() == {COMBINER + "p", COMBINER + "q"}
    for predicate, learner in expected.items():
        assert row_of(shard, predicate) == ModelRow(*learner.state())
        interest = heard[COMBINER + predicate]
        assert interest.counts == {}
        assert interest.weighting is not None
        assert interest.weighting.shifts == learner.shifts
        assert np.frombuffer(interest.weighting.mean).tolist() == learner.combiner.mean.tolist()
        assert interest.weighting.covariance == learner.combiner.covariance.tobytes()


def test_a_combiner_is_told_when_it_changed_and_before_the_base(agent: LearnAgent, rows: Disk) -> None:
    shard = a_shard(rows)
    take_in(shard, agent, Count((BASE, "p:ski"), {"p": True}), *labels(1))
    assert [interest.feature for interest in told(agent)] == ["p:ski", COMBINER + "p", BASE]
    take_in(shard, agent, Count((BASE,), {"p": False}))
    assert [interest.feature for interest in told(agent)] == [BASE]
    take_in(shard, agent, *labels(1))
    assert [interest.feature for interest in told(agent)] == [COMBINER + "p"]
    assert told(agent) == []


@pytest.mark.parametrize("lost_at", range(0, 60, 7))
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
    assert sorted(after, key=lambda interest: interest.feature) == sorted(
        before, key=lambda interest: interest.feature
    )


def test_a_partition_that_went_to_another_worker_leaves_nothing_behind(agent: LearnAgent, rows: Disk) -> None:
    shard = a_shard(rows)
    take_in(shard, agent, *labels(10))
    agent.closed(shard)
    assert told(agent) == []
    again = a_shard(rows)  # nothing was written
    agent.opened(again)
    take_in(again, agent, *labels(5, seed=1))
    assert row_of(again, "p") == ModelRow(*learned(labels(5, seed=1))["p"].state())


def test_pages_that_no_longer_fit_are_told_in_the_log_and_counted(
    agent: LearnAgent, rows: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    random = Random(3)
    shard = a_shard(rows)

    def selected(count: int, sign: int) -> list[Label]:
        sides = [random.choice([-3.0, 3.0]) for _ in range(count)]
        return [
            Label("p", (side, *[0.0] * (len(NAMES) - 2), 1.0), sign * side + random.gauss(0, 1) > 0, "selected")
            for side in sides
        ]

    with caplog.at_level(logging.INFO):
        take_in(shard, agent, *selected(1000, 1))
        assert caplog.records == []
        take_in(shard, agent, *selected(100, -1))
    (record,) = caplog.records
    assert record.getMessage() == "a predicate's pages have changed"
    fields = record.__dict__["fields"]
    assert fields["predicate"] == "p"
    assert 1000 < fields["labels"] < 1100
    drifts = agent.runtime.metrics.registry.get_sample_value(DRIFTS.name, {"predicate": "p"})
    assert drifts == 1
