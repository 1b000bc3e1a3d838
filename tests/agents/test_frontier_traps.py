"""Traps in the frontier: what is never ordered, what is ordered no more, and why."""

from typing import Any

from scentline.agents.frontier.pages import why_spent
from scentline.agents.frontier.rows import SpaceRow
from scentline.models.traps import Barren, space
from scentline.streams.crawl_settings import FrontierSettings
from scentline.streams.facts import Failed, Inherited, Judged, Seeded, Visited
from tests.agents.scenarios import NO, Frontiers, linked
from tests.cases import each_case

SITE = "http://a.org"
DEEP = f"{SITE}/a/b/a/b/a/b"


def visited(*urls: str) -> list[Visited]:
    return [Visited(url, "u", 1.0) for url in urls]


def test_a_url_that_looks_like_a_trap_is_counted_and_no_candidate_however_it_is_found(
    frontier: Frontiers,
) -> None:
    front = frontier()
    others = f"{SITE}/c/c/c", f"{SITE}/d/d/d"
    front.hear(*visited(DEEP, f"{SITE}/a"), linked(f"{SITE}/", others[:1]), Inherited(others[1], 1, {"p": 1.0}))
    assert [front.state(url) for url in (DEEP, *others)] == ["trapped"] * 3
    assert front.page(DEEP).reason == "3 times in a row the path segments a/b"
    assert (front.totals().discovered, front.totals().trapped) == (4, 3)
    assert front.choices() == [f"{SITE}/a"]
    front.sweep()
    assert front.choices() == []


@each_case(
    "facts",
    [
        [Seeded(DEEP), *visited(DEEP)],
        [*visited(DEEP), Seeded(DEEP)],
        [*visited(DEEP), Inherited(DEEP, 0, {}, seed=True)],
    ],
)
def test_a_seed_and_where_one_leads_is_no_trap(frontier: Frontiers, facts: list[Any]) -> None:
    front = frontier()
    front.hear(*facts)
    assert (front.state(DEEP), front.page(DEEP).reason, front.totals().trapped) == ("candidate", "", 0)
    assert front.choices() == [DEEP]


def test_without_traps_everything_is_a_candidate(frontier: Frontiers) -> None:
    front = frontier(traps=False, barren_misses=1)
    front.hear(*visited(DEEP), judged(1))
    assert (front.state(DEEP), front.agent.book.spaces.spent) == ("candidate", set())


# spaces of which nothing comes


def item(number: int) -> str:
    return f"{SITE}/item?id={number}"


def judged(number: int, holds: bool = False, **said: Any) -> Judged:
    return Judged(item(number), {"p": holds}, 1.0, **said)


def test_pages_that_differ_in_numbers_only_are_left_alone_after_so_many_misses(frontier: Frontiers) -> None:
    front = frontier(barren_misses=3)
    front.hear(*visited(*map(item, range(20)), f"{SITE}/about"))
    front.hear(judged(0), judged(1))
    assert front.choose() in {item(n) for n in range(20)}
    front.hear(judged(2))
    assert front.choices() == [f"{SITE}/about"]
    front.hear(*visited(item(21)), Seeded(item(22)))
    assert front.choices() == [item(22)]


def test_a_page_that_was_under_way_and_hits_opens_the_space_again(frontier: Frontiers) -> None:
    front = frontier(barren_misses=2)
    front.hear(*visited(*map(item, range(6))), judged(0), judged(1))
    assert front.choices() == []
    front.hear(judged(2, holds=True))
    front.sweep()
    assert set(front.choices()) == {item(n) for n in range(3, 6)}


def test_days_of_a_calendar_are_left_alone_sooner(frontier: Frontiers) -> None:
    front = frontier(barren_dates=2)
    days = [f"{SITE}/day/2031/05/{number}" for number in range(1, 9)]
    front.hear(*visited(*days), *(Judged(day, NO, 1.0) for day in days[:2]))
    assert front.choices() == []


def test_near_duplicates_and_soft_404s_end_a_space_and_refusals_of_other_kinds_do_not(
    frontier: Frontiers,
) -> None:
    def refused(number: int, *, barren: bool = True) -> Failed:
        return Failed(item(number), 1, "refused", f"near-duplicate of {SITE}/", 1.0, barren=barren)

    front = frontier(barren_copies=3)
    front.hear(*visited(*map(item, range(9))))
    for number in range(9):
        front.lease(item(number))
    front.hear(refused(0), refused(1), judged(2), *(refused(n, barren=False) for n in (3, 4, 5)))
    front.hear(refused(6), refused(7), refused(7))  # the second is of an order that was answered
    assert front.agent.book.spaces.spent == set()
    front.hear(refused(8))
    assert front.agent.book.spaces.spent == {space(item(0))}


def test_pages_that_repeat_each_other_but_for_numbers_end_a_space_even_if_they_hit(frontier: Frontiers) -> None:
    front = frontier(barren_copies=2)
    for number, repeated in enumerate((False, True, False, True)):
        front.hear(judged(number, holds=True, repeated=repeated))
    assert front.agent.book.spaces.spent == set()
    front.hear(judged(4, holds=True, repeated=True))
    assert front.agent.book.spaces.spent == {space(item(0))}


def test_spent_spaces_are_known_again_after_a_start(frontier: Frontiers) -> None:
    front = frontier(barren_misses=2)
    front.hear(judged(0), judged(1), *visited(item(2)))
    again = front.restart()
    assert (again.agent.book.spaces.spent, again.choices()) == ({space(item(0))}, [])
    assert front.restart(barren_misses=3).choices() == [item(2)]


@each_case(
    ("example", "barren", "why"),
    [
        (item(0), Barren(copies=20, misses=20), f"20 pages like {item(0)} were copies of others or soft 404s"),
        (f"{SITE}/cal/0/0", Barren(misses=51), f"51 pages like {SITE}/cal/0/0 satisfied no predicate"),
        (item(0), Barren(misses=51), ""),
    ],
)
def test_why_a_space_is_spent_is_explained(example: str, barren: Barren, why: str) -> None:
    found = why_spent(SpaceRow(example, barren), FrontierSettings(barren_copies=20, barren_dates=50))
    assert found == (f"the last {why}" if why else "")
