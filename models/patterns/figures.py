"""Table 1: what users did, by pattern."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.patterns.build import Syntax
from models.patterns.counts import Behaviour
from models.patterns.tree import TreeCut


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
