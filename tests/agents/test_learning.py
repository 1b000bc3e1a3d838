"""What people are shown of what was learned: exact, bounded, and worked out only while somebody looks."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from scentline.agents.learn.rows import ModelRow, model_key
from scentline.agents.operate.inspect.learning import FRESH_SECONDS, MOST_SPEAKING, WANTED_SECONDS, Learning
from scentline.agents.operate.inspect.teaching import Taught
from scentline.agents.operate.inspect.weights import Latest, combined, latest_inputs
from scentline.models.learner.inputs import INPUTS, NAMES, Vector
from scentline.models.learner.lifts import PRIOR_PAGES, base_rate, log_lift
from scentline.models.learner.plain import PLAIN
from scentline.models.learner.state import Learner
from scentline.streams.facts import Label
from scentline.streams.records import Pack, encode
from scentline.streams.topics import EVIDENCE, partition_of
from tests.agents.cells import a_count, cells_of
from tests.agents.learnt import PARTITIONS, a_crawl

NOTHING = Latest(np.zeros(0), np.zeros(0))


# what speaks most


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
        for kind in ("page words", "sites and directories"):
            for against in (False, True):
                some = learning.speaking("ski", kind, against=against)
                assert 0 < len(some) <= MOST_SPEAKING
                assert all((each.weight < 0) == against for each in some)
                assert all(
                    (each.pages, each.hits) == learnt.counts.get(f"{'px'[kind[0] == 's']}:{each.name}", "ski")
                    for each in some
                )
        assert learning.speaking("nobody", "page words", against=False) == []


def bring_up(learning: Learning, now: float) -> Taught | None:
    """Have somebody look at a time until all is worked out; return what is taught then."""
    learning.want(now)
    while learning.step(now):
        pass
    return learning.taught


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


def labels(rows: Sequence[tuple[Vector, bool]]) -> Iterator[Label]:
    for inputs, holds in rows:
        yield Label("ski", tuple(inputs.tolist()), holds, "selected")
        yield Label("tea", tuple((-inputs).tolist()), holds, "other")


def test_the_newest_inputs_are_those_that_learners_were_told(tmp_path: Path) -> None:
    rows = [(np.full(len(INPUTS), float(number % 3)), number % 4 == 0) for number in range(500)]
    with a_crawl(tmp_path) as (_, journal, _):
        partition = partition_of("ski", PARTITIONS)
        for number, label in enumerate(labels(rows)):
            facts = [(number, 0, a_count(["p:ski"], {"ski": True})), (number, 1, label)]
            journal.append(EVIDENCE.name, partition, None, encode(Pack(source="s", facts=facts)), 0.0)
        journal.append(EVIDENCE.name, partition, None, b"damaged", 0.0)
        found = latest_inputs(journal, "ski")
    newest = rows[-100:][::-1]  # of 200 messages half are of the other predicate; one is damaged
    for holds, inputs in zip((True, False), found, strict=True):
        expected = [row.tolist() for row, hit in newest if hit == holds]
        assert inputs.tolist() == expected[: len(inputs)]
        assert len(inputs) >= len(expected) - 1


def test_weights_are_those_of_the_combiner_with_what_they_added(tmp_path: Path) -> None:
    learner = Learner()
    for number in range(40):
        learner.learn([1.0] * len(INPUTS), number % 2 == 0, "selected")
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
            partition = partition_of(name, PARTITIONS)
            learnt.put(model_key(name), raw, partition)
        learning = Learning(journal, settings)
        assert learning.combined("ski", NOTHING).labels == 40
        assert learning.combined("tea", NOTHING).labels == 0, "it has other inputs"
