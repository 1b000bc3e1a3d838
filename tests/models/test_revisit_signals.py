"""Noisy signals: how far they are trusted, and by how much one ages a page."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.revisit.rate import History
from scentline.models.revisit.signals import Trust, steps
from tests.cases import each_case


def visits(change: float, recall: float, false: float, interval: float, number: int) -> Trust:
    """Return what so many visits to ten pages show, of signals with a recall and a rate of false ones."""
    rng, trust = Random(3), Trust()
    histories = [History() for _ in range(10)]
    for visit in range(number):
        announced = arrivals(rng, recall * change * interval)
        hidden = arrivals(rng, (1 - recall) * change * interval)
        signals = announced + arrivals(rng, false * interval)
        history = histories[visit % 10]
        trust.seen(interval, signals, announced + hidden > 0, history)
        history.seen(interval, announced + hidden > 0, signals)
    return trust


def arrivals(rng: Random, mean: float) -> int:
    number, product = 0, rng.random()
    while product > math.exp(-mean):
        number += 1
        product *= rng.random()
    return number


@each_case("recall", [0.2, 0.5, 0.9])
@each_case("false", [0.0, 1e-4, 1e-3])
def test_recall_and_false_signals_are_learned(recall: float, false: float) -> None:
    change = 1e-3
    trust = visits(change, recall, false, 300.0, 5000)
    assert trust.recall == pytest.approx(recall, abs=0.08)
    assert trust.false == pytest.approx(false / (false + recall * change), abs=0.08)


def test_noise_is_not_believed() -> None:
    assert visits(1e-3, 0.0, 1e-3, 1000.0, 5000).false > 0.95


def test_worked_by_hand() -> None:
    trust = Trust()
    for _ in range(8):
        trust.seen(100.0, 1, True, History())
    trust.seen(100.0, 1, False, History())
    # A signal of nine was false, and one more of each is assumed: 2 of 11. So 9 x 9 / 11 were true; one more
    # announced change and two hidden ones are assumed.
    assert trust.false == pytest.approx(2 / 11, rel=0.01)
    assert trust.recall == pytest.approx((9 * 9 / 11 + 1) / (9 * 9 / 11 + 1 + 2), rel=0.01)
    assert steps(trust, 1e-3) == pytest.approx(-math.log(trust.false) / 1e-3)
    # After the step the copy is as likely right as no signal in so many seconds would have it.
    assert math.exp(-1e-3 * steps(trust, 1e-3)) == pytest.approx(trust.false)


def test_nothing_is_known_at_first() -> None:
    assert Trust().false == 0.5
    assert Trust().recall == pytest.approx(1 / 3)


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.integers(0, 1000), st.booleans()), max_size=20),
    st.floats(min_value=0, allow_nan=False),
)
def test_whatever_is_seen_a_step_is_bounded(seen: list[tuple[float, int, bool]], rate: float) -> None:
    trust = Trust()
    for interval, signals, changed in seen:
        trust.seen(interval, signals, changed, History())
    assert 0 < trust.false <= 1
    assert 0 < trust.recall < 1
    assert 0 <= steps(trust, rate) <= 100 * 365 * 86_400
