"""Siblings: other link targets of the in-linking pages (Aggarwal 2004, section 3)."""

import math

from models.interest.ratio import Base, interest


def sibling_log(visited: int, satisfying: int, base: Base) -> float:
    """Return log I_s(C) = log(s / e) with e = v P(C): of v visited siblings s satisfy the predicate.

    Siblings not yet judged are ignored. No visited sibling gives the factor 1; s = 0 counts as half a hit, at
    most factor 1.

    >>> round(math.exp(sibling_log(15, 9, Base(10_000, 1_000))), 9)
    6.0
    """
    if visited <= 0 or not base.informative:
        return 0.0
    return math.log(interest(satisfying, visited * base.rate))
