"""Learned probabilities come true as often as they say."""

import math
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.policy.combiner import MOST_LOGIT, PRIORS, Calibration, calibrated
from tests.cases import each_case

Outcome = tuple[float, bool]
LABELS = st.lists(
    st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from(["selected", "explored", "other"])), max_size=30
)


def error(sample: list[Outcome]) -> float:
    """Return how far the mean probability of each tenth is from its rate of hits, on the mean."""
    off = [0.0] * 10
    for said, hit in sample:
        off[min(int(said * 10), 9)] += said - hit
    return sum(map(abs, off)) / len(sample)


def test_before_the_first_label_selected_pages_are_believed_and_explored_ones_much_less() -> None:
    selected, explored = Calibration().shifts
    assert calibrated(0.3, selected) == pytest.approx(0.3)
    assert calibrated(0.19, explored) == pytest.approx(0.04, abs=0.01)


@each_case("chosen", ["selected", "explored"])
def test_ten_labels_matter_somewhat_to_their_own_kind_alone(chosen: str) -> None:
    calibration, explored = Calibration(), chosen == "explored"
    before = calibration.shifts
    for _ in range(10):
        calibration.learn(0.5, True, "other")
    assert calibration.shifts == before
    for _ in range(10):
        calibration.learn(0.5, True, chosen)
    assert calibration.shifts[not explored] == before[not explored]
    after = calibrated(0.5, calibration.shifts[explored])
    assert calibrated(0.5, PRIORS[chosen][0]) + 0.1 < after < 0.95


@each_case("chosen", ["selected", "explored"])
def test_probabilities_that_come_out_too_high_are_corrected(chosen: str) -> None:
    random, calibration, raw, shifted = Random(3), Calibration(), list[Outcome](), list[Outcome]()
    for number in range(1500):
        said = random.betavariate(1, 2)
        hit = random.random() < 1 / (1 + math.exp(2 - 1.3 * math.log(said / (1 - said))))
        if number >= 300:
            raw.append((said, hit))
            shifted.append((calibrated(said, calibration.shifts[chosen == "explored"]), hit))
        calibration.learn(said, hit, chosen)
    assert error(raw) > 0.15
    assert error(shifted) < 0.03
    rate = fmean(hit for _, hit in shifted)
    assert fmean((said - hit) ** 2 for said, hit in shifted) < rate * (1 - rate), "Brier's score"


@given(labels=LABELS, said=st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_it_goes_on_from_its_state_and_a_probability_stays_one_and_keeps_its_order(
    labels: list[tuple[float, bool, str]], said: list[float]
) -> None:
    one, other = Calibration(), Calibration()
    for label in labels:
        one.learn(*label)
        other = Calibration(other.state())
        other.learn(*label)
    assert (other.state(), other.shifts) == (one.state(), one.shifts)
    low, high = sorted(said)
    for shift in one.shifts:
        assert 0 < calibrated(low, shift) <= calibrated(high, shift) < 1


def test_certainty_is_taken_as_nearly_so_and_a_state_of_another_length_refused() -> None:
    assert calibrated(1.0, (0.0, 1.0)) == pytest.approx(1 / (1 + math.exp(-MOST_LOGIT)))
    assert calibrated(0.0, (0.0, 1.0)) == pytest.approx(1 - calibrated(1.0, (0.0, 1.0)))
    with pytest.raises(ValueError, match="its state has 8 bytes, expected 96"):
        Calibration(bytes(8))
