"""When hubs are looked at again: rates are learned, links wait as short as they can, the budget is kept."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.wang import simulate
from scentline.models.papers.hubs import ArrivalRate, Revisits, price
from tests.cases import each_case

HOUR, DAY, WEEK = 3_600.0, 86_400.0, 604_800.0
#: Links a second: each hub gets half as many as the one before, from 16 an hour on.
HUBS = [f"http://hub{number}.org/" for number in range(9)]
RATES = {hub: 16 / 2**number / HOUR for number, hub in enumerate(HUBS)}
BUDGET = 30 / HOUR


def scheduled(budget: float = BUDGET, **bounds: float) -> Revisits:
    revisits = Revisits(budget, **bounds)
    for hub in RATES:
        revisits.add(hub, 1 / HOUR, 0.0)
    return revisits


def test_the_rate_is_the_mean_of_the_posterior() -> None:
    rate = ArrivalRate.expecting(2.0, weight=4.0)  # Gamma(4, 2)
    assert rate.mean == 2.0
    rate.observe(10, 8.0, half_life=1e12)
    assert rate.mean == pytest.approx((4 + 10) / (2 + 8))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 5))
def test_even_links_come_to_the_same_however_often_one_looks(gaps: list[int], rate: int) -> None:
    parts, whole = (ArrivalRate.expecting(1.0) for _ in range(2))
    for gap in gaps:
        parts.observe(rate * gap, gap, half_life=7)
    whole.observe(rate * sum(gaps), sum(gaps), half_life=7)
    assert (parts.seen_seconds, parts.seen_links) == pytest.approx((whole.seen_seconds, whole.seen_links))
    assert parts.seen_links == pytest.approx(rate * parts.seen_seconds)


def test_a_hub_that_falls_silent_is_left_alone_and_one_that_wakes_is_found() -> None:
    revisits = scheduled(half_life=DAY)
    busy, quiet = HUBS[0], HUBS[8]
    simulate(revisits, RATES, 0.0, WEEK, Random(1))
    before = revisits.interval(busy), revisits.interval(quiet)
    swapped = {**RATES, busy: RATES[quiet], quiet: RATES[busy]}
    simulate(revisits, swapped, WEEK, 2 * WEEK, Random(2))
    after = revisits.interval(busy), revisits.interval(quiet)
    assert before[0] < before[1] / 5
    assert after[1] < after[0] / 5


SPANS = st.floats(1, 1e3)


@given(st.lists(st.floats(1e-7, 10), min_size=2, max_size=12), st.floats(1e-4, 1), SPANS, SPANS, st.randoms())
def test_the_price_spends_the_budget_where_the_bounds_allow_and_no_intervals_make_links_wait_shorter(
    rates: list[float], budget: float, shortest: float, times: float, random: Random
) -> None:
    longest = shortest * times
    found = price(rates, budget, shortest, longest)
    widest = max(longest, len(rates) / budget)
    cost = sum(1 / min(widest, max(shortest, math.sqrt(found / rate))) for rate in rates)
    assert cost <= budget * (1 + 1e-6) + 1e-12
    least, most = len(rates) / widest, len(rates) / shortest
    assert cost == pytest.approx(min(most, max(least, budget)), rel=1e-4)
    free = price(rates, budget, 1e-9, 1e12)
    ours = sum(rate * math.sqrt(free / rate) / 2 for rate in rates)
    for _ in range(20):
        shares = [random.random() + 0.01 for _ in rates]
        intervals = [sum(shares) / (share * budget) for share in shares]
        assert ours <= sum(rate * each / 2 for rate, each in zip(rates, intervals, strict=True)) * (1 + 1e-6)


def test_intervals_are_within_their_bounds_of_which_the_longest_gives_way_to_the_budget() -> None:
    revisits = scheduled(budget=60 / HOUR, shortest=120.0, longest=2 * HOUR)
    simulate(revisits, {**RATES, HUBS[0]: 1.0, HUBS[8]: 1e-9}, 0.0, WEEK, Random(1))
    assert (revisits.interval(HUBS[0]), revisits.interval(HUBS[8])) == (120.0, 2 * HOUR)
    visits, _ = simulate(scheduled(budget=1 / DAY, longest=HOUR), RATES, 0.0, 8 * WEEK, Random(1))
    assert visits == pytest.approx(56, abs=len(RATES) + 1)


def test_a_new_hub_is_due_at_once_and_its_first_visit_tells_of_no_rate() -> None:
    revisits = Revisits(1 / HOUR, shortest=60.0)
    assert (revisits.due(0.0), revisits.next_due) == ([], None)
    revisits.add("a", 1 / DAY, 100.0)
    assert (revisits.due(99.0), revisits.due(100.0), revisits.next_due) == ([], ["a"], 100.0)
    revisits.visited("a", 500, 100.0)
    assert revisits.rate("a") == pytest.approx(1 / DAY)
    assert revisits.next_due == pytest.approx(100.0 + HOUR)


def test_hubs_that_were_known_before_are_due_as_they_were() -> None:
    learned = {
        hub: (ArrivalRate.expecting(rate), number + 1.0) for number, (hub, rate) in enumerate(RATES.items())
    }
    revisits = Revisits(BUDGET)
    revisits.know({"http://new.org/": (ArrivalRate.expecting(1 / HOUR), 0.0), **learned})
    assert revisits.due(0.0) == ["http://new.org/"]
    for hub, (_, visited) in learned.items():
        due = visited + revisits.interval(hub)
        assert (hub in revisits.due(due - 1), hub in revisits.due(due + 1)) == (False, True)


def test_the_budget_may_change_what_was_learned_stays_and_hubs_that_are_not_kept_are_forgotten() -> None:
    revisits = scheduled()
    simulate(revisits, RATES, 0.0, DAY, Random(1))
    rate, due = revisits.rate(HUBS[0]), revisits.next_due
    revisits.add(HUBS[0], 1 / DAY, DAY)
    assert (revisits.rate(HUBS[0]), revisits.next_due) == (rate, due)
    before = {hub: revisits.interval(hub) for hub in revisits.hubs}
    revisits.spend(BUDGET / 3)
    assert all(revisits.interval(hub) > interval for hub, interval in before.items())
    revisits.keep([HUBS[0], "http://new.org/"])
    revisits.visited(HUBS[1], 5, 2 * DAY)
    assert (len(revisits), revisits.due(10 * DAY)) == (1, [HUBS[0]])


def test_a_hub_that_is_being_visited_is_not_due_until_its_lease_ends() -> None:
    revisits = Revisits(1 / HOUR)
    revisits.add("a", 1 / DAY, 0.0)
    revisits.postpone("a", 120.0)
    assert (revisits.due(119.0), revisits.due(120.0)) == ([], ["a"])
    revisits.postpone("a", 240.0)
    revisits.visited("a", 3, 130.0)
    assert revisits.next_due == pytest.approx(130.0 + HOUR)


def test_the_hub_whose_links_wait_longest_in_all_comes_first() -> None:
    revisits = Revisits(1.0, shortest=1.0, longest=1.0)
    for hub, rate in (("slow", 1 / DAY), ("fast", 1 / HOUR)):
        revisits.add(hub, rate, 0.0)
        revisits.visited(hub, 0, 0.0)
    revisits.add("new", 1 / DAY, 0.0)
    assert revisits.due(10.0) == ["new", "fast", "slow"]


@each_case(
    ("budget", "bounds"),
    [(0.0, {}), (1.0, {"shortest": 0.0}), (1.0, {"shortest": 9.0, "longest": 8.0}), (1.0, {"half_life": 0.0})],
)
def test_impossible_schedules_are_refused(budget: float, bounds: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Revisits(budget, **bounds)
    for rate, weight in ((0.0, 1.0), (1.0, 0.0), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="expected"):
            ArrivalRate.expecting(rate, weight)
