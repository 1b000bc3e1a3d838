"""A scorer that is taught in steps knows what one knows that is taught at once, of one moment."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from agents.crawl.connect import open_journal
from agents.frontier.learned import LearnedScorer
from agents.frontier.rows import PageRow
from agents.frontier.scoring import PaperScorer
from agents.learn.rows import LearnRow, ModelRow, PriorRow, model_key, prior_key
from agents.learn.store import FeatureStore, LearnShard
from agents.operate.inspect import teaching
from agents.operate.inspect.teaching import Taught, frontier_shard
from models.interest.features import BASE
from models.learner.inputs import NAMES
from models.learner.state import Learner
from models.lessons import lessons
from models.predicate import parse
from models.verdict import FAILED
from streams.inbox import Codec, Shard
from streams.records import Pack, PredicateDefinition, Weighting
from streams.settings import Settings
from streams.topics import EVIDENCE, PREDICATES, partition_of
from streams.transport.journal import Journal
from tests.agents.cells import a_cells, a_count, add, cells_of, teach
from tests.agents.shards import put, write
from tests.reference.counts import Counts

EXPRESSIONS = {"ski": '"ice skiing" or category("Sports.Alpine")', "tea": '"tea"'}
PARTITIONS = 2
KINDS = ("p:", "a:", "c:", "h:", "k:", "x:", "u:", "w:", "t:", "s:")
URL = "http://www.example.org/tea/skiing-7.html"


class Learnt:
    """What learners have counted: a table of two partitions, written group by group."""

    def __init__(self, journal: Journal) -> None:
        codec: Codec[LearnRow] = Codec(LearnRow)
        self.shards: list[LearnShard] = [
            Shard(number, f"{EVIDENCE.name}/{number}", store, codec, 1_000_000)
            for number, store in journal.table("interests").items()
        ]
        self.stores = [FeatureStore(shard, 100_000) for shard in self.shards]
        self.counts = Counts()
        self.random = Random(3)
        for name, expression in EXPRESSIONS.items():
            definition = PredicateDefinition(name=name, expression=expression)
            journal.append(PREDICATES.name, 0, name.encode(), msgspec.json.encode(definition), 0.0)

    def judge(self, pages: int) -> None:
        """Count pages of words, of which the learners tell in groups of their own."""
        for _ in range(pages):
            words = [f"{kind}{'tea' if self.random.random() < 0.2 else self._word()}" for kind in KINDS * 8]
            verdict = {name: self.random.random() < 0.3 for name in (*EXPRESSIONS, FAILED)}
            features = [BASE, "l:ski:1", "r:tea", *dict.fromkeys(words)]
            for number, shard in enumerate(self.shards):
                own = [name for name in features if partition_of(name, PARTITIONS) == number]
                count = a_count(own, verdict)
                add(self.counts, count)
                for fact in shard.accept(shard.mark.offset + 1, Pack(facts=[(0, 0, count)])):
                    self.stores[number].add(fact)
                write(shard)
                self.stores[number].committed()

    def _word(self) -> str:
        return f"word{int(400 * self.random.random() ** 3)}"

    def put(self, key: bytes, row: PriorRow | ModelRow) -> None:
        """Write a row of the first partition."""
        put(self.shards[0].store, {key: msgspec.msgpack.encode(row)})


@contextmanager
def a_crawl(data: Path, **frontier: str) -> Iterator[tuple[Settings, Journal, Learnt]]:
    settings = Settings.model_validate(
        {"data": data, "streams": {"partitions": PARTITIONS}, "frontier": frontier, "learn": {"semantic": ""}}
    )
    with open_journal(settings) as journal:
        yield settings, journal, Learnt(journal)


def steps_of(taught: Taught) -> int:
    return sum(1 for _ in taught.steps())


def weights_of(scorer: LearnedScorer, words: Sequence[str]) -> dict[str, np.ndarray]:
    known = {name: scorer.known(name).knowledge.words for name in EXPRESSIONS}
    numbers = {name: lifts.vocabulary.words(words) for name, lifts in known.items()}
    return {name: lifts.by_word[numbers[name]] for name, lifts in known.items()}


def test_what_the_learned_policy_is_taught_in_steps_is_what_it_knows_at_once(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, learnt):
        learnt.judge(60)
        learner = Learner("bayesian")
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
