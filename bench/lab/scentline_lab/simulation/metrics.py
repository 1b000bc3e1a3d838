"""How good a crawl was: its harvest rate as it goes on (Aggarwal 2004, section 4, the lift curves)."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Curve: TypeAlias = npt.NDArray[np.float64]


class Band(NamedTuple):
    """Curves of several starts: their ``mean`` and standard ``deviation`` (of the sample) at each page.

    One start has deviation 0.
    """

    mean: Curve
    deviation: Curve


def lift_curve(hits: Sequence[bool], budget: int) -> Curve:
    """Return the harvest rate after 1, 2, .. ``budget`` pages, or requests, shape (budget,).

    ``hits`` says of each page or request, in order, whether it brought a page that satisfies the predicate.
    Where the crawl ended early the hits stay and the pages count on, as if every further one failed the
    predicate.

    >>> lift_curve([True, False], 4).round(3).tolist()
    [1.0, 0.5, 0.333, 0.25]
    """
    if budget < 1:
        raise ValueError(f"lift curve: budget is {budget}, expected at least 1 page")
    found = np.zeros(budget)
    first = hits[:budget]
    found[: len(first)] = first
    return np.asarray(found.cumsum() / np.arange(1, budget + 1), np.float64)


def harvest_at(hits: Sequence[bool], pages: int) -> float:
    """Return the share of the first ``pages`` pages that satisfies the predicate.

    >>> harvest_at([True, False, True], 2), harvest_at([True], 4)
    (0.5, 0.25)
    """
    if pages < 1:
        raise ValueError(f"harvest: the number of pages is {pages}, expected at least 1")
    return sum(hits[:pages]) / pages


def auc(hits: Sequence[bool], budget: int) -> float:
    """Return the area under the lift curve: the mean over n = 1 .. ``budget`` of the harvest rate at n.

    >>> auc([True, False], 2)
    0.75
    """
    return float(lift_curve(hits, budget).mean())


def relative(area: float, best: float) -> float | None:
    """Return an area as a share of another's, of the oracle's say; None where that found nothing.

    >>> relative(0.25, 0.5), relative(0.0, 0.0)
    (0.5, None)
    """
    return area / best if best > 0 else None


def band(curves: Sequence[Curve]) -> Band:
    """Return mean and standard deviation, page by page, of curves of one length.

    >>> mean, deviation = band([np.array([1.0, 0.5]), np.array([0.0, 0.5])])
    >>> mean.tolist(), deviation.round(3).tolist()
    ([0.5, 0.5], [0.707, 0.0])
    """
    if not curves or len({curve.shape for curve in curves}) > 1:
        shapes = [curve.shape for curve in curves]
        raise ValueError(f"band: the curves have shapes {shapes}, expected one or more, all alike")
    stack = np.stack(curves)
    mean = np.asarray(stack.mean(axis=0), np.float64)
    if len(curves) == 1:
        return Band(mean, np.zeros_like(mean))
    return Band(mean, np.asarray(stack.std(axis=0, ddof=1), np.float64))
