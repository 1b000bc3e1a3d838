"""The patterns of a site, mined from its users' behaviour, and the hubs and authorities among them.

The tree is cut twice, by the figures of Table 1. The visit-based cut is the plan of least description length;
the transit-based one merges siblings that users reach and leave alike.
"""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scentline.models.papers.pattern_tree import Growth, PatternTree, Syntax, build
from scentline.models.papers.ways import Behaviour, Pattern


class TreeCut:
    """The patterns of a plan: a set of nodes such that each leaf is at or below exactly one.

    ``of`` has for each node the pattern that it is at or below, or -1 for a node above the patterns.
    """

    def __init__(self, tree: PatternTree, patterns: Iterable[int]) -> None:
        self.patterns = tuple(sorted(patterns))
        chosen = frozenset(self.patterns)
        of = np.full(len(tree.nodes), -1)
        for index, parent in enumerate(tree.parents):
            above = -1 if parent is None else of[parent]
            of[index] = index if index in chosen else above
        self.of = of
        self.height = int(tree.depths[list(self.patterns)].max())


@dataclass(frozen=True)
class Figures:
    """The statistics of each node of a tree (Liu 2011, Table 1), each of shape (nodes,).

    ``urls`` is |P|, ``visits`` F_in(P), ``referrals`` F_out(P), summed over the URLs at and below the node.
    Transition i went from the leaf ``sources[i]`` to the leaf ``targets[i]`` ``ways[i]`` times.
    """

    urls: npt.NDArray[np.int64]
    visits: npt.NDArray[np.int64]
    referrals: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    ways: npt.NDArray[np.int64]

    def transitions(self, cut: TreeCut) -> npt.NDArray[np.float64]:
        """Return F_trans(P_a, P_b) between the patterns of a cut, shape (K, K), in their order."""
        size = len(cut.patterns)
        position = np.full(len(cut.of), -1)
        position[list(cut.patterns)] = np.arange(size)
        pairs = position[cut.of[self.sources]] * size + position[cut.of[self.targets]]
        found = np.zeros(size * size)
        np.add.at(found, pairs, self.ways)
        return found.reshape(size, size)


def figures(behaviour: Behaviour, syntax: Syntax) -> Figures:
    """Sum a site's behaviour over a tree built from ``list(behaviour.visits)``."""
    leaf = dict(zip(behaviour.visits, syntax.leaf_of.tolist(), strict=True))
    tree = syntax.tree
    nodes = len(tree.nodes)
    at_leaves = np.zeros((3, nodes), np.int64)
    for url, visits in behaviour.visits.items():
        at_leaves[:, leaf[url]] += 1, visits, behaviour.referrals.get(url, 0)
    between: dict[tuple[int, int], int] = {}
    for (source, target), count in behaviour.transitions.items():
        pair = leaf[source], leaf[target]
        between[pair] = between.get(pair, 0) + count
    pairs = np.array(list(between), np.int64).reshape(-1, 2)
    ways = np.array(list(between.values()), np.int64)
    sums = [tree.sums(row) for row in at_leaves]
    return Figures(sums[0], sums[1], sums[2], pairs[:, 0], pairs[:, 1], ways)


#: The threshold of Algorithm 1, for which the paper gives no figure.
THRESHOLD = 0.7

_Matrix = npt.NDArray[np.float64]


def propagation(tree: PatternTree, cut: TreeCut) -> _Matrix:
    """Return the matrix P, shape (K, N): the share of pattern k's transits of its ancestor n (Liu 2011, eq. 6).

    That is the product of h / H_tree for the depths h from n's to that of k's parent, where the root has depth
    1 and H_tree is the depth of the deepest pattern; 1 for k itself, 0 for all others.
    """
    shares = np.zeros((len(cut.patterns), len(tree.nodes)))
    for row, pattern in enumerate(cut.patterns):
        share, node = 1.0, tree.nodes[pattern]
        shares[row, pattern] = share
        while node.parent is not None:
            node = tree.nodes[node.parent]
            share *= node.depth / cut.height
            shares[row, node.index] = share
    return shares


