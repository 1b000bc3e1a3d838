"""The two cuts of a pattern tree, by Table 1: what users did, by pattern.

The transit-based cut makes siblings that users reach and leave alike one pattern; the visit-based cut is the
plan of least description length.
"""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scentline.models.patterns.build import Syntax
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.tree import PatternTree, TreeCut


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
    """Sum a site's behaviour over a tree that was built of ``list(behaviour.visits)``."""
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
    """Return the matrix P, shape (K, N): what of pattern k's transits its ancestor n shares (Liu 2011, eq. 6).

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
    """Return the cosines between all rows, shape (rows, rows); rows of zeros are like each other only."""
    lengths = np.linalg.norm(rows, axis=1)
    empty = lengths == 0
    units = rows / np.where(empty, 1.0, lengths)[:, None]
    found: _Matrix = units @ units.T
    found[np.ix_(empty, empty)] = 1.0
    return found


def transit_cut(tree: PatternTree, cut: TreeCut, figures: Figures, threshold: float = THRESHOLD) -> TreeCut:
    """Return ``cut`` with siblings made one where their least similarity is above ``threshold`` (Algorithm 1).

    Similarity is the mean of the cosines of the smoothed in-link and out-link distributions (Liu 2011,
    equation 8). The deepest parents come first, of equally deep ones that of the lower index. A parent whose
    children are not alike enough is not looked at again.
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
    """Return L(cut), in nats, of a plan of so many patterns over so many visits (Liu 2011, equation 2).

    >>> round(model_length(3, 100), 4)
    4.6052
    """
    return (patterns - 1) / 2 * math.log(visits) if visits else 0.0


def data_length(urls: int, visits: int, all_visits: int) -> float:
    """Return what one pattern adds to L(U | cut), in nats (Liu 2011, equations 3 and 4).

    Each of its visits costs -log of the probability p(u | cut) = F_in(P) / (F_in(root) |P|) that the plan gives
    the URL visited. Equation 3 is printed without a logarithm, and as a sum over distinct URLs; a URL counts
    here as often as it is visited, as a likelihood has it (Li and Abe 1998). Over distinct URLs one pattern for
    all would always be the best: the logarithm is concave.

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
    """Return the plan of least description length, of equal ones the one of fewer patterns higher up.

    Both lengths are sums over the patterns, each of which costs (log F_in(root)) / 2 and its data, so that the
    best plan below a node is the node itself or the best plans below its children together: one pass upwards.
    """
    total = int(figures.visits[0])
    price = math.log(total) / 2 if total else 0.0
    below = [0.0] * len(tree.nodes)
    ends = [False] * len(tree.nodes)
    for node in reversed(tree.nodes):
        alone = price + data_length(int(figures.urls[node.index]), int(figures.visits[node.index]), total)
        # A hair of the whole is no gain: sums in another order may differ by as much.
        ends[node.index] = node.key is None or alone <= below[node.index] * (1 + 1e-12)
        least = alone if ends[node.index] else below[node.index]
        if node.parent is not None:
            below[node.parent] += least
    return TreeCut(tree, _topmost(tree, ends))


def _topmost(tree: PatternTree, ends: list[bool]) -> list[int]:
    """Return the first node of each way down from the root at which a plan ends."""
    found = []
    stack = [tree.nodes[0]]
    while stack:
        node = stack.pop()
        if ends[node.index]:
            found.append(node.index)
        else:
            stack.extend(node.below())
    return found
