"""How good a crawl was: its harvest rate (Aggarwal 2004, section 4), calibration, and significance."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scentline.models.reliability import Outcome
from scentline_lab.simulation.virtual import Request

Curve: TypeAlias = npt.NDArray[np.float64]


class Band(NamedTuple):
    """Curves of several starts: at each page their ``mean`` and ``deviation`` (of the sample; 0 of one)."""

    mean: Curve
    deviation: Curve


def lift_curve(hits: Sequence[bool], budget: int) -> Curve:
    """Return the harvest rate after 1, 2, .. ``budget`` pages, or requests; an early end counts on."""
    found = np.zeros(budget)
    first = hits[:budget]
    found[: len(first)] = first
    return np.asarray(found.cumsum() / np.arange(1, budget + 1), np.float64)


def relative(area: float, best: float) -> float | None:
    """Return an area as a share of another's, such as the oracle's; None where that found nothing.

    >>> relative(0.25, 0.5), relative(0.0, 0.0)
    (0.5, None)
    """
    return area / best if best > 0 else None


def band(curves: Sequence[Curve]) -> Band:
    """Return mean and standard deviation, page by page, of curves of one length."""
    stack = np.stack(curves)
    mean = np.asarray(stack.mean(axis=0), np.float64)
    deviation = stack.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(mean)
    return Band(mean, np.asarray(deviation, np.float64))


def outcomes(requests: Iterable[Request], *, explored: bool) -> list[Outcome]:
    """Return the outcomes of the pages that chance alone chose, or of all others, that had a probability. A
    choice of the best is biased towards probabilities that are too high, so that the two are kept apart. The
    probability is that of a page's being a hit: of a request that failed it says nothing.
    """
    return [
        (request.probability, request.hit)
        for request in requests
        if request.page and request.probability is not None and request.explored == explored
    ]


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
        return self.low > 0 or self.high < 0


def macro(webs: Groups) -> float:
    """Return the mean over webs of the mean over predicates of the mean over runs."""
    return fmean(fmean(map(fmean, predicates)) for predicates in webs)


def interval(webs: Groups, seed: int, samples: int = SAMPLES) -> tuple[float, float]:
    """Return the 95 % interval of `macro` over predicates like these, on the same webs.

    Crawls of one predicate are alike, from whatever seeds they start, so that they count as one: the predicates
    of each web are resampled (the cluster bootstrap, Cameron, Gelbach and Miller 2008, section III.A). The
    interval is that of the percentiles (Efron 1979). One predicate tells nothing of others: it has no width.
    """
    from scipy.stats import bootstrap

    means = [np.array([fmean(runs) for runs in predicates]) for predicates in webs]
    several = [part for part in means if len(part) > 1]
    single = sum(float(part[0]) for part in means if len(part) == 1)
    if not several:
        return single / len(means), single / len(means)

    def mean_of_webs(*parts: Curve, axis: int) -> Curve:
        return np.asarray((single + sum(part.mean(axis=axis) for part in parts)) / len(means), np.float64)

    drawn = {"n_resamples": samples, "method": "percentile", "vectorized": True, "rng": seed}
    low, high = bootstrap(several, mean_of_webs, **drawn).confidence_interval
    return float(low), float(high)


def paired_bootstrap(first: Groups, second: Groups, seed: int, samples: int = SAMPLES) -> Comparison:
    """Compare two policies by a figure (AUC, harvest rate) of the same runs, in the same order."""
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
