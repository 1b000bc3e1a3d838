"""Whether one policy is ahead of another beyond chance: a paired bootstrap over predicates.

Crawls of one predicate are alike, from whatever seeds they start, so that they count as one: what is drawn anew
is the predicates (the cluster bootstrap, Cameron, Gelbach and Miller 2008, section III.A).
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean
from typing import NamedTuple, TypeAlias

import numpy as np

#: Figures of crawls: of each web, of each of its predicates, of each run.
Groups: TypeAlias = Sequence[Sequence[Sequence[float]]]
#: Times that the predicates are drawn anew.
SAMPLES = 10_000


class Comparison(NamedTuple):
    """The first policy against the second over ``runs`` paired runs of ``predicates`` predicates.

    ``difference`` is the mean over webs of the mean over predicates of first minus second, ``low`` to ``high``
    its 95 % interval. ``ahead`` is the share of the runs in which the first is strictly ahead, ``tied`` the
    share in which both are equal.
    """

    difference: float
    low: float
    high: float
    ahead: float
    tied: float
    predicates: int
    runs: int

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def macro(webs: Groups) -> float:
    """Return the mean over webs of the mean over predicates of the mean over runs.

    >>> macro([[[1.0, 0.0], [0.5, 0.5]], [[0.1]]])
    0.3
    """
    return fmean(fmean(map(fmean, predicates)) for predicates in webs)


def interval(webs: Groups, rng: Random, samples: int = SAMPLES) -> tuple[float, float]:
    """Return the 95 % interval of `macro` over predicates like these, on the same webs.

    Each web's predicates are drawn anew, with replacement, ``samples`` times; the interval is that of the
    percentiles 2.5 and 97.5 (Efron 1979). One predicate tells nothing of others: then it has no width.

    >>> interval([[[0.3], [0.3], [0.3]]], Random(1))
    (0.3, 0.3)
    """
    if samples < 1:
        raise ValueError(f"bootstrap: {samples} samples, expected at least 1")
    totals = np.zeros(samples)
    for predicates in webs:
        means = np.array([fmean(runs) for runs in predicates])
        # Bytes of the caller's generator rather than numpy's own: those are the same in every version.
        drawn = np.frombuffer(rng.randbytes(4 * len(means) * samples), "<u4") % len(means)
        totals += means[drawn.reshape(samples, len(means))].mean(axis=1)
    low, high = np.percentile(totals / len(webs), (2.5, 97.5))
    return float(low), float(high)


def paired_bootstrap(first: Groups, second: Groups, rng: Random, samples: int = SAMPLES) -> Comparison:
    """Compare two policies by a figure (AUC, harvest rate) of the same runs, in the same order.

    >>> found = paired_bootstrap([[[0.3], [0.4], [0.5]]], [[[0.2], [0.2], [0.5]]], Random(1))
    >>> round(found.difference, 3), round(found.ahead, 3), round(found.low, 3), round(found.high, 3)
    (0.1, 0.667, 0.0, 0.2)
    """
    shapes = [[[len(runs) for runs in web] for web in webs] for webs in (first, second)]
    if shapes[0] != shapes[1] or not shapes[0] or not all(web and all(web) for web in shapes[0]):
        raise ValueError(
            f"paired bootstrap: runs {shapes[0]} and {shapes[1]}, expected as many of both, at least one"
        )
    differences = [
        [[one - two for one, two in zip(*runs, strict=True)] for runs in zip(*predicates, strict=True)]
        for predicates in zip(first, second, strict=True)
    ]
    low, high = interval(differences, rng, samples)
    flat = np.array([value for web in differences for runs in web for value in runs])
    ahead, tied = float((flat > 0).mean()), float((flat == 0).mean())
    return Comparison(macro(differences), low, high, ahead, tied, sum(map(len, differences)), len(flat))
