"""The algorithms of Cho 1998, Figures 1 to 5, and the measures of section 3: by hand, and read literally."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.ordering import Crawled, Rank
from scentline_lab.order import command as results
from scentline_lab.order.command import mean_depths
from scentline_lab.order.crawl import (
    OCCURRENCES,
    Backlinks,
    Estimate,
    Frontier,
    Heat,
    crawl,
    is_hot,
    limited_buffers,
)
from scentline_lab.order.reading import Graph
from tests.cases import each_case

WORD = "computer"
Links = Mapping[str, Sequence[str]]


def order(links: Links, estimate: Estimate[str] | None = None, start: str = "a") -> str:
    return "".join(crawl(start, lambda page: Crawled(page, links[page]), Frontier(estimate)))


WEB = {"a": "bcd", "b": "e", "c": "fe", "d": "f", "e": "", "f": "e"}


@each_case(
    ("estimate", "expected"),
    [
        (None, "abcdef"),
        # Found: b, c, d with a link each. After b: e with one. After c: e has two, f one, d one.
        (Backlinks[str](), "abcedf"),
        # In units of what every page has, a has 1, and b, c and d have 1 + .9 / 3 = 1.3 each. After b, e has
        # 1 + .9 * 1.3 = 2.17. After c, f has 1 + .9 * 1.3 / 2 = 1.585, which is more than d.
        (Rank[str](every=1), "abecfd"),
    ],
)
def test_figure_1_with_each_ordering_of_figure_2_by_hand(estimate: Estimate[str] | None, expected: str) -> None:
    assert order(WEB, estimate) == expected


# Figure 3: page 1 leads into the cluster A of pages that link to each other; a page of few links leads to 2,
# which has more backlinks than any of A, as shown by the pages t to z that it leads to.
CLUSTER, BEHIND = "ABCDE", "tuvwxyz"
FRAGMENT = {"h": "13", "1": CLUSTER, "3": "2", "2": BEHIND, **dict.fromkeys(BEHIND, "2")}
FRAGMENT |= {page: CLUSTER.replace(page, "") for page in CLUSTER}


def test_backlink_ordering_goes_deep_into_a_cluster_and_pagerank_does_not() -> None:
    assert order(FRAGMENT, Backlinks(), "h") == f"h13{CLUSTER}2{BEHIND}"
    assert order(FRAGMENT, Rank(every=1), "h").startswith("h132")


PAGES = "abcdefgh"
TARGETS = {page: st.lists(st.sampled_from(PAGES.replace(page, "")), unique=True, max_size=5) for page in PAGES}
LINKS = st.fixed_dictionaries(TARGETS)


@given(LINKS)
def test_backlink_ordering_is_figure_2_read_literally(links: Links) -> None:
    found, queue, crawled, seen = ["a"], ["a"], "", list[str]()
    while queue:
        page = max(queue, key=lambda name: (seen.count(name), -found.index(name)))
        queue.remove(page)
        crawled += page
        seen += links[page]
        fresh = [target for target in links[page] if target not in found]
        found, queue = found + fresh, queue + fresh
    assert order(links, Backlinks()) == crawled


# Figures 4 and 5.
def topic_page(page: str, targets: str = "", count: int = 0, **anchors: str) -> Crawled[str]:
    return Crawled(page, targets, [anchors.get(to, "").split() for to in targets], (), {WORD: count})


def topic_order(heat: Heat[str], *pages: Crawled[str]) -> str:
    web = {found.page: found for found in pages}
    return "".join(crawl(pages[0].page, web.__getitem__, Frontier(), heat))


def test_a_page_is_hot_by_its_title_or_by_ten_occurrences() -> None:
    assert is_hot(Crawled("a", title=["my", WORD]), WORD)
    assert is_hot(Crawled("a", words={WORD: 10}), WORD)
    assert not is_hot(Crawled("a", title=["computers"], words={WORD: 9}), WORD)


def test_the_basic_crawler_takes_what_mentions_the_word_first() -> None:
    pages = [topic_page("a", "bcd", d="a computer shop"), *map(topic_page, "bcd")]
    assert topic_order(Heat(WORD, str), *pages) == "adbc"
    assert topic_order(Heat(WORD, {"b": "/", "c": "/Computers/", "d": "/"}.__getitem__), *pages) == "acdb"
    # c is found without the word first: the figure does not move it when another anchor has the word.
    moved = [topic_page("a", "bdc"), topic_page("b", "c", c=WORD), *map(topic_page, "dc")]
    assert topic_order(Heat(WORD, str), *moved) == "abdc"


def test_the_modified_crawler_follows_hot_pages_two_links_far() -> None:
    # b is hot: its target e comes before c and d, then f, two links from b; g, three links from it, does not.
    pages = [topic_page("a", "bcd"), topic_page("b", "e", OCCURRENCES), *map(topic_page, "cd"),
             topic_page("e", "f"), topic_page("f", "g"), topic_page("g")]  # fmt: skip
    assert topic_order(Heat(WORD, str, near=True), *pages) == "abefcdg"
    assert topic_order(Heat(WORD, str), *pages) == "abcdefg"


Values = npt.NDArray[np.float64]
VALUES = st.lists(st.integers(0, 4), min_size=1, max_size=5).map(lambda values: np.array(values, np.float64))


def test_the_measures_by_hand() -> None:
    # Ten pages of importance 1 to 10, crawled as 5 9 1 10 2 8 3 7 4 6.
    visited = np.array([5, 9, 1, 10, 2, 8, 3, 7, 4, 6], np.float64)
    points = np.array([1, 2, 4, 10])
    # The best page is 10; of the first two 9 is among the best two, of the first four 9 and 10.
    assert results.crawl_and_stop(visited, points).tolist() == [0, 0.5, 0.5, 1]
    # H = 3 pages have 8 or more.
    found = results.crawl_and_stop_with_threshold(visited, 8, points)
    assert found.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    # K/T without equal pages.
    assert results.random_crawl_and_stop(visited, points).tolist() == [0.1, 0.2, 0.4, 1]
    # A buffer of four that holds 10, 9, 5 and 3: two of the best four, and two of the three with 8 or more.
    kept = np.array([10, 9, 5, 3], np.float64)
    assert results.limited_buffer(kept, visited) == (0.5, 1, 0.4)
    assert results.limited_buffer(kept, visited, threshold=8) == (0.5, 0.75, 0.3)


@given(VALUES)
def test_an_ideal_crawler_has_what_is_said_of_it(values: Values) -> None:
    best, points = -np.sort(-values), np.arange(1, len(values) + 1)
    assert results.crawl_and_stop(best, points).tolist() == [1] * len(values)
    for threshold in set(values.tolist()):
        found = results.crawl_and_stop_with_threshold(best, threshold, points)
        ideal = np.minimum(1, points / int((values >= threshold).sum()))
        assert found.tolist() == ideal.tolist()
        for size in points.tolist():
            kept, most, _ = results.limited_buffer(best[:size], values, threshold)
            assert kept == pytest.approx(most)


@given(LINKS, st.permutations(PAGES), st.sampled_from([Backlinks[str], lambda: Rank[str](every=2)]))
def test_a_full_buffer_throws_out_the_page_of_the_lowest_estimate_of_equal_ones_the_last_visited(
    links: Mapping[str, Sequence[str]], order: Sequence[str], estimates: type[Estimate[str]]
) -> None:
    sizes = [1, 3, 8]
    expected = []
    for size in sizes:
        estimate, kept = estimates(), list[str]()
        for page in order:
            estimate.crawled(Crawled(page, links[page]))
            estimate.sweep()
            kept.append(page)
            if len(kept) > size:
                kept.remove(min(kept, key=lambda name: (estimate.value(name), -order.index(name))))
        expected.append(set(kept))
    found = limited_buffers([Crawled(page, links[page]) for page in order], sizes, estimates())
    assert [set(kept) for kept in found] == expected


def test_a_crawl_that_follows_what_it_just_found_goes_deep() -> None:
    # 0 links to 1, 2, 3; 1 to 4, 4 to 5, 5 to 6.
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 4), (4, 5), (5, 6)])
    graph = Graph.of_edges(pairs[:, 0], pairs[:, 1], 7)
    assert mean_depths(graph, np.array([0, 1, 4, 5, 6, 2, 3]), [1, 5]) == [0, (0 + 1 + 2 + 3 + 4) / 5]
    assert mean_depths(graph, np.array([0, 1, 2, 3, 4, 5, 6]), [5]) == [(0 + 1 + 1 + 1 + 2) / 5]
