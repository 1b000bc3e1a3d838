"""PageRank as the paper has it: the importance of a page is what the pages that link to it pass on."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

#: The paper's d, in all of its experiments (Cho 1998, section 6).
DAMPING = 0.9
#: The iteration ends when the ranks moved by less than this a page.
TOLERANCE = 1e-10
# Every step moves the ranks by at most d times as far as the one before, so that the bound on the steps is
# only there for a d near 1.
_STEPS = 1000


def pagerank(
    links: csr_array,
    linking: npt.NDArray[np.int64] | None = None,
    damping: float = DAMPING,
    start: npt.NDArray[np.float64] | None = None,
    tolerance: float = TOLERANCE,
) -> npt.NDArray[np.float64]:
    """Return the PageRank IR of each of n pages, shape (n,), mean 1.

    Row i of ``links``, of shape (rows, n), has a 1 for each page that page ``linking[i]`` links to; by default
    there are n rows, in the order of the pages. IR(P) = (1 - d) + d (IR(T1)/c1 + ... + IR(Tn)/cn), and a page
    without links links to every page (Cho 1998, section 2, 3). ``start`` is where the iteration starts, with
    mean 1, such as earlier ranks; by default every rank is 1.

    >>> matrix = csr_array([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
    >>> pagerank(matrix, damping=0.5).round(3).tolist()
    [0.938, 1.125, 0.938]
    """
    rows, pages = links.shape
    sources = np.arange(rows) if linking is None else linking
    counts = np.diff(links.indptr)
    leaf = np.ones(pages, np.bool_)
    leaf[sources[counts > 0]] = False
    part = damping / np.maximum(counts, 1)
    passing = links.T  # a view, of which a product takes no longer than of the matrix itself
    ranks = np.ones(pages) if start is None else start
    for _ in range(_STEPS):
        spread = everyones(ranks, leaf, damping)
        found = np.asarray(spread + passing @ (part * ranks[sources]), np.float64)
        moved = float(np.abs(found - ranks).sum())
        ranks = found
        if moved < tolerance * pages:
            break
    return ranks


def everyones(ranks: npt.NDArray[np.float64], leaf: npt.NDArray[np.bool_], damping: float) -> float:
    """Return what every page has, whoever links to it: 1 - d, and its part of the pages without links."""
    return float(1 - damping + damping * ranks[leaf].sum() / len(ranks))
