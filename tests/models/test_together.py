"""Pairs of accesses: taken one by one, they come to what a look at the whole window gives."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.trace import Step, Trace, Visit, arrive, sixths

URLS = [f"http://h.org/{name}" for name in "abcd"]


def brute_force(window: list[Visit], reach: int) -> Counter[tuple[frozenset[str], str]]:
    """Count every pair of the window by its distance."""
    found: Counter[tuple[frozenset[str], str]] = Counter()
    for one in range(len(window)):
        for two in range(one + 1, min(len(window), one + reach + 1)):
            if window[one].url != window[two].url:
                pair = frozenset((window[one].url, window[two].url))
                found[pair, "times"] += 1
                found[pair, "sixths"] += sixths(two - one)
    return +found


@given(
    visits=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(URLS)), max_size=12), reach=st.integers(1, 5)
)
def test_accesses_in_any_order_give_the_pairs_of_the_whole_window(
    visits: list[tuple[int, str]], reach: int
) -> None:
    window: list[Visit] = []
    found: Counter[tuple[frozenset[str], str]] = Counter()
    for time, url in visits:
        for pair in arrive(window, Visit(float(time), url), None, limit=100, reach=reach) or ():
            found[frozenset((pair.url, pair.other)), "times"] += pair.times
            found[frozenset((pair.url, pair.other)), "sixths"] += pair.sixths
    assert {key: value for key, value in found.items() if value} == brute_force(window, reach)


def test_a_trace_knows_both_pages_of_a_pair() -> None:
    a, b, c, _ = URLS
    trace = Trace([Step("u", a, 1.0), Step("u", b, 2.0), Step("u", c, 3.0, a), Step("v", a, 1.0)], reach=1)
    assert trace.together == {a: {b: (1, 6), c: (0, 6)}, b: {a: (1, 6), c: (1, 6)}, c: {b: (1, 6), a: (0, 6)}}
    assert trace.visitors == {a: ("u", "v"), b: ("u",), c: ("u",)}
    assert trace.accesses == {a: 2, b: 1, c: 1}


def test_a_trace_keeps_as_many_neighbours_as_it_is_told_whatever_the_order() -> None:
    steps = [Step(f"u{number}", url, time) for number in range(4) for time, url in enumerate(URLS)]
    whole, bounded = Trace(steps), Trace(steps, others=2)
    for url, cells in bounded.together.items():
        assert len(cells) == 2
        assert cells.items() <= whole.together[url].items()
