"""The importance metrics of Cho 1998, section 2, and their estimates while a crawl goes on."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.ordering import BoundedCounts, Crawled, Idf, Location, Rank, Similarity, pagerank
from scentline_lab.order.crawl import Backlinks
from scentline_lab.order.reading import Graph


def dense(sources: Sequence[int], targets: Sequence[int], nodes: int, damping: float) -> list[float]:
    """Return the r of r = (1 - d) + d M r; column j of M shares out node j, to all where it has no link."""
    matrix = np.zeros((nodes, nodes))
    for source, target in zip(sources, targets, strict=True):
        matrix[target, source] = 1
    out = matrix.sum(axis=0)
    matrix = np.where(out > 0, matrix / np.maximum(out, 1), 1 / nodes)
    ranks = np.linalg.solve(np.eye(nodes) - damping * matrix, np.full(nodes, 1 - damping))
    return [float(rank) for rank in ranks]


NODES = 8
EDGES = st.sets(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30)
PAGES = "abcdefgh"
LINKS = st.fixed_dictionaries({
    page: st.lists(st.sampled_from(PAGES.replace(page, "")), unique=True, max_size=5) for page in PAGES
})  # fmt: skip


def graph(edges: Iterable[tuple[int, int]], nodes: int = NODES) -> Graph:
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2)
    return Graph.of_edges(pairs[:, 0], pairs[:, 1], nodes)


@given(EDGES, st.sampled_from([0.5, 0.85, 0.9]))
def test_pagerank_solves_its_equations(edges: set[tuple[int, int]], damping: float) -> None:
    found = graph(edges)
    sources = np.repeat(np.arange(NODES), np.diff(found.matrix.indptr)).tolist()
    expected = dense(sources, found.targets.tolist(), NODES, damping)
    assert pagerank(found.matrix, damping=damping).tolist() == pytest.approx(expected, abs=1e-7)
    # By hand: a links to b, and b, without a link, to both: a = .1 + .45 b, b = .1 + .45 b + .9 a, a + b = 2.
    assert pagerank(graph([(0, 1)], 2).matrix).tolist() == pytest.approx([1.0 / 1.45, 2 - 1.0 / 1.45])
    again = pagerank(found.matrix, damping=damping, start=np.linspace(0, 2, NODES))
    assert again.tolist() == pytest.approx(expected, abs=1e-7)


@given(EDGES)
def test_a_graph_counts_each_link_once_and_none_to_oneself(edges: set[tuple[int, int]]) -> None:
    pairs = [*edges, *edges]
    found = graph(pairs)
    between = {(one, two) for one, two in edges if one != two}
    assert {(page, to) for page in range(NODES) for to in found.links(page)} == between
    assert found.backlinks.tolist() == [sum(two == page for _, two in between) for page in range(NODES)]
    reached = {0}
    while (more := {two for one, two in between if one in reached} | reached) != reached:
        reached = more
    assert found.reachable(0).tolist() == sorted(reached)
    part, inside = found.within(found.reachable(0)), sorted(reached)
    kept = {(inside[page], inside[to]) for page in range(len(part)) for to in part.links(page)}
    assert kept == {(one, two) for one, two in between if one in reached}


Links = Mapping[str, Sequence[str]]


def recomputed(links: Links, crawled: Sequence[str]) -> dict[str, float]:
    """Return PageRank over all pages that the links of some pages concern."""
    pairs = [(page, target) for page in crawled for target in links[page]]
    known = sorted({page for pair in pairs for page in pair})
    number = {page: place for place, page in enumerate(known)}
    ranks = dense([number[one] for one, _ in pairs], [number[two] for _, two in pairs], len(known), 0.9)
    return dict(zip(known, ranks, strict=True))


@given(LINKS, st.permutations(PAGES), st.integers(1, 4))
def test_backlinks_are_recounted_and_ranks_are_after_a_sweep_those_of_what_is_known_and_grow_by_shares_between(
    links: Links, order: Sequence[str], every: int
) -> None:
    rank, backlinks = Rank[str](every=every), Backlinks[str]()
    expected: dict[str, float] = {}
    for number, page in enumerate(order, 1):
        every_ones = rank.value("nobody links to it")
        for name in (page, *links[page]) if links[page] else ():
            expected.setdefault(name, every_ones)
        share = 0.9 * expected.get(page, 0.0) / max(1, len(links[page]))
        for target in links[page]:
            expected[target] += share
        for importance in (rank, backlinks):
            assert set(importance.crawled(Crawled(page, links[page]))) == set(links[page])
        assert {name: rank.value(name) for name in expected} == pytest.approx(expected)
        if rank.sweep():
            assert number % every == 0
            expected = recomputed(links, order[:number])
            assert {name: rank.value(name) for name in expected} == pytest.approx(expected, abs=1e-6)
        recount = Counter(target for crawled in order[:number] for target in links[crawled])
        assert {target: backlinks.value(target) for target in PAGES} == {to: recount[to] for to in PAGES}


def test_ranks_are_swept_when_the_crawl_has_grown() -> None:
    rank = Rank[int](every=10, growth=0.5)
    swept = []
    for page in range(100):
        rank.crawled(Crawled(page, [page + 1]))
        if rank.sweep():
            swept.append(page + 1)
    assert swept == [10, 20, 30, 45, 67, 100]


@given(LINKS, st.permutations(PAGES), st.integers(3, 12))
def test_ranks_forget_links_of_the_lowest_ranked_pages(links: Links, order: Sequence[str], limit: int) -> None:
    bounded = Rank[str](every=1, limit=limit)
    for page in order:
        bounded.crawled(Crawled(page, links[page]))
        assert bounded.links <= limit
        bounded.sweep()
    every_ones = bounded.value("nobody links to it")
    assert all(bounded.value(page) >= every_ones - 1e-9 for page in PAGES)


def test_what_is_left_when_ranks_forget_is_the_graph_of_what_was_kept() -> None:
    # h and the three that link to it rank highest; the links of the pages x, found by nobody, are forgotten.
    links = {"a": "h", "b": "h", "c": "h", "h": "abc", **{f"x{number}": "y" for number in range(6)}}
    rank = Rank[str](every=1, limit=10)
    for page, targets in links.items():
        rank.crawled(Crawled(page, targets))
        rank.sweep()
    for number in range(6, 9):
        rank.crawled(Crawled(f"x{number}", "y"))
        rank.sweep()
    assert rank.links <= 10
    assert rank.value("h") > 2 * rank.value("a") > rank.value("x0") > 0


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5))), st.integers(1, 10))
def test_counts_are_bounded_and_never_too_high(adds: list[tuple[int, int]], limit: int) -> None:
    with pytest.raises(ValueError, match="limit is 0"):
        BoundedCounts[int](0)
    counts = BoundedCounts[int](limit)
    true: Counter[int] = Counter()
    for key, times in adds:
        counts.add(key, times)
        true[key] += times
        assert len(counts) <= limit
    assert all(counts[key] <= true[key] for key in range(31))
    if len(true) <= limit:
        assert {key: counts[key] for key in true} == true


def test_similarity_by_hand() -> None:
    # "the" occurs 4 times, so its weight is a quarter; "queue" and "url" once each.
    idf = Idf()
    idf.add({"the": 3, "queue": 1})
    idf.add({"the": 1, "url": 1})
    text = {"the": 4, "queue": 2}  # weights 4 / 4 = 1 and 2
    assert Similarity(["queue"], idf).of(text) == pytest.approx(2 / sqrt(5))
    assert Similarity(["queue", "url"], idf).of(text) == pytest.approx(2 / sqrt(5) / sqrt(2))
    assert Similarity(["url"], idf).of(text) == 0
    assert Similarity(["url"], idf).of({}) == 0


def test_location_prefers_few_slashes_and_what_is_wanted() -> None:
    location = Location[str](str, {".com/": 1.0, "home": 2.0})
    worth = {"org/x/y": -2, "org/": -1, "com/": 0, "org/x/home": 0, "org/?to=http://b.org/c/d": -1}
    assert {url: location.value(f"http://a.{url}") for url in worth} == worth
