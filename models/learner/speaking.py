"""Which features speak most for a predicate, or against it."""

import numpy as np
import numpy.typing as npt

from scentline.models.learner.combiner import Vector

Places = npt.NDArray[np.intp]


def strongest(weights: Vector, pages: npt.NDArray[np.integer], most: int, *, against: bool = False) -> Places:
    """Return the places of so many of the largest weights above 0, or of the lowest below it, in their order.

    What was seen on no ``pages`` is left out. Of equal ones, as are those at the bound of a weight, what was
    seen on more comes first.

    >>> weights, pages = np.array([3.0, 0.5, -1.0, 3.0]), np.array([4, 90, 7, 9])
    >>> strongest(weights, pages, 3).tolist(), strongest(weights, pages, 3, against=True).tolist()
    ([3, 0, 1], [2])
    """
    signed = -weights if against else weights
    found = np.flatnonzero((signed > 0) & (pages > 0))
    if len(found) > most:
        # All that the last one equals are looked at: pages decide between them.
        least = np.partition(signed[found], len(found) - most)[len(found) - most]
        found = found[signed[found] >= least]
    return found[np.lexsort((-pages[found], -signed[found]))][:most]
