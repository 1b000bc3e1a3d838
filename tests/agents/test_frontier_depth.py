"""Depths in the frontier: levels and counts in whatever order pages come, and what is not fetched for them."""

from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.depth import why_beyond
from scentline.agents.frontier.keys import DEPTH_PREFIX, PAGE_PREFIX, depth_key, depth_of
from scentline.agents.frontier.rows import DepthRow, PageRow
from scentline.agents.operate.audit.report import AuditReport, RecountedDepths
from scentline.models.depth.growth import Growth
from scentline.models.depth.site import ENOUGH
from scentline.models.page import Link
from scentline.models.url import host, identifier
from scentline.streams.crawl_settings import FrontierSettings
from scentline.streams.facts import Browsed, Failed, Judged, Redirected, Seeded, Visited
from scentline.streams.published import Outcome
from scentline_lab.depth.reading import breadth_first
from tests.agents.scenarios import NO, Frontiers, Scenario, linked
from tests.cases import each_case

SITE = "http://a.org"


def at(number: int) -> str:
    return f"{SITE}/{number}"


def viewed(url: str, level: int, *, begun: bool = False) -> tuple[Visited, Browsed]:
    return Visited(url, "u", 1.0), Browsed(identifier(url), level, begun, [(level, 1)])


def growth(front: Scenario, site: str = "a.org") -> Growth:
    return depth_of(front.shards[0], site).growth


def level(front: Scenario, url: str) -> int:
    place = front.page(url).place
    assert place is not None
    return place.level


def a_front(frontier: Frontiers, share: float = 0.9, by: str = "views") -> Scenario:
    return frontier(depth="auto", depth_share=share, depth_by=by, traps=False)


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    """Return a frontier with a seed."""
    found = a_front(frontier)
    found.hear(Seeded(at(0)))
    return found


def fetch(front: Scenario, url: str, targets: Sequence[str]) -> None:
    """Have a page of these links fetched, as the judge tells of it."""
    front.hear(*([linked(url, targets, NO)] if targets else []), Judged(url, NO, 1.0))


# levels and counts


def test_levels_count_links_from_where_a_site_is_entered_and_a_short_cut_brings_all_behind_it_nearer(
    front: Scenario,
) -> None:
    for number in range(6):
        fetch(front, at(number), [at(number + 1), *([at(9), "http://b.org/"] if number == 0 else [])])
    fetch(front, "http://b.org/", ["http://b.org/x", at(20)])
    assert [level(front, at(number)) for number in (*range(7), 20)] == [0, 1, 2, 3, 4, 5, 6, 0]
    assert (level(front, "http://b.org/"), level(front, "http://b.org/x")) == (0, 1)
    fetch(front, at(9), [at(4)])
    assert [level(front, at(number)) for number in range(7)] == [0, 1, 2, 3, 2, 3, 4]
    assert growth(front).pages == [1, 2, 2, 2]


def recounted(front: Scenario, links: Mapping[str, Sequence[str]]) -> None:
    """Hold the rows to what the audit makes of the judged pages."""
    shard, report, depths = front.shards[0], AuditReport(), RecountedDepths(1)
    pages = {row.url: row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)}
    found = {key[1:].decode(): row for key, row in shard.scan(DEPTH_PREFIX) if isinstance(row, DepthRow)}
    depths.check(report, {url: outcome(url, targets) for url, targets in links.items()}, pages, found)
    assert report.differences == 0, report.examples


def outcome(url: str, targets: Sequence[str]) -> Outcome:
    return Outcome(
        url=url, time=1.0, title="", verdict=NO, predicate="p", policy="linkage", explored=False,
        probability=1.0, priority=0.0, expected=None, depth=0, words=(), links=tuple(map(Link, targets)),
        origin="",
    )  # fmt: skip


graphs = st.lists(st.lists(st.integers(0, 8), max_size=4, unique=True), min_size=9, max_size=9)


@given(graphs, st.randoms(use_true_random=False))
def test_in_any_order_of_fetching_links_count_as_in_a_breadth_first_crawl(
    frontier: Frontiers, graph: list[list[int]], random: Random
) -> None:
    links = {at(number): [at(n) for n in found if n != number] for number, found in enumerate(graph)}
    front = a_front(frontier)
    front.hear(Seeded(at(0)))
    known, fetched = [at(0)], []
    while known:
        url = known.pop(random.randrange(len(known)))
        fetched.append(url)
        fetch(front, url, links[url])
        known += [target for target in links[url] if target not in known and target not in fetched]
    assert growth(front) == breadth_first(at(0), links.get).growth
    recounted(front, {url: links[url] for url in fetched})


