"""Traps in the frontier: what is never ordered, what is ordered no more, and what `explain` says of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.frontier.keys import page_key, totals_of
from scentline.agents.frontier.pages import Spaces, why_spent
from scentline.agents.frontier.rows import PageRow, SpaceRow
from scentline.agents.operate.inspect.explain import Explanation
from scentline.agents.operate.inspect.in_words import describe
from scentline.models.traps import Barren, space
from scentline.streams.crawl_settings import FrontierSettings
from scentline.streams.facts import Failed, Inherited, Judged, Seeded, Visited
from scentline.streams.settings import Settings
from tests.agents.books import NO, YES, a_book, lease, linked, page
from tests.agents.pipeline import a_shard
from tests.agents.shards import Disk, a_runtime, disk, take_in, write
from tests.agents.test_frontier_candidates import Front

SITE = "http://a.org"
DEEP = f"{SITE}/a/b/a/b/a/b"


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


def test_a_url_that_looks_like_a_trap_is_counted_and_no_candidate(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(Visited(DEEP, "u", 1.0), Visited(f"{SITE}/a", "u", 2.0))
    row, totals = front.page(DEEP), totals_of(front.shards[0])
    assert (row.state, row.reason) == ("trapped", "3 times in a row the path segments a/b")
    assert (totals.discovered, totals.trapped) == (2, 1)
    assert front.choices() == [f"{SITE}/a"]
    for _ in range(3):
        front.candidates.sweep.step(1000.0)
    assert front.choices() == []


def test_a_link_or_a_redirect_to_a_trap_is_no_candidate_either(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    other = f"{SITE}/c/c/c"
    take_in(shard, book, linked(f"{SITE}/", [DEEP], YES), Inherited(other, 1, {"p": 1.0}))
    assert (page(shard, DEEP).state, page(shard, other).state) == ("trapped", "trapped")
    assert not book.touched[0] & {page_key(DEEP), page_key(other)}
    assert totals_of(shard).trapped == 2


@pytest.mark.parametrize("first", [True, False])
def test_a_seed_is_no_trap_whatever_it_looks_like(rows: Disk, first: bool) -> None:
    shard, book = a_shard(rows), a_book()
    facts = [Seeded(DEEP), Visited(DEEP, "u", 1.0)]
    take_in(shard, book, *(facts if first else reversed(facts)))
    assert (page(shard, DEEP).state, page(shard, DEEP).reason) == ("candidate", "")
    assert totals_of(shard).trapped == 0
    assert page_key(DEEP) in book.touched[0]


def test_where_a_seed_leads_is_no_trap(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Visited(DEEP, "u", 1.0), Inherited(DEEP, 0, {}, seed=True))
    assert page(shard, DEEP).state == "candidate"


def test_without_traps_everything_is_a_candidate(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(traps=False, barren_misses=1)
    take_in(shard, book, Visited(DEEP, "u", 1.0), judged(1))
    assert page(shard, DEEP).state == "candidate"
    assert book.spaces.spent == set()


def day(number: int) -> str:
    return f"{SITE}/day/2031/05/{number}"


def item(number: int) -> str:
    return f"{SITE}/item?id={number}"


def judged(number: int, verdict: dict[str, bool] = NO) -> Judged:
    return Judged(item(number), verdict, 1.0)


def refused(number: int, *, barren: bool = True) -> Failed:
    return Failed(item(number), 1, "refused", "near-duplicate of http://a.org/", 1.0, barren=barren)


def a_front(rows: Disk, **changed: Any) -> Front:
    front = Front(rows, **changed)
    front.candidates.scope.spent = front.book.spaces.spent
    front.follow("p")
    return front


def test_pages_that_differ_in_numbers_only_are_left_alone_after_so_many_misses(rows: Disk) -> None:
    front = a_front(rows, barren_misses=3)
    front.sight(*(Visited(item(n), "u", 1.0) for n in range(20)), Visited(f"{SITE}/about", "u", 1.0))
    front.sight(judged(0), judged(1))
    assert front.choose() in {item(n) for n in range(20)}
    front.sight(judged(2))
    assert front.choices() == [f"{SITE}/about"]
    front.sight(Visited(item(21), "u", 2.0), Seeded(item(22)))
    assert front.choices() == [item(22)]


def test_a_page_that_was_under_way_and_hits_opens_the_space_again(rows: Disk) -> None:
    front = a_front(rows, barren_misses=2)
    front.sight(*(Visited(item(n), "u", 1.0) for n in range(6)), judged(0), judged(1))
    assert front.choices() == []
    front.sight(judged(2, YES))
    front.candidates.sweep.step(1000.0)
    assert set(front.choices()) == {item(n) for n in range(3, 6)}


def test_days_of_a_calendar_are_left_alone_sooner(rows: Disk) -> None:
    front = a_front(rows, barren_dates=2)
    front.sight(*(Visited(day(n), "u", 1.0) for n in range(1, 9)))
    front.sight(*(Judged(day(n), NO, 1.0) for n in (1, 2)))
    assert front.choices() == []


def test_near_duplicates_and_soft_404s_end_a_space_and_refusals_of_other_kinds_do_not(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(barren_copies=3)
    take_in(shard, book, *(Visited(item(n), "u", 1.0) for n in range(9)))
    for number in range(9):
        lease(shard, item(number))
    take_in(shard, book, refused(0), refused(1), judged(2), *(refused(n, barren=False) for n in (3, 4, 5)))
    take_in(shard, book, refused(6), refused(7), refused(7))  # the second is of an order that was answered
    assert book.spaces.spent == set()
    take_in(shard, book, refused(8))
    assert book.spaces.spent == {space(item(0))}


def test_pages_that_repeat_each_other_but_for_numbers_end_a_space_even_if_they_hit(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(barren_copies=2)
    take_in(shard, book, judged(0, YES), Judged(item(1), YES, 1.0, repeated=True), judged(2, YES))
    take_in(shard, book, Judged(item(3), YES, 1.0, repeated=True))
    assert book.spaces.spent == set()
    take_in(shard, book, Judged(item(4), YES, 1.0, repeated=True))
    assert book.spaces.spent == {space(item(0))}


def test_spent_spaces_are_known_again_after_a_start(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(barren_misses=2)
    take_in(shard, book, judged(0), judged(1))
    write(shard)
    again = Spaces(FrontierSettings(barren_misses=2))
    again.open(a_shard(rows))
    assert again.spent == book.spaces.spent == {space(item(0))}
    more = Spaces(FrontierSettings(barren_misses=3))
    more.open(a_shard(rows))
    assert more.spent == set()


def test_the_agent_hands_what_is_spent_to_the_choice(tmp_path: Path) -> None:
    with a_runtime(Settings.model_validate({"data": tmp_path})) as runtime:
        agent = FrontierAgent(runtime)
        assert agent.candidates.scope.spent is agent.book.spaces.spent


def test_what_is_said_of_a_trap_names_it() -> None:
    row = PageRow(url=DEEP, depth=1, discovered=0, state="trapped", reason="21 path segments")
    told = describe(Explanation(row), threshold=-1000.0)
    assert told[1] == "state: trapped (21 path segments)"
    assert told[-1].startswith("not fetched: this URL looks like part of an endless space")


def test_what_is_said_of_a_spent_space_tells_how_often_nothing_came() -> None:
    settings = FrontierSettings(barren_copies=20, barren_dates=50)
    copies = why_spent(SpaceRow("http://a.org/item?id=0", Barren(copies=20, misses=20)), settings)
    assert copies == "the last 20 pages like http://a.org/item?id=0 were copies of others or soft 404s"
    dates = why_spent(SpaceRow("http://a.org/cal/0/0", Barren(copies=0, misses=51)), settings)
    assert dates == "the last 51 pages like http://a.org/cal/0/0 satisfied no predicate"
    assert why_spent(SpaceRow("http://a.org/item?id=0", Barren(copies=0, misses=51)), settings) == ""
    row = PageRow(url=item(7), depth=1, discovered=0)
    assert describe(Explanation(row, spent=copies), threshold=-1000.0)[-1] == f"not fetched: {copies}"
