"""The crawl models of Cho 1998, section 3, and their measures: by hand and by brute force."""

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.ordering.estimate import Crawled
from scentline.models.ordering.rank import Rank
from scentline_lab.order.crawl import Backlinks, Buffer, limited_buffers
from scentline_lab.order.graph import Graph, Walk, walk
from scentline_lab.order.results import (
    crawl_and_stop,
    crawl_and_stop_with_threshold,
    ideal_limited_buffer,
    ideal_with_threshold,
    limited_buffer,
    random_crawl_and_stop,
    random_limited_buffer,
)

VALUES = st.lists(st.integers(0, 4), min_size=1, max_size=5).map(lambda values: np.array(values, np.float64))
PAGES = "abcdefgh"
LINKS = st.fixed_dictionaries({
    page: st.lists(st.sampled_from(PAGES.replace(page, "")), unique=True, max_size=5) for page in PAGES
})  # fmt: skip


def every(count: int) -> npt.NDArray[np.int64]:
    return np.arange(1, count + 1)


def test_the_measures_by_hand() -> None:
    # Ten pages of importance 1 to 10, crawled as 5 9 1 10 2 8 3 7 4 6.
    visited = np.array([5, 9, 1, 10, 2, 8, 3, 7, 4, 6], np.float64)
    points = np.array([1, 2, 4, 10])
    # The best page is 10; of the first two 9 is among the best two, of the first four 9 and 10.
    assert crawl_and_stop(visited, points).tolist() == [0, 0.5, 0.5, 1]
    # H = 3 pages have 8 or more.
    assert crawl_and_stop_with_threshold(visited, 8, points).tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert ideal_with_threshold(3, points).tolist() == pytest.approx([1 / 3, 2 / 3, 1, 1])
    # K/T without equal pages.
    assert random_crawl_and_stop(visited, points).tolist() == [0.1, 0.2, 0.4, 1]
    # A buffer of four that holds 10, 9, 5 and 3: two of the best four, and two of the three with 8 or more.
    kept = np.array([10, 9, 5, 3], np.float64)
    assert limited_buffer(kept, visited) == 0.5
    assert limited_buffer(kept, visited, threshold=8) == 0.5
    assert ideal_limited_buffer(visited, 4, threshold=8) == 0.75
    assert ideal_limited_buffer(visited, 4) == 1
    assert random_limited_buffer(visited, 4) == 0.4


def test_a_threshold_that_no_page_meets_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"importance of 3\.5"):
        crawl_and_stop_with_threshold(np.array([1.0, 3.0]), 3.5, np.array([1]))


@given(VALUES)
def test_an_ideal_crawler_has_what_is_said_of_it(values: npt.NDArray[np.float64]) -> None:
    best, points = -np.sort(-values), every(len(values))
    assert crawl_and_stop(best, points).tolist() == [1] * len(values)
    for threshold in set(values.tolist()):
        found = crawl_and_stop_with_threshold(best, threshold, points)
        assert found.tolist() == ideal_with_threshold(int((values >= threshold).sum()), points).tolist()
        for size in points.tolist():
            kept = limited_buffer(best[:size], values, threshold)
            assert kept == pytest.approx(ideal_limited_buffer(values, size, threshold))


@given(VALUES)
def test_a_random_crawler_has_on_the_mean_of_all_orders_what_is_said_of_it(
    values: npt.NDArray[np.float64],
) -> None:
    points = every(len(values))
    orders = [np.array(order) for order in permutations(values.tolist())]
    stop = np.mean([crawl_and_stop(order, points) for order in orders], axis=0)
    assert stop.tolist() == pytest.approx(random_crawl_and_stop(values, points).tolist())
    threshold = float(values.max())
    found = np.mean([crawl_and_stop_with_threshold(order, threshold, points) for order in orders], axis=0)
    assert found.tolist() == pytest.approx((points / len(values)).tolist())
    for size in points.tolist():
        buffers = [np.array(kept) for kept in combinations(values.tolist(), size)]
        for bar in (None, threshold):
            mean = np.mean([limited_buffer(kept, values, bar) for kept in buffers])
            assert mean == pytest.approx(random_limited_buffer(values, size, bar))


def thrown_out(links: Mapping[str, Sequence[str]], order: Sequence[str], size: int) -> set[str]:
    """Return what is left when the page with the fewest known links goes, of equal ones the last visited."""
    kept: list[str] = []
    for number, page in enumerate(order, 1):
        kept.append(page)
        if len(kept) > size:
            seen = [target for crawled in order[:number] for target in links[crawled]]
            kept.remove(min(kept, key=lambda name: (seen.count(name), -order.index(name))))
    return set(kept)


@given(LINKS, st.permutations(PAGES))
def test_a_full_buffer_throws_out_the_page_of_the_lowest_estimate(
    links: Mapping[str, Sequence[str]], order: Sequence[str]
) -> None:
    sizes = [1, 3, 8]
    found = limited_buffers([Crawled(page, links[page]) for page in order], sizes, Backlinks[str]())
    assert [set(kept) for kept in found] == [thrown_out(links, order, size) for size in sizes]


@given(LINKS, st.permutations(PAGES), st.integers(1, 7))
def test_a_buffer_by_pagerank_throws_out_the_page_of_the_lowest_rank(
    links: Mapping[str, Sequence[str]], order: Sequence[str], size: int
) -> None:
    rank, kept = Rank[str](every=2), list[str]()
    for page in order:
        rank.crawled(Crawled(page, links[page]))
        rank.sweep()
        kept.append(page)
        if len(kept) > size:
            kept.remove(min(kept, key=lambda name: (rank.value(name), -order.index(name))))
    (found,) = limited_buffers([Crawled(page, links[page]) for page in order], [size], Rank[str](every=2))
    assert set(found) == set(kept)


def test_a_buffer_without_room_is_an_error() -> None:
    with pytest.raises(ValueError, match="size is 0"):
        Buffer(0, Backlinks[str]())


def test_a_crawl_that_follows_what_it_just_found_goes_deep_and_waits_little() -> None:
    # 0 links to 1, 2, 3; 1 to 4, 4 to 5, 5 to 6.
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 4), (4, 5), (5, 6)])
    graph = Graph.of_edges(pairs[:, 0], pairs[:, 1], 7)
    (deep,) = walk(graph, np.array([0, 1, 4, 5, 6, 2, 3]), [5])
    (broad,) = walk(graph, np.array([0, 1, 2, 3, 4, 5, 6]), [5])
    assert deep == Walk(depth=10 / 5, wait=1)  # depths 0 1 2 3 4; each comes just after what it is found on
    assert broad == Walk(depth=5 / 5, wait=2.5)  # depths 0 1 1 1 2; waits 1 2 3 3
