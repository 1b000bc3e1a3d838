"""News told by their clicks, hubs, prefixes, revisits (Wang 2007, sections 3 to 6), by hand and brute force."""

import math
from collections import defaultdict
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.wang import simulate
from scentline.models.papers.hubs import ArrivalRate, Hub, Outlinks, Revisits, price
from scentline.models.papers.news import (
    DAY,
    DEPTH,
    Criterion,
    History,
    Kind,
    NewsPrefix,
    NewsPrefixes,
    PrefixTree,
    concentration,
    news_prefix,
    nodes,
    standing,
)
from scentline_lab.news import Bar, NewsDiscovery, best_bar, prefixes, standings
from tests.cases import each_case

# daily clicks

URLS = [f"http://a.org/{number}" for number in range(4)]
#: (page, user, day)
ACCESSES = st.lists(st.tuples(st.sampled_from(URLS), st.sampled_from("abc"), st.integers(0, 5)), max_size=60)


@given(ACCESSES, st.integers(1, 5))
def test_a_user_counts_once_a_page_and_day_of_it(accesses: list[tuple[str, str, int]], window: int) -> None:
    discovery = NewsDiscovery(window)
    days: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    newest = max((day for _, _, day in accesses), default=0)
    for url, user, day in accesses:
        discovery.visit(url, user, day * DAY + len(user))
        if day > newest - window:
            days[url][day].add(user)
    assert discovery.histories() == {
        url: History(min(found), [len(found[day]) for day in range(min(found), max(found) + 1)])
        for url, found in days.items()
    }


# what clicks tell

HISTORIES = st.builds(
    lambda first, start, rest: History(first, [start, *rest]), st.integers(0, 5), st.integers(1, 9),
    st.lists(st.integers(0, 9), max_size=9),
)  # fmt: skip


@given(HISTORIES, st.integers(1, 12))
def test_concentration_is_the_sums_of_equation_1_over_m_and_n_minus_a_days(history: History, m: int) -> None:
    a, n = history.first, history.first + len(history.clicks)
    clicks = {a + place: number for place, number in enumerate(history.clicks)}
    early = sum(clicks.get(day, 0) for day in range(a, a + m))
    life = sum(clicks.get(day, 0) for day in range(a, n))
    found = concentration(history, n - 1, m)
    assert found == pytest.approx((early / life) / (m / (n - a)))
    assert found <= (n - a) / m + 1e-9


@each_case(("clicks", "last", "criterion", "kind"))
def test_kinds_of_pages(clicks: list[int], last: int, criterion: list[Any], kind: Kind) -> None:
    assert standing(History(0, clicks), last, Criterion(*criterion)).kind == kind


def test_what_came_after_the_last_day_is_not_looked_at_and_what_is_not_judged_is_in_no_tree() -> None:
    histories = {"early": History(0, [9, 0, 0, 0, 0, 0, 0, 90]), "later": History(8, [9])}
    found = standings(histories, 6, Criterion())
    assert found.keys() == {"early"}
    assert (found["early"].clicks, found["early"].kind) == (9, "news")
    histories = {"n/1": History(0, [50]), "n/rare": History(0, [1]), "n/young": History(18, [50])}
    histories |= {"other": History(0, [50] * 20)}
    judged = standings({f"http://a.org/{page}": each for page, each in histories.items()}, 19, Criterion())
    assert prefixes(judged) == [NewsPrefix("a.org/n/", 1, 1)]


@each_case("numbers", [(0, 1.91, 1.0), (3, 0.0, 1.0), (3, 1.91, -0.1)])
def test_an_impossible_criterion_is_refused(numbers: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Criterion(*numbers)


@given(st.lists(st.tuples(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]), st.booleans()), min_size=1, max_size=12))
def test_the_best_threshold_is_that_of_brute_force(pages: list[tuple[float, bool]]) -> None:
    assert best_bar([]) is None
    right = {
        cut: sum((value > cut) == news for value, news in pages)
        for cut in {0.0, *(value for value, _ in pages)}
    }
    most = max(right.values())
    assert best_bar(pages) == Bar(min(cut for cut, found in right.items() if found == most), most)


# prefixes

PARTS = st.sampled_from(["a", "b", "news", "x.asp", ""])
PAGES = st.dictionaries(
    st.builds(
        lambda host, parts, query: f"http://{host}.org/{'/'.join(parts)}{query}",
        st.sampled_from("hk"),
        st.lists(PARTS, max_size=4),
        st.sampled_from(["", "", "?p=1", "?p=2", "?q=a/b"]),
    ),
    st.booleans(),
    max_size=25,
)