def smoothed(tree: PatternTree, cut: TreeCut, figures: Figures) -> tuple[_Matrix, _Matrix]:
    """Return the smoothed in-link and out-link distributions of each pattern, shapes (K, N).

    Liu 2011, equations 5 and 7.
    """
    transitions = figures.transitions(cut)
    patterns = list(cut.patterns)
    into = transitions.T / np.maximum(figures.visits[patterns], 1)[:, None]
    out = transitions / np.maximum(figures.referrals[patterns], 1)[:, None]
    shares = propagation(tree, cut)
    return into @ shares, out @ shares


def similarities(rows: _Matrix) -> _Matrix:
    """Return the cosines between all rows, shape (rows, rows); rows of zeros are like only each other."""
    lengths = np.linalg.norm(rows, axis=1)
    empty = lengths == 0
    units = rows / np.where(empty, 1.0, lengths)[:, None]
    found: _Matrix = units @ units.T
    found[np.ix_(empty, empty)] = 1.0
    return found


def transit_cut(tree: PatternTree, cut: TreeCut, figures: Figures, threshold: float = THRESHOLD) -> TreeCut:
    """Return ``cut`` with siblings merged if their least similarity is above ``threshold`` (Algorithm 1).

    Similarity is the mean of the cosines of the smoothed in-link and out-link distributions (Liu 2011,
    equation 8). The deepest parents come first, and of these the lower index. A parent whose children are not
    alike enough is not tried again.
    """
    patterns = set(cut.patterns)
    queue = [
        (-node.depth, node.index) for node in tree.nodes if _only_patterns_below(tree, node.index, patterns)
    ]
    heapq.heapify(queue)
    links = smoothed(tree, cut, figures)
    while queue:
        _, parent = heapq.heappop(queue)
        children = [node.index for node in tree.nodes[parent].below()]
        rows = np.searchsorted(cut.patterns, children)
        into, out = (similarities(matrix[rows]) for matrix in links)
        if ((into + out) / 2).min() <= threshold:
            continue
        patterns.difference_update(children)
        patterns.add(parent)
        cut = TreeCut(tree, patterns)
        links = smoothed(tree, cut, figures)
        above = tree.parents[parent]
        if above is not None and _only_patterns_below(tree, above, patterns):
            heapq.heappush(queue, (-tree.nodes[above].depth, above))
    return cut


def _only_patterns_below(tree: PatternTree, node: int, patterns: set[int]) -> bool:
    below = tree.nodes[node].below()
    return bool(below) and all(child.index in patterns for child in below)


def model_length(patterns: int, visits: int) -> float:
    """Return L(cut), in nats, of a plan with a number of patterns and visits (Liu 2011, equation 2).

    >>> round(model_length(3, 100), 4)
    4.6052
    """
    return (patterns - 1) / 2 * math.log(visits) if visits else 0.0


def data_length(urls: int, visits: int, all_visits: int) -> float:
    """Return the part of one pattern in L(U | cut), in nats (Liu 2011, equations 3 and 4).

    Each of its visits costs -log of the probability p(u | cut) = F_in(P) / (F_in(root) |P|) that the plan gives
    the URL visited. Equation 3 is printed without a logarithm, and as a sum over distinct URLs; here
    each visit of a URL counts, as in a likelihood (Li and Abe 1998). Over distinct URLs a single pattern would
    always be the best: the logarithm is concave.

    >>> round(data_length(2, 4, 8), 4)  # each of 4 visits had the probability 1/4
    5.5452
    """
    return -visits * math.log(visits / all_visits / urls) if visits else 0.0


