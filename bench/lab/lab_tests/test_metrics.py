"""Harvest, calibration and significance, by hand; learned probabilities come true as often as they say."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.harvest import ratio_factor
from scentline.models.learner.combiner import MOST_LOGIT, PRIORS, Calibration, calibrated
from scentline.models.reliability import Running, wilson, windows
from scentline_lab.evaluate.results import band, interval, lift_curve, macro, outcomes, paired_bootstrap
from scentline_lab.simulation.virtual import Request
from tests.cases import each_case

HITS = st.lists(st.booleans(), max_size=30)
SAMPLES = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def test_the_curve_is_the_share_of_hits_so_far_and_the_area_its_mean() -> None:
    assert lift_curve([True, False, True, True], 4).tolist() == [1, 1 / 2, 2 / 3, 3 / 4]
    # A crawl that ended early keeps its hits, while pages count on.
    assert lift_curve([True, True], 4).tolist() == [1, 1, 2 / 3, 1 / 2]


@given(HITS, st.integers(0, 28))
def test_a_hit_that_comes_earlier_never_lowers_the_area(hits: list[bool], place: int) -> None:
    swapped = [*hits[:place], *reversed(hits[place : place + 2]), *hits[place + 2 :]]
    better, worse = (swapped, hits) if hits[place : place + 2] == [False, True] else (hits, swapped)
    assert 1 >= lift_curve(better, 30).mean() >= lift_curve(worse, 30).mean() >= 0


def test_the_band_is_mean_and_sample_deviation_page_by_page() -> None:
    mean, deviation = band([np.array([1.0, 0.5]), np.array([0.0, 0.5]), np.array([0.5, 0.5])])
    assert (mean.tolist(), deviation.tolist()) == ([0.5, 0.5], [0.5, 0])
    assert band([np.array([0.3])]).deviation.tolist() == [0]


def test_selected_and_explored_pages_are_kept_apart_and_failed_requests_left_out() -> None:
    crawl = [
        Request("seed", True, True), Request("a", True, True, 0.8), Request("gone", False, False, 0.9),
        Request("b", True, False, 0.1, explored=True),
    ]  # fmt: skip
    assert outcomes(crawl, explored=False) == [(0.8, True)]
    assert outcomes(crawl, explored=True) == [(0.1, False)]


@each_case("wrong", [-0.1, 1.5, float("nan")])
def test_what_is_no_probability_is_an_error(wrong: float) -> None:
    with pytest.raises(ValueError, match=f"a probability is {wrong}"):
        Running([(0.5, True), (wrong, False)])


@given(SAMPLES)
def test_calibration_is_that_of_all_outcomes_at_once(sample: list[tuple[float, bool]]) -> None:
    found = Running(sample).reliability()
    assert Running().reliability() is None
    assert found is not None
    assert 0 <= found.error <= found.brier**0.5 + 1e-12, "Jensen"
    said, came = (np.array(column, float) for column in zip(*sample, strict=True))
    rate, brier = came.mean(), ((said - came) ** 2).mean()
    assert (found.size, found.brier, found.base_brier) == pytest.approx((len(sample), brier, rate * (1 - rate)))
    places = np.minimum((said * 10).astype(int), 9)
    bins = [(p / 10, (p + 1) / 10, (places == p).sum(), said[places == p].mean(), came[places == p].mean())
            for p in sorted(set(places.tolist()))]  # fmt: skip
    assert [tuple(place) for place in found.bins] == [pytest.approx(each) for each in bins]
    wrong = sum(size * abs(probability - hits) for _, _, size, probability, hits in bins)
    assert found.error == pytest.approx(wrong / len(sample))


@given(SAMPLES, st.integers(1, 50))
def test_windows_are_all_outcomes_in_their_order_in_parts_of_one_size(
    sample: list[tuple[float, bool]], most: int
) -> None:
    found = windows(sample, most)
    assert [place.low for place in found[1:]] == [place.high for place in found[:-1]]
    assert (found[0].low, found[-1].high, len(found)) == (0, len(sample), min(most, len(sample)))
    sizes = [place.size for place in found]
    assert max(sizes) - min(sizes) <= 1
    assert sum(place.size * place.rate for place in found) == pytest.approx(sum(hit for _, hit in sample))


@each_case(
    ("rate", "count", "deviations", "expected"),
    [
        # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), worked out by hand
        (0.5, 4, 1.0, (0.2764, 0.7236)), (0.25, 16, 2.0, (0.1, 0.5)), (1.0, 12, 2.0, (0.75, 1.0)),
        (0.0, 1, 2.0, (0.0, 0.8)),
    ],
)  # fmt: skip
def test_the_interval_about_a_rate(
    rate: float, count: int, deviations: float, expected: tuple[float, float]
) -> None:
    assert wilson(rate, count, deviations) == pytest.approx(expected, abs=1e-4)


def test_intervals_of_rates_and_their_ratios_hold_the_truth_in_95_of_100_cases() -> None:
    random, held, ratios, rounds = Random(7), 0, 0, 400
    for _ in range(rounds):
        hits = sum(random.random() < 0.3 for _ in range(500))
        drawn = sum(random.random() < 0.1 for _ in range(100))
        low, high = wilson(drawn / 100, 100, 1.96)
        held += low <= 0.1 <= high
        factor = ratio_factor(hits, 500, drawn, 100, 1.96)
        ratio = (hits + 0.5) / 501 / ((drawn + 0.5) / 101)
        ratios += ratio / factor <= 3.0 <= ratio * factor
    assert 0.92 * rounds <= held <= 0.98 * rounds
    assert 0.92 * rounds <= ratios <= 0.98 * rounds


def apart(runs: list[float]) -> list[list[list[float]]]:
    """Return runs of one web, each of a predicate of its own."""
    return [[[run] for run in runs]]


def test_the_bootstrap_is_the_same_for_the_same_seed() -> None:
    first, second = apart([0.51, 0.4, 0.7, 0.23, 0.36]), apart([0.3, 0.4, 0.22, 0.37, 0.25])
    found = paired_bootstrap(first, second, 3)
    assert found == paired_bootstrap(first, second, 3) != paired_bootstrap(first, second, 4)
    assert found.difference == pytest.approx(0.132)
    assert (found.ahead, found.tied, found.predicates, found.runs) == (0.6, 0.2, 5, 5)
    tied = paired_bootstrap(first, first, 3)
    assert (tied.difference, tied.low, tied.high, tied.ahead, tied.tied) == (0, 0, 0, 0, 1)
    assert not tied.significant


def test_the_interval_is_that_of_the_mean_of_resampled_predicates() -> None:
    # 400 differences of deviation 1: the mean has deviation .05.
    random = Random(5)
    first = [random.gauss(0.2, 1) for _ in range(400)]
    found = paired_bootstrap(apart(first), apart([0.0] * 400), 6)
    half = 1.96 * float(np.std(first)) / 20
    expected = found.difference - half, found.difference + half
    assert (found.low, found.high) == pytest.approx(expected, abs=0.006)
    assert found.significant


def test_runs_of_one_predicate_count_as_one_and_webs_alike() -> None:
    first = [[[0.1, 0.3], [0.5, 0.5]]]
    again = [[runs * 10 for runs in web] for web in first]
    assert interval(first, 1) == interval(again, 1) == pytest.approx((0.2, 0.5))
    assert interval([[[0.1, 0.3]]], 1) == pytest.approx((0.2, 0.2))
    webs = [[[0.2], [0.4], [0.6]], [[1.0]]]
    assert macro(webs) == pytest.approx(0.7)
    low, high = interval(webs, 1)
    assert 0.6 <= low < 0.7 < high <= 0.8


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_the_interval_lies_within_the_differences_and_turns_round_with_the_policies(
    runs: list[tuple[float, float]],
) -> None:
    first, second = apart([run[0] for run in runs]), apart([run[1] for run in runs])
    found, other = (paired_bootstrap(*pair, 1, samples=200) for pair in ((first, second), (second, first)))
    differences = [one - two for one, two in runs]
    assert min(differences) - 1e-9 <= found.low <= found.high <= max(differences) + 1e-9
    assert other[:3] == pytest.approx((-found.difference, -found.high, -found.low))
    assert found.ahead + other.ahead + found.tied == pytest.approx(1)


@each_case(("first", "second"), [([], []), ([0.1], [0.1, 0.2])])
def test_runs_without_a_partner_are_an_error(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="paired bootstrap"):
        paired_bootstrap(apart(first), apart(second), 1)


LABELS = st.lists(
    st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from(["selected", "explored", "other"])), max_size=30
)


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
    random, calibration, raw, shifted = Random(3), Calibration(), Running(), Running()
    for number in range(1500):
        said = random.betavariate(1, 2)
        hit = random.random() < 1 / (1 + math.exp(2 - 1.3 * math.log(said / (1 - said))))
        if number >= 300:
            raw.add(said, hit)
            shifted.add(calibrated(said, calibration.shifts[chosen == "explored"]), hit)
        calibration.learn(said, hit, chosen)
    before, after = raw.reliability(), shifted.reliability()
    assert before is not None
    assert after is not None
    assert before.error > 0.15
    assert after.error < 0.03
    assert after.brier < after.base_brier


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
