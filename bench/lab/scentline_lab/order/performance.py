"""How good a crawl was: the paper's three measures, beside those of an ideal and of a random crawler."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[np.float64]
Points: TypeAlias = npt.NDArray[np.int64]


def crawl_and_stop(visited: Values, points: Points) -> Values:
    """Return P_CS after each number of pages of ``points`` (Cho 1998, section 3): M / K, shape as ``points``.

    ``visited`` has I(P) of all T pages of the web in the order of the crawl. M of the first K are hot: as
    important as the K-th most important page of all, or more. An ideal crawler has 1 everywhere.

    >>> crawl_and_stop(np.array([1.0, 3.0, 2.0, 0.0]), np.array([1, 2, 3])).round(2).tolist()
    [0.0, 0.5, 1.0]
    """
    bars = -np.sort(-visited)[points - 1]
    return np.array([(visited[:k] >= bar).sum() / k for k, bar in zip(points, bars, strict=True)])


def random_crawl_and_stop(visited: Values, points: Points) -> Values:
    """Return the P_CS that a crawler which goes by chance is expected to have: the share of hot pages.

    Without equally important pages that is K/T, as in the paper.

    >>> random_crawl_and_stop(np.array([1.0, 3.0, 2.0, 0.0]), np.array([1, 2])).tolist()
    [0.25, 0.5]
    """
    ranked = np.sort(visited)
    bars = ranked[len(ranked) - points]
    return np.asarray((len(ranked) - np.searchsorted(ranked, bars)) / len(ranked), np.float64)


def crawl_and_stop_with_threshold(visited: Values, threshold: float, points: Points) -> Values:
    """Return P_ST after each number of pages: the share of the hot pages that was visited (section 3).

    Hot are those with I(P) >= ``threshold``; raises ValueError where there is none. A crawler that goes by
    chance, with or without coming back to pages, is expected to have K/T.

    >>> crawl_and_stop_with_threshold(np.array([1.0, 3.0, 2.0, 0.0]), 2, np.array([1, 2, 3])).tolist()
    [0.0, 0.5, 1.0]
    """
    hot = np.cumsum(visited >= threshold)
    if not len(hot) or not hot[-1]:
        raise ValueError(f"crawl and stop: no page has an importance of {threshold}, expected at least one")
    return np.asarray(hot[points - 1] / hot[-1], np.float64)


def ideal_with_threshold(hot: int, points: Points) -> Values:
    """Return the P_ST of a crawler that visits the ``hot`` hot pages first: K/H, then 1.

    >>> ideal_with_threshold(2, np.array([1, 2, 3])).tolist()
    [0.5, 1.0, 1.0]
    """
    return np.minimum(1.0, points / hot)


def limited_buffer(kept: Values, importance: Values, threshold: float | None = None) -> float:
    """Return P_BC, the share of the B pages kept that are hot (section 3).

    ``kept`` has I(P) of the pages in the buffer, ``importance`` that of all pages. Hot are those as important
    as the B-th most important page or, with ``threshold``, those with I(P) >= ``threshold``.

    >>> limited_buffer(np.array([3.0, 0.0]), np.array([1.0, 3.0, 2.0, 0.0]))
    0.5
    """
    return float((kept >= _bar(importance, len(kept), threshold)).mean())


def random_limited_buffer(importance: Values, size: int, threshold: float | None = None) -> float:
    """Return the P_BC that is expected of a buffer of pages drawn by chance: the share of hot pages.

    >>> random_limited_buffer(np.array([1.0, 3.0, 2.0, 0.0]), 2)
    0.5
    """
    return float((importance >= _bar(importance, size, threshold)).mean())


def ideal_limited_buffer(importance: Values, size: int, threshold: float | None = None) -> float:
    """Return the P_BC of a crawler that keeps the most important pages: 1, or H/B where fewer are hot.

    >>> ideal_limited_buffer(np.array([1.0, 3.0, 2.0, 0.0]), 4, threshold=2)
    0.5
    """
    return min(1.0, float((importance >= _bar(importance, size, threshold)).sum()) / size)


def area(performance: Sequence[float] | Values) -> float:
    """Return the mean over the points of a curve: 0.5 for P_ST of a crawler that goes by chance."""
    return float(np.mean(performance))


def _bar(importance: Values, size: int, threshold: float | None) -> float:
    """Return G: the threshold, or I of the page that is number ``size`` by importance."""
    return float(np.sort(importance)[-size]) if threshold is None else threshold
