"""Sizes in a log: what is kept of them is a function of the answers, in whatever order they come."""

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.revisit.sizes import SLACK, Answer, Sizes

#: Few times and sizes, so that they meet.
ANSWERS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([5000, 5000 + SLACK, 5001 + SLACK])), max_size=8
)


def at_and_last(answers: list[Answer], visited: float) -> tuple[Answer | None, Answer | None]:
    """Return what is to be kept of all answers so far: the twin."""
    before = [answer for answer in answers if answer[0] <= visited]
    after = [answer for answer in answers if answer[0] > visited]
    first = min(after, default=None)
    return max(before, default=first), max(after, default=None)


@given(st.lists(ANSWERS, min_size=1, max_size=4), st.data())
def test_what_is_kept_is_a_function_of_the_answers_and_the_last_visit(
    intervals: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    sizes, known = Sizes(), list[Answer]()
    for number, interval in enumerate(intervals):
        visited = 10.0 * number
        known += [(visited + 1 + time, size) for time, size in interval]
        # Those of earlier intervals come again, or late for the first time.
        told = data.draw(st.permutations(known + known))
        for time, size in told:
            sizes.take(visited, time, size)
        at, last = at_and_last(known, visited)
        if told:
            assert (sizes.at, sizes.last) == (at, last or (0.0, 0))
            assert sizes.differ == (at is not None and last is not None and abs(at[1] - last[1]) > SLACK)


@given(ANSWERS, st.integers(0, 9))
def test_an_answer_that_was_told_before_says_nothing_new(answers: list[Answer], visited: float) -> None:
    sizes = Sizes()
    for time, size in answers:
        sizes.take(visited, time, size)
    assert not any(sizes.take(visited, time, size) for time, size in answers)


def test_a_cache_s_own_headers_are_no_change() -> None:
    sizes = Sizes()
    for time, size in [(11.0, 783), (12.0, 789), (13.0, 782)]:  # of a miss, a hit and a refresh of one page
        sizes.take(10.0, time, size)
    assert not sizes.differ
