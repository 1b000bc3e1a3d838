"""Liu 2011, sections 2 and 4.2: what is counted of a log, within a bound, and hubs and authorities in it."""

from collections import Counter
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scentline.models.patterns.counts import RANKS, Ways, behaviour
from scentline.models.patterns.mine import Patterns, importance, mine
from scentline_lab.patterns.measures import BehaviourCounts

Log = list[tuple[str, str, str | None]]
pages = st.sampled_from([f"http://t/{kind}/{number}" for kind in "ab" for number in range(4)])
logs = st.lists(st.tuples(st.sampled_from(["ann", "bob"]), pages, st.none() | pages), min_size=1, max_size=60)


def counted(log: Log, counts: BehaviourCounts | None = None) -> BehaviourCounts:
    counts = counts or BehaviourCounts()
    for record in log:
        counts.add(*record)
    return counts


def ways_of(log: Log, most: int) -> dict[str, Ways]:
    found: dict[str, Ways] = {}
    for user, page, referrer in log:
        found.setdefault(page, Ways()).add(user, referrer, most)
    return found


def told(patterns: Patterns) -> list[tuple[object, ...]]:
    return [tuple(pattern) for pattern in patterns.chosen]


@given(log=logs)
def test_frequencies_are_numbers_of_distinct_records_and_ways_within_their_bound_say_the_same(log: Log) -> None:
    found = counted(log).snapshot()
    distinct = set(log)
    assert {url: n for url, n in found.visits.items() if n} == Counter(url for _, url, _ in distinct)
    assert found.referrals == Counter(referrer for _, _, referrer in distinct if referrer is not None)
    assert found.transitions == Counter((r, url) for _, url, r in distinct if r is not None)
    assert behaviour(ways_of(log, 100).items()) == found


@given(log=logs, cut=st.integers(1, 60))
def test_patterns_rebuilt_as_accesses_arrive_are_those_of_the_whole_log(log: Log, cut: int) -> None:
    counts = counted(log[:cut])
    earlier = mine(counts.snapshot())
    before = told(earlier)
    later = mine(counted(log[cut:], counts).snapshot())
    assert sorted(map(str, told(later))) == sorted(map(str, told(mine(counted(log).snapshot()))))
    assert told(earlier) == before, "patterns that are in use have changed"


def test_of_too_many_urls_the_least_visited_are_forgotten() -> None:
    counts = BehaviourCounts(urls=100)
    for user in range(3):
        counts.add(str(user), "http://t/hub", None)
    for number in range(1000):
        counts.add("ann", f"http://t/{number}", "http://t/hub")
        assert len(counts) <= 100
    behaviour = counts.snapshot()
    assert behaviour.visits["http://t/hub"] == 3
    assert behaviour.referrals == {"http://t/hub": 1000}
    assert counts.forgotten == 1001 - len(counts)
    assert {target for _, target in behaviour.transitions} <= set(behaviour.visits)


def test_of_too_many_transitions_the_rarest_are_forgotten() -> None:
    counts = BehaviourCounts(transitions=50)
    for user in "abc":
        counts.add(user, "http://t/1", "http://t/2")
    for number in range(40):
        for other in range(40):
            counts.add("ann", f"http://t/{number}", f"http://t/{other}")
    transitions = counts.snapshot().transitions
    assert len(transitions) <= 50
    assert max(transitions.values()) >= 3


@given(logs, st.integers(1, 8), st.randoms(use_true_random=False))
def test_beyond_it_what_is_kept_of_ways_depends_on_the_set_of_records_alone(
    log: Log, most: int, random: Random
) -> None:
    mixed = [*log, *random.sample(log, len(log) // 2)]
    random.shuffle(mixed)
    found = ways_of(log, most)
    assert found == ways_of(mixed, most)
    assert all(sum(map(len, ways.users.values())) <= most for ways in found.values())


def test_what_was_left_out_is_estimated_without_bias() -> None:
    there_were, most = 1000, 32
    estimates = []
    for trial in range(200):
        ways = Ways()
        for number in range(there_were):
            ways.add(f"{trial}-{number}", str(number % 2), most)
        assert ways.bound < RANKS
        estimates.append(ways.visits)
        assert sum(ways.sources().values()) == pytest.approx(ways.visits, abs=1)
    # The standard error of the mean of 200 such estimates is about 1000 / sqrt(32 * 200) = 12.5.
    assert sum(estimates) / len(estimates) == pytest.approx(there_were, abs=40)


# hubs and authorities

Matrix = npt.NDArray[np.float64]
#: Connected, so that one eigenvector leads.
graphs = st.integers(2, 6).flatmap(lambda size: arrays(np.float64, (size, size), elements=st.integers(1, 10)))


def unit(scores: Matrix) -> Matrix:
    return scores / np.linalg.norm(scores)


def test_equation_9_without_transitions_scores_are_shares_of_visits_and_referrals() -> None:
    found = importance(np.zeros((2, 2)), np.array([3.0, 4.0]), np.array([0.0, 2.0]))
    assert found.authority.tolist() == pytest.approx([0.6, 0.8])
    assert found.hub.tolist() == pytest.approx([0.0, 1.0])


def test_equation_10_by_hand() -> None:
    # Pattern 0 leads to 1 (6 of its 8 referrals) and to 2 (2); of 1's 12 visits 6 come from there, both of 2's.
    transitions = np.array([[0.0, 6.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = importance(transitions, np.array([5.0, 12.0, 2.0]), np.array([8.0, 0.0, 0.0]))
    assert found.authority.tolist() == pytest.approx(unit(np.array([0.0, 6 / 8, 2 / 8])).tolist())
    assert found.hub.tolist() == pytest.approx([1, 0, 0])


@given(transitions=graphs, outside=st.just(0) | st.integers(1, 20))
def test_scores_are_the_leading_singular_vectors_of_the_scaled_transitions(
    transitions: Matrix, outside: int
) -> None:
    visits = transitions.sum(axis=0) + outside * np.arange(1, len(transitions) + 1)
    referrals = transitions.sum(axis=1)
    left, values, right = np.linalg.svd(transitions / np.sqrt(np.outer(referrals, visits)))
    assume(values[1] < 0.95 * values[0])
    found = importance(transitions, visits, referrals)
    assert found.authority == pytest.approx(unit(np.abs(right[0]) * np.sqrt(visits)), abs=1e-6)
    assert found.hub == pytest.approx(unit(np.abs(left[:, 0]) * np.sqrt(referrals)), abs=1e-6)
    if not outside:  # every visit comes from within: the graph says what the counts say
        assert found.authority == pytest.approx(unit(visits), abs=1e-6)
        assert found.hub == pytest.approx(unit(referrals), abs=1e-6)


@given(graphs)
def test_scores_have_unit_magnitude_whatever_the_graph(transitions: Matrix) -> None:
    transitions = np.maximum(transitions - 5, 0)
    found = importance(transitions, transitions.sum(axis=0) + 1, transitions.sum(axis=1) + 1)
    for scores in (found.authority, found.hub):
        assert (scores >= 0).all()
        assert np.linalg.norm(scores) == pytest.approx(1)
