"""Drift: a combiner that no longer fits is noticed, one that does is left in peace."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from river.drift import ADWIN

from scentline.models.learner.drift import DELTA, KEPT, Drift, adwin
from scentline.models.learner.inputs import NAMES
from scentline.models.learner.state import Learner


def told(drift: Drift, residuals: list[float]) -> list[tuple[int, float]]:
    found = [(number, drift.update(residual)) for number, residual in enumerate(residuals)]
    return [(number, mean) for number, mean in found if mean is not None]


def around(random: Random, mean: float, count: int) -> list[float]:
    return [random.betavariate(5 * mean, 5 * (1 - mean)) for _ in range(count)]


def test_a_rise_is_told_once_and_with_the_mean_since() -> None:
    random = Random(1)
    drift = Drift()
    assert told(drift, around(random, 0.15, 600)) == []
    ((number, mean),) = told(drift, around(random, 0.6, 600))
    assert number < 100
    assert 0.2 < mean < 0.7


def test_a_fall_is_none_and_a_rise_after_it_is() -> None:
    random = Random(2)
    drift = Drift()
    assert told(drift, around(random, 0.4, 300) + around(random, 0.1, 400)) == []
    assert len(told(drift, around(random, 0.5, 300))) == 1


def test_nothing_is_told_while_nothing_changes() -> None:
    random = Random(3)
    assert sum(len(told(Drift(), around(random, mean / 10, 3 * KEPT))) for mean in range(1, 10)) <= 1


def test_it_goes_on_where_its_state_was_written_down() -> None:
    random = Random(4)
    one, other = Drift(), Drift()
    levels = [0.2, 0.2, 0.2, 0.6, 0.6, 0.1, 0.1, 0.5]
    for number, residual in enumerate(r for level in levels for r in around(random, level, 500)):
        if number % 97 == 0:
            other = Drift(other.state())
        assert one.update(residual) == other.update(residual)
        assert len(one.state()) <= 4 * 2 * KEPT
    assert one.state() == other.state()


@given(
    seed=st.integers(0, 1000),
    levels=st.lists(st.tuples(st.floats(0.05, 0.95), st.integers(1, 400)), max_size=6),
)
def test_what_it_runs_on_is_the_adwin_of_river(seed: int, levels: list[tuple[float, int]]) -> None:
    random = Random(seed)
    ours, rivers = adwin(), ADWIN(delta=DELTA)
    for residual in [residual for mean, count in levels for residual in around(random, mean, count)]:
        rivers.update(residual)
        assert ours.update(residual) == rivers.drift_detected
        assert ours.get_total() / ours.get_width() == rivers.estimation
        if rivers.drift_detected:
            ours = adwin()


# as a learner sees it


def pages(random: Random, count: int, sign: int) -> list[tuple[list[float], bool]]:
    """Labels that one input decides, one way or the other."""
    found = []
    for _ in range(count):
        inputs = [0.0] * len(NAMES)
        inputs[0], inputs[-1] = random.choice([-3.0, 3.0]), 1.0
        found.append((inputs, sign * inputs[0] + random.gauss(0, 1) > 0))
    return found


def learned(fade: float, chosen: str = "selected") -> tuple[Learner, list[int]]:
    """Return a learner whose predicate turned round after 1,500 pages, and when it noticed."""
    random = Random(5)
    learner = Learner("bayesian", fade)
    found = []
    for number, (inputs, holds) in enumerate(pages(random, 1500, 1) + pages(random, 100, -1)):
        if learner.learn(inputs, holds, chosen) is not None:
            found.append(number)
    return learner, found


def test_a_predicate_whose_pages_turn_round_is_noticed() -> None:
    _, (number,) = learned(0.0)
    assert 1500 < number < 1600


def test_pages_that_were_not_selected_are_no_sign_of_drift() -> None:
    assert learned(0.0, "explored")[1] == []
    assert learned(0.0, "other")[1] == []


def test_old_evidence_fades_at_a_change_where_it_is_set_to() -> None:
    kept, _ = learned(0.0)
    faded, _ = learned(0.9)
    again = pages(Random(6), 200, -1)
    wrong = [sum(abs(learner.probability(x) - y) for x, y in again) for learner in (kept, faded)]
    assert wrong[1] < wrong[0]
