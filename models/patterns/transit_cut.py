"""The transit-based tree cut: siblings that users reach and leave alike become one pattern."""

import heapq

import numpy as np
import numpy.typing as npt

from models.patterns.figures import Figures
from models.patterns.tree import PatternTree, TreeCut

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
