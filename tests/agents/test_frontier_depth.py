"""Depths in the frontier: levels and counts in whatever order pages come, and what is not fetched for them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.frontier.depth import why_beyond
from scentline.agents.frontier.keys import DEPTH_PREFIX, PAGE_PREFIX, depth_key, depth_of, page_key
from scentline.agents.frontier.rows import DepthRow, FrontierShard, PageRow
from scentline.agents.operate.audit.report import AuditReport, RecountedDepths
from scentline.agents.operate.inspect.explain import Explanation
from scentline.agents.operate.inspect.in_words import describe
from scentline.models.depth.growth import Growth
from scentline.models.depth.site import ENOUGH
from scentline.models.page import Link
from scentline.models.url import host, identifier
from scentline.streams.crawl_settings import FrontierSettings
from scentline.streams.facts import Browsed, Failed, Inherited, Judged, Redirected, Seeded, Visited
from scentline.streams.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.topics import SIGHTINGS
from scentline_lab.depth.breadth import breadth_first
from tests.agents.books import NO, a_book, lease, linked, page
from tests.agents.pipeline import a_shard
from tests.agents.shards import Disk, a_runtime, disk, emitted, take_in, write
from tests.agents.test_frontier_candidates import Front

SITE = "http://a.org"


@pytest.fixture(scope="module")
def module_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    with disk(tmp_path_factory.mktemp("rows")) as opened:
        yield opened


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


def at(number: int) -> str:
    return f"{SITE}/{number}"


def judged(url: str) -> Judged:
    return Judged(url, NO, 1.0)


def viewed(url: str, level: int, *, begun: bool = False) -> tuple[Visited, Browsed]:
    return Visited(url, "u", 1.0), Browsed(identifier(url), level, begun, [(level, 1)])


def growth(shard: FrontierShard, site: str = "a.org") -> Growth:
    return depth_of(shard, site).growth


def level(shard: FrontierShard, url: str) -> int:
    place = page(shard, url).place
    assert place is not None
    return place.level


# levels and counts


def fetch(shard: FrontierShard, front: object, url: str, targets: Sequence[str]) -> None:
    """Have a page of these links fetched, as the judge tells of it."""
    facts = [linked(url, targets, NO)] if targets else []
    take_in(shard, front, *facts, judged(url))


def test_levels_count_links_from_where_a_site_is_entered(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(depth="auto")
    take_in(shard, book, Seeded(at(0)))
    fetch(shard, book, at(0), [at(1), "http://b.org/"])
    fetch(shard, book, at(1), [at(2)])
    fetch(shard, book, "http://b.org/", ["http://b.org/x", at(3)])
    assert [level(shard, at(number)) for number in range(4)] == [0, 1, 2, 0]
    assert (level(shard, "http://b.org/"), level(shard, "http://b.org/x")) == (0, 1)


def test_a_short_cut_found_late_brings_everything_behind_it_nearer(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(depth="auto")
    take_in(shard, book, Seeded(at(0)))
    for number in range(6):
        fetch(shard, book, at(number), [at(number + 1), at(9)] if number == 0 else [at(number + 1)])
    assert [level(shard, at(number)) for number in range(7)] == [0, 1, 2, 3, 4, 5, 6]
    fetch(shard, book, at(9), [at(4)])
    assert [level(shard, at(number)) for number in range(7)] == [0, 1, 2, 3, 2, 3, 4]
    assert growth(shard).pages == [1, 2, 2, 2]


graphs = st.lists(st.lists(st.integers(0, 8), max_size=4, unique=True), min_size=9, max_size=9)


@given(graphs, st.randoms(use_true_random=False))
def test_in_any_order_of_fetching_links_count_as_in_a_breadth_first_crawl(
    module_rows: Disk, graph: list[list[int]], random: Random
) -> None:
    links = {at(number): [at(n) for n in found if n != number] for number, found in enumerate(graph)}
    module_rows.clear()
    shard, book = a_shard(module_rows), a_book(depth="auto")
    take_in(shard, book, Seeded(at(0)))
    known, fetched = [at(0)], []
    while known:
        url = known.pop(random.randrange(len(known)))
        fetched.append(url)
        fetch(shard, book, url, links[url])
        known += [target for target in links[url] if target not in known and target not in fetched]
    assert growth(shard) == breadth_first(at(0), links.get).growth
    recounted(shard, {url: links[url] for url in fetched})


def recounted(shard: FrontierShard, links: Mapping[str, Sequence[str]]) -> None:
    """Hold the rows to what the audit makes of the judged pages."""
    write(shard)
    report, depths = AuditReport(), RecountedDepths(1)
    pages = {row.url: row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)}
    found = {key[1:].decode(): row for key, row in shard.scan(DEPTH_PREFIX) if isinstance(row, DepthRow)}
    depths.check(report, {url: outcome(url, targets) for url, targets in links.items()}, pages, found)
    assert report.rows
    assert report.differences == 0, report.examples


def outcome(url: str, targets: Sequence[str]) -> Outcome:
    return Outcome(
        url=url, time=1.0, title="", verdict=NO, predicate="p", policy="linkage", explored=False,
        probability=1.0, priority=0.0, expected=None, depth=0, words=(), links=tuple(map(Link, targets)),
        origin="",
    )  # fmt: skip


@given(st.data())
def test_whatever_way_pages_are_found_the_counts_are_those_of_a_recount(
    module_rows: Disk, data: st.DataObject
) -> None:
    urls = [f"http://{name}.org/{number}" for name in "ab" for number in range(5)]
    one = st.sampled_from(urls)
    module_rows.clear()
    shard, book = a_shard(module_rows), a_book(depth="auto")
    links: dict[str, list[str]] = {}
    views: dict[str, list[int]] = {"a.org": [], "b.org": []}
    for _ in range(data.draw(st.integers(1, 20))):
        url, kind = data.draw(one), data.draw(st.sampled_from(["seed", "view", "fetch", "fail", "move"]))
        if kind == "seed":
            take_in(shard, book, Seeded(url))
        elif kind == "view":
            views[host(url)].append(data.draw(st.integers(0, 3)))
            take_in(shard, book, *viewed(url, views[host(url)][-1]))
        elif not isinstance(shard.get(page_key(url)), PageRow) or page(shard, url).state != "candidate":
            continue
        elif kind == "fetch":
            others = st.sampled_from([other for other in urls if other != url])
            links[url] = data.draw(st.lists(others, unique=True, max_size=4))
            fetch(shard, book, url, links[url])
        else:
            lease(shard, url)
            failed = Failed(url, 1, "gone", "status 404", 1.0)
            take_in(shard, book, failed if kind == "fail" else Redirected(url, 1, data.draw(one), 1.0))
    write(shard)
    report, depths = AuditReport(), RecountedDepths(1)
    pages = {row.url: row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)}
    found = {key[1:].decode(): row for key, row in shard.scan(DEPTH_PREFIX) if isinstance(row, DepthRow)}
    for name, row in found.items():
        assert [seen for seen in row.views if seen] == [
            views[name].count(level) for level in sorted(set(views[name]))
        ]
        row.views = []
    depths.check(report, {url: outcome(url, targets) for url, targets in links.items()}, pages, found)
    assert report.differences == 0, report.examples


# where a site is stopped


def calendar(front: Front, months: int) -> None:
    """Fetch the first months of a calendar, each of which leads to the next, to the one before, and to days."""
    front.sight(Seeded(at(0)))
    for number in range(months):
        days = [f"{at(number)}/{day}" for day in range(3)]
        front.sight(linked(at(number), [at(number + 1), at(max(0, number - 1)), *days], NO), judged(at(number)))
        front.sight(*(fact for day in days for fact in (linked(day, [at(0)], NO), judged(day))))


def a_front(rows: Disk, share: float = 0.9, by: str = "views") -> Front:
    front = Front(rows, depth="auto", depth_share=share, depth_by=by, traps=False)
    front.candidates.scope.stops = front.book.stops
    front.follow("p")
    return front


def test_a_site_of_which_too_little_is_known_is_not_stopped(rows: Disk) -> None:
    front = a_front(rows)
    calendar(front, 12)
    assert sum(growth(front.shards[0]).pages) == 48
    assert front.choices() == [at(12)]


def test_a_calendar_is_stopped_at_the_depth_that_its_links_advise(rows: Disk) -> None:
    front = a_front(rows)
    calendar(front, 13)
    assert front.choices() == []
    assert front.page(at(13)).state == "candidate"


def test_what_lies_too_deep_is_taken_up_when_users_go_deeper(rows: Disk) -> None:
    front = a_front(rows, share=0.95)
    calendar(front, 13)
    front.sweep()
    assert front.choices() == []
    deep = [viewed(at(level), level, begun=level == 0) for level in range(14) for _ in range(ENOUGH)]
    take_in(front.shards[0], front.book, *(fact for view in deep for fact in view))
    front.sweep()
    assert front.choices() == [at(13)]


@pytest.mark.parametrize(("by", "deepest"), [("views", 3), ("model", 2)])
def test_users_stop_a_site_by_their_views_or_by_the_model_of_them(rows: Disk, by: str, deepest: int) -> None:
    front = a_front(rows, share=0.95, by=by)
    calendar(front, 13)
    for depth, views in enumerate((84, 4, 4, 4, 4)):
        facts = (viewed(at(depth), depth, begun=True) for _ in range(views))
        take_in(front.shards[0], front.book, *(fact for view in facts for fact in view))
    stops = front.book.stops
    assert stops is not None
    stops.catch_up()
    beyond = [number for number in range(6) if stops.beyond(front.shards[0], front.page(at(number)))]
    assert beyond == list(range(deepest + 1, 6))


def test_a_larger_share_of_the_views_goes_deeper(rows: Disk) -> None:
    front = a_front(rows, share=0.9999999)
    calendar(front, 13)
    assert front.choices() == [at(13)]


def test_a_shard_that_is_taken_up_again_is_stopped_where_it_was(rows: Disk) -> None:
    calendar(a_front(rows), 13)
    again = a_front(rows)
    assert again.choices() == []


def test_what_is_said_of_a_page_that_lies_too_deep_tells_why(rows: Disk) -> None:
    front = a_front(rows)
    calendar(front, 13)
    row = front.page(at(13))
    settings = FrontierSettings(depth="auto")
    beyond = why_beyond(row, depth_of(front.shards[0], "a.org"), settings)
    told = describe(Explanation(row, beyond=beyond), threshold=-1000.0)
    assert told[-1].startswith(
        "not fetched: it is on level 13 of a.org, which is crawled to level 3 (frontier.depth)"
    )
    assert "links on 52 fetched pages are new" in told[-1]
    assert why_beyond(front.page(at(2)), depth_of(front.shards[0], "a.org"), settings) == ""


def test_without_the_setting_nothing_is_kept(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(at(0)), *viewed(at(0), 0, begun=True))
    fetch(shard, book, at(0), [at(1)])
    assert page(shard, at(1)).place is None
    assert shard.get(depth_key("a.org")) is None
    assert book.stops is None


def test_the_agent_hands_where_to_stop_to_the_choice(tmp_path: Path) -> None:
    with a_runtime(Settings.model_validate({"data": tmp_path, "frontier": {"depth": "auto"}})) as runtime:
        agent = FrontierAgent(runtime)
        assert agent.candidates.scope.stops is agent.book.stops is not None


# how fetches end


def test_a_url_that_is_no_page_counts_as_one_that_was_seen(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(depth="auto")
    take_in(shard, book, Seeded(at(0)))
    fetch(shard, book, at(0), [at(1), at(2), at(3)])
    assert (growth(shard).new, growth(shard).seen) == ([3], [0])
    lease(shard, at(1))
    take_in(shard, book, Failed(at(1), 1, "gone", "status 404", 1.0))
    lease(shard, at(2))
    take_in(shard, book, Redirected(at(2), 1, at(3), 1.0))
    assert (growth(shard).new, growth(shard).seen) == ([1], [2])


def test_the_target_of_a_redirect_is_on_the_level_of_what_led_there(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(depth="auto")
    take_in(shard, book, Seeded(at(0)))
    fetch(shard, book, at(0), [at(1), at(2)])
    for number, target in ((1, at(9)), (2, "http://b.org/")):
        lease(shard, at(number))
        heirs = take_in(shard, book, Redirected(at(number), 1, target, 1.0))
        take_in(shard, book, *(fact for _, fact in emitted(heirs, SIGHTINGS) if isinstance(fact, Inherited)))
    assert (level(shard, at(9)), level(shard, "http://b.org/")) == (1, 0)
