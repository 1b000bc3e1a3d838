"""The learner: its combiners are a function of the labels, whatever happens in between, and are told once."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from scentline.agents.learn.models import LearnShard, ModelRow, model_key
from scentline.models.facts import Label
from scentline.models.policy.combiner import Learner
from scentline.models.policy.inputs import INPUTS, Input
from scentline.models.records import Interests, Weighting
from scentline.models.semantic import inputs_with
from scentline.streams.configuration import ConfigurationError
from tests.agents.learnt import a_shard, an_agent, told
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


def test_what_an_earlier_release_wrote_is_refused_with_a_sentence(tmp_path: Path, rows: Disk) -> None:
    shard = a_shard(rows)
    put(shard.store, {b"b\0\0\0\0": b"anything"})
    with (
        an_agent(tmp_path) as agent,
        pytest.raises(ConfigurationError, match="table interests: an earlier release wrote it"),
    ):
        agent.opened(shard)


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
