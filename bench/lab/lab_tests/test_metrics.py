"""Harvest, calibration and significance, by hand."""

from collections import defaultdict
from statistics import fmean

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline_lab.evaluate.results import (
    band,
    interval,
    lift_curve,
    macro,
    outcomes,
    paired_bootstrap,
    reliability,
)
from scentline_lab.simulation.virtual import Request
from tests.cases import each_case

SAMPLES = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def test_the_curve_is_the_share_of_hits_so_far_and_the_area_its_mean() -> None:
    assert lift_curve([True, False, True, True], 4).tolist() == [1, 1 / 2, 2 / 3, 3 / 4]
    # A crawl that ended early keeps its hits, while pages count on.
    assert lift_curve([True, True], 4).tolist() == [1, 1, 2 / 3, 1 / 2]


def test_the_band_is_mean_and_sample_deviation_page_by_page() -> None:
    mean, deviation = band([np.array([1.0, 0.5]), np.array([0.0, 0.5]), np.array([0.5, 0.5])])
    assert (mean.tolist(), deviation.tolist()) == ([0.5, 0.5], [0.5, 0])
    assert band([np.array([0.3])])[1].tolist() == [0]


def test_selected_and_explored_pages_are_kept_apart_and_failed_requests_left_out() -> None:
    crawl = [
        Request("seed", True, True), Request("a", True, True, 0.8), Request("gone", False, False, 0.9),
        Request("b", True, False, 0.1, explored=True),
    ]  # fmt: skip
    assert outcomes(crawl, explored=False) == [(0.8, True)]
    assert outcomes(crawl, explored=True) == [(0.1, False)]


@each_case("wrong", [-0.1, 1.5, float("nan")])
def test_what_is_no_probability_is_an_error(wrong: float) -> None:
    with pytest.raises(ValueError, match=f"probabilities from .*{wrong}"):
        reliability([(0.5, True), (wrong, False)])


@given(SAMPLES)
@example([(1.0, True), (0.95, False)])
def test_calibration_is_that_of_all_outcomes_in_tenths(sample: list[tuple[float, bool]]) -> None:
    found = reliability(sample)
    assert reliability([]) is None
    assert found is not None
    assert 0 <= found.error <= found.brier**0.5 + 1e-12, "Jensen"
    rate = fmean(hit for _, hit in sample)
    brier = fmean((said - hit) ** 2 for said, hit in sample)
    assert found[:2] == pytest.approx((brier, rate * (1 - rate)))
    tenths: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for said, hit in sample:
        tenths[min(int(said * 10), 9)].append((said, hit))
    bins = [(len(tenth), *map(fmean, zip(*tenth, strict=True))) for _, tenth in sorted(tenths.items())]
    assert [tuple(each) for each in found.bins] == [pytest.approx(each) for each in bins]
    wrong = sum(size * abs(said - hits) for size, said, hits in bins)
    assert found.error == pytest.approx(wrong / len(sample))


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
def test_the_interval_lies_within_the_differences_and_turns_with_them(runs: list[tuple[float, float]]) -> None:
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