def test_the_example_of_figure_3() -> None:
    urls = ["index.html", "folder/page.htm", "news.jsp?p=1", "news.jsp?p=2"]
    site = ["website.com/"]
    expected = [site, [*site, "folder/"], [*site, "news.jsp?"], [*site, "news.jsp?"]]
    assert [nodes(f"http://website.com/{url}") for url in urls] == expected
    tree = PrefixTree()
    for url in urls:
        tree.add(f"http://website.com/{url}", news="news.jsp" in url)
    assert tree.news_prefixes() == [NewsPrefix("website.com/news.jsp?", 2, 2)]
    assert tree.news_prefixes(0.4) == [NewsPrefix("website.com/", 2, 4)]
    assert tree.news_prefixes(0.5) == [NewsPrefix("website.com/news.jsp?", 2, 2)]


def by_brute_force(pages: dict[str, bool], threshold: float, least: int) -> list[NewsPrefix]:
    """Return the news prefixes by trying every beginning of every URL that ends as a node does."""
    scheme = len("http://")
    tried = {
        url[scheme : end + 1]
        for url in pages
        for end in range(scheme, len(url))
        if url[end] == "?" or (url[end] == "/" and "?" not in url[:end])
    }
    found = {}
    for prefix in tried:
        under = [news for url, news in pages.items() if url[scheme:].startswith(prefix)]
        if sum(under) >= least and sum(under) > threshold * len(under):
            found[prefix] = NewsPrefix(prefix, sum(under), len(under))
    return sorted(
        found[one] for one in found if not any(one != name and one.startswith(name) for name in found)
    )


@given(PAGES, st.sampled_from([0.0, 0.5, 0.8, 0.99]), st.integers(1, 3), PAGES)
def test_the_news_prefixes_are_those_of_brute_force_and_match_the_urls_that_begin_with_them(
    pages: dict[str, bool], threshold: float, least: int, asked: dict[str, bool]
) -> None:
    tree = PrefixTree()
    for url, news in pages.items():
        tree.add(url, news)
    found = by_brute_force(pages, threshold, least)
    assert tree.news_prefixes(threshold, least) == found
    names = [prefix.prefix for prefix in found]
    matcher = NewsPrefixes(names)
    for url in asked:
        begun = [name for name in names if url.removeprefix("http://").startswith(name)]
        assert matcher.match(url) == next(iter(begun), None)
        assert len(begun) <= 1


@each_case("text")
def test_what_is_no_news_prefix_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a folder such as"):
        news_prefix(text)


def test_folders_without_end_are_cut_off() -> None:
    url = "http://a.org/" + "x/" * 900
    assert len(nodes(url)) == DEPTH
    tree = PrefixTree()
    tree.add(url, news=True)
    tree.add("http://a.org/", news=False)
    assert tree.news_prefixes() == [NewsPrefix("a.org/x/", 1, 1)]


# hubs


def test_hubs_are_ranked_by_distinct_news_pages_or_by_clicks() -> None:
    outlinks = Outlinks()
    for target, clicks in (("1", 1), ("2", 0), ("3", 0), ("other", 50)):
        outlinks.add("wide", target, clicks)
    for _ in range(9):
        outlinks.add("busy", "1", 1)
    outlinks.add("busy", "2", 1)
    outlinks.add("single", "1", 99)
    outlinks.add("1", "1", 99)
    news = {"1", "2", "3"}
    wide, busy = Hub("wide", 3, 1, 4), Hub("busy", 2, 10, 2)
    assert outlinks.hubs(news, 10) == [wide, busy]
    assert outlinks.hubs(news, 10, by="clicks") == [busy, wide]
    assert outlinks.hubs(news, 1) == [wide]
    assert outlinks.reached({"busy", "single"}, news) == 2


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("123456789")), max_size=80))
def test_the_links_kept_are_within_their_bounds_and_true(links: list[tuple[str, str]]) -> None:
    outlinks = Outlinks(targets=4, pairs=10)
    for source, target in links:
        outlinks.add(source, target, 1)
    assert len(outlinks) <= 10
    hubs = outlinks.hubs(set("123456789"), 10)
    assert sum(hub.pages for hub in hubs) <= len(outlinks)
    for hub in hubs:
        assert hub.pages <= min(4, len({target for source, target in links if source == hub.url}))
        assert hub.clicks <= sum(source == hub.url for source, _ in links)


