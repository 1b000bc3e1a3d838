"""How good patterns are: what they cover, how they blur the traffic, how soon they lead to the visits."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scentline.models.page import Page
from scentline.models.patterns.cuts import Figures
from scentline.models.patterns.tree import PatternTree, TreeCut

#: The distinct tag paths of a page, from its root to an element, by number.
Layout = frozenset[int]


class Coverage(NamedTuple):
    """Shares of URLs, and of the visits to them, from 0 to 1."""

    urls: float
    visits: float


def coverage(visits: Mapping[str, int], covered: Iterable[str]) -> Coverage:
    """Return the shares of ``visits``, visits by URL, that the URLs ``covered`` have.

    >>> coverage({"a": 3, "b": 1}, ["a"])
    Coverage(urls=0.5, visits=0.75)
    """
    found = [visits[url] for url in covered]
    return Coverage(len(found) / max(len(visits), 1), sum(found) / max(sum(visits.values()), 1))


def matching(tree: PatternTree, cut: TreeCut, urls: Iterable[str]) -> list[str]:
    """Return the URLs that match a pattern of a cut (Liu 2011, section 5.2, mirror coverage)."""
    return [url for url in urls if cut.of[tree.find(url)] >= 0]


def jensen_shannon(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    """Return the Jensen-Shannon divergence of two distributions, in bits, from 0 (the same) to 1.

    >>> p, q = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    >>> jensen_shannon(p, p), round(jensen_shannon(p, q), 4)
    (0.0, 0.3113)
    """
    middle = (p + q) / 2
    return (_divergence(p, middle) + _divergence(q, middle)) / 2


def traffic_approximation(
    visits: Mapping[str, int], tree: PatternTree, cut: TreeCut, figures: Figures
) -> float:
    """Return the divergence of the visits to URLs from what their patterns give each (Liu 2011, section 5.2).

    ``visits`` are what the tree was built of and its ``figures`` counted from; a pattern gives each of its URLs
    an equal share of its visits (equation 4).
    """
    urls = np.array([cut.of[tree.find(url)] for url in visits])
    own = np.array(list(visits.values()), np.float64)
    smoothed = figures.visits[urls] / figures.urls[urls]
    return jensen_shannon(own / own.sum(), smoothed / smoothed.sum())


def layout_similarity(
    layouts: Mapping[str, Layout], groups: Mapping[str, int]
) -> tuple[float | None, float | None]:
    """Return the mean similarity of two pages of one group, and of two groups; None where there are no two.

    The paper (Liu 2011, section 5.2) names none: here it is the share of the tag paths of either page that both
    have (as in Buttler, *A Short Survey of Document Structure Similarity Algorithms*, 2004). How often a page
    has a path says how long its lists are, and doesn't count. A group below 0 is none.

    >>> layouts = {"a": frozenset({1, 2}), "b": frozenset({1, 2, 3}), "c": frozenset({1, 4})}
    >>> [round(each, 3) for each in layout_similarity(layouts, {"a": 0, "b": 0, "c": 5})]
    [0.667, 0.292]
    """
    together: list[float] = []
    apart: list[float] = []
    for one, other in combinations((url for url in layouts if groups[url] >= 0), 2):
        either = layouts[one] | layouts[other]
        alike = len(layouts[one] & layouts[other]) / len(either) if either else 1.0
        (together if groups[one] == groups[other] else apart).append(alike)
    return fmean(together) if together else None, fmean(apart) if apart else None


def _divergence(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    present = p > 0
    return float((p[present] * np.log2(p[present] / q[present])).sum())


Curve = npt.NDArray[np.float64]


def fetched_visits(order: Sequence[str], visits: Mapping[str, int], size: int) -> Curve:
    """Return the share of all visits that the first 0, 1, ... ``size`` pages have (Liu 2011, section 5.3.1).

    ``visits`` are those to each page of the site. A crawl that ends early stays at what it has.

    >>> fetched_visits(["a", "b"], {"b": 3, "c": 1}, 3).tolist()
    [0.0, 0.0, 0.75, 0.75]
    """
    return _curve([visits.get(url, 0) for url in order], sum(visits.values()), size)


def discovered_visits(order: Sequence[str], pages: Mapping[str, Page], visits: Mapping[str, int]) -> Curve:
    """Return the share of all visits that the pages seen have, by pages fetched (Liu 2011, section 5.3.2).

    Seen is what was fetched or is linked to by what was fetched; of ``pages``, the site's.
    """
    seen: set[str] = set()
    gains = []
    for url in order:
        fresh = {url, *(link.url for link in pages[url].links)} - seen
        seen |= fresh
        gains.append(sum(visits.get(target, 0) for target in fresh if target in pages))
    return _curve(gains, sum(visits.values()), len(pages))


def reached(curve: Curve, share: float) -> float | None:
    """Return the share of the pages at which a curve reaches a share of the visits, None where it never does.

    >>> reached(np.array([0.0, 0.0, 0.75, 0.75, 1.0]), 0.7)
    0.5
    """
    enough = np.flatnonzero(curve >= share - 1e-12)
    return float(enough[0]) / (len(curve) - 1) if len(enough) else None


def _curve(gains: Sequence[int], total: int, size: int) -> Curve:
    curve = np.zeros(size + 1)
    curve[1 : len(gains) + 1] = np.cumsum(gains)
    curve[len(gains) + 1 :] = curve[len(gains)]
    return curve / max(total, 1)