def description_length(patterns: Iterable[int], figures: Figures) -> float:
    """Return L(cut) + L(U | cut), in nats, of a plan given as its nodes (Liu 2011, equation 1)."""
    chosen = list(patterns)
    total = int(figures.visits[0])
    data = sum(data_length(int(figures.urls[node]), int(figures.visits[node]), total) for node in chosen)
    return model_length(len(chosen), total) + data


def visit_cut(tree: PatternTree, figures: Figures) -> TreeCut:
    """Return the plan of least description length; of equal ones that with fewer patterns higher up.

    Both lengths are sums over the patterns; each costs (log F_in(root)) / 2 and its data. So the best plan
    below a node is the node itself, or the best plans below its children together: one pass upwards.
    """
    total = int(figures.visits[0])
    price = math.log(total) / 2 if total else 0.0
    below = [0.0] * len(tree.nodes)
    ends = [False] * len(tree.nodes)
    for node in reversed(tree.nodes):
        alone = price + data_length(int(figures.urls[node.index]), int(figures.visits[node.index]), total)
        # So small a share is no gain: sums in another order may differ by as much.
        ends[node.index] = node.key is None or alone <= below[node.index] * (1 + 1e-12)
        least = alone if ends[node.index] else below[node.index]
        if node.parent is not None:
            below[node.parent] += least
    return TreeCut(tree, _topmost(tree, ends))


def _topmost(tree: PatternTree, ends: list[bool]) -> list[int]:
    """Return the first node at which a plan ends on each path down from the root."""
    found = []
    stack = [tree.nodes[0]]
    while stack:
        node = stack.pop()
        if ends[node.index]:
            found.append(node.index)
        else:
            stack.extend(node.below())
    return found


_Vector = npt.NDArray[np.float64]
# The iteration ends when no score moves by more than this, or after this number of steps.
_TOLERANCE = 1e-10
_STEPS = 1000


class Importance(NamedTuple):
    """The scores of each pattern, vectors of length 1 and shape (K,)."""

    authority: _Vector
    hub: _Vector


def importance(transitions: _Vector, visits: _Vector, referrals: _Vector) -> Importance:
    """Return authorities and hubs (Liu 2011, section 4.2, equations 9 and 10).

    ``transitions`` is F_trans, shape (K, K), ``visits`` F_in and ``referrals`` F_out of each pattern, (K,). An
    edge from j to i passes on j's hub score times F_trans(j, i) / F_out(j), and back i's authority times
    F_trans(j, i) / F_in(i); both are scaled to length 1 after each step. Without transitions the scores
    are the initial ones, equation 9.

    If every visit came from a page of the site, the authorities are F_in itself, and the hubs F_out: the graph
    then adds nothing to the counts (as in SALSA, Lempel and Moran 2001).
    """
    into = transitions / np.maximum(visits, 1)[None, :]
    out = transitions / np.maximum(referrals, 1)[:, None]
    authority, hub = _unit(visits), _unit(referrals)
    if not transitions.any():
        return Importance(authority, hub)
    for _ in range(_STEPS):
        last = authority, hub
        authority, hub = _unit(out.T @ hub), _unit(into @ authority)
        if np.abs(authority - last[0]).max() < _TOLERANCE and np.abs(hub - last[1]).max() < _TOLERANCE:
            break
    return Importance(authority, hub)


def _unit(scores: _Vector) -> _Vector:
    length = float(np.linalg.norm(scores))
    return scores / length if length else np.zeros_like(scores, dtype=np.float64)


#: A value gets its own node if this share of the site's URLs have it, and at least this number.
SHARE, LEAST = 0.001, 5


