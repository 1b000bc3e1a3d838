"""Daily clicks (Wang 2007, section 3): kept as accesses come, they are what a recount finds."""

from collections import defaultdict
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.news.clicks import DAY, History
from scentline_lab.news.clicks import DailyClicks

URLS = [f"http://a.org/{number}" for number in range(4)]
#: (page, user, day, second of the day)
ACCESSES = st.lists(
    st.tuples(st.sampled_from(URLS), st.sampled_from("abc"), st.integers(0, 12), st.integers(0, DAY - 1)),
    max_size=60,
)


def fed(clicks: DailyClicks, accesses: Sequence[tuple[str, str, int, int]]) -> list[bool]:
    return [clicks.add(url, user, day * DAY + second) for url, user, day, second in accesses]


def recount(accesses: Sequence[tuple[str, str, int, int]], window: int, open_days: int) -> dict[str, History]:
    """Return what the counts have to be: distinct users a page and day in the window, late ones left out."""
    newest = -1
    seen: dict[tuple[str, int], set[str]] = defaultdict(set)
    for url, user, day, _ in accesses:
        newest = max(newest, day)
        if day > newest - open_days:
            seen[url, day].add(user)
    days: dict[str, dict[int, int]] = defaultdict(dict)
    for (url, day), users in seen.items():
        if day > newest - window:
            days[url][day] = len(users)
    return {
        url: History(min(found), [found.get(day, 0) for day in range(min(found), max(found) + 1)])
        for url, found in days.items()
    }


@given(ACCESSES, st.integers(1, 14), st.integers(1, 14))
def test_the_incremental_counts_equal_a_recount(
    accesses: list[tuple[str, str, int, int]], window: int, open_days: int
) -> None:
    open_days = min(open_days, window)
    clicks = DailyClicks(window, open_days=open_days)
    fed(clicks, accesses)
    assert clicks.histories == recount(accesses, window, open_days)
    newest, late = -1, 0
    for _, _, day, _ in accesses:
        newest = max(newest, day)
        late += day <= newest - open_days
    assert clicks.late == late


@given(ACCESSES, st.integers(1, 3), st.integers(1, 6))
def test_the_bounds_hold_and_what_is_left_out_is_counted(
    accesses: list[tuple[str, str, int, int]], pages: int, visitors: int
) -> None:
    clicks = DailyClicks(14, pages=pages, visitors=visitors)
    counted = fed(clicks, accesses)
    assert len(clicks.histories) <= pages
    assert sum(history.total for history in clicks.histories.values()) <= sum(counted)
    free = DailyClicks(14, visitors=visitors)
    assert fed(free, accesses).count(True) == sum(history.total for history in free.histories.values())


def test_without_room_the_pages_with_the_fewest_clicks_a_day_are_forgotten() -> None:
    clicks = DailyClicks(pages=2)
    fed(clicks, [(URLS[0], "a", 0, 0), (URLS[1], "a", 9, 0), (URLS[1], "b", 9, 0)])
    fed(clicks, [(URLS[2], "a", 9, 0)])
    assert set(clicks.histories) == {URLS[1], URLS[2]}
    assert clicks.forgotten == 1


def test_a_flood_of_pages_with_one_click_does_not_push_out_a_page_with_many() -> None:
    clicks = DailyClicks(pages=50)
    fed(clicks, [(URLS[0], user, 0, 0) for user in "abcdef"])
    fed(clicks, [(f"http://b.org/{number}", "x", 0, 0) for number in range(5_000)])
    assert clicks.histories[URLS[0]] == History(0, [6])
    assert len(clicks.histories) <= 50


def test_without_room_for_visitors_the_older_day_is_closed_and_then_no_more_is_counted() -> None:
    clicks = DailyClicks(visitors=2)
    assert fed(clicks, [(URLS[0], "a", 0, 0), (URLS[0], "a", 1, 0), (URLS[0], "b", 1, 0)]) == [1, 1, 1]
    assert fed(clicks, [(URLS[0], "b", 0, 0)]) == [0]
    assert (clicks.late, clicks.uncounted) == (1, 0)
    assert fed(clicks, [(URLS[0], "c", 1, 0)]) == [0]
    assert clicks.uncounted == 1
    assert fed(clicks, [(URLS[0], "c", 3, 0)]) == [1]


def test_a_day_that_was_closed_early_stays_closed_when_the_next_one_begins() -> None:
    clicks = DailyClicks(open_days=3, visitors=2)
    fed(clicks, [(URLS[0], "a", 4, 0), (URLS[0], "a", 5, 0), (URLS[0], "b", 5, 0), (URLS[0], "a", 6, 0)])
    assert fed(clicks, [(URLS[0], "a", 4, 1)]) == [0]
    assert clicks.histories[URLS[0]] == History(4, [1, 2, 1])
    assert (clicks.late, clicks.uncounted) == (1, 0)
