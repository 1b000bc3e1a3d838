"""Liu 2011, sections 2, 4 and 5: counts of a log, hubs and authorities, and rankings."""

from collections import Counter
from itertools import product
from random import Random
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scentline.models.page import Link, Page
from scentline.models.papers.pattern_tree import Growth
from scentline.models.papers.patterns import importance, mine
from scentline.models.papers.ways import DISCOVERY, FETCH, RANKS, Behaviour, Pattern, Ways, behaviour, score
from scentline_lab.patterns import quality
from scentline_lab.patterns.quality import (
    Record,
    counted,
    coverage,
    fetched_visits,
    matching,
    reached,
)
from scentline_lab.simulation.simple import Ranked
from scentline_lab.simulation.virtual import Terms, virtual_crawl
from tests.cases import each_case

Log = list[tuple[str, str, str | None]]
pages = st.sampled_from([f"http://t/{kind}/{number}" for kind in "ab" for number in range(4)])
logs = st.lists(st.tuples(st.sampled_from(["ann", "bob"]), pages, st.none() | pages), min_size=1, max_size=60)


def behaviour_of(log: Log) -> Behaviour:
    return counted(Record(*record) for record in log)


def ways_of(log: Log, most: int) -> dict[str, Ways]:
    found: dict[str, Ways] = {}
    for user, page, referrer in log:
        found.setdefault(page, Ways()).add(user, referrer, most)
    return found


@given(log=logs)
def test_frequencies_are_numbers_of_distinct_records_and_ways_within_their_bound_say_the_same(log: Log) -> None:
    found = behaviour_of(log)
    distinct = set(log)
    assert {url: n for url, n in found.visits.items() if n} == Counter(url for _, url, _ in distinct)
    assert found.referrals == Counter(referrer for _, _, referrer in distinct if referrer is not None)
    assert found.transitions == Counter((r, url) for _, url, r in distinct if r is not None)
    assert behaviour(ways_of(log, 100).items()) == found


@given(logs, st.integers(1, 8), st.randoms(use_true_random=False))
def test_beyond_it_what_is_kept_depends_on_the_records_alone(log: Log, most: int, random: Random) -> None:
    mixed = [*log, *random.sample(log, len(log) // 2)]
    random.shuffle(mixed)
    found = ways_of(log, most)
    assert found == ways_of(mixed, most)
    assert all(sum(map(len, ways.users.values())) <= most for ways in found.values())


def test_what_was_left_out_is_estimated_without_bias() -> None:
    there_were, most = 1000, 32
    estimates = []
    for trial in range(200):
        ways = Ways()
        for number in range(there_were):
            ways.add(f"{trial}-{number}", str(number % 2), most)
        assert ways.bound < RANKS
        estimates.append(ways.visits)
        assert sum(ways.sources().values()) == pytest.approx(ways.visits, abs=1)
    # The standard error of the mean of 200 such estimates is about 1000 / sqrt(32 * 200) = 12.5.
    assert sum(estimates) / len(estimates) == pytest.approx(there_were, abs=40)


# hubs and authorities

Matrix = npt.NDArray[np.float64]
#: Connected, so that one eigenvector leads.
graphs = st.integers(2, 6).flatmap(lambda size: arrays(np.float64, (size, size), elements=st.integers(1, 10)))


def unit(scores: Matrix) -> Matrix:
    return scores / np.linalg.norm(scores)


def test_equation_9_without_transitions_scores_are_shares_of_visits_and_referrals() -> None:
    found = importance(np.zeros((2, 2)), np.array([3.0, 4.0]), np.array([0.0, 2.0]))
    assert found.authority.tolist() == pytest.approx([0.6, 0.8])
    assert found.hub.tolist() == pytest.approx([0.0, 1.0])


@given(transitions=graphs, outside=st.just(0) | st.integers(1, 20))
def test_scores_are_leading_singular_vectors_of_scaled_transitions(transitions: Matrix, outside: int) -> None:
    visits = transitions.sum(axis=0) + outside * np.arange(1, len(transitions) + 1)
    referrals = transitions.sum(axis=1)
    left, values, right = np.linalg.svd(transitions / np.sqrt(np.outer(referrals, visits)))
    assume(values[1] < 0.95 * values[0])
    found = importance(transitions, visits, referrals)
    assert found.authority == pytest.approx(unit(np.abs(right[0]) * np.sqrt(visits)), abs=1e-6)
    assert found.hub == pytest.approx(unit(np.abs(left[:, 0]) * np.sqrt(referrals)), abs=1e-6)
    if not outside:  # every visit comes from within: the graph says what the counts say
        assert found.authority == pytest.approx(unit(visits), abs=1e-6)
        assert found.hub == pytest.approx(unit(referrals), abs=1e-6)


@given(graphs)
def test_scores_have_unit_magnitude_whatever_the_graph(transitions: Matrix) -> None:
    transitions = np.maximum(transitions - 5, 0)
    found = importance(transitions, transitions.sum(axis=0) + 1, transitions.sum(axis=1) + 1)
    for scores in (found.authority, found.hub):
        assert (scores >= 0).all()
        assert np.linalg.norm(scores) == pytest.approx(1)


# rankings and measures

LIST = Pattern("list", True, urls=4, visits=20, referrals=60, authority=0.2, hub=0.9)
ITEM = Pattern("item", True, urls=50, visits=100, referrals=10, authority=0.9, hub=0.1)
ABOVE = Pattern("above", False, urls=54, visits=120, referrals=70)


def test_rankings_of_section_4_by_hand() -> None:
    fetch = [FETCH[name] for name in ("volume", "overall-visit", "average-visit", "behaviour-fetch")]
    discovery = [DISCOVERY[name] for name in ("overall-referral", "average-referral", "behaviour-discovery")]
    for pattern, expected in ((LIST, (4, 20, 5, 0.55, 60, 15, 0.9)), (ITEM, (50, 100, 2, 0.5, 10, 0.2, 0.1))):
        assert [score(ranking, pattern) for ranking in (*fetch, *discovery)] == pytest.approx(expected)
    assert all(score(ranking, ABOVE) < 0 for ranking in (*fetch, *discovery))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=30))
