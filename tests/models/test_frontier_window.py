"""Pages in flight grow with what is known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.frontier.window import window


@pytest.mark.parametrize(
    ("judged", "expected"), [(0, 1), (19, 1), (20, 1), (40, 2), (319, 15), (320, 16), (10**9, 16)]
)
def test_five_percent_between_one_and_sixteen(judged: int, expected: int) -> None:
    assert window(judged, share=0.05, at_most=16) == expected


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**6), st.floats(0, 1), st.integers(1, 1000))
def test_it_never_shrinks_nor_leaves_its_bounds(judged: int, more: int, share: float, at_most: int) -> None:
    pages = window(judged, share, at_most)
    assert 1 <= pages <= window(judged + more, share, at_most) <= at_most
