"""Change rates from visits: against the greatest posterior found by search, and against what makes visits."""

import math
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.revisit.rate import NOTHING, Group, History, Prior, rate

INTERVALS = st.floats(-2, 7).map(lambda power: 10**power)
VISITS = st.lists(st.tuples(INTERVALS, st.booleans()), max_size=30)
PRIOR = Prior(1.0, 5000.0)


def of(visits: list[tuple[float, bool]]) -> History:
    history = History()
    for interval, changed in visits:
        history.seen(interval, changed)
    return history


def log_posterior(change: float, visits: list[tuple[float, bool]], prior: Prior) -> float:
    """Return the log density of log D, up to a constant, from each visit by itself."""
    seen = sum(
        math.log(-math.expm1(-change * interval)) if changed else -change * interval
        for interval, changed in visits
    )
    return seen + prior.shape * math.log(change) - 2 * prior.shape * math.log(prior.rate + change)


def greatest(visits: list[tuple[float, bool]], prior: Prior) -> float:
    low, high = math.log(1e-12), math.log(1e6)
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if log_posterior(math.exp(left), visits, prior) < log_posterior(math.exp(right), visits, prior):
            low = left
        else:
            high = right
    return math.exp(low)


@given(VISITS)
def test_the_rate_is_where_the_posterior_is_greatest(visits: list[tuple[float, bool]]) -> None:
    # Intervals of one power of two are taken for equal: of thirty at both its ends that costs a tenth of a nat.
    found, best = (
        log_posterior(each, visits, PRIOR) for each in (rate(of(visits), PRIOR), greatest(visits, PRIOR))
    )
    assert best - found < 0.15


@given(st.lists(st.tuples(st.sampled_from([0.5, 64.0, 1000.0]), st.booleans()), max_size=30))
def test_with_equal_intervals_it_is_exact(visits: list[tuple[float, bool]]) -> None:
    assert rate(of(visits), PRIOR) == pytest.approx(greatest(visits, PRIOR), rel=1e-5)


def test_worked_by_hand() -> None:
    # Of ten visits 100 s apart five found a change: e^(-100 D) = 1/2. Counting them gives less, 1 / 200.
    visits = [(100.0, True), (100.0, False)] * 5
    assert rate(of(visits), Prior(1e-12, 1e-12)) == pytest.approx(math.log(2) / 100)
    assert rate(of([]), Prior(2.0, 500.0)) == 2.0 / 500.0
    # What was announced tells nothing of changes that were not.
    announced = History()
    announced.seen(10.0, True, signals=1)
    assert rate(announced, Prior(2.0, 500.0)) == 2.0 / 500.0
    # 1 (1 - 100 D) / (1 + 100 D) = 100 D: D = (sqrt(2) - 1) / 100.
    assert rate(of([(100.0, False)]), Prior(1.0, 100.0)) == pytest.approx((math.sqrt(2) - 1) / 100)


@given(VISITS, VISITS)
def test_facts_add_up_in_any_order(one: list[tuple[float, bool]], two: list[tuple[float, bool]]) -> None:
    assert msgspec.structs.asdict(of(one + two)) == msgspec.structs.asdict(of(two + one))
    history = of(one + two)
    assert history.visits == len(one) + len(two)
    assert history.changes == sum(changed for _, changed in one + two)
    assert history.seconds == pytest.approx(sum(interval for interval, _ in one + two), rel=0.05, abs=0.1)


@given(VISITS, st.floats(allow_nan=False))
def test_any_interval_is_taken_and_any_history_has_a_rate(
    visits: list[tuple[float, bool]], interval: float
) -> None:
    history = of(visits)
    history.seen(interval, True)
    assert 0 < rate(history, PRIOR) < math.inf
    assert 0 < rate(history, NOTHING) < math.inf
    with pytest.raises(ValueError, match="NaN"):
        history.seen(math.nan, True)


def test_a_history_is_small_and_bounded() -> None:
    assert len(msgspec.msgpack.encode(History())) == 9
    rng, history = Random(1), History()
    for _ in range(10_000):
        history.seen(math.exp(rng.uniform(-20, 40)), rng.random() < 0.5, rng.randrange(3))
    assert len(history.found) <= 42
    assert len(msgspec.msgpack.encode(history)) < 700
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(history), type=History) == history


def test_a_page_without_visits_is_like_its_group_and_one_with_many_like_itself() -> None:
    host, prefix = Group(), Group()
    for _ in range(200):
        host.seen(3600.0, False)
    for _ in range(20):
        prefix.seen(3600.0, True)
        prefix.seen(3600.0, False)
    of_host = host.prior(NOTHING)
    of_prefix = prefix.prior(of_host)
    assert of_host.rate < NOTHING.rate < of_prefix.rate
    assert rate(History(), of_prefix) == of_prefix.rate
    alone = of([(3600.0, False)] * 500)
    assert rate(alone, of_prefix) < of_prefix.rate / 100


def test_a_group_of_few_visits_is_drawn_towards_the_larger_one() -> None:
    outer = Prior(2.0, 2e6)
    few, many = Group(), Group()
    few.seen(1000.0, True)
    for _ in range(100):
        many.seen(1000.0, True)
        many.seen(1000.0, False)
    assert outer.rate < few.prior(outer).rate < many.prior(outer).rate
    assert many.prior(outer).rate == pytest.approx(math.log(2) / 1000, rel=0.05)
