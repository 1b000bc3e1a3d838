"""Words of the in-linking pages (Aggarwal 2004, section 3, equations 5 to 7)."""

import math
from collections.abc import Iterable

from models.interest.table import RatioTable


def union(parents: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return M, the words that are true of a candidate: present in at least one page pointing to it."""
    return frozenset().union(*parents)


def content_log(parents: Iterable[frozenset[str]], words: RatioTable) -> float:
    """Return log I_c(C), equation (7): each significant word once, however many of the ``parents`` hold it.

    ``parents`` are the word sets of the in-linking pages, whole or cut down to significant words. The sum is
    exact, so it does not depend on the order in which a set gives its words.
    """
    significant = words.significant
    present: set[str] = set()
    for parent in parents:
        present |= parent & significant
    return math.fsum(map(words.logs.__getitem__, present))
