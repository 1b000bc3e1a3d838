"""Liu 2011, section 3.2.2: the transit-based cut, by hand and against the equations word for word."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.patterns.build import Growth, build
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.cuts import Figures, figures, propagation, similarities, smoothed, transit_cut
from scentline.models.patterns.tree import Node, PatternTree, TreeCut
from tests.papers.test_liu_tree import sites


class Small:
    """A tree, its leaves as patterns, and figures, of transitions between URLs."""

    def __init__(self, transitions: dict[tuple[str, str], int], support: int = 1) -> None:
        urls = sorted({url for way in transitions for url in way})
        visits = {url: sum(n for (_, target), n in transitions.items() if target == url) for url in urls}
        referrals = {url: sum(n for (source, _), n in transitions.items() if source == url) for url in urls}
        behaviour = Behaviour(visits, referrals, transitions)
        syntax = build(urls, Growth(support))
        self.tree: PatternTree = syntax.tree
        self.figures: Figures = figures(behaviour, syntax)
        self.cut = TreeCut(self.tree, self.tree.leaves)

    def names(self, cut: TreeCut) -> list[str]:
        return [self.tree.nodes[node].name.removeprefix("http://t/") for node in cut.patterns]

    def row(self, name: str) -> int:
        return self.names(self.cut).index(name)


def url(path: str) -> str:
    return f"http://t/{path}"


#: In and out are alike for s/3 and s/4, but for the siblings that lead there (i/1, i/2) and where they lead.
FIGURE_5 = Small(
    {(url(a), url(b)): n for a, b, n in
     (("i/1", "s/3", 4), ("i/2", "s/4", 2), ("s/3", "o/5", 3), ("s/4", "o/6", 6), ("i/1", "x/7", 1))}
)  # fmt: skip


def test_equation_5_distributions_are_shares_of_visits_and_referrals() -> None:
    transitions = FIGURE_5.figures.transitions(FIGURE_5.cut)
    i1, s3, x7 = (FIGURE_5.row(name) for name in ("i/1", "s/3", "x/7"))
    assert transitions[i1, s3] == 4
    into, out = smoothed(FIGURE_5.tree, FIGURE_5.cut, FIGURE_5.figures)
    nodes = FIGURE_5.cut.patterns
    assert into[s3, nodes[i1]] == pytest.approx(4 / 4)
    assert out[i1, nodes[s3]] == pytest.approx(4 / 5)
    assert out[i1, nodes[x7]] == pytest.approx(1 / 5)


def test_equation_6_a_share_decays_with_every_level_up() -> None:
    # Root (depth 1), folders (2), pages (3): a page's folder shares 2/3 of its transits, the root 2/3 * 1/3.
    shares = propagation(FIGURE_5.tree, FIGURE_5.cut)
    page = FIGURE_5.cut.patterns[FIGURE_5.row("i/1")]
    folder = FIGURE_5.tree.parents[page]
    assert folder is not None
    row = shares[FIGURE_5.row("i/1")]
    assert (FIGURE_5.tree.nodes[page].depth, FIGURE_5.tree.nodes[folder].depth) == (3, 2)
    assert row[page] == 1
    assert row[folder] == pytest.approx(2 / 3)
    assert row[0] == pytest.approx(2 / 3 * 1 / 3)
    assert np.count_nonzero(row) == 3


def test_equations_7_and_8_siblings_of_in_links_make_in_links_alike() -> None:
    # Unsmoothed s/3 and s/4 have nothing in common. Smoothed, each has (1, 2/3, 2/9) at a page of its own, the
    # folder that both share, and the root: cos = (4/9 + 4/81) / (1 + 4/9 + 4/81) = 40/121.
    into, out = smoothed(FIGURE_5.tree, FIGURE_5.cut, FIGURE_5.figures)
    rows = [FIGURE_5.row("s/3"), FIGURE_5.row("s/4")]
    assert similarities(into[rows])[0, 1] == pytest.approx(40 / 121)
    assert similarities(out[rows])[0, 1] == pytest.approx(40 / 121)


def test_algorithm_1_looks_at_links_anew_after_each_cut() -> None:
    # Nothing leads to i/1 or i/2: (1 + .331) / 2 = .666; nothing leads on from o/5, o/6: (1 + 40/121) / 2.
    # s/3 and s/4 are at .331 first, but once i and o are one pattern each, they have all links in common.
    def after(threshold: float) -> list[str]:
        return FIGURE_5.names(transit_cut(FIGURE_5.tree, FIGURE_5.cut, FIGURE_5.figures, threshold))

    assert after(1.0) == after(0.67) == FIGURE_5.names(FIGURE_5.cut)
    assert after(0.66) == ["i/**", "o/**", "s/**", "x/7"]


# The paper's equations and Algorithm 1 once more, over dictionaries and without a thought for speed.


def ancestors(node: Node, tree: PatternTree) -> list[Node]:
    found = []
    while node.parent is not None:
        node = tree.nodes[node.parent]
        found.append(node)
    return found


def share(k: Node, n: Node, leaves: list[Node], tree: PatternTree) -> float:
    if k is n:
        return 1.0
    if n not in ancestors(k, tree):
        return 0.0
    height = max(leaf.depth for leaf in leaves)
    return math.prod(h / height for h in range(n.depth, k.depth))


def vector(k: Node, leaves: list[Node], small: Small, inward: bool) -> list[float]:
    f_trans = small.figures.transitions(TreeCut(small.tree, [leaf.index for leaf in leaves]))
    place = {leaf.index: row for row, leaf in enumerate(sorted(leaves, key=lambda leaf: leaf.index))}
    whole = (small.figures.visits if inward else small.figures.referrals)[k.index]
    links = {
        leaf.index: f_trans[
            (place[leaf.index], place[k.index]) if inward else (place[k.index], place[leaf.index])
        ]
        for leaf in leaves
    }
    return [
        sum(links[i.index] / whole * share(i, n, leaves, small.tree) for i in leaves) if whole else 0.0
        for n in small.tree.nodes
    ]


def cosine(one: list[float], other: list[float]) -> float:
    lengths = math.hypot(*one), math.hypot(*other)
    if not any(lengths):
        return 1.0
    if not all(lengths):
        return 0.0
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
    return Small(
        draw(st.dictionaries(ways, st.integers(1, 9), min_size=1, max_size=30)), draw(st.integers(1, 3))
    )


@given(small=smalls(), threshold=st.sampled_from([0.0519, 0.2041, 0.3517, 0.4831, 0.6523, 0.8011, 0.9507]))
def test_the_cut_is_what_algorithm_1_does_word_for_word(small: Small, threshold: float) -> None:
    found = transit_cut(small.tree, small.cut, small.figures, threshold)
    assert list(found.patterns) == algorithm_1(small, threshold)


@given(small=smalls())
def test_transitions_of_patterns_are_sums_over_their_urls(small: Small) -> None:
    whole = small.figures.transitions(TreeCut(small.tree, [0]))
    between = small.figures.transitions(small.cut)
    assert between.sum() == whole[0, 0] == small.figures.visits[0] == small.figures.referrals[0]
    patterns = list(small.cut.patterns)
    assert between.sum(axis=0).tolist() == small.figures.visits[patterns].tolist()
    assert between.sum(axis=1).tolist() == small.figures.referrals[patterns].tolist()