def test_visits_are_trusted_as_far_as_they_vary_more_than_chance(pages: list[tuple[str, int]]) -> None:
    visits = {f"http://t/{kind}/{number}": count for number, (kind, count) in enumerate(pages)}
    mined = mine(Behaviour(visits, {}, {}), Growth(2))
    groups: dict[str, list[int]] = {}
    for url, count in visits.items():
        groups.setdefault(mined.pattern_of(url).name, []).append(count)
    deviations = [count - fmean(group) for group in groups.values() for count in group]
    freedom = len(visits) - len(groups)
    variance = sum(each**2 for each in deviations) / freedom if freedom else 0
    chance = sum((len(group) - 1) * fmean(group) for group in groups.values()) / freedom if freedom else 0
    assert mined.trusted == pytest.approx(max(0, 1 - chance / variance) if variance > 1e-9 else 0, abs=1e-9)
    for url, count in visits.items():
        mean = fmean(groups[mined.pattern_of(url).name])
        assert mined.expected_visits(url, count) == pytest.approx(mean + mined.trusted * (count - mean))
    elsewhere = mined.expected_visits("http://elsewhere/", 0)
    assert elsewhere == pytest.approx((1 - mined.trusted) * fmean(visits.values()))


def test_traffic_approximation_is_nothing_where_each_url_is_a_pattern_and_grows_with_what_is_blurred() -> None:
    visits = dict(
        zip(map("http://t/{0[0]}/{0[1]}".format, product("ab", "wxyz")), (9, 9, 9, 9, 1, 1, 1, 2), strict=True)
    )
    fine, coarse = (mine(Behaviour(visits, {}, {}), Growth(support)) for support in (1, 4))
    blurred = [
        quality.traffic_approximation(visits, each.tree, each.syntax, each.figures) for each in (fine, coarse)
    ]
    assert blurred[0] == pytest.approx(0, abs=1e-12)
    assert 0 < blurred[1] < 0.02


def test_coverage_counts_urls_and_their_visits() -> None:
    patterns = mine(Behaviour({f"http://t/a/{name}": 1 for name in "vwxyz"}, {}, {}), Growth(5))
    later = {"http://t/a/new": 3, "http://t/b/new": 1}
    found = matching(patterns.tree, patterns.transit, later)
    assert found == list(later), "one pattern for all is the site"
    assert coverage(later, ["http://t/a/new"]) == (0.5, 0.75)


LINKS = {"a": ("b", "c", "gone"), "b": ("d",), "c": (), "d": ()}
PAGES = {url: Page(url, links=tuple(map(Link, targets))) for url, targets in LINKS.items()}
VISITS = {"b": 2, "c": 5, "d": 3}


@each_case(("scores", "order"), [({"d": 9, "c": 5, "b": 2}, "acbd"), ({}, "abcd")])
def test_a_ranked_crawl_takes_the_best_that_links_have_made_known(scores: dict[str, float], order: str) -> None:
    crawler = Ranked(lambda url: scores.get(url, 0.0))
    requests = virtual_crawl(PAGES, (), ["a"], crawler, Terms(len(PAGES)))
    assert "".join(request.url for request in requests if request.page) == order


def test_fetched_and_discovered_visits_by_hand() -> None:
    fetched, discovered = fetched_visits("abcd", VISITS, 4), quality.discovered_visits("abcd", PAGES, VISITS)
    assert fetched.tolist() == pytest.approx([0, 0, 0.2, 0.7, 1])
    assert discovered.tolist() == pytest.approx([0, 0.7, 1, 1, 1])
    assert (reached(fetched, 0.8), reached(discovered, 0.8), reached(fetched, 0.7)) == (1, 0.5, 0.75)
    ended = fetched_visits("c", VISITS, 4)
    assert ended.tolist() == pytest.approx([0, 0.5, 0.5, 0.5, 0.5])
    assert reached(ended, 0.8) is None