def test_of_links_those_seen_last_and_of_sources_those_with_most_targets_are_kept() -> None:
    outlinks = Outlinks(targets=2, pairs=10)
    for target in "1213":
        outlinks.add("a", target, 1)
    assert outlinks.hubs({"1", "3"}, 1) == [Hub("a", 2, 3, 2)]
    outlinks = Outlinks(targets=20, pairs=20)
    for source, targets in (("hub", "123456789"), ("lesser", "12345678"), ("a", "12"), ("b", "12")):
        for target in targets:
            outlinks.add(source, target)
    assert [hub.url for hub in outlinks.hubs(set("123456789"), 9)] == ["hub", "lesser"]
    assert len(outlinks) == 17
    with pytest.raises(ValueError, match="expected"):
        Outlinks(targets=5, pairs=4)


def test_a_link_that_was_read_counts_as_one_that_was_clicked_and_a_reload_is_no_click() -> None:
    discovery = NewsDiscovery()
    for page in "12":
        for user in range(30):
            discovery.visit(f"http://a.org/news/{page}", f"{user}", 0.0, "http://a.org/")
        discovery.visit(f"http://a.org/news/{page}", "0", 0.0, "http://c.org/")
        discovery.outlinks.add("http://b.org/", f"http://a.org/news/{page}")
    discovery.visit("http://a.org/x", "0", 20 * 86_400.0, None)
    found = discovery.find(Criterion(), hubs=5)
    assert found.pages == {"http://a.org/news/1", "http://a.org/news/2"}
    hubs = Hub("http://a.org/", 2, 60, 2), Hub("http://b.org/", 2, 0, 2), Hub("http://c.org/", 2, 0, 2)
    assert found.hubs == [*hubs]


# when hubs are looked at again


HOUR, A_DAY, WEEK = 3_600.0, 86_400.0, 604_800.0
#: Links a second: each hub gets half as many as the one before, from 16 an hour on.
HUBS = [f"http://hub{number}.org/" for number in range(9)]
RATES = {hub: 16 / 2**number / HOUR for number, hub in enumerate(HUBS)}
BUDGET = 30 / HOUR


def scheduled(budget: float = BUDGET, **bounds: float) -> Revisits:
    revisits = Revisits(budget, **bounds)
    for hub in RATES:
        revisits.add(hub, 1 / HOUR, 0.0)
    return revisits


def test_the_rate_is_the_mean_of_the_posterior() -> None:
    rate = ArrivalRate.expecting(2.0, weight=4.0)  # Gamma(4, 2)
    assert rate.mean == 2.0
    rate.observe(10, 8.0, half_life=1e12)
    assert rate.mean == pytest.approx((4 + 10) / (2 + 8))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 5))
def test_even_links_come_to_the_same_however_often_one_looks(gaps: list[int], rate: int) -> None:
    parts, whole = (ArrivalRate.expecting(1.0) for _ in range(2))
    for gap in gaps:
        parts.observe(rate * gap, gap, half_life=7)
    whole.observe(rate * sum(gaps), sum(gaps), half_life=7)
    assert (parts.seen_seconds, parts.seen_links) == pytest.approx((whole.seen_seconds, whole.seen_links))
    assert parts.seen_links == pytest.approx(rate * parts.seen_seconds)


def test_a_hub_that_falls_silent_is_left_alone_and_one_that_wakes_is_found() -> None:
    revisits = scheduled(half_life=A_DAY)
    busy, quiet = HUBS[0], HUBS[8]
    simulate(revisits, RATES, 0.0, WEEK, Random(1))
    before = revisits.interval(busy), revisits.interval(quiet)
    swapped = {**RATES, busy: RATES[quiet], quiet: RATES[busy]}
    simulate(revisits, swapped, WEEK, 2 * WEEK, Random(2))
    after = revisits.interval(busy), revisits.interval(quiet)
    assert before[0] < before[1] / 5
    assert after[1] < after[0] / 5


SPANS = st.floats(1, 1e3)


@given(st.lists(st.floats(1e-7, 10), min_size=2, max_size=12), st.floats(1e-4, 1), SPANS, SPANS, st.randoms())
def test_the_price_spends_the_budget_where_the_bounds_allow_and_no_intervals_make_links_wait_shorter(
    rates: list[float], budget: float, shortest: float, times: float, random: Random
) -> None:
    longest = shortest * times
    found = price(rates, budget, shortest, longest)
    widest = max(longest, len(rates) / budget)
    cost = sum(1 / min(widest, max(shortest, math.sqrt(found / rate))) for rate in rates)
    assert cost <= budget * (1 + 1e-6) + 1e-12
    least, most = len(rates) / widest, len(rates) / shortest
    assert cost == pytest.approx(min(most, max(least, budget)), rel=1e-4)
    free = price(rates, budget, 1e-9, 1e12)
    ours = sum(rate * math.sqrt(free / rate) / 2 for rate in rates)
    for _ in range(20):
        shares = [random.random() + 0.01 for _ in rates]
        intervals = [sum(shares) / (share * budget) for share in shares]
        assert ours <= sum(rate * each / 2 for rate, each in zip(rates, intervals, strict=True)) * (1 + 1e-6)


