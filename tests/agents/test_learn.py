"""The learner: its combiners are a function of the labels; and what people are shown of them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from scentline.agents.learn import LearnShard, ModelRow, PriorRow, model_key, prior_key
from scentline.agents.operate.explaining import Resting
from scentline.models.facts import Label
from scentline.models.lessons import lessons
from scentline.models.policy.combiner import Learner
from scentline.models.policy.features import BASE, PRIOR_PAGES, base_rate, log_lift
from scentline.models.policy.inputs import INPUTS, NAMES, PLAIN, Input, inputs_with
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.priorities import Scorer
from scentline.models.policy.scoring import PaperScorer
from scentline.models.policy.speaking import MOST_SPEAKING, Features, features
from scentline.models.predicate import parse
from scentline.models.records import Interests, Weighting, partition_of
from scentline.streams.settings import ConfigurationError, Settings
from tests.agents.cells import a_cells, cells_of, teach
from tests.agents.learnt import EXPRESSIONS, PARTITIONS, a_crawl, a_shard, an_agent, told
from tests.agents.shards import Disk, put, take_in, write


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


def test_what_an_earlier_release_wrote_is_refused_with_a_sentence(tmp_path: Path, rows: Disk) -> None:
    shard = a_shard(rows)
    put(shard.store, {b"b\0\0\0\0": b"anything"})
    with (
        an_agent(tmp_path) as agent,
        pytest.raises(ConfigurationError, match="table interests: an earlier release wrote it"),
    ):
        agent.opened(shard)


@pytest.mark.parametrize("lost_at", [0, 7, 28, 60])
def test_a_crash_changes_no_row_and_combiners_are_told_again(tmp_path: Path, rows: Disk, lost_at: int) -> None:
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


# what people are shown: exact, bounded, and at rest what the frontier knew


def a_learner(labels: int) -> Learner:
    learner = Learner()
    for number in range(labels):
        learner.learn([number % 3 / 2] * len(INPUTS), number % 2 == 0, "selected")
    return learner


def test_what_speaks_most_is_what_weighs_most(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(80)
        resting = Resting(journal, settings)

        def speaking(predicate: str, kind: str, side: str = "for") -> Any:
            found = resting.features(predicate, kind, side)
            assert found is not None
            assert found.judged == learnt.counts.get(BASE, predicate)[0]
            return found.speaking

        rate = base_rate(*learnt.counts.get("", "tea"))
        lifts = {
            feature[2:]: log_lift(*cells["tea"], rate, PRIOR_PAGES)
            for feature, cells in cells_of(learnt.counts).items()
            if feature.startswith("k:") and feature != "k:tea"  # the predicate's own starts with hits
        }
        told = [each for each in speaking("tea", "URL words") if each.name != "tea"]
        expected = sorted((lift for lift in lifts.values() if lift > 0), reverse=True)[: len(told)]
        # The base rate is that of when it moved last by more than 2 %.
        np.testing.assert_allclose([each.weight for each in told], expected, atol=0.05)
        np.testing.assert_allclose([lifts[each.name] for each in told], expected, atol=0.05)
        for kind, prefix in (("page words", "p:"), ("sites and directories", "x:")):
            for side in ("for", "against"):
                some = speaking("ski", kind, side)
                assert 0 < len(some) <= MOST_SPEAKING
                for each in some:
                    assert (each.weight < 0) == (side == "against")
                    assert (each.pages, each.hits) == learnt.counts.get(prefix + each.name, "ski")
        assert resting.features("nobody") is None


def test_a_table_of_words_that_is_gone_is_named(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(1)
        learn = settings.learn.model_copy(update={"semantic": str(tmp_path / "gone.table")})
        with pytest.raises(ValueError, match=r"gone\.table"):
            Resting(journal, settings.model_copy(update={"learn": learn})).open()


def test_weights_are_those_of_the_combiner(tmp_path: Path) -> None:
    learner = a_learner(40)
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.put(model_key("ski"), ModelRow(*learner.state()), partition_of("ski", PARTITIONS))
        resting = Resting(journal, settings)
        found, before = resting.features("ski"), resting.features("tea")
    assert found is not None and before is not None
    for place, weight in enumerate(found.weights):
        assert (weight.name, weight.plain) == (NAMES[place], PLAIN[NAMES[place]].name)
        assert weight.mean == learner.combiner.mean[place]
        assert weight.deviation == pytest.approx(learner.combiner.covariance[place, place] ** 0.5)
    assert [weight.mean for weight in before.weights] == [entry.weight for entry in INPUTS]
    assert [weight.first_deviation for weight in before.weights] == pytest.approx(
        [each.deviation for each in INPUTS]
    )


# a frontier at rest knows what one knows that heard it all


def at_rest_and_at_once(
    resting: Resting, at_once: Scorer, settings: Settings, kinds: Sequence[str]
) -> Iterator[tuple[Features, Features]]:
    """Give what is known of each predicate's features of some kinds, whose ratios are the same."""
    for name, kind in product(EXPRESSIONS, kinds):
        found, expected = resting.features(name, kind), features(at_once, settings.learn, name, kind)
        assert found is not None
        assert found.ratios == expected.ratios
        yield found, expected


def test_what_the_learned_policy_knew_is_known_at_rest(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(60)
        learner = a_learner(30)
        learnt.put(model_key("ski"), ModelRow(*learner.state()))
        priors = {BASE: {"ski": (100.0, 10.0)}, "p:tea": {"ski": (8.0, 6.0)}, "a:new": {"ski": (9.0, 9.0)}}
        for feature, cells in priors.items():
            learnt.put(prior_key(feature), PriorRow(cells))
        at_once = LearnedScorer()
        for name, expression in EXPRESSIONS.items():
            at_once.add_predicate(name, parse(expression).sought)
        at_once.inherit(priors)
        teach(at_once, a_cells(cells_of(learnt.counts)))
        at_once.take("ski", Weighting(learner.state().mean, learner.state().covariance, learner.shifts))
        kinds = "page words", "link words", "sites and directories"
        for found, expected in at_rest_and_at_once(Resting(journal, settings), at_once, settings, kinds):
            assert found.weights == expected.weights
            weights = {each.name: each.weight for each in expected.speaking}
            assert {each.name: each.weight for each in found.speaking} == pytest.approx(weights, rel=1e-9)


@pytest.mark.parametrize("policy", ["linkage", "combined"])
def test_what_a_policy_of_the_paper_knew_is_known_at_rest_exactly(tmp_path: Path, policy: str) -> None:
    with a_crawl(tmp_path, policy=policy) as (settings, journal, learnt):
        learnt.judge(60)
        at_once = PaperScorer(settings.learn, lessons(policy), drift=0)
        for name in EXPRESSIONS:
            at_once.add_predicate(name)
        teach(at_once, a_cells(cells_of(learnt.counts)))
        kinds = "words of linking pages", "URL tokens", "words of signatures"
        for found, expected in at_rest_and_at_once(Resting(journal, settings), at_once, settings, kinds):
            assert sorted(map(str, found.speaking)) == sorted(map(str, expected.speaking))
