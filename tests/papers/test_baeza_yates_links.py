"""Baeza-Yates and Castillo 2004, section 5: new URLs against seen ones, and a site's advice."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.depth.growth import FOLLOWED, MAX_LEVEL, Growth
from scentline.models.depth.site import ENOUGH, Advice, by_model, stop, why
from scentline.models.depth.trail import unbrowsed
from scentline.models.depth.visits import Visits
from scentline_lab.depth.reading import breadth_first, ranks_by_level
from scentline_lab.depth.site import Site
from tests.cases import each_case

#: Days of a calendar that is fetched to some depth only.
FETCHED = 30


def calendar(day: int) -> list[int] | None:
    """Link to the next and the last day and to the first: a site without end."""
    return [day + 1, max(day - 1, 0), 0] if day < FETCHED else None


def tree(node: int) -> list[int] | None:
    """Link to two further pages and back to none: every link leads to a new page."""
    return [2 * node + 1, 2 * node + 2] if node < 2**8 - 1 else None


def grown(links: Callable[[int], list[int] | None]) -> Growth:
    """Fetch level by level, where pages that are not fetched count as new."""
    growth, seen, reached, level = Growth(), {0}, [0], 0
    while reached:
        further = []
        for page in reached:
            found = links(page)
            if found is not None:
                new = sorted(set(found) - seen)
                seen.update(new)
                growth.fetched(level, len(new), len(set(found)) - len(new))
                further += new
        level, reached = level + 1, further
    return growth


def test_a_calendar_without_end_and_a_trap_whose_links_never_lead_back_get_a_depth() -> None:
    growth = grown(calendar)
    # The first day links to one new day and to itself; each later one to one new day of three, but the second,
    # whose last day is the first.
    expected = [FOLLOWED * ratio for ratio in (1 / 2, 1 / 2, 1 / 3, 1 / 3)]
    assert [growth.deeper(level) for level in range(4)] == pytest.approx(expected)
    assert growth.depth(0.9) == 2
    # Every link is new, so that the surfer goes on with probability .85: 1 - .85^(k + 1) >= .9 for k = 14.
    assert grown(tree).depth(0.9) == 14


@each_case("links", [calendar, tree])
def test_the_surfer_is_the_stationary_distribution_of_his_chain(links: Callable[[int], list[int]]) -> None:
    growth, levels = grown(links), 200
    chain = np.zeros((levels, levels))
    for level in range(levels):
        deeper = growth.deeper(level)
        chain[level, min(level + 1, levels - 1)] += deeper
        chain[level, 0] += 1 - deeper
    equations = np.vstack([chain.T - np.eye(levels), np.ones(levels)])
    solved = np.linalg.lstsq(equations, np.append(np.zeros(levels), 1.0), rcond=None)[0]
    assert growth.surfer(50) == pytest.approx(solved[:50], abs=1e-9)


def test_a_duplicate_and_a_missing_page_lead_back_and_a_missing_start_page_leaves_nothing() -> None:
    web = {"/": ["/a", "/b", "/gone"], "/a": ["/c"], "/b": ["/d"]}
    growth, levels = breadth_first("/", web.get, lambda page: page == "/b")
    assert levels == {"/": 0, "/a": 1}
    # /b is like a page before, /gone is none; so only /a was new, and /c and /d are not: /c is no page either.
    assert (growth.pages, growth.new, growth.seen) == ([1, 1], [1, 0], [2, 1])
    growth, levels = breadth_first("/gone", web.get)
    assert (growth, levels, ranks_by_level(levels, web.get)) == (Growth(), {}, [])
    assert growth.deeper(0) == 0


def test_pages_without_links_lead_no_deeper_and_levels_are_bounded() -> None:
    # Of four pages one has links, half of them new: .85 * 1/4 * 1/2.
    growth = Growth()
    growth.fetched(0, new=1, seen=1)
    for _ in range(3):
        growth.fetched(0, new=0, seen=0)
    assert growth.deeper(0) == pytest.approx(FOLLOWED / 8)
    growth.fetched(10**9, new=1, seen=0)
    growth.led_back(10**9)
    assert len(growth.pages) == MAX_LEVEL + 1


_GRAPHS = st.dictionaries(st.integers(0, 12), st.lists(st.integers(0, 12), unique=True), max_size=12)


@given(_GRAPHS)
def test_the_counts_are_those_of_every_path(graph: dict[int, list[int]]) -> None:
    # By brute force: the levels of all pages that exist, by repeated relaxation over all links.
    levels = {0: 0} if 0 in graph else {}
    for _ in graph:
        for page, targets in graph.items():
            for target in targets:
                if page in levels and target in graph:
                    levels[target] = min(levels.get(target, 99), levels[page] + 1)
    growth, found = breadth_first(0, graph.get)
    assert found == levels
    web = nx.DiGraph((page, target) for page in levels for target in graph[page] if target in levels)
    web.remove_edges_from(list(nx.selfloop_edges(web)))
    web.add_nodes_from(levels)
    ranks = nx.pagerank(web, alpha=0.9, tol=1e-12, max_iter=10_000) if levels else {}
    shares = [sum(ranks[page] for page in levels if levels[page] == level) for level in set(levels.values())]
    assert ranks_by_level(found, graph.get) == pytest.approx(shares)
    assert growth.pages == [list(levels.values()).count(level) for level in sorted(set(levels.values()))]
    assert sum(growth.new) == max(len(levels) - 1, 0)
    assert sum(growth.new) + sum(growth.seen) == sum(len(graph[page]) for page in levels)


def visited(site: Site, sessions: int, pages: Callable[[int], int]) -> None:
    """Let users come, each of whom follows links down to the number of pages that his own number gives."""
    for number in range(sessions):
        for page in range(pages(number)):
            site.view(f"user {number}", 60.0 * page, f"/{page}", f"/{page - 1}" if page else None)
    site.finish()


def test_users_decide_once_there_are_enough() -> None:
    site = Site(home="/0")
    assert site.advice().depth is None
    for level in range(3):
        site.growth.fetched(level, new=1, seen=0)
    visited(site, ENOUGH - 1, lambda _: 3)
    why = "91% of a random surfer's page views, when 3 of 3 links on 3 fetched pages are new"
    assert site.advice(0.9) == Advice(14, "links", why)
    site.view("one more", 0.0, "/0", None)
    site.finish()
    assert site.advice(0.6) == Advice(1, "views", "67% of 298 page views in 100 sessions")
    assert site.advice(0.9).depth == 2
    assert site.visits.homes == ENOUGH


def test_the_depth_by_the_models_is_that_of_the_fitted_surfer() -> None:
    # The levels sum up to 40 over 100 views: q_B = 40 / 140, and 1 - q^3 = .977 is the first above .95. The
    # views themselves have .92 on levels 0 to 2.
    visits = Visits(views=[84, 4, 4, 4, 4], sessions=ENOUGH)
    assert (stop(visits, Growth(), 0.95), stop(visits, Growth(), 0.95, "model")) == (3, 2)
    told = by_model(visits, 0.95)
    assert told.why == "model B with q = 0.29, fitted to 100 page views in 100 sessions"
    assert why(visits, Growth(), 0.95, "model") == told
    few = Visits(views=[84, 4, 4, 4, 4], sessions=ENOUGH - 1)
    assert stop(few, Growth(), 0.95, "model") is None


def test_few_sessions_alone_give_the_depth_of_the_highest_q_they_allow() -> None:
    site = Site(home="/")
    visited(site, 20, lambda number: 1 + number % 3)
    advice = site.advice(0.9)
    assert advice.source == "model"
    assert advice.depth is not None
    assert advice.depth > site.visits.depth(0.9)
    assert "from 20 sessions only" in advice.why


@each_case(
    ("reason", "urls"),
    [
        ("", "/ /wp/Atom /feeding/cats.html /administrator-guide/ /c++/rest.html?title=union+square"),
        (
            "application",
            "/wp-login.php /blog/wp-admin/post.php?post=1 /webmail/inbox /2017/04/story/feed/ /?flav=atom",
        ),
        (
            "attack",
            "/a/%2e%2e/%2e%2e/etc/passwd /default.ida?XXXX /?q=%3Cscript%3Ealert(1) /.env "
            f"/?id=1%20UNION%20ALL%20SELECT%20password /search?q={'A' * 200}",
        ),
    ],
)
def test_requests_that_are_no_browsing(reason: str, urls: str) -> None:
    assert {unbrowsed(f"http://admin.example.org{url}") for url in urls.split()} == {reason}
