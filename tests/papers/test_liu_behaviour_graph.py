"""Liu 2011, section 4.2: hubs and authorities among patterns, by hand, by eigenvectors and by networkx."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scentline.models.patterns.mine import importance

Matrix = npt.NDArray[np.float64]

graphs = st.integers(2, 6).flatmap(lambda size: arrays(np.float64, (size, size), elements=st.integers(0, 9)))


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


@given(transitions=graphs, outside=st.integers(0, 20))
def test_scores_are_the_leading_singular_vectors_of_the_scaled_transitions(
    transitions: Matrix, outside: int
) -> None:
    transitions = transitions + 1  # connected, so that one eigenvector leads
    visits = transitions.sum(axis=0) + outside * np.arange(1, len(transitions) + 1)
    referrals = transitions.sum(axis=1)
    scaled = transitions / np.sqrt(np.outer(referrals, visits))
    left, values, right = np.linalg.svd(scaled)
    assume(values[1] < 0.95 * values[0])
    found = importance(transitions, visits, referrals)
    assert found.authority == pytest.approx(unit(np.abs(right[0]) * np.sqrt(visits)), abs=1e-6)
    assert found.hub == pytest.approx(unit(np.abs(left[:, 0]) * np.sqrt(referrals)), abs=1e-6)


@given(transitions=graphs)
def test_where_every_visit_comes_from_within_the_graph_says_what_the_counts_say(transitions: Matrix) -> None:
    transitions = transitions + 1
    found = importance(transitions, transitions.sum(axis=0), transitions.sum(axis=1))
    assert found.authority == pytest.approx(unit(transitions.sum(axis=0)), abs=1e-6)
    assert found.hub == pytest.approx(unit(transitions.sum(axis=1)), abs=1e-6)


@given(transitions=graphs)
def test_scores_have_unit_magnitude_whatever_the_graph(transitions: Matrix) -> None:
    found = importance(transitions, transitions.sum(axis=0) + 1, transitions.sum(axis=1) + 1)
    assert np.isfinite(found.authority).all()
    assert (found.authority >= 0).all()
    assert (found.hub >= 0).all()
    assert np.linalg.norm(found.authority) == pytest.approx(1)
    assert np.linalg.norm(found.hub) == pytest.approx(1)
