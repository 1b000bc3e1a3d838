import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.harvest import Harvest

EXACT = settings(derandomize=True, deadline=None)
PAGES = st.lists(
    st.tuples(
        st.booleans(),
        st.floats(0, 500),
        st.sampled_from(["linkage", "random", "breadth-first"]),
        st.booleans(),
    ),
    max_size=40,
)
Pages = list[tuple[bool, float, str, bool]]


def rate(hits: list[bool]) -> float:
    return sum(hits) / len(hits) if hits else 0.0


def counted(pages: Pages, window_pages: int, window_seconds: float) -> Harvest:
    harvest = Harvest(window_pages, window_seconds)
    for page in pages:
        harvest.add(*page)
        # The state may be written and read again after every page.
        harvest = msgspec.msgpack.decode(msgspec.msgpack.encode(harvest), type=Harvest)
    return harvest


@EXACT
@given(PAGES, st.integers(1, 20))
def test_rates_equal_those_of_the_whole_list(pages: Pages, window: int) -> None:
    harvest = counted(pages, window, 60.0)
    hits = [hit for hit, *_ in pages]
    assert (harvest.pages, harvest.hits) == (len(pages), sum(hits))
    assert harvest.rate == rate(hits)
    assert harvest.rate_by_pages == rate(hits[-window:])
    assert len(harvest.ring) <= math.ceil(window / 8)


@EXACT
@given(PAGES, st.sampled_from([7.0, 60.0, 240.0]), st.floats(0, 600))
def test_rate_by_time_equals_that_of_the_pages_in_the_window(pages: Pages, window: float, now: float) -> None:
    harvest = counted(pages, 10, window)
    part = window / 60
    end = max(math.floor(time / part) for time in [now, *(time for _, time, *_ in pages)])
    recent = [hit for hit, time, *_ in pages if math.floor(time / part) > end - 60]
    assert harvest.rate_by_time(now) == rate(recent)
    assert len(harvest.parts) <= 60


@EXACT
@given(PAGES)
def test_pages_are_split_by_policy_and_explored_ones_count_as_random(pages: Pages) -> None:
    harvest = counted(pages, 10, 60.0)
    expected: dict[str, tuple[int, int]] = {}
    for hit, _, policy, explored in pages:
        name = "random" if explored else policy
        seen, hits = expected.get(name, (0, 0))
        expected[name] = (seen + 1, hits + hit)
    assert harvest.policies == expected


def test_lift_is_unknown_until_a_page_was_explored() -> None:
    harvest = Harvest(10, 60.0)
    assert harvest.lift is None
    harvest.add(True, 0.0, "linkage")
    assert harvest.lift is None
    assert harvest.explored_rate is None


def test_lift_is_the_harvest_rate_over_the_smoothed_rate_of_explored_pages() -> None:
    harvest = Harvest(10, 60.0)
    for hit in (True, True, True, False):
        harvest.add(hit, 0.0, "linkage")
    harvest.add(False, 0.0, "linkage", explored=True)
    # 3 of 5 pages over (0 + .5) / (1 + 1).
    assert harvest.explored_rate == 0.25
    assert harvest.lift == pytest.approx(0.6 / 0.25)


def test_a_late_page_counts_in_all_but_the_window_of_time() -> None:
    harvest = Harvest(10, 60.0)
    harvest.add(False, 1_000.0, "linkage")
    harvest.add(True, 100.0, "linkage")
    assert harvest.rate == harvest.rate_by_pages == 0.5
    assert harvest.rate_by_time(1_000.0) == 0


def test_the_window_of_time_empties_when_nothing_comes() -> None:
    harvest = Harvest(10, 60.0)
    harvest.add(True, 1_000.0, "linkage")
    assert harvest.rate_by_time(1_030.0) == 1
    assert harvest.rate_by_time(1_100.0) == 0


def test_state_of_a_long_crawl_stays_small() -> None:
    harvest = Harvest(500, 60.0)
    for number in range(5_000):
        harvest.add(number % 3 == 0, number / 20, "linkage", explored=number % 100 == 0)
    assert len(msgspec.msgpack.encode(harvest)) < 1_000
