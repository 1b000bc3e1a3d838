"""A scorer that is taught in steps knows what one knows that is taught at once, of one moment."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.rows import PageRow
from scentline.agents.frontier.scoring import PaperScorer
from scentline.agents.learn.rows import ModelRow, PriorRow, model_key, prior_key
from scentline.agents.operate.inspect import teaching
from scentline.agents.operate.inspect.teaching import Taught, frontier_shard
from scentline.models.interest.features import BASE
from scentline.models.learner.inputs import NAMES
from scentline.models.learner.state import Learner
from scentline.models.lessons import lessons
from scentline.models.predicate import parse
from scentline.streams.records import Weighting
from scentline.streams.topics import partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.cells import a_cells, cells_of, teach
from tests.agents.learnt import EXPRESSIONS, PARTITIONS, a_crawl

URL = "http://www.example.org/tea/skiing-7.html"


def steps_of(taught: Taught) -> int:
    return sum(1 for _ in taught.steps())


def weights_of(scorer: LearnedScorer, words: Sequence[str]) -> dict[str, np.ndarray]:
    known = {name: scorer.known(name).knowledge.words for name in EXPRESSIONS}
    numbers = {name: lifts.vocabulary.words(words) for name, lifts in known.items()}
    return {name: lifts.by_word[numbers[name]] for name, lifts in known.items()}


def test_what_the_learned_policy_is_taught_in_steps_is_what_it_knows_at_once(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(60)
        learner = Learner()
        for number in range(30):
            learner.learn([number % 3 / 2] * len(NAMES), number % 2 == 0, "selected")
        learnt.put(model_key("ski"), ModelRow(*learner.state()))
        priors = {BASE: {"ski": (100.0, 10.0)}, "p:tea": {"ski": (8.0, 6.0)}, "a:new": {"ski": (9.0, 9.0)}}
        for feature, cells in priors.items():
            learnt.put(prior_key(feature), PriorRow(cells))
        taught = Taught(journal, settings)
        assert steps_of(taught) > taught.features // teaching.STEP
        shard, row = frontier_shard(journal, 0), PageRow(URL, 1, 0)
        assert taught.done and taught.taken >= taught.features > 1000

        at_once = LearnedScorer()
        for name, expression in EXPRESSIONS.items():
            predicate = parse(expression)
            at_once.add_predicate(name, predicate.topic, predicate.phrases)
        at_once.inherit(priors)
        teach(at_once, a_cells(cells_of(learnt.counts)))
        at_once.take("ski", Weighting(learner.state().mean, learner.state().covariance, learner.shifts))

        assert isinstance(taught.scorer, LearnedScorer)
        words = [feature[2:] for feature, *_ in learnt.counts.items() if feature[:2] == "p:"] + ["new", "skis"]
        for name, weights in weights_of(at_once, words).items():
            np.testing.assert_allclose(weights_of(taught.scorer, words)[name], weights, rtol=1e-12)
        [found], [expected] = (each.priorities(shard, [row], EXPRESSIONS) for each in (taught.scorer, at_once))
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("policy", ["linkage", "combined"])
def test_what_a_policy_of_the_paper_is_taught_in_steps_is_exact(tmp_path: Path, policy: str) -> None:
    with a_crawl(tmp_path, policy=policy) as (settings, journal, learnt):
        learnt.judge(60)
        taught = Taught(journal, settings)
        steps_of(taught)
        at_once = PaperScorer(settings.learn, lessons(policy), drift=0)
        for name in EXPRESSIONS:
            at_once.add_predicate(name)
        teach(at_once, a_cells(cells_of(learnt.counts)))
        assert isinstance(taught.scorer, PaperScorer)
        for name in EXPRESSIONS:
            found, expected = taught.scorer.weights(name), at_once.weights(name)
            assert (found.base, found.links, found.region) == (expected.base, expected.links, expected.region)
            for table in ("words", "tokens", "users", "signatures"):
                assert getattr(found, table).logs == getattr(expected, table).logs


def test_counts_are_those_of_one_moment_while_the_crawl_goes_on(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(40)
        beside = Journal(journal.path, True, {})
        try:
            taught = Taught(beside, settings)
            steps = taught.steps()
            next(steps)
            at_first = {
                feature: cells
                for feature, cells in cells_of(learnt.counts).items()
                if partition_of(feature, PARTITIONS) == 0
            }
            for _ in steps:
                learnt.judge(2)
                beside.refresh()
            assert {
                feature: {name: taught.scorer.ledger.get(feature, name) for name in cells}
                for feature, cells in at_first.items()
            } == at_first
        finally:
            beside._db.close()
            beside._clear_scratch()
