"""The laboratory's crawler of the paper's policies: its counts are a recount, its priorities the paper's."""

from collections.abc import Collection, Mapping
from random import Random
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.trace import Step, Trace
from scentline.models.interest.ratio import Base, Denominator, Sample, significant_log
from scentline.models.page import Link, Page
from scentline.models.recount import JudgedPage, recount
from scentline_lab.simulation.crawler import Task
from scentline_lab.simulation.factors import Weights
from scentline_lab.simulation.paper import PaperCrawler, PaperPolicy
from scentline_lab.simulation.tally import Tally, significant_logs
from tests.cases import each_case
from tests.models.webs import STEPS, URLS, WORDS
from tests.reference.crawler import Reference

SOME_LINKS = st.lists(st.sampled_from(URLS).map(Link), max_size=6).map(tuple)
A_PAGE = st.builds(Page, st.sampled_from(URLS), words=WORDS, links=SOME_LINKS)
PAGES = st.lists(st.tuples(A_PAGE, st.booleans()), unique_by=lambda judged: judged[0].url)
Judged = list[tuple[Page, bool]]
POLICIES = get_args(PaperPolicy)


def counts_of(crawler: PaperCrawler) -> dict[str, tuple[int, int]]:
    return {feature: (pages, hits) for feature, pages, hits in crawler.counts() if pages}


def expected(
    judged: Judged, trace: Trace, policy: PaperPolicy, parents: int = 32
) -> dict[str, tuple[int, int]]:
    found = [JudgedPage(page.url, {"p": holds}, page.words, page.links) for page, holds in judged]
    counted = recount(found, policy, trace, parents).items()
    return {feature: (pages, hits) for feature, predicate, pages, hits in counted if predicate == "p" and pages}


WEIGHTS: st.SearchStrategy[Weights] = st.sampled_from([(1.0, 1.0, 1.0, 1.0), (0.5, 2.0, 3.0, 0.0)])
TESTS = st.sampled_from(get_args(Denominator))


@given(PAGES, STEPS, st.sampled_from(POLICIES), TESTS, st.integers(1, 4), WEIGHTS, st.randoms())
def test_counts_are_the_recount_and_priorities_the_reference_in_whatever_order_pages_are_judged(
    judged: Judged,
    steps: list[Step],
    policy: PaperPolicy,
    test: Denominator,
    most: int,
    weights: Weights,
    random: Random,
) -> None:
    trace = Trace(steps, reach=2)
    crawler = crawler_of(
        trace, policy, parents=most, denominator=test, weights=weights, rescored=10**6, drift=0
    )
    reference = Reference(policy, denominator=test, factors=weights, parents=most, reach=2)
    reference.visit(*steps)
    random.shuffle(judged)
    first, later = judged[: 2 * len(judged) // 3], judged[2 * len(judged) // 3 :]
    for page, holds in first:
        crawler.judged(page, holds)
        reference.judged(page.url, {"p": holds}, page.words, page.links)
    assert counts_of(crawler) == expected(first, trace, policy, most)
    priorities = {url: reference.priority(url, "p") for url in set(URLS) - {page.url for page, _ in first}}
    assert {url: crawler.priority(url) for url in priorities} == pytest.approx(priorities, abs=1e-8)
    left = {step.url for step in steps} - {page.url for page, _ in first}
    known = {page.url: (page, holds) for page, holds in later}
    while (choice := crawler.next()) is not None:
        left.discard(choice.url)
        assert all(crawler.priority(choice.url) >= crawler.priority(url) - 1e-8 for url in left)
        crawler.judged(*known.get(choice.url, (Page(choice.url), False)))
    assert not left


def test_counts_equal_the_recount_where_more_pages_sign_than_count() -> None:
    random = Random(5)
    urls = [f"http://example.org/{number}" for number in range(50)]
    trace = Trace([Step("ann", random.choice(urls), float(time)) for time in range(200)], reach=30, window=200)
    judged = [(Page(url, words=tuple(random.sample("abcdefghijkl", 3))), random.random() < 0.3) for url in urls]
    crawler = crawler_of(trace, "collaborative")
    for page, holds in judged:
        crawler.judged(page, holds)
    assert counts_of(crawler) == expected(judged, trace, "collaborative")


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda pair: (max(pair), min(pair)))),
    st.integers(0, 60),
    st.integers(1, 60),
    st.sampled_from(get_args(Denominator)),
    st.sampled_from(get_args(Sample)),
)
def test_ratios_in_arrays_are_those_of_single_features(
    counts: list[tuple[int, int]], hits: int, more: int, denominator: Denominator, sample: Sample
) -> None:
    base = Base(hits + more, hits)
    pages, satisfying = np.array(counts, np.int32).reshape(-1, 2).T
    found = significant_logs(pages, satisfying, base, 2.0, denominator, sample)
    single = [significant_log(*count, base, 2.0, denominator, sample) for count in counts]
    assert found.tolist() == pytest.approx(single)


