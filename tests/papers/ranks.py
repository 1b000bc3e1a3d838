"""PageRank by solving its equations, to compare with."""

from collections.abc import Sequence

import numpy as np


def dense(sources: Sequence[int], targets: Sequence[int], nodes: int, damping: float) -> list[float]:
    """Return the r of r = (1 - d) + d M r; column j of M shares out node j, to all where it has no link."""
    matrix = np.zeros((nodes, nodes))
    for source, target in zip(sources, targets, strict=True):
        matrix[target, source] = 1
    out = matrix.sum(axis=0)
    matrix = np.where(out > 0, matrix / np.maximum(out, 1), 1 / nodes)
    ranks = np.linalg.solve(np.eye(nodes) - damping * matrix, np.full(nodes, 1 - damping))
    return [float(rank) for rank in ranks]
