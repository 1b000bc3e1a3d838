"""Online calibration: what is said of a page comes true as often as it is said."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.learner.calibration import MOST_LOGIT, PRIORS, Calibration, calibrated
from scentline_lab.simulation.calibration import calibration as measured
from tests.cases import each_case

LABELS = st.lists(
    st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from(["selected", "explored", "other"])), max_size=30
)


def test_before_the_first_label_selected_pages_are_believed_and_explored_ones_much_less() -> None:
    selected, explored = Calibration().shifts
    assert calibrated(0.3, selected) == pytest.approx(0.3)
    assert calibrated(0.19, explored) == pytest.approx(0.04, abs=0.01)


@each_case("chosen", ["selected", "explored"])
def test_ten_labels_matter_somewhat(chosen: str) -> None:
    calibration = Calibration()
    for _ in range(10):
        calibration.learn(0.5, True, chosen)
    before = calibrated(0.5, PRIORS[chosen][0])
    after = calibrated(0.5, calibration.shifts[chosen == "explored"])
    assert before + 0.1 < after < 0.95


def test_selected_and_explored_pages_are_learned_apart_and_others_not_at_all() -> None:
    calibration = Calibration()
    before = calibration.shifts
    calibration.learn(0.5, True, "selected")
    assert calibration.shifts[0] != before[0]
    assert calibration.shifts[1] == before[1]
    calibration.learn(0.5, True, "explored")
    both = calibration.shifts
    assert both[1] != before[1]
    calibration.learn(0.5, True, "other")
    assert calibration.shifts == both


@each_case("chosen", ["selected", "explored"])
def test_probabilities_that_come_out_too_high_are_corrected(chosen: str) -> None:
    random = Random(3)
    calibration = Calibration()
    raw, shifted = [], []
    for number in range(1500):
        said = random.betavariate(1, 2)
        truth = 1 / (1 + math.exp(2 - 1.3 * math.log(said / (1 - said))))
        hit = random.random() < truth
        if number >= 300:
            raw.append((said, hit))
            shifted.append((calibrated(said, calibration.shifts[chosen == "explored"]), hit))
        calibration.learn(said, hit, chosen)
    before, after = measured(raw), measured(shifted)
    assert before is not None
    assert after is not None
    assert before.error > 0.15
    assert after.error < 0.03
    assert after.brier < after.base_brier


@given(labels=LABELS)
def test_it_goes_on_where_its_state_was_written_down(labels: list[tuple[float, bool, str]]) -> None:
    one, other = Calibration(), Calibration()
    for label in labels:
        one.learn(*label)
        other = Calibration(other.state())
        other.learn(*label)
    assert other.state() == one.state()
    assert other.shifts == one.shifts
    assert len(one.state()) == 96


@given(labels=LABELS, said=st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_whatever_was_seen_a_probability_stays_one_and_keeps_its_order(
    labels: list[tuple[float, bool, str]], said: list[float]
) -> None:
    calibration = Calibration()
    for label in labels:
        calibration.learn(*label)
    low, high = sorted(said)
    for shift in calibration.shifts:
        assert 0 < calibrated(low, shift) <= calibrated(high, shift) < 1


def test_what_was_certain_is_taken_as_nearly_so() -> None:
    assert calibrated(1.0, (0.0, 1.0)) == pytest.approx(1 / (1 + math.exp(-MOST_LOGIT)))
    assert calibrated(0.0, (0.0, 1.0)) == pytest.approx(1 - calibrated(1.0, (0.0, 1.0)))


def test_a_state_of_another_length_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="its state has 8 bytes, expected 96"):
        Calibration(bytes(8))
