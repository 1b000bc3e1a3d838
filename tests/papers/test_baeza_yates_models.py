"""Baeza-Yates and Castillo 2004, section 3: the models against their Markov chains, solved numerically."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scentline.models.depth.surfers import Surfer
from tests.cases import each_case

#: Levels of a truncated chain: at the q tested here what lies deeper has less than 1e-12 of the time.
LEVELS = 120

CASES = [
    *((Surfer.A, q) for q in (0.05, 0.25, 0.4)),
    *((Surfer.B, q) for q in (0.05, 0.5, 0.75)),
    *((Surfer.C, q) for q in (0.05, 0.5, 0.7)),
]


def stationary(surfer: Surfer, q: float) -> NDArray[np.float64]:
    """Return the stationary distribution of the chain cut off at `LEVELS`, by linear equations."""
    chain = np.zeros((LEVELS, LEVELS))
    for level in range(LEVELS):
        for target, probability in surfer.moves(q, level).items():
            chain[level, min(target, LEVELS - 1)] += probability
    assert chain.sum(axis=1) == pytest.approx(1)
    equations = np.vstack([chain.T - np.eye(LEVELS), np.ones(LEVELS)])
    solution: NDArray[np.float64] = np.linalg.lstsq(equations, np.append(np.zeros(LEVELS), 1.0), rcond=None)[0]
    return solution


@each_case(("surfer", "q"), CASES)
def test_the_distribution_of_levels_is_the_stationary_one_of_the_chain(surfer: Surfer, q: float) -> None:
    solved = stationary(surfer, q)
    shares = [surfer.share(q, level) for level in range(LEVELS)]
    assert shares == pytest.approx(solved, abs=1e-9)
    assert [surfer.reached(q, level) for level in range(LEVELS)] == pytest.approx(np.cumsum(solved), abs=1e-9)


def test_the_chains_are_those_of_the_figures() -> None:
    # Model A: back one level; the start page stays where it is. B: back to the start. C: to any level so far.
    assert Surfer.A.moves(0.4, 3) == {2: 0.6, 4: 0.4}
    assert Surfer.A.moves(0.4, 0) == {0: 0.6, 1: 0.4}
    assert Surfer.B.moves(0.4, 3) == {0: 0.6, 4: 0.4}
    assert Surfer.C.moves(0.4, 2) == pytest.approx({0: 0.2, 1: 0.2, 2: 0.2, 3: 0.4})


def test_shares_worked_by_hand() -> None:
    # A, q = 1/4: ratio 1/3, so 2/3, 2/9, 2/27. C, q = 1/2: 1/4, 2/8, 3/16.
    assert [Surfer.A.share(0.25, level) for level in range(3)] == pytest.approx([2 / 3, 2 / 9, 2 / 27])
    assert [Surfer.B.share(0.25, level) for level in range(3)] == pytest.approx([3 / 4, 3 / 16, 3 / 64])
    assert [Surfer.C.share(0.5, level) for level in range(3)] == pytest.approx([1 / 4, 1 / 4, 3 / 16])


@given(st.floats(0.0, 0.95), st.integers(0, 40))
def test_a_is_b_with_another_q(q_b: float, level: int) -> None:
    # The paper: equivalent for q_A = q_B / (1 + q_B).
    q_a = q_b / (1 + q_b)
    assert Surfer.A.probability(Surfer.B.ratio(q_b)) == pytest.approx(q_a)
    assert Surfer.A.reached(q_a, level) == pytest.approx(Surfer.B.reached(q_b, level))


@given(st.sampled_from(Surfer), st.floats(0.0, 0.49), st.floats(0.0, 0.999))
def test_the_depth_is_the_least_that_keeps_the_share(surfer: Surfer, q: float, share: float) -> None:
    depth = surfer.depth(q, share)
    assert surfer.reached(q, depth) >= share
    assert depth == 0 or surfer.reached(q, depth - 1) < share


def test_five_levels_keep_nine_tenths_up_to_a_q_of_two_thirds() -> None:
    assert Surfer.B.depth(0.68, 0.9) == 5
    assert Surfer.B.depth(0.69, 0.9) == 6


@each_case(("surfer", "q"), [(Surfer.A, 0.5), (Surfer.B, 1.0), (Surfer.C, -0.1)])
def test_a_surfer_who_never_comes_back_has_no_distribution(surfer: Surfer, q: float) -> None:
    with pytest.raises(ValueError, match=f"model {surfer}: q is {q}, expected 0 <= q < "):
        surfer.share(q, 0)
