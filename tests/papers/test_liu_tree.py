"""Liu 2011, section 3: the pattern tree and its cuts, by hand and against the equations word for word."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scentline.models.papers import patterns as mine
from scentline.models.papers.pattern_tree import (
    PARAMETERS,
    SEGMENTS,
    Growth,
    Node,
    PatternTree,
    Syntax,
    build,
    decompose,
)
from scentline.models.papers.patterns import (
    TreeCut,
    description_length,
    figures,
    model_length,
    smoothed,
    visit_cut,
)
from scentline.models.papers.ways import Behaviour
from tests.cases import each_case

#: Two kinds of pages: ten items by number, in two shops, and three lists.
SHOP = [
    *(f"http://shop.test/{shop}/item/{number}" for shop in ("red", "blue") for number in range(5)),
    *(f"http://shop.test/list?page={number}" for number in range(3)),
]

segments = st.lists(st.sampled_from(["", "x", "y", "z", "1", "2", "p.html", "q.html", "r.txt"]), max_size=3)
queries = st.lists(st.sampled_from(["k=1", "k=2", "l=1", "m"]), max_size=2, unique=True)
urls = st.builds(
    lambda host, path, query: f"http://{host}/{'/'.join(path)}" + (f"?{'&'.join(query)}" if query else ""),
    st.sampled_from(["a.test", "b.test", "www.a.test"]), segments, queries,
)  # fmt: skip
sites = st.lists(urls, min_size=1, max_size=25, unique=True)
supports = st.integers(1, 4)


def leaves_of(syntax: Syntax) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, leaf in enumerate(syntax.leaf_of.tolist()):
        found.setdefault(syntax.tree.nodes[leaf].name, []).append(place)
    return found


@each_case(("url", "parts"))
def test_a_url_is_decomposed_into_key_value_pairs(url: str, parts: dict[str, str]) -> None:
    assert decompose(url) == parts


def test_a_value_without_support_goes_to_the_rest_an_unseen_url_to_the_deepest_node_that_fits() -> None:
    syntax = build([*SHOP, "http://shop.test/green/item/1"], Growth(support=2))
    assert "http://shop.test/*/item/**" in leaves_of(syntax)
    assert named(syntax.tree, "http://shop.test/pink/item/7") == "http://shop.test/*/item/**"
    tree = build(SHOP, Growth(support=2)).tree
    assert named(tree, "http://shop.test/red/item/9999") == "http://shop.test/red/item/**"
    assert named(tree, "http://shop.test/pink/item/7") == "http://shop.test/**/item/**"
    for url in ("http://shop.test/about", "http://elsewhere.test/red/item/1"):
        assert named(tree, url) == tree.nodes[0].name


def named(tree: PatternTree, url: str) -> str:
    return tree.nodes[tree.find(url)].name


@given(sites, supports, st.randoms(use_true_random=False))
def test_urls_are_found_where_they_were_put_in_any_order(urls: list[str], support: int, random: Random) -> None:
    syntax, other = build(urls, Growth(support)), build(random.sample(urls, len(urls)), Growth(support)).tree
    found = [syntax.tree.find(url) for url in urls]
    assert found == syntax.leaf_of.tolist() == [other.find(url) for url in urls]
    assert set(found) == set(syntax.tree.leaves)
    names = [node.name for node in syntax.tree.nodes]
    assert names == [node.name for node in other.nodes]
    assert len(set(names)) == len(names)

    def walked(node: Node) -> list[int]:
        return [node.index, *(index for child in node.below() for index in walked(child))]

    nodes = syntax.tree.nodes
    assert [node.index for node in nodes] == walked(nodes[0]) == list(range(len(nodes))), "from top to bottom"
    for node in nodes[1:]:
        assert node.parent is not None
        assert node in nodes[node.parent].below()
        assert node.depth == nodes[node.parent].depth + 1


@given(urls=sites, support=supports)
def test_every_split_is_by_the_most_concentrated_key_that_has_support(urls: list[str], support: int) -> None:
    syntax = build(urls, Growth(support))
    at = [set[str]() for _ in syntax.tree.nodes]
    for url, leaf in zip(urls, syntax.leaf_of.tolist(), strict=True):
        above: int | None = leaf
        while above is not None:
            at[above].add(url)
            above = syntax.tree.parents[above]
    frequent = {
        key for key, count in Counter(k for url in urls for k in decompose(url)).items() if count >= support
    }
    for node in syntax.tree.nodes:
        spread = {key: Counter(decompose(url).get(key) for url in at[node.index]) for key in frequent}
        possible = {
            key: -sum(
                count / len(at[node.index]) * math.log(count / len(at[node.index])) for count in values.values()
            )
            for key, values in spread.items()
            if len(values) > 1 and max(values.values()) >= support
        }
        assert (node.key is None) == (not possible)
        if node.key is not None:
            assert possible[node.key] <= min(possible.values()) + 1e-8
            wanted = {value for value, count in spread[node.key].items() if count >= support}
            assert set(node.children) == wanted


def test_a_site_of_fewer_urls_than_make_a_value_is_one_pattern_and_a_star_of_a_url_is_none() -> None:
    tree = build(SHOP[:3], Growth(support=5)).tree
    assert [node.name for node in tree.nodes] == ["http://shop.test/red/item/**"]
    urls = [f"http://t/{folder}/{number}" for folder in "*b" for number in range(3)]
    assert "http://t/%2A/**" in leaves_of(build(urls, Growth(support=3)))


def test_a_tree_stops_growing_at_its_leaves() -> None:
    urls = [f"http://t/{first}/{second}" for first in range(30) for second in range(30)]
    full = build(urls, Growth(support=1))
    assert len(full.tree.leaves) == 900
    small = build(urls, Growth(support=1, leaves=100))
    assert 100 <= len(small.tree.leaves) < 130
    assert [small.tree.find(url) for url in urls] == small.leaf_of.tolist()


def test_hostile_urls_make_no_more_keys_than_are_looked_at() -> None:
    url = "http://t/" + "a/" * 900 + "?" + "&".join(f"k{number}" for number in range(30))
    assert len(decompose(url)) <= 2 + SEGMENTS + PARAMETERS + 1
    urls = [f"http://t/?k{number}=1&k{number + 1}=1&k{number + 2}=1" for number in range(500)]
    tree = build(urls, Growth(support=3)).tree
    assert {node.key for node in tree.nodes if node.key} <= {f"?k{number}" for number in range(502)}
    assert len({node.key for node in tree.nodes}) <= 64


VISITED = st.lists(st.sampled_from([0, 1, 2, 3, 20, 100]), min_size=25, max_size=25)
visited_sites = st.builds(lambda urls, visits: dict(zip(urls, visits, strict=False)), sites, VISITED)
few = st.integers(2, 4)


def tree_of(visits: dict[str, int], support: int) -> tuple[PatternTree, mine.Figures]:
    syntax = build(list(visits), Growth(support))
    return syntax.tree, figures(Behaviour(visits, {}, {}), syntax)


def plans(node: Node) -> Iterator[list[int]]:
    """Yield every set of nodes at or below ``node`` of which each leaf is at or below exactly one."""
    yield [node.index]
    if node.key is not None:
        for parts in product(*(list(plans(child)) for child in node.below())):
            yield [index for part in parts for index in part]


#: Eight URLs under four folders of two, with so many visits each.
FOLDERS = {"a": (8, 8), "b": (7, 9), "c": (1, 1), "d": (0, 0)}
VISITS = {
    f"http://t/{name}/{name}{n}": count for name, counts in FOLDERS.items() for n, count in enumerate(counts)
}


def test_equations_1_to_4_a_description_costs_its_parameters_and_what_its_patterns_blur() -> None:
    # (4 - 1) / 2 * log 34; 16 of 34 visits on two URLs: each has 1/2 * 16/34 = .2353, and costs -log .2353.
    assert (model_length(4, 34), model_length(1, 34)) == pytest.approx((1.5 * math.log(34), 0))
    assert (mine.data_length(2, 16, 34), mine.data_length(2, 0, 34)) == pytest.approx(
        (-16 * math.log(0.5 * 16 / 34), 0)
    )
    tree, counted = tree_of(VISITS, 2)
    data = -2 * 16 * math.log(8 / 34) - 2 * math.log(1 / 34)
    assert description_length(tree.leaves, counted) == pytest.approx(1.5 * math.log(34) + data)


def test_folders_with_different_traffic_stay_apart_and_others_become_one_pattern() -> None:
    tree, counted = tree_of(VISITS, 2)
    # One pattern: 34 log 8 = 70.7. Four: 1.5 log 34 + 32 log(34/8) + 2 log 34 = 5.29 + 46.30 + 7.05 = 58.6.
    assert description_length([0], counted) == pytest.approx(34 * math.log(8))
    assert visit_cut(tree, counted).patterns == tree.leaves
    assert visit_cut(*tree_of(dict.fromkeys(VISITS, 5), 2)).patterns == (0,)
    pages = [(top, sub, n) for top in ("hot", "cold") for sub in ("x", "y") for n in range(3)]
    visits = {f"http://t/{top}/{sub}/{top}{sub}{n}": 50 if top == "hot" else 1 for top, sub, n in pages}
    tree, counted = tree_of(visits, 3)
    names = [tree.nodes[node].name for node in visit_cut(tree, counted).patterns]
    assert names == ["http://t/cold/.../**", "http://t/hot/.../**"]


@given(visits=visited_sites, support=few)
def test_the_cut_is_the_best_of_all_cuts(visits: dict[str, int], support: int) -> None:
    tree, counted = tree_of(visits, support)
    assume(len(tree.leaves) < 11)
    lengths = {tuple(sorted(plan)): description_length(plan, counted) for plan in plans(tree.nodes[0])}
    best = min(lengths.values())
    found = visit_cut(tree, counted)
    assert lengths[found.patterns] == pytest.approx(best)
    equal = [plan for plan, length in lengths.items() if length <= best * (1 + 1e-13)]
    assert len(found.patterns) == min(map(len, equal))


@given(visits=visited_sites, support=few)
def test_as_equation_3_is_printed_one_pattern_would_be_the_best(visits: dict[str, int], support: int) -> None:
    # Over distinct URLs, each once, the logarithm's concavity is against every split.
    tree, counted = tree_of({url: count + 1 for url, count in visits.items()}, support)

    def printed(plan: tuple[int, ...]) -> float:
        total = int(counted.visits[0])
        sizes = [(int(counted.urls[node]), int(counted.visits[node])) for node in plan]
        return model_length(len(plan), total) - sum(n * math.log(visits / n / total) for n, visits in sizes)

    assert printed((0,)) <= printed(tree.leaves) + 1e-9


class Small:
    """A tree, its leaves as patterns, and figures, of transitions between URLs."""

    def __init__(self, transitions: dict[tuple[str, str], int], support: int = 1) -> None:
        urls = sorted({url for way in transitions for url in way})
        came, left = Counter(dict.fromkeys(urls, 0)), Counter(dict.fromkeys(urls, 0))
        for (source, target), number in transitions.items():
            left[source] += number
            came[target] += number
        syntax = build(urls, Growth(support))
        self.tree = syntax.tree
        self.figures = figures(Behaviour(came, left, transitions), syntax)
        self.cut = TreeCut(self.tree, self.tree.leaves)

    def names(self, cut: TreeCut) -> list[str]:
        return [self.tree.nodes[node].name.removeprefix("http://t/") for node in cut.patterns]

    def rows(self, *names: str) -> list[int]:
        return [self.names(self.cut).index(name) for name in names]


#: In and out are alike for s/3 and s/4, but for the siblings that lead there (i/1, i/2) and where they lead.
WAYS = ("i/1", "s/3", 4), ("i/2", "s/4", 2), ("s/3", "o/5", 3), ("s/4", "o/6", 6), ("i/1", "x/7", 1)
FIGURE_5 = Small({(f"http://t/{one}", f"http://t/{two}"): number for one, two, number in WAYS})


def test_equation_5_distributions_are_shares_of_visits_and_referrals() -> None:
    i1, s3, x7 = FIGURE_5.rows("i/1", "s/3", "x/7")
    assert FIGURE_5.figures.transitions(FIGURE_5.cut)[i1, s3] == 4
    into, out = smoothed(FIGURE_5.tree, FIGURE_5.cut, FIGURE_5.figures)
    nodes = FIGURE_5.cut.patterns
    found = into[s3, nodes[i1]], out[i1, nodes[s3]], out[i1, nodes[x7]]
    assert found == pytest.approx((4 / 4, 4 / 5, 1 / 5))


def test_equation_6_a_share_decays_with_every_level_up() -> None:
    # Root (depth 1), folders (2), pages (3): a page's folder shares 2/3 of its transits, the root 2/3 * 1/3.
    (row,) = FIGURE_5.rows("i/1")
    shares = mine.propagation(FIGURE_5.tree, FIGURE_5.cut)[row]
    page = FIGURE_5.cut.patterns[row]
    folder = FIGURE_5.tree.parents[page]
    assert folder is not None
    assert (FIGURE_5.tree.nodes[page].depth, FIGURE_5.tree.nodes[folder].depth) == (3, 2)
    assert (shares[page], shares[folder], shares[0]) == pytest.approx((1, 2 / 3, 2 / 3 * 1 / 3))
    assert np.count_nonzero(shares) == 3


def test_equations_7_and_8_siblings_of_in_links_make_in_links_alike() -> None:
    # Unsmoothed s/3 and s/4 have nothing in common. Smoothed, each has (1, 2/3, 2/9) at a page of its own, the
    # folder that both share, and the root: cos = (4/9 + 4/81) / (1 + 4/9 + 4/81) = 40/121.
    into, out = smoothed(FIGURE_5.tree, FIGURE_5.cut, FIGURE_5.figures)
    rows = FIGURE_5.rows("s/3", "s/4")
    assert mine.similarities(into[rows])[0, 1] == pytest.approx(40 / 121)
    assert mine.similarities(out[rows])[0, 1] == pytest.approx(40 / 121)


def test_algorithm_1_looks_at_links_anew_after_each_cut() -> None:
    # Nothing leads to i/1 or i/2: (1 + .331) / 2 = .666; nothing leads on from o/5, o/6: (1 + 40/121) / 2.
    # s/3 and s/4 are at .331 first, but once i and o are one pattern each, they have all links in common.
    def after(threshold: float) -> list[str]:
        return FIGURE_5.names(mine.transit_cut(FIGURE_5.tree, FIGURE_5.cut, FIGURE_5.figures, threshold))

    assert after(1.0) == after(0.67) == FIGURE_5.names(FIGURE_5.cut)
    assert after(0.66) == ["i/**", "o/**", "s/**", "x/7"]


# The paper's equations and Algorithm 1 once more, over dictionaries and without a thought for speed.


def ancestors(node: Node, tree: PatternTree) -> list[Node]:
    return [] if node.parent is None else [tree.nodes[node.parent], *ancestors(tree.nodes[node.parent], tree)]


def share(k: Node, n: Node, leaves: list[Node], tree: PatternTree) -> float:
    height = max(leaf.depth for leaf in leaves)
    return math.prod(h / height for h in range(n.depth, k.depth)) if n in (k, *ancestors(k, tree)) else 0.0


def vector(k: Node, leaves: list[Node], small: Small, inward: bool) -> list[float]:
    found = small.figures
    leaves = sorted(leaves, key=lambda leaf: leaf.index)
    f_trans = found.transitions(TreeCut(small.tree, [leaf.index for leaf in leaves]))
    links = f_trans[:, leaves.index(k)] if inward else f_trans[leaves.index(k)]
    whole = max(1, (found.visits if inward else found.referrals)[k.index])
    return [
        sum(links[row] / whole * share(i, n, leaves, small.tree) for row, i in enumerate(leaves))
        for n in small.tree.nodes
    ]


def cosine(one: list[float], other: list[float]) -> float:
    lengths = math.hypot(*one), math.hypot(*other)
    if not all(lengths):
        return float(not any(lengths))
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths[0] / lengths[1]


def similarity(m: Node, n: Node, leaves: list[Node], small: Small) -> float:
    sides = (cosine(vector(m, leaves, small, way), vector(n, leaves, small, way)) for way in (True, False))
    return sum(sides) / 2


def algorithm_1(small: Small, threshold: float) -> list[int]:
    nodes = small.tree.nodes
    leaves = [nodes[index] for index in small.cut.patterns]
    queue = [node for node in nodes if node.key is not None and all(child in leaves for child in node.below())]
    while queue:
        q = min(queue, key=lambda node: (-node.depth, node.index))
        queue.remove(q)
        children = q.below()
        xi = min(similarity(m, n, leaves, small) for m in children for n in children if m is not n)
        if xi > threshold:
            leaves = [leaf for leaf in leaves if leaf not in children] + [q]
            if q.parent is not None and all(sibling in leaves for sibling in nodes[q.parent].below()):
                queue.append(nodes[q.parent])
    return sorted(leaf.index for leaf in leaves)


@st.composite
def smalls(draw: st.DrawFn) -> Small:
    urls = draw(sites.filter(lambda found: 1 < len(found) < 13))
    ways = st.tuples(st.sampled_from(urls), st.sampled_from(urls))
    transitions = st.dictionaries(ways, st.integers(1, 9), min_size=1, max_size=30)
    return Small(draw(transitions), draw(st.integers(1, 3)))


@given(small=smalls(), threshold=st.sampled_from([0.0519, 0.2041, 0.3517, 0.4831, 0.6523, 0.8011, 0.9507]))
def test_the_cut_is_what_algorithm_1_does_word_for_word(small: Small, threshold: float) -> None:
    found = mine.transit_cut(small.tree, small.cut, small.figures, threshold)
    assert list(found.patterns) == algorithm_1(small, threshold)


@given(small=smalls())
def test_transitions_of_patterns_are_sums_over_their_urls(small: Small) -> None:
    whole = small.figures.transitions(TreeCut(small.tree, [0]))
    between = small.figures.transitions(small.cut)
    assert between.sum() == whole[0, 0] == small.figures.visits[0] == small.figures.referrals[0]
    patterns = list(small.cut.patterns)
    assert between.sum(axis=0).tolist() == small.figures.visits[patterns].tolist()
    assert between.sum(axis=1).tolist() == small.figures.referrals[patterns].tolist()
