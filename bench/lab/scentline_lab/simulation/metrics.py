"""How good a crawl was: its harvest rate (Aggarwal 2004, section 4), calibration, and significance."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scentline.models.reliability import BINS, Bin, Outcome, expected_error
from scentline_lab.simulation.virtual import Request

Curve: TypeAlias = npt.NDArray[np.float64]


class Band(NamedTuple):
    """Curves of several starts: their ``mean`` and standard ``deviation`` (of the sample) at each page.

    One start has deviation 0.
    """

    mean: Curve
    deviation: Curve


def lift_curve(hits: Sequence[bool], budget: int) -> Curve:
    """Return the harvest rate after 1, 2, .. ``budget`` pages, or requests, shape (budget,).

    ``hits`` says of each page or request, in order, whether it brought a page that satisfies the predicate.
    Where the crawl ended early the hits stay and the pages count on, as if every further one failed the
    predicate.

    >>> lift_curve([True, False], 4).round(3).tolist()
    [1.0, 0.5, 0.333, 0.25]
    """
    if budget < 1:
        raise ValueError(f"lift curve: budget is {budget}, expected at least 1 page")
    found = np.zeros(budget)
    first = hits[:budget]
    found[: len(first)] = first
    return np.asarray(found.cumsum() / np.arange(1, budget + 1), np.float64)


def auc(hits: Sequence[bool], budget: int) -> float:
    """Return the area under the lift curve: the mean over n = 1 .. ``budget`` of the harvest rate at n.

    >>> auc([True, False], 2)
    0.75
    """
    return float(lift_curve(hits, budget).mean())


def relative(area: float, best: float) -> float | None:
    """Return an area as a share of another's, such as the oracle's; None where that found nothing.

    >>> relative(0.25, 0.5), relative(0.0, 0.0)
    (0.5, None)
    """
    return area / best if best > 0 else None


def band(curves: Sequence[Curve]) -> Band:
    """Return mean and standard deviation, page by page, of curves of one length.

    >>> mean, deviation = band([np.array([1.0, 0.5]), np.array([0.0, 0.5])])
    >>> mean.tolist(), deviation.round(3).tolist()
    ([0.5, 0.5], [0.707, 0.0])
    """
    stack = np.stack(curves)
    mean = np.asarray(stack.mean(axis=0), np.float64)
    return Band(
        mean, np.zeros_like(mean) if len(curves) == 1 else np.asarray(stack.std(axis=0, ddof=1), np.float64)
    )


class Calibration(NamedTuple):
    """How near probabilities were to what came: Brier score, and reliability diagram in bins of equal width.

    ``brier`` and ``base_brier`` are the mean squared errors of the probabilities and of the outcomes' own
    rate, known only afterwards. ``error`` is the expected calibration error over ``bins``, without empty ones.
    """

    size: int
    brier: float
    base_brier: float
    error: float
    bins: tuple[Bin, ...]


def outcomes(requests: Iterable[Request], *, explored: bool) -> list[Outcome]:
    """Return the outcomes of the pages that chance alone chose, or of all others, that had a probability.

    A choice of the best is biased towards probabilities that are too high, so that the two are kept apart. The
    probability is that of a page's being a hit: of a request that failed it says nothing.
    """
    return [
        (request.probability, request.hit)
        for request in requests
        if request.page and request.probability is not None and request.explored == explored
    ]


def calibration(sample: Sequence[Outcome]) -> Calibration | None:
    """Return the calibration of a sample of outcomes; None of an empty one.

    Raises ValueError for a probability outside 0 to 1.

    >>> found = calibration([(0.25, False), (0.25, True), (0.25, False), (0.25, False), (0.9, True)])
    >>> round(found.brier, 4), round(found.base_brier, 4), round(found.error, 4)
    (0.152, 0.24, 0.02)
    """
    if not sample:
        return None
    said, came = (np.array(column, np.float64) for column in zip(*sample, strict=True))
    wrong = said[~((said >= 0) & (said <= 1))]
    if len(wrong):
        raise ValueError(f"calibration: a probability is {wrong[0]}, expected one from 0 to 1")
    places = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    bins = tuple(
        Bin(
            place / BINS,
            (place + 1) / BINS,
            int(inside.sum()),
            float(said[inside].mean()),
            float(came[inside].mean()),
        )
        for place in range(BINS)
        if (inside := places == place).any()
    )
    rate = float(came.mean())
    brier = float(((said - came) ** 2).mean())
    return Calibration(len(sample), brier, rate * (1 - rate), expected_error(bins), bins)


#: Figures of crawls: of each web, of each of its predicates, of each run.
Groups: TypeAlias = Sequence[Sequence[Sequence[float]]]
#: Times that the predicates are resampled.
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


def interval(webs: Groups, seed: int, samples: int = SAMPLES) -> tuple[float, float]:
    """Return the 95 % interval of `macro` over predicates like these, on the same webs.

    Crawls of one predicate are alike, from whatever seeds they start, so that they count as one: the predicates
    of each web are resampled (the cluster bootstrap, Cameron, Gelbach and Miller 2008, section III.A). The
    interval is that of the percentiles (Efron 1979). One predicate tells nothing of others: it has no width.

    >>> interval([[[0.3], [0.3], [0.3]]], 1), interval([[[0.5, 0.25]]], 1)
    ((0.3, 0.3), (0.375, 0.375))
    """
    from scipy.stats import bootstrap

    means = [np.array([fmean(runs) for runs in predicates]) for predicates in webs]
    several = [part for part in means if len(part) > 1]
    single = sum(float(part[0]) for part in means if len(part) == 1)
    if not several:
        return single / len(means), single / len(means)

    def mean_of_webs(*parts: Curve, axis: int) -> Curve:
        return np.asarray((single + sum(part.mean(axis=axis) for part in parts)) / len(means), np.float64)

    found = bootstrap(
        several, mean_of_webs, n_resamples=samples, method="percentile", vectorized=True, rng=seed
    )
    low, high = found.confidence_interval
    return float(low), float(high)


def paired_bootstrap(first: Groups, second: Groups, seed: int, samples: int = SAMPLES) -> Comparison:
    """Compare two policies by a figure (AUC, harvest rate) of the same runs, in the same order.

    >>> found = paired_bootstrap([[[0.3], [0.4], [0.5]]], [[[0.2], [0.2], [0.5]]], 1)
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
    low, high = interval(differences, seed, samples)
    flat = np.array([value for web in differences for runs in web for value in runs])
    ahead, tied = float((flat > 0).mean()), float((flat == 0).mean())
    return Comparison(macro(differences), low, high, ahead, tied, sum(map(len, differences)), len(flat))