def test_intervals_are_within_their_bounds_of_which_the_longest_gives_way_to_the_budget() -> None:
    revisits = scheduled(budget=60 / HOUR, shortest=120.0, longest=2 * HOUR)
    simulate(revisits, {**RATES, HUBS[0]: 1.0, HUBS[8]: 1e-9}, 0.0, WEEK, Random(1))
    assert (revisits.interval(HUBS[0]), revisits.interval(HUBS[8])) == (120.0, 2 * HOUR)
    visits, _ = simulate(scheduled(budget=1 / A_DAY, longest=HOUR), RATES, 0.0, 8 * WEEK, Random(1))
    assert visits == pytest.approx(56, abs=len(RATES) + 1)


def test_a_new_hub_is_due_at_once_and_its_first_visit_tells_of_no_rate() -> None:
    revisits = Revisits(1 / HOUR, shortest=60.0)
    assert (revisits.due(0.0), revisits.next_due) == ([], None)
    revisits.add("a", 1 / A_DAY, 100.0)
    assert (revisits.due(99.0), revisits.due(100.0), revisits.next_due) == ([], ["a"], 100.0)
    revisits.visited("a", 500, 100.0)
    assert revisits.rate("a") == pytest.approx(1 / A_DAY)
    assert revisits.next_due == pytest.approx(100.0 + HOUR)


def test_hubs_that_were_known_before_are_due_as_they_were() -> None:
    learned = {
        hub: (ArrivalRate.expecting(rate), number + 1.0) for number, (hub, rate) in enumerate(RATES.items())
    }
    revisits = Revisits(BUDGET)
    revisits.know({"http://new.org/": (ArrivalRate.expecting(1 / HOUR), 0.0), **learned})
    assert revisits.due(0.0) == ["http://new.org/"]
    for hub, (_, visited) in learned.items():
        due = visited + revisits.interval(hub)
        assert (hub in revisits.due(due - 1), hub in revisits.due(due + 1)) == (False, True)


def test_the_budget_may_change_what_was_learned_stays_and_hubs_that_are_not_kept_are_forgotten() -> None:
    revisits = scheduled()
    simulate(revisits, RATES, 0.0, A_DAY, Random(1))
    rate, due = revisits.rate(HUBS[0]), revisits.next_due
    revisits.add(HUBS[0], 1 / A_DAY, A_DAY)
    assert (revisits.rate(HUBS[0]), revisits.next_due) == (rate, due)
    before = {hub: revisits.interval(hub) for hub in revisits.hubs}
    revisits.spend(BUDGET / 3)
    assert all(revisits.interval(hub) > interval for hub, interval in before.items())
    revisits.keep([HUBS[0], "http://new.org/"])
    revisits.visited(HUBS[1], 5, 2 * A_DAY)
    assert (len(revisits), revisits.due(10 * A_DAY)) == (1, [HUBS[0]])


def test_a_hub_that_is_being_visited_is_not_due_until_its_lease_ends() -> None:
    revisits = Revisits(1 / HOUR)
    revisits.add("a", 1 / A_DAY, 0.0)
    revisits.postpone("a", 120.0)
    assert (revisits.due(119.0), revisits.due(120.0)) == ([], ["a"])
    revisits.postpone("a", 240.0)
    revisits.visited("a", 3, 130.0)
    assert revisits.next_due == pytest.approx(130.0 + HOUR)


def test_the_hub_whose_links_wait_longest_in_all_comes_first() -> None:
    revisits = Revisits(1.0, shortest=1.0, longest=1.0)
    for hub, rate in (("slow", 1 / A_DAY), ("fast", 1 / HOUR)):
        revisits.add(hub, rate, 0.0)
        revisits.visited(hub, 0, 0.0)
    revisits.add("new", 1 / A_DAY, 0.0)
    assert revisits.due(10.0) == ["new", "fast", "slow"]


@each_case(
    ("budget", "bounds"),
    [(0.0, {}), (1.0, {"shortest": 0.0}), (1.0, {"shortest": 9.0, "longest": 8.0}), (1.0, {"half_life": 0.0})],
)
def test_impossible_schedules_are_refused(budget: float, bounds: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Revisits(budget, **bounds)
    for rate, weight in ((0.0, 1.0), (1.0, 0.0), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="expected"):
            ArrivalRate.expecting(rate, weight)
