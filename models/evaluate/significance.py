"""Whether one policy is ahead of another beyond chance: a paired bootstrap."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np


class Comparison(NamedTuple):
    """The first policy against the second over ``runs`` paired runs.

    ``difference`` is the mean of first minus second, ``low`` to ``high`` its 95 % interval, ``ahead`` the
    share of the runs in which the first is strictly ahead, ``tied`` the share in which both are equal.
    """

    difference: float
    low: float
    high: float
    ahead: float
    tied: float
    runs: int

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], rng: Random, samples: int = 10_000
) -> Comparison:
    """Compare two policies by a figure (AUC, harvest rate) of the same runs, in the same order.

    A run is a predicate and a start. The runs are drawn anew, with replacement, ``samples`` times; the
    interval is that of the percentiles 2.5 and 97.5 of the mean difference (Efron 1979). Runs of one
    predicate are alike, so that with few predicates the interval is rather too narrow.

    >>> found = paired_bootstrap([0.3, 0.4, 0.5], [0.2, 0.2, 0.5], Random(1))
    >>> round(found.difference, 3), round(found.ahead, 3), round(found.low, 3), round(found.high, 3)
    (0.1, 0.667, 0.0, 0.2)
    """
    runs = len(first)
    if runs != len(second) or not runs:
        raise ValueError(
            f"paired bootstrap: {runs} and {len(second)} runs, expected as many of both, at least one"
        )
    if samples < 1:
        raise ValueError(f"paired bootstrap: {samples} samples, expected at least 1")
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    # Bytes of the caller's generator rather than numpy's own: those are the same in every version.
    drawn = np.frombuffer(rng.randbytes(4 * runs * samples), "<u4").reshape(samples, runs) % runs
    low, high = np.percentile(differences[drawn].mean(axis=1), (2.5, 97.5))
    ahead, tied = float((differences > 0).mean()), float((differences == 0).mean())
    return Comparison(float(differences.mean()), float(low), float(high), ahead, tied, runs)
