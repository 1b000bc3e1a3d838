"""Shrunk ratios: what a few pages say is drawn towards what is known without them."""

import math

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.float64]

#: Pages at the base rate that a feature is taken to have behind it.
PRIOR_PAGES = 2.0
_MOST_RATE = 0.9
_PRIOR_HITS = 0.5
_PRIOR_SEEN = 5.0


def base_rate(pages: float, hits: float) -> float:
    """Return p = min(.9, (hits + .5) / (pages + 5)): never 0 or 1, however little was judged.

    >>> base_rate(0, 0), base_rate(95, 9.5)
    (0.1, 0.1)
    """
    return min(_MOST_RATE, (hits + _PRIOR_HITS) / (pages + _PRIOR_SEEN))


def log_lift(pages: float, hits: float, rate: float, prior: float = PRIOR_PAGES) -> float:
    """Return L(c, n; a) = ln(((c + a p) / (n + a)) / p) of c hits on n pages at the base rate p.

    ``prior`` is a, the pages at the base rate that are added.

    >>> log_lift(0, 0, 0.1)
    0.0
    >>> round(log_lift(8, 8, 0.1), 3)
    2.104
    """
    return math.log((hits + prior * rate) / (pages + prior) / rate)


def log_lifts(pages: Counts, hits: Counts, rates: Counts | float, prior: Counts | float) -> Counts:
    """Return `log_lift` of many counts."""
    found: Counts = np.log((hits + prior * rates) / (pages + prior) / rates)
    return found
