"""How far sites are crawled: levels and counts in any order of pages, traps, and spaces of nothing new."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.operate.audit import AuditReport, RecountedDepths
from scentline.models.facts import Fetched, Found, Missing, Moved, Viewed, Visited
from scentline.models.frontier.depth import why_beyond
from scentline.models.frontier.keys import HOST_PREFIX, PAGE_PREFIX, depth_of, host_of
from scentline.models.frontier.pages import why_spent
from scentline.models.frontier.rows import Depth, HostRow, PageRow
from scentline.models.page import Link
from scentline.models.papers.depth import ENOUGH
from scentline.models.settings import FrontierSettings
from scentline.models.traps import Barren, space
from scentline.models.url import host
from scentline_lab.depth.site import breadth_first
from tests.agents.cells import an_outcome
from tests.agents.scenarios import NO, Frontiers, Scenario, ended, linked, seeded
from tests.cases import each_case

SITE = "http://a.org"


def at(number: int) -> str:
    return f"{SITE}/{number}"


def visited(*urls: str) -> list[Visited]:
    return [Visited(url, "u", 1.0) for url in urls]


def viewed(url: str, level: int, *, begun: bool = False) -> Visited:
    return Visited(url, "u", 1.0, view=Viewed(level, begun, [(level, 1)]))


def level(front: Scenario, url: str) -> int:
    place = front.page(url).place
    assert place is not None
    return place.level


def a_front(frontier: Frontiers, share: float = 0.9, by: str = "views") -> Scenario:
    return frontier(depth="auto", depth_share=share, depth_by=by, traps=False)


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    found = a_front(frontier)
    found.hear(seeded(at(0)))
    return found


def fetch(front: Scenario, url: str, targets: Sequence[str]) -> None:
    """Have a page of these links fetched, as the judge tells of it."""
    front.hear(*([linked(url, targets, NO)] if targets else []), ended(url, NO, 1.0))


# levels and counts


def test_a_link_from_another_site_is_an_entry_and_brings_what_users_found_deeper_to_it(front: Scenario) -> None:
    fetch(front, at(0), [at(1), "http://b.org/"])
    front.hear(viewed("http://b.org/y", 2))
    fetch(front, "http://b.org/", ["http://b.org/x", at(20)])
    fetch(front, at(20), ["http://b.org/y"])
    assert [level(front, at(number)) for number in (0, 1, 20)] == [0, 1, 0]
    assert [level(front, f"http://b.org/{path}") for path in ("", "x", "y")] == [0, 1, 0]


def recounted(front: Scenario, links: dict[str, list[str]]) -> None:
    """Hold the rows to what the audit makes of the judged pages."""
    shard, report, depths = front.shards[0], AuditReport(), RecountedDepths(1)
    pages = {row.url: row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)}
    hosts = ((key[1:].decode(), row) for key, row in shard.scan(HOST_PREFIX) if isinstance(row, HostRow))
    found = {name: row.depth for name, row in hosts if row.depth is not None}
    judged = {url: an_outcome(url, NO, map(Link, targets)) for url, targets in links.items()}
    depths.check(report, judged, pages, found)
    assert report.differences == 0, report.examples


GRAPHS = st.lists(st.lists(st.integers(0, 8), max_size=4, unique=True), min_size=9, max_size=9)


@given(GRAPHS, st.randoms(use_true_random=False))
def test_links_count_as_breadth_first(frontier: Frontiers, graph: list[list[int]], random: Random) -> None:
    links = {at(number): [at(n) for n in found if n != number] for number, found in enumerate(graph)}
    front = a_front(frontier)
    front.hear(seeded(at(0)))
    known, fetched = [at(0)], dict[str, list[str]]()
    while known:
        url = known.pop(random.randrange(len(known)))
        fetched[url] = links[url]
        fetch(front, url, links[url])
        known += [target for target in links[url] if target not in known and target not in fetched]
    assert depth_of(front.shards[0], "a.org").growth == breadth_first(at(0), links.get)[0]
    recounted(front, fetched)


@given(st.data())
def test_however_pages_are_found_counts_equal_a_recount(frontier: Frontiers, data: st.DataObject) -> None:
    urls = [f"http://{name}.org/{number}" for name in "ab" for number in range(5)]
    front, one = a_front(frontier), st.sampled_from(urls)
    links: dict[str, list[str]] = {}
    views: dict[str, list[int]] = {"a.org": [], "b.org": []}
    for _ in range(data.draw(st.integers(1, 20))):
        url, kind = data.draw(one), data.draw(st.sampled_from(["seed", "view", "fetch", "fail", "move"]))
        if kind == "seed":
            front.hear(seeded(url))
        elif kind == "view":
            views[host(url)].append(data.draw(st.integers(0, 3)))
            front.hear(viewed(url, views[host(url)][-1]))
        elif not front.known(url) or front.state(url) != "candidate":
            continue
        elif kind == "fetch":
            others = st.sampled_from([other for other in urls if other != url])
            links[url] = data.draw(st.lists(others, unique=True, max_size=4))
            fetch(front, url, links[url])
        else:
            front.lease(url)
            failed = ended(url, Missing("gone", "status 404"), 1.0)
            front.hear(failed if kind == "fail" else ended(url, Moved(data.draw(one)), 1.0))
    for key, row in list(front.shards[0].scan(HOST_PREFIX)):
        assert isinstance(row, HostRow)
        seen, depth = views[key[1:].decode()], row.depth or Depth()
        assert [count for count in depth.views if count] == [seen.count(level) for level in sorted(set(seen))]
        depth.views = []
        front.shards[0].put(key, row)
    front.commit()
    recounted(front, links)


def test_a_url_that_is_no_page_counts_as_one_that_was_seen(front: Scenario) -> None:
    fetch(front, at(0), [at(1), at(2), at(3)])
    for end, new in (ended(at(1), Missing("gone", "status 404"), 1.0), 2), (ended(at(2), Moved(at(3)), 1.0), 1):
        front.lease(end.url)
        front.hear(end)
        growth = depth_of(front.shards[0], "a.org").growth
        assert (growth.new, growth.seen) == ([new], [3 - new])


def test_the_target_of_a_redirect_is_on_the_level_of_what_led_there(front: Scenario) -> None:
    fetch(front, at(0), [at(1), at(2)])
    for number, target in ((1, at(9)), (2, "http://b.org/")):
        front.lease(at(number))
        front.deliver(front.hear(ended(at(number), Moved(target), 1.0)))
    assert (level(front, at(9)), level(front, "http://b.org/")) == (1, 0)


# where a site is stopped


def calendar(front: Scenario, months: int = 13) -> Scenario:
    """Fetch the first months of a calendar, each of which leads to the next, to the one before, and to days."""
    front.hear(seeded(at(0)))
    for number in range(months):
        days = [f"{at(number)}/{day}" for day in range(3)]
        fetch(front, at(number), [at(number + 1), at(max(0, number - 1)), *days])
        for day in days:
            fetch(front, day, [at(0)])
    return front


@each_case(("months", "share", "chosen"), [(12, 0.9, [at(12)]), (13, 0.9, []), (13, 0.9999999, [at(13)])])
def test_links_stop_a_calendar(frontier: Frontiers, months: int, share: float, chosen: list[str]) -> None:
    front = calendar(a_front(frontier, share), months)
    again = front.restart()
    assert front.choices() == again.choices() == chosen
    assert front.state(at(months)) == ("leased" if chosen else "candidate")


def test_what_lies_too_deep_is_taken_up_when_users_go_deeper(frontier: Frontiers) -> None:
    front = calendar(a_front(frontier, share=0.95))
    front.sweep()
    assert front.choices() == []
    deep = [viewed(at(level), level, begun=level == 0) for level in range(14) for _ in range(ENOUGH)]
    front.hear(*deep)
    front.sweep()
    assert front.choices() == [at(13)]


@each_case(
    ("by", "deepest", "why"), [("views", 3, "96% of 100 page views"), ("model", 2, "model B with q = 0.29")]
)
def test_users_stop_a_site_by_views_or_model(frontier: Frontiers, by: str, deepest: int, why: str) -> None:
    front = calendar(a_front(frontier, 0.95, by))
    for depth, views in enumerate((84, 4, 4, 4, 4)):
        facts = (viewed(at(depth), depth, begun=True) for _ in range(views))
        front.hear(*facts)
    stops = front.agent.core.book.stops
    assert stops is not None
    stops.catch_up()
    beyond = [number for number in range(6) if stops.beyond(front.shards[0], front.page(at(number)))]
    assert beyond == list(range(deepest + 1, 6))
    settings = FrontierSettings(depth="auto", depth_share=0.95, depth_by=by)
    told = why_beyond(front.page(at(5)), depth_of(front.shards[0], "a.org"), settings)
    assert f"which is crawled to level {deepest} (frontier.depth): that keeps {why}" in told


# traps, and spaces of which nothing comes

DEEP = f"{SITE}/a/b/a/b/a/b"


def test_a_url_that_looks_like_a_trap_is_no_candidate_however_it_is_found(frontier: Frontiers) -> None:
    front = frontier()
    others = f"{SITE}/c/c/c", f"{SITE}/d/d/d"
    front.hear(*visited(DEEP, f"{SITE}/a"), linked(f"{SITE}/", others[:1]), Found(others[1], 1, {"p": 1.0}))
    assert [front.state(url) for url in (DEEP, *others)] == ["trapped"] * 3
    assert front.page(DEEP).reason == "3 times in a row the path segments a/b"
    assert (front.totals().discovered, front.totals().trapped) == (4, 3)
    assert front.choices() == [f"{SITE}/a"]
    front.sweep()
    assert front.choices() == []


@each_case("facts", [[seeded(DEEP)], [Found(DEEP, seed=True, hops=1)]])
def test_a_seed_and_where_it_leads_is_no_trap_whenever_seen(frontier: Frontiers, facts: list[Any]) -> None:
    for order in ([*facts, *visited(DEEP)], [*visited(DEEP), *facts]):
        front = frontier()
        front.hear(*order)
        assert (front.state(DEEP), front.page(DEEP).reason, front.totals().trapped) == ("candidate", "", 0)
        assert front.choices() == [DEEP]


def test_without_the_settings_nothing_is_kept_and_everything_a_candidate(frontier: Frontiers) -> None:
    front = frontier(traps=False, barren_misses=1)
    front.hear(*visited(DEEP), judged(1), viewed(at(0), 0, begun=True))
    fetch(front, at(0), [at(1)])
    assert (front.state(DEEP), front.agent.core.book.spaces.spent) == ("candidate", {})
    assert (front.page(at(1)).place, host_of(front.shards[0], "a.org").depth) == (None, None)


def item(number: int) -> str:
    return f"{SITE}/item?id={number}"


def judged(number: int, holds: bool = False, **said: Any) -> Fetched:
    return ended(item(number), {"p": holds}, 1.0, **said)


def test_pages_that_differ_in_numbers_are_left_alone_after_misses_until_one_hits(frontier: Frontiers) -> None:
    front = frontier(barren_misses=3)
    front.hear(*visited(*map(item, range(6)), f"{SITE}/about"))
    front.hear(judged(0), judged(1))
    assert (chosen := front.choose()) in {item(n) for n in range(6)}
    front.hear(judged(2))
    assert front.choices() == [f"{SITE}/about"]
    front.hear(*visited(item(21)), seeded(item(22)))
    assert front.choices() == [item(22)]
    front.commit()
    again = front.restart()
    assert (again.choices(), {*again.agent.core.book.spaces.spent}) == ([], {space(item(0))})
    assert {item(3), item(4)} - {chosen} < {*front.restart(barren_misses=4).choices()}
    front.hear(judged(5, holds=True))
    front.sweep()
    assert set(front.choices()) == {item(n) for n in (3, 4, 21)} - {chosen}


def test_days_of_a_calendar_are_left_alone_sooner(frontier: Frontiers) -> None:
    front = frontier(barren_dates=2)
    days = [f"{SITE}/day/2031/05/{number}" for number in range(1, 9)]
    front.hear(*visited(*days), *(ended(day, NO, 1.0) for day in days[:2]))
    assert front.choices() == []


def refused(number: int, *, barren: bool = True) -> Fetched:
    return ended(item(number), Missing("refused", f"near-duplicate of {SITE}/", barren=barren), 1.0)


OTHERS = [refused(number, barren=False) for number in (3, 4, 5)]


@each_case(
    ("copies", "before", "last"),
    [
        # Near-duplicates and soft 404s end a space, and refusals of other kinds do not, nor an answer twice.
        (3, [*map(refused, (0, 1)), judged(2), *OTHERS, *map(refused, (6, 7, 7))], refused(8)),
        # Pages that repeat each other but for numbers do so even if they hit.
        (2, [judged(n, True, repeated=n % 2 > 0) for n in range(4)], judged(4, True, repeated=True)),
    ],
)
def test_copies_end_a_space(frontier: Frontiers, copies: int, before: list[Fetched], last: Fetched) -> None:
    front = frontier(barren_copies=copies)
    front.hear(*visited(*map(item, range(9))))
    for number in range(9):
        front.lease(item(number))
    front.hear(*before)
    assert front.agent.core.book.spaces.spent == {}
    front.hear(last)
    assert front.agent.core.book.spaces.spent.keys() == {space(item(0))}


@each_case(
    ("example", "barren", "number", "why"),
    [
        (item(0), Barren(20, 20), "20", "were copies but for numbers, or soft 404s (frontier.barren_copies)"),
        (f"{SITE}/cal/0/0", Barren(misses=51), "51", "satisfied no predicate (frontier.barren_dates)"),
        (item(0), Barren(misses=51), "", ""),
    ],
)
def test_why_a_space_is_spent_is_explained(example: str, barren: Barren, number: str, why: str) -> None:
    found = why_spent(
        HostRow(alike=example, barren=barren), FrontierSettings(barren_copies=20, barren_dates=50)
    )
    assert found == (f"the last {number} pages like {example} {why}" if why else "")
