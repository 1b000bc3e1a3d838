from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.trace import Visit, insert

VISITS = st.builds(
    Visit, st.integers(0, 6).map(float), st.sampled_from(["http://a/", "http://b/", "http://c/"])
)


def visit(time: float, url: str = "http://example.org/") -> Visit:
    return Visit(time, url)


@given(st.lists(VISITS, max_size=40), st.integers(1, 8))
def test_the_window_is_the_latest_distinct_visits_in_order(visits: list[Visit], limit: int) -> None:
    window: list[Visit] = []
    for number, each in enumerate(visits, start=1):
        before = list(window)
        place = insert(window, each, limit)
        assert (place is None) == (each in before)
        assert place is None or place == (window.index(each) if each in window else -1)
        latest = sorted(set(visits[:number]), key=lambda v: (v.time, v.url))[-limit:]
        assert window == latest


@given(
    st.lists(VISITS, max_size=20).flatmap(lambda visits: st.tuples(st.just(visits), st.permutations(visits)))
)
def test_the_order_of_arrival_does_not_matter(orders: tuple[list[Visit], list[Visit]]) -> None:
    windows: list[list[Visit]] = [[], []]
    for window, visits in zip(windows, orders, strict=True):
        for each in visits:
            insert(window, each, 5)
    assert windows[0] == windows[1]


def test_a_late_visit_is_put_in_its_place() -> None:
    window = [visit(1.0), visit(3.0)]
    assert insert(window, visit(2.0), 4)
    assert window == [visit(1.0), visit(2.0), visit(3.0)]


def test_a_repeated_line_changes_nothing() -> None:
    window = [visit(1.0), visit(2.0)]
    assert insert(window, visit(1.0), 2) is None
    assert window == [visit(1.0), visit(2.0)]


def test_two_pages_at_one_time_are_two_visits() -> None:
    window: list[Visit] = []
    assert insert(window, visit(1.0, "http://b/"), 4) == 0
    assert insert(window, visit(1.0, "http://a/"), 4) == 0
    assert [each.url for each in window] == ["http://a/", "http://b/"]


def test_a_visit_older_than_a_full_window_is_new_and_not_kept() -> None:
    window = [visit(2.0), visit(3.0)]
    assert insert(window, visit(1.0), 2) == -1
    assert window == [visit(2.0), visit(3.0)]


def test_a_smaller_limit_shortens_a_window_at_its_next_visit() -> None:
    window = [visit(float(number)) for number in range(10)]
    assert insert(window, visit(20.0), 3) == 2
    assert [each.time for each in window] == [8.0, 9.0, 20.0]
