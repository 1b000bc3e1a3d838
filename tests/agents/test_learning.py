"""What people are shown of what was learned: exact, bounded, worked out in steps, while somebody looks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.rows import PageRow
from scentline.agents.frontier.scoring import PaperScorer
from scentline.agents.learn.rows import ModelRow, PriorRow, model_key, prior_key
from scentline.agents.operate.inspect import teaching
from scentline.agents.operate.inspect.learning import FRESH_SECONDS, MOST_SPEAKING, WANTED_SECONDS, Learning
from scentline.agents.operate.inspect.teaching import Latest, Taught, combined, frontier_shard, latest_inputs
from scentline.models.interest.features import BASE
from scentline.models.interest.ratio import PRIOR_PAGES, base_rate, log_lift
from scentline.models.learner.combiner import Learner
from scentline.models.learner.inputs import INPUTS, NAMES, PLAIN
from scentline.models.lessons import lessons
from scentline.models.predicate import parse
from scentline.streams.facts import Label
from scentline.streams.records import Pack, Weighting, encode
from scentline.streams.topics import EVIDENCE, partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.cells import a_cells, a_count, cells_of, teach
from tests.agents.learnt import EXPRESSIONS, PARTITIONS, a_crawl

NOTHING = Latest(np.zeros(0), np.zeros(0))


def a_learner(labels: int) -> Learner:
    learner = Learner()
    for number in range(labels):
        learner.learn([number % 3 / 2] * len(INPUTS), number % 2 == 0, "selected")
    return learner


# what speaks most


def bring_up(learning: Learning, now: float) -> Taught | None:
    """Have somebody look at a time until all is worked out; return what is taught then."""
    learning.want(now)
    while learning.step(now):
        pass
    return learning.taught


def test_what_speaks_most_is_what_weighs_most(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(80)
        learning = Learning(journal, settings)
        bring_up(learning, 0.0)
        rate = base_rate(*learnt.counts.get("", "tea"))
        lifts = {
            feature[2:]: log_lift(*cells["tea"], rate, PRIOR_PAGES)
            for feature, cells in cells_of(learnt.counts).items()
            if feature.startswith("k:") and feature != "k:tea"  # the predicate's own starts with hits
        }
        told = [each for each in learning.speaking("tea", "URL words", against=False) if each.name != "tea"]
        expected = sorted((lift for lift in lifts.values() if lift > 0), reverse=True)[: len(told)]
        # The base rate is that of when it moved last by more than 2 %.
        np.testing.assert_allclose([each.weight for each in told], expected, atol=0.05)
        np.testing.assert_allclose([lifts[each.name] for each in told], expected, atol=0.05)
        for kind, prefix in (("page words", "p:"), ("sites and directories", "x:")):
            for against in (False, True):
                some = learning.speaking("ski", kind, against=against)
                assert 0 < len(some) <= MOST_SPEAKING
                for each in some:
                    assert (each.weight < 0) == against
                    assert (each.pages, each.hits) == learnt.counts.get(prefix + each.name, "ski")
        assert learning.speaking("nobody", "page words", against=False) == []


def test_nothing_is_worked_out_unless_somebody_looks_and_nothing_twice(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(5)
        learning = Learning(journal, settings)
        assert not learning.step(0.0)
        assert (learning.time, learning.progress) == (None, (0, 0))
        taught = bring_up(learning, 1.0)
        assert taught is not None
        later = 1.0 + max(FRESH_SECONDS, 2 * WANTED_SECONDS)
        assert not learning.step(later), "nobody looks any more"
        assert learning.time == 1.0
        assert bring_up(learning, later) is taught, "nothing was learned since"
        assert learning.time == later
        journal.append("interests", 0, b"ski", b"", 0.0)
        assert bring_up(learning, later + FRESH_SECONDS) is not taught


def test_a_table_of_words_that_is_gone_is_said_and_ends_nothing(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(1)
        gone = str(tmp_path / "gone.table")
        learn = settings.learn.model_copy(update={"semantic": gone})
        learning = Learning(journal, settings.model_copy(update={"learn": learn}))
        assert bring_up(learning, 1.0) is None
        assert gone in learning.trouble


# weights, and what they did


def test_the_newest_inputs_are_those_that_learners_were_told(tmp_path: Path) -> None:
    rows = [([float(number % 3)] * len(INPUTS), number % 4 == 0) for number in range(500)]
    with a_crawl(tmp_path) as (_, journal, _):
        partition = partition_of("ski", PARTITIONS)

        def labels() -> Iterator[Label]:
            for inputs, holds in rows:
                yield Label("ski", tuple(inputs), holds, "selected")
                yield Label("tea", tuple(-each for each in inputs), holds, "other")

        for number, label in enumerate(labels()):
            facts = [(number, 0, a_count(["p:ski"], {"ski": True})), (number, 1, label)]
            journal.append(EVIDENCE.name, partition, None, encode(Pack(source="s", facts=facts)), 0.0)
        journal.append(EVIDENCE.name, partition, None, b"damaged", 0.0)
        found = latest_inputs(journal, "ski")
    newest = rows[-100:][::-1]  # of 200 messages half are of the other predicate; one is damaged
    for holds, inputs in zip((True, False), found, strict=True):
        expected = [row for row, hit in newest if hit == holds]
        assert inputs.tolist() == expected[: len(inputs)]
        assert len(inputs) >= len(expected) - 1


def test_weights_are_those_of_the_combiner_with_what_they_added(tmp_path: Path) -> None:
    learner = a_learner(40)
    row = ModelRow(*learner.state())
    hits, misses = np.full((3, len(INPUTS)), 2.0), np.zeros((2, len(INPUTS)))
    found = combined(INPUTS, row, Latest(hits, misses))
    assert found.labels == 40
    for place, weight in enumerate(found.weights):
        assert (weight.name, weight.plain) == (NAMES[place], PLAIN[NAMES[place]].name)
        assert weight.mean == learner.combiner.mean[place]
        assert weight.deviation == pytest.approx(learner.combiner.covariance[place, place] ** 0.5)
        assert weight.hits == pytest.approx(2 * weight.mean)
        assert weight.misses == 0
    before = combined(INPUTS, None, NOTHING)
    assert [weight.mean for weight in before.weights] == [entry.weight for entry in INPUTS]
    assert [weight.deviation for weight in before.weights] == pytest.approx([each.deviation for each in INPUTS])
    assert (before.labels, before.weights[0].hits) == (0, None)
    with a_crawl(tmp_path) as (settings, journal, learnt):
        for name, raw in (("ski", row), ("tea", ModelRow(b"12345678", b"", 1, b""))):
            learnt.put(model_key(name), raw, partition_of(name, PARTITIONS))
        learning = Learning(journal, settings)
        assert learning.combined("ski", NOTHING).labels == 40
        assert learning.combined("tea", NOTHING).labels == 0, "it has other inputs"


# a scorer that is taught in steps knows what one knows that is taught at once, of one moment


def test_what_the_learned_policy_is_taught_in_steps_is_what_it_knows_at_once(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(60)
        learner = a_learner(30)
        learnt.put(model_key("ski"), ModelRow(*learner.state()))
        priors = {BASE: {"ski": (100.0, 10.0)}, "p:tea": {"ski": (8.0, 6.0)}, "a:new": {"ski": (9.0, 9.0)}}
        for feature, cells in priors.items():
            learnt.put(prior_key(feature), PriorRow(cells))
        taught = Taught(journal, settings)
        assert sum(1 for _ in taught.steps()) > taught.features // teaching.STEP
        assert taught.done and taught.taken >= taught.features > 1000

        at_once = LearnedScorer()
        for name, expression in EXPRESSIONS.items():
            predicate = parse(expression)
            at_once.add_predicate(name, predicate.sought)
        at_once.inherit(priors)
        teach(at_once, a_cells(cells_of(learnt.counts)))
        at_once.take("ski", Weighting(learner.state().mean, learner.state().covariance, learner.shifts))

        assert isinstance(taught.scorer, LearnedScorer)
        words = [feature[2:] for feature, *_ in learnt.counts.items() if feature[:2] == "p:"] + ["new", "skis"]
        for name in EXPRESSIONS:
            known = [scorer.known(name).knowledge.words for scorer in (taught.scorer, at_once)]
            numbers = [each.vocabulary.words(words) for each in known]
            found, expected = (each.by_word[own] for each, own in zip(known, numbers, strict=True))
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        shard, row = frontier_shard(journal, 0), PageRow("http://www.example.org/tea/skiing-7.html", 1, 0)
        [of_steps], [at] = (each.priorities(shard, [row], EXPRESSIONS) for each in (taught.scorer, at_once))
        assert of_steps == pytest.approx(at)


@pytest.mark.parametrize("policy", ["linkage", "combined"])
def test_what_a_policy_of_the_paper_is_taught_in_steps_is_exact(tmp_path: Path, policy: str) -> None:
    def known(scorer: Any, name: str) -> list[Any]:
        weights = scorer.weights(name)
        return [weights.base, weights.links, weights.region, weights.logs]

    with a_crawl(tmp_path, policy=policy) as (settings, journal, learnt):
        learnt.judge(60)
        taught = Taught(journal, settings)
        assert list(taught.steps())
        at_once = PaperScorer(settings.learn, lessons(policy), drift=0)
        for name in EXPRESSIONS:
            at_once.add_predicate(name)
        teach(at_once, a_cells(cells_of(learnt.counts)))
        for name in EXPRESSIONS:
            assert known(taught.scorer, name) == known(at_once, name)


def test_counts_are_those_of_one_moment_while_the_crawl_goes_on(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(40)
        beside = Journal(journal.path, True, {})
        try:
            taught = Taught(beside, settings)
            steps = taught.steps()
            next(steps)
            counts = cells_of(learnt.counts)
            at_first = {name: counts[name] for name in counts if partition_of(name, PARTITIONS) == 0}
            for _ in steps:
                learnt.judge(2)
                beside.refresh()
            ledger = taught.scorer.ledger
            for feature, cells in at_first.items():
                assert {name: ledger.get(feature, name) for name in cells} == cells
        finally:
            beside._resources.close()
