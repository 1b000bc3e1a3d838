"""What share of a site's visits a crawl brings how soon."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from models.page import Page

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
