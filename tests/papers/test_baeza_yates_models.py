"""Baeza-Yates and Castillo 2004, sections 3 to 5: models of surfers, new URLs, and advice on a site."""

import math
from collections import Counter
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from scentline.models.papers.depth import (
    ENOUGH,
    FOLLOWED,
    MAX_LEVEL,
    Advice,
    Growth,
    Surfer,
    Visits,
    by_model,
    stop,
    why,
)
from scentline.models.papers.trail import unbrowsed
from scentline_lab.depth.site import Counted, Move, Site, best, breadth_first, fit, ranks_by_level
from tests.cases import each_case

#: Levels of a truncated chain: at the q tested here what lies deeper has less than 1e-12 of the time.
LEVELS = 120


def chain_of(surfer: Surfer, q: float, level: int) -> dict[int, float]:
    """Return where a surfer goes from a level, as level and probability."""
    if surfer is Surfer.C:
        down = dict.fromkeys(range(level + 1), (1 - q) / (level + 1))
    else:
        down = {max(level - 1, 0) if surfer is Surfer.A else 0: 1 - q}
    return {**down, level + 1: q}


def stationary(surfer: Surfer, q: float) -> NDArray[np.float64]:
    """Return the stationary distribution of the chain cut off at `LEVELS`, by linear equations."""
    return solved(lambda level: chain_of(surfer, q, level))


def solved(moves: Callable[[int], dict[int, float]]) -> NDArray[np.float64]:
    chain = np.zeros((LEVELS, LEVELS))
    for level in range(LEVELS):
        for target, probability in moves(level).items():
            chain[level, min(target, LEVELS - 1)] += probability
    assert chain.sum(axis=1) == pytest.approx(1)
    equations = np.vstack([chain.T - np.eye(LEVELS), np.ones(LEVELS)])
    solution: NDArray[np.float64] = np.linalg.lstsq(equations, np.append(np.zeros(LEVELS), 1.0), rcond=None)[0]
    return solution


@each_case("q", [0.05, 0.25, 0.4])
@each_case("surfer", Surfer)
def test_the_distribution_of_levels_is_the_stationary_one_of_the_chain(surfer: Surfer, q: float) -> None:
    q = q * 1.8 if surfer is not Surfer.A else q
    found = stationary(surfer, q)
    shares = [surfer.share(q, level) for level in range(LEVELS)]
    assert shares == pytest.approx(found, abs=1e-9)
    assert [surfer.reached(q, level) for level in range(LEVELS)] == pytest.approx(np.cumsum(found), abs=1e-9)


def test_chains_worked_by_hand() -> None:
    # Model A: back one level; the start page stays where it is. B: back to the start. C: to any level so far.
    assert chain_of(Surfer.A, 0.4, 3) == {2: 0.6, 4: 0.4}
    assert chain_of(Surfer.A, 0.4, 0) == {0: 0.6, 1: 0.4}
    assert chain_of(Surfer.B, 0.4, 3) == {0: 0.6, 4: 0.4}
    assert chain_of(Surfer.C, 0.4, 2) == pytest.approx({0: 0.2, 1: 0.2, 2: 0.2, 3: 0.4})


@given(st.floats(0.0, 0.95), st.integers(0, 40))
def test_a_is_b_with_another_q(q_b: float, level: int) -> None:
    # The paper: equivalent for q_A = q_B / (1 + q_B).
    q_a = q_b / (1 + q_b)
    assert Surfer.A.probability(Surfer.B.ratio(q_b)) == pytest.approx(q_a)
    assert Surfer.A.reached(q_a, level) == pytest.approx(Surfer.B.reached(q_b, level))


@given(st.sampled_from(Surfer), st.floats(0.0, 0.49), st.floats(0.0, 0.999))
def test_the_depth_is_the_least_that_keeps_the_share(surfer: Surfer, q: float, share: float) -> None:
    depth = surfer.depth(q, share)
    assert surfer.reached(q, depth) >= share
    assert depth == 0 or surfer.reached(q, depth - 1) < share
    # Five levels keep nine tenths up to a q of two thirds.
    assert (Surfer.B.depth(0.68, 0.9), Surfer.B.depth(0.69, 0.9)) == (5, 6)


@each_case(("surfer", "q"), [(Surfer.A, 0.5), (Surfer.B, 1.0), (Surfer.C, -0.1)])
def test_a_surfer_who_never_comes_back_has_no_distribution(surfer: Surfer, q: float) -> None:
    with pytest.raises(ValueError, match=f"model {surfer}: q is {q}, expected 0 <= q < "):
        surfer.share(q, 0)


