"""Pages in flight grow with what is known."""

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.window import BACKLOG, Pace, window
from tests.cases import each_case


@each_case(("judged", "expected"), [(0, 1), (19, 1), (20, 1), (40, 2), (319, 15), (320, 16), (10**9, 16)])
def test_five_percent_between_one_and_sixteen(judged: int, expected: int) -> None:
    assert window(judged, share=0.05, at_most=16) == expected


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.floats(0, 1), st.integers(1, 1000))
def test_it_never_shrinks_nor_leaves_its_bounds(judged: int, more: int, share: float, at_most: int) -> None:
    pages = window(judged, share, at_most)
    assert 1 <= pages <= window(judged + more, share, at_most) <= at_most


@given(st.integers(1, 300), st.lists(st.tuples(st.floats(0, 5), st.floats(-1, 60)), max_size=300))
def test_a_pace_stays_within_its_bounds_whatever_the_clocks_say(
    most: int, verdicts: list[tuple[float, float]]
) -> None:
    pace, now = Pace(most), 0.0
    for passed, lag in verdicts:
        now += passed
        pace.judged(now, lag)
        assert min(BACKLOG, most) <= pace.window <= most


@each_case(("rate", "lag", "grows"), [(40, 0.1, True), (100, 0.1, True), (100, 0.5, False), (4, 2.0, True)])
def test_a_pace_grows_while_few_pages_wait_for_their_verdicts(rate: int, lag: float, grows: bool) -> None:
    pace = Pace(64)
    for number in range(400):
        pace.judged(number / rate, lag)
    assert pace.window == (64 if grows else BACKLOG)
