"""The threshold that tells labelled pages apart best (Wang 2007, section 6.1)."""

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple


class Cut(NamedTuple):
    """A threshold, and how many pages are on their right side of it: news above, the others not."""

    threshold: float
    right: int


def best_cut(labelled: Iterable[tuple[float, bool]]) -> Cut | None:
    """Return the lowest threshold that puts the most pages right; None without pages.

    ``labelled`` are a concentration and whether the page is news. The threshold is 0 or one of the values:
    nothing changes in between.

    >>> best_cut([(1.0, False), (1.2, False), (1.5, True), (1.4, True), (3.0, False)])
    Cut(threshold=1.2, right=4)
    """
    pages = sorted(labelled)
    if not pages:
        return None
    right = sum(news for _, news in pages)  # all are above 0
    best = Cut(0.0, right)
    for value, group in groupby(pages, key=lambda page: page[0]):
        right += sum(-1 if news else 1 for _, news in group)
        if right > best.right:
            best = Cut(value, right)
    return best
