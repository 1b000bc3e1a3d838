"""Temporal locality: pages visited near satisfying ones (Aggarwal 2004, section 3.1, equations 11 to 13)."""

import math
from collections.abc import Collection, Iterator, Mapping

from models.interest.ratio import Base, ratio

#: Other pages near a page, as in `models.crowd.trace.Trace.together`: [accesses within reach, co-visits].
Near = Mapping[str, tuple[int, int]]


def region(near: Near) -> Iterator[str]:
    """Yield the pages with an access in TLR(A) of an access A to the page: it is in theirs as well.

    TLR(A) are the accesses within reach of A, strictly before or after it, by the same user.

    >>> list(region({"b": (2, 6), "c": (0, 6)}))
    ['b']
    """
    return (url for url, (times, _) in near.items() if times > 0)


def inside(near: Near, satisfying: Collection[str]) -> bool:
    """Return whether a page is in TL(U), equation (11): near another one that is known to satisfy U.

    ``satisfying`` are the judged pages that do; the page's own accesses put it in no region of its own.
    """
    return any(url in satisfying for url in region(near))


def region_log(within: bool | None, counts: tuple[int, int], base: Base) -> float:
    """Return log I^TL: log f1 / P(U) in the region (12), log f2 / P(U) outside (13).

    ``counts`` are the judged pages in the region and the hits among them; all others are outside. None says
    that the log has no access to the page, so that nothing is known: factor 1, as where no page was judged
    in the region, or none outside. No hit counts as half a hit, at most factor 1.

    >>> base = Base(100, 20)
    >>> [round(math.exp(region_log(within, (40, 16), base)), 3) for within in (True, False, None)]
    [2.0, 0.333, 1.0]
    """
    if within is None:
        return 0.0
    pages, hits = counts
    found = ratio(pages, hits, base) if within else ratio(base.pages - pages, base.hits - hits, base)
    return math.log(found)
