"""Harvest, area under the lift curve, calibration and significance, against values worked out by hand."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.reliability import Running, expected_error, wilson, windows
from scentline_lab.simulation.calibration import calibration, equal_mass, equal_width, outcomes
from scentline_lab.simulation.metrics import auc, band, harvest_at, lift_curve, relative
from scentline_lab.simulation.significance import interval, macro, paired_bootstrap
from scentline_lab.simulation.virtual import Request
from tests.cases import each_case

HITS = st.lists(st.booleans(), max_size=30)


def test_harvest_counts_hits_among_the_first_pages() -> None:
    hits = [True, False, True, True]
    assert [harvest_at(hits, pages) for pages in (1, 2, 3, 4)] == [1, 1 / 2, 2 / 3, 3 / 4]


def test_a_crawl_that_ended_early_keeps_its_hits_while_pages_count_on() -> None:
    assert harvest_at([True, True], 8) == 0.25
    assert lift_curve([True, True], 4).tolist() == [1, 1, 2 / 3, 1 / 2]


def test_the_area_is_the_mean_of_the_harvest_rates() -> None:
    assert auc([True, False, True, True], 4) == pytest.approx((1 + 1 / 2 + 2 / 3 + 3 / 4) / 4)
    assert auc([], 3) == 0


def test_an_area_relative_to_nothing_is_none() -> None:
    assert relative(0.3, 0.4) == pytest.approx(0.75)
    assert relative(0.3, 0.0) is None


@given(HITS, st.integers(1, 40))
def test_the_curve_is_the_harvest_at_each_page(hits: list[bool], budget: int) -> None:
    curve = lift_curve(hits, budget)
    assert curve.tolist() == pytest.approx([harvest_at(hits, n) for n in range(1, budget + 1)])
    assert 0 <= auc(hits, budget) <= 1


@given(HITS, st.integers(0, 28))
def test_a_hit_that_comes_earlier_never_lowers_the_area(hits: list[bool], place: int) -> None:
    swapped = [*hits[:place], *reversed(hits[place : place + 2]), *hits[place + 2 :]]
    better, worse = (swapped, hits) if hits[place : place + 2] == [False, True] else (hits, swapped)
    assert auc(better, 30) >= auc(worse, 30)


def test_the_band_is_mean_and_sample_deviation_page_by_page() -> None:
    mean, deviation = band([np.array([1.0, 0.5]), np.array([0.0, 0.5]), np.array([0.5, 0.5])])
    assert mean.tolist() == [0.5, 0.5]
    assert deviation.tolist() == [0.5, 0]
    assert band([np.array([0.3])]).deviation.tolist() == [0]


def test_curves_that_do_not_match_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"band: the curves have shapes \[\(1,\), \(2,\)\]"):
        band([np.zeros(1), np.zeros(2)])
    with pytest.raises(ValueError, match="band"):
        band([])


@each_case("pages", [0, -1])
def test_no_pages_are_an_error(pages: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        harvest_at([True], pages)
    with pytest.raises(ValueError, match="at least 1"):
        lift_curve([True], pages)


def test_a_perfectly_calibrated_sample_has_no_error() -> None:
    sample = [(0.25, place == 0) for place in range(4)] + [(0.75, place > 0) for place in range(4)]
    found = calibration(sample)
    assert found is not None
    assert found.error == found.mass_error == 0
    assert (found.brier, found.base_brier) == (0.1875, 0.25)
    assert [(place.low, place.size, place.probability, place.rate) for place in found.bins] == [
        (0.2, 4, 0.25, 0.25),
        (0.7, 4, 0.75, 0.75),
    ]


def test_overconfidence_shows_as_its_distance() -> None:
    found = calibration([(0.9, place < 6) for place in range(10)])
    assert found is not None
    assert found.error == pytest.approx(0.3)
    assert found.brier == pytest.approx(0.6 * 0.01 + 0.4 * 0.81)
    assert found.base_brier == pytest.approx(0.24)


def test_certain_outcomes_lie_in_the_outer_bins() -> None:
    assert [(place.low, place.high, place.rate) for place in equal_width([(0.0, False), (1.0, True)])] == [
        (0.0, 0.1, 0.0),
        (0.9, 1.0, 1.0),
    ]


def test_bins_of_equal_mass_part_what_one_bin_of_equal_width_hides() -> None:
    # In one bin of width .1 the two errors of .05 even out.
    sample = [(0.001, place < 0) for place in range(20)] + [(0.09, place < 2) for place in range(20)]
    assert expected_error(equal_width(sample)) < 0.005
    assert [place.size for place in equal_mass(sample, 2)] == [20, 20]
    assert expected_error(equal_mass(sample, 2)) == pytest.approx((0.001 + 0.01) / 2)


def test_chosen_and_explored_pages_are_looked_at_apart() -> None:
    crawl = [
        Request("seed", True, True), Request("a", True, True, 0.8), Request("gone", False, False, 0.9),
        Request("b", True, False, 0.1, explored=True),
    ]  # fmt: skip
    assert outcomes(crawl, explored=False) == [(0.8, True)]
    assert outcomes(crawl, explored=True) == [(0.1, False)]
    assert calibration([]) is None


@each_case("wrong", [-0.1, 1.5, float("nan")])
def test_what_is_no_probability_is_an_error(wrong: float) -> None:
    with pytest.raises(ValueError, match=f"a probability is {wrong}"):
        calibration([(0.5, True), (wrong, False)])


SAMPLES = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(SAMPLES, st.randoms(use_true_random=False))
def test_calibration_is_bounded_and_does_not_depend_on_order(
    sample: list[tuple[float, bool]], random: Random
) -> None:
    shuffled = list(sample)
    random.shuffle(shuffled)
    found, again = calibration(sample), calibration(shuffled)
    assert found is not None
    assert again is not None
    assert found[:5] == pytest.approx(again[:5])
    for bins in (found.bins, equal_mass(sample)):
        assert sum(place.size for place in bins) == len(sample)
    assert 0 <= found.error <= 1
    # Jensen: |mean error| is at most the root of the mean squared error.
    assert found.error <= found.brier**0.5 + 1e-12
    assert found.mass_error <= found.brier**0.5 + 1e-12


@given(SAMPLES)
def test_calibration_counted_one_by_one_is_that_of_all(sample: list[tuple[float, bool]]) -> None:
    found, expected = Running(sample).reliability(), calibration(sample)
    assert found is not None
    assert expected is not None
    assert found[:4] == pytest.approx(expected[:4])
    assert [place[:3] for place in found.bins] == [place[:3] for place in expected.bins]
    for place, other in zip(found.bins, expected.bins, strict=True):
        assert place[3:] == pytest.approx(other[3:])


@given(SAMPLES, st.integers(1, 50))
def test_windows_are_all_outcomes_in_their_order_in_parts_of_one_size(
    sample: list[tuple[float, bool]], most: int
) -> None:
    found = windows(sample, most)
    assert [place.low for place in found[1:]] == [place.high for place in found[:-1]]
    assert (found[0].low, found[-1].high) == (0, len(sample))
    assert len(found) == min(most, len(sample))
    sizes = [place.size for place in found]
    assert max(sizes) - min(sizes) <= 1
    assert sum(place.size * place.rate for place in found) == pytest.approx(sum(hit for _, hit in sample))


@each_case(
    ("rate", "count", "deviations", "expected"),
    [
        (0.5, 4, 1.0, (0.2764, 0.7236)),
        (0.25, 16, 2.0, (0.1, 0.5)),
        (1.0, 12, 2.0, (0.75, 1.0)),
        (0.0, 1, 2.0, (0.0, 0.8)),
    ],
)
def test_the_interval_about_a_rate(
    rate: float, count: int, deviations: float, expected: tuple[float, float]
) -> None:
    # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), worked out by hand
    assert wilson(rate, count, deviations) == pytest.approx(expected, abs=1e-4)


def apart(runs: list[float]) -> list[list[list[float]]]:
    """Return runs of one web, each of a predicate of its own."""
    return [[[run] for run in runs]]


def test_the_bootstrap_is_the_same_for_the_same_seed() -> None:
    first, second = [0.51, 0.4, 0.7, 0.23, 0.36], [0.3, 0.4, 0.22, 0.37, 0.25]
    found = paired_bootstrap(apart(first), apart(second), Random(3))
    assert found == paired_bootstrap(apart(first), apart(second), Random(3))
    assert found != paired_bootstrap(apart(first), apart(second), Random(4))
    assert found.difference == pytest.approx(0.132)
    assert (found.ahead, found.tied, found.predicates, found.runs) == (0.6, 0.2, 5, 5)


def test_the_interval_is_that_of_the_mean_of_predicates_drawn_anew() -> None:
    # 400 differences of deviation 1: the mean has deviation .05.
    random = Random(5)
    first = [random.gauss(0.2, 1) for _ in range(400)]
    found = paired_bootstrap(apart(first), apart([0.0] * 400), Random(6))
    half = 1.96 * float(np.std(first)) / 20
    assert found.low == pytest.approx(found.difference - half, abs=0.006)
    assert found.high == pytest.approx(found.difference + half, abs=0.006)
    assert found.significant


def test_runs_of_one_predicate_count_as_one() -> None:
    first = [[[0.1, 0.3], [0.5, 0.5]]]
    again = [[runs * 10 for runs in web] for web in first]
    assert interval(first, Random(1)) == interval(again, Random(1)) == pytest.approx((0.2, 0.5))
    assert interval([[[0.1, 0.3]]], Random(1)) == pytest.approx((0.2, 0.2))


def test_webs_count_alike_however_many_predicates_they_have() -> None:
    webs = [[[0.2], [0.4], [0.6]], [[1.0]]]
    assert macro(webs) == pytest.approx(0.7)
    low, high = interval(webs, Random(1))
    assert 0.6 <= low < 0.7 < high <= 0.8


RUNS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


@given(RUNS)
def test_the_interval_lies_within_the_differences_and_turns_round_with_the_policies(
    runs: list[tuple[float, float]],
) -> None:
    first, second = [run[0] for run in runs], [run[1] for run in runs]
    found = paired_bootstrap(apart(first), apart(second), Random(1), samples=200)
    other = paired_bootstrap(apart(second), apart(first), Random(1), samples=200)
    differences = [one - two for one, two in runs]
    assert min(differences) - 1e-9 <= found.low <= found.high <= max(differences) + 1e-9
    assert (other.difference, other.low, other.high) == pytest.approx(
        (-found.difference, -found.high, -found.low)
    )
    assert found.ahead + other.ahead + found.tied == pytest.approx(1)


def test_equal_policies_are_tied() -> None:
    found = paired_bootstrap(apart([0.3, 0.5]), apart([0.3, 0.5]), Random(1))
    assert (found.difference, found.low, found.high, found.ahead, found.tied) == (0, 0, 0, 0, 1)
    assert not found.significant


@each_case(("first", "second"), [([], []), ([0.1], [0.1, 0.2])])
def test_runs_without_a_partner_are_an_error(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="paired bootstrap"):
        paired_bootstrap(apart(first), apart(second), Random(1))
