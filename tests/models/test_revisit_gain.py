"""What a visit gains: against the same formula in fifty digits, and its inverse."""

import math
from decimal import Decimal, localcontext
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.revisit.gain import gain, limit, stale, when

#: Changes in the mean that a page has had since its visit, from hardly any to very many.
CHANGES = st.floats(-12, 4).map(lambda power: 10**power)
RATES = st.floats(-9, 3).map(lambda power: 10**power)
ANY = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


def exact(importance: float, rate: float, age: float) -> float:
    with localcontext() as context:
        context.prec = 50
        d, x = Decimal(rate), Decimal(rate) * Decimal(age)
        return float(Decimal(importance) / d * (1 - (-x).exp() - x * (-x).exp()))


@given(RATES, CHANGES)
def test_the_gain_is_what_the_formula_says_to_nine_digits(rate: float, changes: float) -> None:
    age = changes / rate
    assert gain(2.0, rate, age) == pytest.approx(exact(2.0, rate, age), rel=1e-9)


def exact_announced(rate: float, age: float, recall: float) -> float:
    with localcontext() as context:
        context.prec = 60
        r = Decimal(recall)
        x = (1 - r) * Decimal(rate) * Decimal(age)
        return float((1 - (-x).exp() - (1 - r) * (1 - (-x / (1 - r)).exp())) / r / Decimal(rate))


RECALLS = st.floats(0.001, 0.95)


@given(RATES, CHANGES, RECALLS)
def test_with_signals_too(rate: float, changes: float, recall: float) -> None:
    age = changes / rate
    assert gain(1.0, rate, age, recall) == pytest.approx(exact_announced(rate, age, recall), rel=1e-7)


@given(RATES, st.floats(-10, -1e-6).map(math.exp), RECALLS)
def test_with_signals_a_gain_is_reached_when_it_is_said_to_be(rate: float, part: float, recall: float) -> None:
    wanted = part * limit(3.0, rate)
    age = when(3.0, rate, wanted, recall)
    assert 3 * exact_announced(rate, age, recall) == pytest.approx(wanted, rel=1e-6)


def test_what_is_announced_ends_the_cycle_for_whose_length_a_visit_pays() -> None:
    # By simulating cycles of no more than 5 s, with hidden changes 0.1 and announced ones 0.3 times a second.
    rng, hidden, announced, end = Random(1), 0.1, 0.3, 5.0
    fresh, length, cycles = 0.0, 0.0, 100_000
    for _ in range(cycles):
        stops = min(end, rng.expovariate(announced))
        fresh += min(stops, rng.expovariate(hidden))
        length += stops
    expected = (fresh - math.exp(-hidden * end) * length) / cycles
    assert gain(1.0, 0.4, end, 0.75) == pytest.approx(expected, rel=0.03)


def test_worked_by_hand() -> None:
    # One change an hour, an hour after the visit: 3600 s (1 - 2/e) of fresh copy.
    assert gain(1.0, 1 / 3600, 3600.0) == pytest.approx(3600 * (1 - 2 / math.e))
    assert limit(0.5, 1 / 3600) == 1800.0
    assert stale(1 / 3600, 3600.0) == pytest.approx(1 - 1 / math.e)


def test_one_more_visit_adds_as_much_to_the_freshness_as_the_gain_says() -> None:
    rate, interval = 1 / 1000, 700.0

    def freshness(visits: float) -> float:
        return visits / rate * (1 - math.exp(-rate / visits))

    step = 1e-7
    added = (freshness(1 / interval + step) - freshness(1 / interval - step)) / (2 * step)
    assert gain(1.0, rate, interval) == pytest.approx(added, rel=1e-6)


@given(RATES, st.floats(-10, -1e-6).map(math.exp))
def test_a_gain_is_reached_when_it_is_said_to_be(rate: float, part: float) -> None:
    wanted = part * limit(3.0, rate)
    age = when(3.0, rate, wanted)
    assert exact(3.0, rate, age) == pytest.approx(wanted, rel=1e-8)


@given(RATES, CHANGES, st.floats(1.001, 10))
def test_the_gain_grows_up_to_its_limit(rate: float, changes: float, times: float) -> None:
    age = changes / rate
    assert gain(1.0, rate, age) <= gain(1.0, rate, times * age) <= limit(1.0, rate)
    assert gain(1.0, rate, math.inf) == limit(1.0, rate)


def test_what_never_changes_or_nobody_asks_for_gains_nothing() -> None:
    assert gain(1.0, 0.0, 1e12) == gain(0.0, 1.0, 1e12) == gain(1.0, 1.0, -5.0) == 0.0
    assert when(1.0, 0.0, 1e-9) == when(0.0, 1.0, 1e-9) == when(1.0, 1.0, 1.0) == math.inf
    assert limit(1.0, 0.0) == math.inf
    assert stale(0.0, math.inf) == 0.0


@given(ANY, ANY, ANY)
def test_any_number_is_answered_by_a_number(one: float, two: float, three: float) -> None:
    for function in (gain, when):
        assert not math.isnan(function(one, two, three))