def surfed(surfer: Surfer, q: float, sessions: int, random: np.random.Generator) -> Counted:
    """Return the sessions of simulated surfers, all at once, step by step.

    One ends when the surfer goes "back" on the start page, by model B also when he goes back from anywhere: to
    leave and to begin anew is the same.
    """
    level = np.zeros(sessions, dtype=np.int64)
    views, depths = np.ones_like(level), np.zeros_like(level)
    on_level, made = [np.array([sessions])], Counter[Move]()
    going_on = np.arange(sessions)
    while len(going_on):
        here = level[going_on]
        back = np.maximum(here - 1, 0) if surfer is Surfer.A else np.zeros_like(here)
        if surfer is Surfer.C:
            back = random.integers(0, here + 1)
        there = np.where(random.random(len(here)) < q, here + 1, back)
        made[Move.BACK] += int(((here > 1) & (there == here - 1)).sum())
        made[Move.START] += int(((here > 1) & (there == 0)).sum())
        stays = (there > 0) | ((here > 0) & (surfer is not Surfer.B))
        going_on, there = going_on[stays], there[stays]
        level[going_on] = there
        views[going_on] += 1
        depths[going_on] += there
        on_level.append(np.bincount(there))
    total = np.zeros(max(map(len, on_level)), dtype=np.int64)
    for counts in on_level:
        total[: len(counts)] += counts
    squares = int(views @ views), int(views @ depths), int(depths @ depths)
    return Counted(views=total.tolist(), moves=[{}, {}, made], sessions=sessions, squares=squares)


def log_likelihood(visits: Visits, surfer: Surfer, q: float) -> float:
    return sum(views * math.log(surfer.share(q, level)) for level, views in enumerate(visits.views))


KNOWN = [(Surfer.A, 0.2), (Surfer.A, 0.38), (Surfer.B, 0.3), (Surfer.B, 0.7), (Surfer.C, 0.3), (Surfer.C, 0.5)]


@each_case(("surfer", "q"), KNOWN)
def test_the_fit_finds_model_and_q_and_its_interval_covers_q_19_times_in_20(surfer: Surfer, q: float) -> None:
    visits, random = surfed(surfer, q, 100_000, np.random.default_rng(1)), np.random.default_rng(2)
    found = fit(visits, surfer)
    assert found.q == pytest.approx(q, abs=0.01)
    assert found.error < 0.01
    assert best(visits) == found
    fits = [fit(surfed(surfer, q, 1_500, random), surfer) for _ in range(80)]
    covered = sum(found.low <= q <= found.high for found in fits)
    # Three standard deviations of 80 draws at .95 are 6: more are outside where the interval is too narrow.
    assert 70 < covered < 80


@each_case("surfer", Surfer)
def test_no_other_q_is_likelier(surfer: Surfer) -> None:
    visits = Counted(views=[40, 30, 0, 12, 3], sessions=30, squares=(400, 200, 300))
    found = fit(visits, surfer)
    likeliest = max((step / 10_000 for step in range(1, 5000)), key=lambda q: log_likelihood(visits, surfer, q))
    assert found.q == pytest.approx(likeliest, abs=1e-4)
    assert found.low < found.q < found.high


def test_fits_worked_by_hand() -> None:
    # 6, 3 and 1 views: D = 5, q = 5 / 15 = 1/3, fitted 6/9, 8/9, 26/27 against .6, .9 and 1 observed.
    found = fit(Counted(views=[6, 3, 1], sessions=6, squares=(30, 20, 20)), Surfer.B)
    squares = 6 * (0.6 - 6 / 9) ** 2 + 3 * (0.9 - 8 / 9) ** 2 + (1 - 26 / 27) ** 2
    assert (found.q, found.error) == pytest.approx((1 / 3, math.sqrt(squares / 10)))
    # Of 100 nobody goes below the start page: 2 * 100 * -log(1 - q) = 3.841.
    found = fit(Counted(views=[100], sessions=100, squares=(100, 0, 0)), Surfer.B)
    assert (found.q, found.low, found.error) == (0, 0, 0)
    assert found.high == pytest.approx(1 - math.exp(-3.841 / 200))
    # One session says nothing of the interval, and none nothing at all.
    found = fit(Counted(views=[1, 1, 1], sessions=1, squares=(9, 9, 9)), Surfer.B)
    assert (found.low, found.high > 0.99) == (0, True)
    with pytest.raises(ValueError, match="expected at least one session"):
        fit(Counted(), Surfer.A)


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
    growth = grown(links)
    found = solved(lambda level: {level + 1: growth.deeper(level), 0: 1 - growth.deeper(level)})
    assert growth.surfer(50) == pytest.approx(found[:50], abs=1e-8)


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


@each_case(("reason", "urls"))
def test_requests_that_are_no_browsing(reason: str, urls: str) -> None:
    assert {unbrowsed(f"http://admin.example.org{url}") for url in urls.split()} == {reason}