def test_sets_are_counted_beyond_what_a_byte_holds_and_taken_back() -> None:
    tally = Tally(2.0, "binomial")
    tally.numbers_of(["snow", "sea", "sky"])
    tally.add_sets([0b011] * 600, True, 1)
    tally.add_sets([0b110] * 300, False, 1)
    tally.add_sets([0b001] * 260, True, -1)
    tally.add_sets([], True, 1)
    assert list(tally.items()) == [("snow", 340, 340), ("sea", 900, 600), ("sky", 300, 0)]


def crawled(crawler: PaperCrawler, pages: Mapping[str, Page], hits: Collection[str] = ()) -> list[str]:
    """Crawl to the end from the first page; return the order."""
    crawler.add_seed(URLS[0])
    order: list[str] = []
    while (choice := crawler.next()) is not None:
        assert choice.probability is None
        order.append(choice.url)
        crawler.judged(pages.get(choice.url, Page(choice.url)), choice.url in hits)
    return order


def crawler_of(trace: Trace, policy: PaperPolicy, **options: Any) -> PaperCrawler:
    return PaperCrawler(Task((), trace, Random(0)), policy, **options)


ANN = Trace([Step("ann", URLS[1], 1.0)])


def test_seeds_come_first_in_their_order_and_failed_ones_never_again() -> None:
    crawler = crawler_of(ANN, "combined")
    seeds = ["http://new.example/", *URLS[5:3:-1]]
    for url in seeds:
        crawler.add_seed(url)
    found = []
    for _ in seeds:
        choice = crawler.next()
        assert choice is not None
        found.append(choice.url)
        crawler.failed(choice.url)
    assert found == seeds
    crawler.add_seed(seeds[0])
    assert crawled(crawler, {URLS[0]: Page(URLS[0], links=(Link(seeds[0]),))}) == URLS[:2]


def test_pages_of_the_log_and_link_targets_are_candidates_and_a_policy_as_printed_has_its_own() -> None:
    pages = {url: Page(url, links=(Link(URLS[2]), Link(url))) for url in URLS}
    as_printed = {
        ("linkage", True): [URLS[0], URLS[2]],
        ("linkage", False): [URLS[0], URLS[2]],
        ("combined", True): URLS[:3],
    }
    for policy in POLICIES:
        assert crawled(crawler_of(ANN, policy), pages, URLS) == URLS[:3]
        for holds in (True, False):
            found = crawled(crawler_of(ANN, policy, own=True), pages, URLS if holds else ())
            assert found == as_printed.get((policy, holds), URLS[:2])


@each_case("policy", POLICIES)
def test_before_its_first_hit_a_policy_goes_by_words_unless_it_is_as_printed(policy: PaperPolicy) -> None:
    names = ("first", "said", "around", "jazz", "last")
    urls = [f"http://a.org/{name}" for name in names]
    links = [Link(url) for url in urls]
    links[1], links[2] = Link(urls[1], anchor=("jazz", "music")), Link(urls[2], context=("more", "jazz"))
    task = Task(
        (), Trace([Step("ann", url, 100.0 * number) for number, url in enumerate(urls)]), Random(0), ("jazz",)
    )
    orders: dict[tuple[bool, bool], list[str]] = {}
    for own, hits in ((False, ()), (True, ()), (False, (URLS[0],))):
        crawler = PaperCrawler(task, policy, own=own)
        orders[own, bool(hits)] = crawled(crawler, {URLS[0]: Page(URLS[0], links=tuple(links))}, hits)
    assert orders[False, False] == [URLS[0], urls[1], urls[3], urls[2], urls[0], urls[4]]
    assert orders[True, False] == [URLS[0], *urls]
    assert orders[False, True][:2] == [URLS[0], urls[0]], "from its first hit on it goes by ratios alone"
