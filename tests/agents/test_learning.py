"""What people are shown of what was learned: exact, bounded, and worked out only while somebody looks."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from scentline.agents.learn.rows import ModelRow, model_key
from scentline.agents.operate.inspect.expectations import (
    STEP,
    Expectations,
    Latest,
    combined,
    latest_inputs,
    users_part,
)
from scentline.agents.operate.inspect.learning import FRESH_SECONDS, MOST_SPEAKING, WANTED_SECONDS, Learning
from scentline.agents.operate.inspect.teaching import Taught
from scentline.models.learner.inputs import INPUTS, NAMES, Vector
from scentline.models.learner.lifts import PRIOR_PAGES, base_rate, log_lift
from scentline.models.learner.plain import PLAIN
from scentline.models.learner.state import Learner
from scentline.models.reliability import Running
from scentline.streams.facts import Label
from scentline.streams.published import Outcome
from scentline.streams.records import Pack, encode
from scentline.streams.topics import EVIDENCE, OUTCOMES, partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.cells import a_count, cells_of
from tests.agents.learnt import PARTITIONS, a_crawl

NOTHING = Latest(np.zeros(0), np.zeros(0))


def an_outcome(number: int, **told: Any) -> Outcome:
    given: dict[str, Any] = {
        "predicate": "ski", "expected": (number % 7) / 7, "explored": number % 5 == 0,
        "verdict": {"ski": number % 3 == 0, "tea": True}, "time": float(number),
    }  # fmt: skip
    return Outcome(
        url=f"http://example.org/{number}", title="", policy="learned", probability=0.99, priority=1.0,
        depth=1, words=("ski",) * 50, links=(), origin=f"pages/0@{number}", **given | told,
    )  # fmt: skip


def tell(journal: Journal, outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        partition = int(outcome.time) % PARTITIONS
        journal.append(OUTCOMES.name, partition, None, msgspec.json.encode(outcome), outcome.time)


def read_all(expectations: Expectations, journal: Journal) -> int:
    return next(number for number in itertools.count() if not expectations.step(journal))


# what was expected, and what came


def test_what_was_expected_of_all_chosen_pages_is_counted_the_newest_first(tmp_path: Path) -> None:
    chosen = [an_outcome(number) for number in range(40 * STEP)]
    others = [
        an_outcome(1, later=True), an_outcome(2, again=True), an_outcome(3, expected=None),
        an_outcome(4, predicate="gone"), an_outcome(5, expected=1.5), an_outcome(6, predicate="tea"),
    ]  # fmt: skip
    with a_crawl(tmp_path) as (_, journal, _):
        tell(journal, others + chosen[:-STEP])
        journal.append(OUTCOMES.name, 0, None, b"damaged", 0.0)
        expectations = Expectations(newest=100)
        assert expectations.step(journal)
        assert 0 < expectations.read < expectations.pages
        first = {each.time for each in expectations.newest("ski")}
        assert min(first) >= len(chosen) - 4 * STEP
        read_all(expectations, journal)
        tell(journal, chosen[-STEP:])  # these come while the others are read
        assert read_all(expectations, journal) >= 1
        assert expectations.read == expectations.pages == len(others + chosen) + 1
        for explored in (False, True):
            sample = [
                (each.expected or 0.0, each.verdict["ski"]) for each in chosen if each.explored == explored
            ]
            found, expected = (
                running.reliability()
                for running in (expectations.running("ski", explored=explored), Running(sample))
            )
            assert found is not None
            assert expected is not None
            assert found[:4] == pytest.approx(expected[:4])
        kept = expectations.newest("ski") + expectations.newest("ski", explored=True)
        assert {each.time for each in kept} == set(map(float, range(len(chosen) - 100, len(chosen))))
        assert len(expectations.newest("tea", explored=False)) == 0, "it is none of the newest"
        assert expectations.running("gone").reliability() is None


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


def test_what_users_add_is_what_their_inputs_do() -> None:
    names = ["users", "accesses", "not in the log", "siblings"]
    weights = [
        msgspec.structs.replace(
            weight, mean={"users": 2.0, "accesses": -1.0, "not in the log": -0.5}.get(weight.name, 1.0)
        )
        for weight in combined(INPUTS, None, NOTHING).weights
        if weight.name in names
    ]
    by_name = {weight.name: place for place, weight in enumerate(weights)}
    hits = np.zeros((3, len(weights)))
    hits[0, by_name["users"]], hits[0, by_name["siblings"]] = 2.0, 1.0  # without users: 1 - .5
    hits[1, by_name["users"]], hits[1, by_name["siblings"]] = 1.0, -5.0  # -3, and without users -5.5
    hits[2, by_name["not in the log"]], hits[2, by_name["siblings"]] = 1.0, 2.0
    found = users_part(weights, hits)
    assert (found.hits, found.visited, found.helped) == (3, 2, 1)
    assert found.share == pytest.approx((4 + 2) / (4 + 1 + 2 + 5 + 0.5 + 2))
    assert users_part(weights, np.zeros(0)).hits == 0
