"""Interest ratios of events and how far they can be trusted (Aggarwal 2004, equations 1 to 10).

What the paper leaves open is decided here: no hit under an event would give a ratio of 0, whose logarithm
ends all comparison, so no hit counts as half a hit, but never as a ratio above 1; and where there is no base
rate to compare with (nothing judged, no hit, or nothing but hits) every ratio is 1.
"""

import math
from collections.abc import Iterable
from typing import Literal

import msgspec

#: What the variance in the significance test is divided by: n(E), or what the paper divides by.
Denominator = Literal["binomial", "paper"]

#: What the paper divides by: n(C), the hits, for words (equation 6); N, the pages judged, for users and for
#: words of signatures (10).
Sample = Literal["hits", "pages"]

#: Hits assumed where none was seen.
HALF_A_HIT = 0.5


class Base(msgspec.Struct, frozen=True, array_like=True):
    """The pages judged so far, N, and the hits among them, n(C)."""

    pages: int = 0
    hits: int = 0

    @property
    def rate(self) -> float:
        """P(C), estimated by n(C) / N; 0 while nothing was judged."""
        return self.hits / self.pages if self.pages else 0.0

    @property
    def informative(self) -> bool:
        """Whether there is a rate to compare with: 0 < P(C) < 1."""
        return 0 < self.hits < self.pages


def interest(hits: float, expected: float) -> float:
    """Return hits over the hits expected if the event told nothing; half a hit, at most ratio 1, for none.

    >>> interest(9, 15 * 0.1)
    6.0
    >>> interest(0, 4), interest(0, 0.1)
    (0.125, 1.0)
    """
    if hits > 0:
        return hits / expected
    return min(1.0, HALF_A_HIT / expected) if expected > 0 else 1.0


def ratio(pages: int, hits: int, base: Base) -> float:
    """Return the interest ratio I(C, E) = P(C|E) / P(C) of an event seen on ``pages``, ``hits`` of them hits.

    Equation (3), by way of (1), (2) and (5): n(C and E) / (n(E) P(C)). An event never seen has ratio 1.

    >>> ratio(20, 14, Base(10_000, 1_000))
    7.0
    """
    if pages <= 0 or not base.informative:
        return 1.0
    return interest(hits, pages * base.rate)


def samples(pages: int, base: Base, denominator: Denominator, sample: Sample) -> int:
    """Return the n of the significance test of an event seen on ``pages``."""
    if denominator == "binomial":
        return pages
    return base.hits if sample == "hits" else base.pages


def significance(
    pages: int, hits: int, base: Base, denominator: Denominator = "binomial", sample: Sample = "hits"
) -> float:
    """Return S(C, E) in standard deviations, equation (6): |P(C|E) - P(C)| / sqrt(P(C) (1 - P(C)) / n).

    The paper divides by n = n(C), the hits so far, and for users, equation (10), by n = N: ``sample`` tells
    them apart. The binomial test has n = n(E), the pages on which the event was seen: that is the deviation
    that P(C|E) has by chance, so a rare event must be more extreme.

    >>> significance(25, 10, Base(100, 20))
    2.5
    >>> round(significance(25, 10, Base(100, 20), "paper"), 3)
    2.236
    >>> significance(25, 10, Base(100, 20), "paper", "pages")
    5.0
    """
    if pages <= 0 or not base.informative:
        return 0.0
    rate = base.rate
    return abs(hits / pages - rate) / math.sqrt(rate * (1 - rate) / samples(pages, base, denominator, sample))


def significant_log(
    pages: int,
    hits: int,
    base: Base,
    t: float = 2.0,
    denominator: Denominator = "binomial",
    sample: Sample = "hits",
) -> float:
    """Return log I(C, E) where S(C, E) >= t, else 0, the logarithm of a factor that is left out."""
    if significance(pages, hits, base, denominator, sample) < t:
        return 0.0
    return math.log(ratio(pages, hits, base))


def composite_log(
    events: Iterable[tuple[int, int]], base: Base, t: float = 2.0, denominator: Denominator = "binomial"
) -> float:
    """Return the log of the composite interest ratio of events given as (pages, hits).

    Equation (4), over the significant events only as in (7): the sum of the logarithms of their ratios. The
    sum is exact, so it does not depend on the order of the events.
    """
    return math.fsum(significant_log(pages, hits, base, t, denominator) for pages, hits in events)