@dataclass(frozen=True)
class Patterns:
    """The patterns of a site, mined at one moment; immutable."""

    tree: PatternTree
    figures: Figures
    #: The leaves of the tree and its two cuts; the patterns of the last are the site's.
    syntax: TreeCut
    visit: TreeCut
    transit: TreeCut
    #: A pattern for each node that is not below those of ``transit``.
    all: tuple[Pattern | None, ...]
    #: The share of the variance of pages' visits that is not due to chance.
    trusted: float

    @property
    def cuts(self) -> dict[str, TreeCut]:
        """The three stages by name: "syntax", "visit" and "transit"."""
        return {"syntax": self.syntax, "visit": self.visit, "transit": self.transit}

    @property
    def chosen(self) -> list[Pattern]:
        """The site's patterns, in the order of the tree."""
        found = (self.all[node] for node in self.transit.patterns)
        return [pattern for pattern in found if pattern is not None]

    def pattern_of(self, url: str) -> Pattern:
        """Return the pattern of a canonical URL of the site, known or not: the deepest node that it matches."""
        node = self.tree.find(url)
        pattern = self.all[node]
        if pattern is None:
            pattern = self.all[self.transit.of[node]]
        assert pattern is not None
        return pattern

    def expected_visits(self, url: str, visits: int) -> float:
        """Return the expected visits of a page: its own, shrunk to the mean of its pattern.

        A URL of none of the patterns has the mean of the site. This is the posterior mean of a page whose
        visits are Poisson, with a rate that differs within a pattern (`_trusted`).
        """
        pattern, site = self.pattern_of(url), self.figures
        mean = pattern.visits / max(pattern.urls, 1) if pattern.leaf else site.visits[0] / site.urls[0]
        return float(self.trusted * visits + (1 - self.trusted) * mean)


def _trusted(behaviour: Behaviour, cut: TreeCut, counted: Figures) -> float:
    """Return the share of the variance of visits within patterns that is not due to chance, by moments.

    The variance of a Poisson count is its mean; the rest of the variance is that of the pages' rates. If these
    are gamma distributed, the posterior mean of a rate weighs the count by this share, the mean by the rest.
    """
    urls, visits = (each[list(cut.patterns)] for each in (counted.urls, counted.visits))
    freedom = counted.urls[0] - len(cut.patterns)
    if not freedom:
        return 0.0
    squares = sum(count * count for count in behaviour.visits.values())
    variance = (squares - float((visits**2 / urls).sum())) / int(freedom)
    chance = float(((urls - 1) * visits / urls).sum()) / int(freedom)
    return 1 - chance / variance if variance > chance else 0.0


def mine(behaviour: Behaviour, growth: Growth | None = None, threshold: float = THRESHOLD) -> Patterns:
    """Build the tree of a site's URLs, cut it by visits, then by transits, and score the patterns (Liu 2011).

    By default ``growth`` follows from the number of URLs. Raises ValueError without URLs.
    """
    urls = list(behaviour.visits)
    if not urls:
        raise ValueError("mine patterns: there are no URLs, expected one at least")
    syntax = build(urls, growth or Growth(max(LEAST, round(SHARE * len(urls)))))
    tree = syntax.tree
    counted = figures(behaviour, syntax)
    whole = TreeCut(tree, tree.leaves)
    visit = visit_cut(tree, counted)
    transit = transit_cut(tree, visit, counted, threshold)
    trusted = _trusted(behaviour, transit, counted)
    return Patterns(tree, counted, whole, visit, transit, _patterns(tree, transit, counted), trusted)


def _patterns(tree: PatternTree, cut: TreeCut, counted: Figures) -> tuple[Pattern | None, ...]:
    chosen = list(cut.patterns)
    scores = importance(
        counted.transitions(cut),
        counted.visits[chosen].astype(np.float64),
        counted.referrals[chosen].astype(np.float64),
    )
    of_node = dict(zip(chosen, zip(scores.authority.tolist(), scores.hub.tolist(), strict=True), strict=True))
    return tuple(
        None
        if cut.of[node.index] not in (-1, node.index)
        else Pattern(
            node.name,
            node.index in of_node,
            int(counted.urls[node.index]),
            int(counted.visits[node.index]),
            int(counted.referrals[node.index]),
            *of_node.get(node.index, (0.0, 0.0)),
        )
        for node in tree.nodes
    )