@given(st.data())
def test_whatever_way_pages_are_found_the_counts_are_those_of_a_recount(
    frontier: Frontiers, data: st.DataObject
) -> None:
    urls = [f"http://{name}.org/{number}" for name in "ab" for number in range(5)]
    one = st.sampled_from(urls)
    front = a_front(frontier)
    links: dict[str, list[str]] = {}
    views: dict[str, list[int]] = {"a.org": [], "b.org": []}
    for _ in range(data.draw(st.integers(1, 20))):
        url, kind = data.draw(one), data.draw(st.sampled_from(["seed", "view", "fetch", "fail", "move"]))
        if kind == "seed":
            front.hear(Seeded(url))
        elif kind == "view":
            views[host(url)].append(data.draw(st.integers(0, 3)))
            front.hear(*viewed(url, views[host(url)][-1]))
        elif not front.known(url) or front.state(url) != "candidate":
            continue
        elif kind == "fetch":
            others = st.sampled_from([other for other in urls if other != url])
            links[url] = data.draw(st.lists(others, unique=True, max_size=4))
            fetch(front, url, links[url])
        else:
            front.lease(url)
            failed = Failed(url, 1, "gone", "status 404", 1.0)
            front.hear(failed if kind == "fail" else Redirected(url, 1, data.draw(one), 1.0))
    for key, row in list(front.shards[0].scan(DEPTH_PREFIX)):
        assert isinstance(row, DepthRow)
        seen = views[key[1:].decode()]
        assert [count for count in row.views if count] == [seen.count(level) for level in sorted(set(seen))]
        row.views = []
        front.shards[0].put(key, row)
    front.commit()
    recounted(front, links)


# where a site is stopped


def calendar(front: Scenario, months: int = 13) -> Scenario:
    """Fetch the first months of a calendar, each of which leads to the next, to the one before, and to days."""
    front.hear(Seeded(at(0)))
    for number in range(months):
        days = [f"{at(number)}/{day}" for day in range(3)]
        fetch(front, at(number), [at(number + 1), at(max(0, number - 1)), *days])
        for day in days:
            fetch(front, day, [at(0)])
    return front


@each_case(("months", "share", "chosen"), [(12, 0.9, [at(12)]), (13, 0.9, []), (13, 0.9999999, [at(13)])])
def test_a_calendar_is_stopped_where_its_links_advise_once_enough_is_known_of_it(
    frontier: Frontiers, months: int, share: float, chosen: list[str]
) -> None:
    front = calendar(a_front(frontier, share), months)
    assert front.choices() == chosen
    assert front.state(at(months)) == ("leased" if chosen else "candidate")


def test_a_shard_that_is_taken_up_again_is_stopped_where_it_was(frontier: Frontiers) -> None:
    assert calendar(a_front(frontier)).restart().choices() == []


def test_what_lies_too_deep_is_taken_up_when_users_go_deeper(frontier: Frontiers) -> None:
    front = calendar(a_front(frontier, share=0.95))
    front.sweep()
    assert front.choices() == []
    deep = [viewed(at(level), level, begun=level == 0) for level in range(14) for _ in range(ENOUGH)]
    front.hear(*(fact for view in deep for fact in view))
    front.sweep()
    assert front.choices() == [at(13)]


@each_case(("by", "deepest"), [("views", 3), ("model", 2)])
def test_users_stop_a_site_by_their_views_or_by_the_model_of_them(
    frontier: Frontiers, by: str, deepest: int
) -> None:
    front = calendar(a_front(frontier, 0.95, by))
    for depth, views in enumerate((84, 4, 4, 4, 4)):
        facts = (viewed(at(depth), depth, begun=True) for _ in range(views))
        front.hear(*(fact for view in facts for fact in view))
    stops = front.agent.book.stops
    assert stops is not None
    stops.catch_up()
    beyond = [number for number in range(6) if stops.beyond(front.shards[0], front.page(at(number)))]
    assert beyond == list(range(deepest + 1, 6))


def test_why_a_page_lies_too_deep_is_explained(frontier: Frontiers) -> None:
    front = calendar(a_front(frontier))
    settings, row = FrontierSettings(depth="auto"), depth_of(front.shards[0], "a.org")
    beyond = why_beyond(front.page(at(13)), row, settings)
    assert "on level 13 of a.org, which is crawled to level 3" in beyond
    assert "links on 52 fetched pages are new" in beyond
    assert why_beyond(front.page(at(2)), row, settings) == ""


def test_without_the_setting_nothing_is_kept(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(Seeded(at(0)), *viewed(at(0), 0, begun=True))
    fetch(front, at(0), [at(1)])
    assert (front.page(at(1)).place, front.shards[0].get(depth_key("a.org"))) == (None, None)


# how fetches end


def test_a_url_that_is_no_page_counts_as_one_that_was_seen(front: Scenario) -> None:
    fetch(front, at(0), [at(1), at(2), at(3)])
    assert (growth(front).new, growth(front).seen) == ([3], [0])
    for number in (1, 2):
        front.lease(at(number))
    front.hear(Failed(at(1), 1, "gone", "status 404", 1.0), Redirected(at(2), 1, at(3), 1.0))
    assert (growth(front).new, growth(front).seen) == ([1], [2])


def test_the_target_of_a_redirect_is_on_the_level_of_what_led_there(front: Scenario) -> None:
    fetch(front, at(0), [at(1), at(2)])
    for number, target in ((1, at(9)), (2, "http://b.org/")):
        front.lease(at(number))
        front.deliver(front.hear(Redirected(at(number), 1, target, 1.0)))
    assert (level(front, at(9)), level(front, "http://b.org/")) == (1, 0)
