"""The figures of an evaluation: how good each crawl was (Aggarwal 2004, section 4), and how sure that is."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scentline.models.url import host
from scentline_lab.evaluate.run import NEW_ONLY, Crawl
from scentline_lab.simulation.policies import ORACLE
from scentline_lab.simulation.virtual import Request

Curve: TypeAlias = npt.NDArray[np.float64]
#: The probability given before a page was fetched, and whether it was a hit.
Outcome: TypeAlias = tuple[float, bool]
BINS = 10  #: Of the reliability diagram.


def lift_curve(hits: Sequence[bool], budget: int) -> Curve:
    """Return the harvest rate after 1, 2, .. ``budget`` pages, or requests; an early end counts on."""
    found = np.zeros(budget)
    found[: len(hits)] = hits[:budget]
    return np.asarray(found.cumsum() / np.arange(1, budget + 1), np.float64)


def relative(area: float, best: float) -> float | None:
    """Return an area as a share of another's, such as the oracle's; None where that is 0."""
    return area / best if best > 0 else None


def band(curves: Sequence[Curve]) -> tuple[Curve, Curve]:
    """Return mean and deviation (of the sample; 0 of one) of curves, page by page."""
    stack = np.stack(curves)
    mean: Curve = stack.mean(axis=0)
    return mean, stack.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(mean)


def outcomes(requests: Iterable[Request], *, explored: bool) -> list[Outcome]:
    """Return the outcomes of the pages that chance alone chose, or of all others, which are biased upwards."""
    told = ((each.probability, each.hit) for each in requests if each.page and each.explored == explored)
    return [(probability, hit) for probability, hit in told if probability is not None]


class Bin(NamedTuple):
    """Outcomes of like probability: their number, mean probability and rate of hits."""

    size: int
    probability: float
    rate: float


class Reliability(NamedTuple):
    """How far probabilities can be taken at their word. ``base_brier`` is the Brier score of the rate of hits
    alone, ``error`` the mean over the outcomes of |mean probability - rate of hits| of their bin.
    """

    brier: float
    base_brier: float
    error: float
    bins: Sequence[Bin]


def reliability(sample: Sequence[Outcome]) -> Reliability | None:
    """Return the reliability of outcomes, None without any; raises ValueError for what is no probability."""
    if not sample:
        return None
    said, came = (np.array(column, np.float64) for column in zip(*sample, strict=True))
    if not all(0 <= probability <= 1 for probability in said):
        raise ValueError(f"calibration: probabilities from {said.min()} to {said.max()}, expected 0 to 1")
    places = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    sizes = np.bincount(places)
    means = (np.bincount(places, column) / np.maximum(sizes, 1) for column in (said, came))
    bins = [Bin(*row) for row in zip(sizes.tolist(), *map(np.ndarray.tolist, means), strict=True) if row[0]]
    error = fmean((abs(each.probability - each.rate) for each in bins), [each.size for each in bins])
    rate = float(came.mean())
    return Reliability(float(((said - came) ** 2).mean()), rate * (1 - rate), error, bins)


#: Figures of crawls: of each web, of each of its predicates, of each run.
Groups: TypeAlias = Sequence[Sequence[Sequence[float]]]
SAMPLES = 10_000  #: Times that the predicates are resampled.


class Comparison(NamedTuple):
    """The first policy against the second over ``runs`` paired runs of ``predicates`` predicates: the `macro`
    mean of first minus second, its 95 % interval, and the shares of the runs with the first ahead, and with
    equals.
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

    The predicates of each web are resampled, as crawls of one are alike (the cluster bootstrap, Cameron,
    Gelbach and Miller 2008, section III.A); the interval is that of the percentiles (Efron 1979), without width
    for one.
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
        raise ValueError(f"paired bootstrap: runs {shapes}, expected as many of both, at least one")
    differences = [
        [[one - two for one, two in zip(*runs, strict=True)] for runs in zip(*predicates, strict=True)]
        for predicates in zip(first, second, strict=True)
    ]
    low, high = interval(differences, seed, samples)
    flat = np.array([value for web in differences for runs in web for value in runs])
    ahead, tied = float((flat > 0).mean()), float((flat == 0).mean())
    return Comparison(macro(differences), low, high, ahead, tied, sum(map(len, differences)), len(flat))


#: Pages, or requests, at which the harvest rate is given; the area is that under the curve's first 1,000.
POINTS, AREA = (12, 30, 100, 250, 500, 1000), 1000
TIMES = (10, 20, 30, 60, 120, 300, 600, 1800, 3600)  #: Seconds after which hits are counted.
EARLY = 100  #: Pages after which the worth of an earlier crawl's state is measured.
#: The figures of a crawl, or of several on the mean, by the columns of tables (`docs/evaluation.md`).
Figures: TypeAlias = dict[str, float | None]


def parts(figures: Figures, name: str) -> dict[str, float | None]:
    """Return the figures NAME_POINT of one name by their points."""
    found = ((column.rpartition("_"), value) for column, value in figures.items())
    return {point: value for (named, _, point), value in found if named == name and point[0].isdigit()}


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None without any."""
    found = [value for value in values if value is not None]
    return fmean(found) if found else None


def mean_figures(found: Sequence[Figures]) -> Figures:
    """Return the mean of several webs' figures, of the columns that all have; None where one is None."""
    common = [column for column in found[0] if all(column in each for each in found)]
    columns = {column: [each[column] for each in found] for column in common}
    return {name: None if None in values else mean(values) for name, values in columns.items()}


class Result(NamedTuple):
    """One crawl; ``sites`` counts the hosts with a hit after 1, 2, .. pages, ``came`` tells when each was."""

    predicate: str
    policy: str
    start: int
    curve: Curve
    by_request: Curve
    sites: Sequence[int]
    pages: int
    requests: int
    selected: Sequence[Outcome]
    explored: Sequence[Outcome]
    came: Sequence[float] = ()
    slots: float | None = None

    @property
    def auc(self) -> float:
        return float(self.curve[:AREA].mean())

    @property
    def auc_by_request(self) -> float:
        return float(self.by_request[:AREA].mean())


@dataclass(frozen=True)
class Results:
    """All results, by predicates, policies and starts; ``seconds`` is 0 where no time passed."""

    all: Sequence[Result]
    budget: int
    seconds: float = 0.0

    @classmethod
    def of(cls, crawls: Iterable[Crawl], budget: int, seconds: float = 0.0) -> "Results":
        return cls([_result(crawl, budget) for crawl in crawls], budget, seconds)

    @cached_property
    def predicates(self) -> list[str]:
        return list(dict.fromkeys(result.predicate for result in self.all))

    @cached_property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(result.policy for result in self.all))

    @cached_property
    def points(self) -> tuple[int, ...]:
        """The numbers of pages at which the harvest rate is given; a small budget itself."""
        return tuple(point for point in POINTS if point <= self.budget) or (self.budget,)

    @property
    def early(self) -> int:
        return min(EARLY, self.budget)

    def of_policy(self, policy: str, predicate: str | None = None) -> list[Result]:
        """Return a policy's results for a predicate, or for all."""
        return [each for each in self.all if each.policy == policy and predicate in (None, each.predicate)]

    def groups(self, policy: str, figure: Callable[[Result], float]) -> list[list[float]]:
        return [[figure(found) for found in self.of_policy(policy, name)] for name in self.predicates]

    def figures(self, policy: str, predicate: str | None = None) -> Figures:
        return self.figures_of(self.of_policy(policy, predicate))

    def by_policy(self) -> dict[str, Figures]:
        return {policy: self.figures(policy) for policy in self.policies}

    def figures_of(self, found: Sequence[Result]) -> Figures:
        """Return the figures of one result, or of several of one policy on the mean."""
        told = (reliability([*each.selected, *each.explored]) for each in found)
        calibrated = [each for each in told if each is not None]
        selected = reliability([pair for result in found for pair in result.selected])
        explored = reliability([pair for result in found for pair in result.explored])
        requests, pages = sum(each.requests for each in found), sum(each.pages for each in found)
        area = fmean(result.auc for result in found)
        runs = ((result.predicate, result.start) for result in found)
        best = [self._oracle[run] for run in runs if run in self._oracle]
        # The oracle, which had the pages of an earlier crawl, is no measure without them.
        comparable = best and not found[0].policy.endswith(NEW_ONLY)

        def at(column: str, figure: Callable[[Result], Sequence[float] | Curve]) -> Figures:
            return {f"{column}_{n}": fmean(float(figure(each)[n - 1]) for each in found) for n in self.points}

        times = [time for time in TIMES if time <= self.seconds]
        hits = {f"hits_{time}s": fmean(bisect_right(each.came, time) for each in found) for time in times}
        return {
            **at("harvest", lambda result: result.curve),
            **at("harvest_by_request", lambda result: result.by_request),
            **at("sites", lambda result: result.sites),
            **(hits | {"slots": mean(each.slots for each in found)} if hits else {}),
            "auc": area,
            "auc_of_oracle": relative(area, fmean(best)) if comparable else None,
            "auc_by_request": fmean(result.auc_by_request for result in found),
            "requests_a_page": relative(requests, pages),
            "brier": mean(each.brier for each in calibrated),
            "base_brier": mean(each.base_brier for each in calibrated),
            "ece_selected": None if selected is None else selected.error,
            "ece_explored": None if explored is None else explored.error,
        }

    @cached_property
    def _oracle(self) -> dict[tuple[str, int], float]:
        return {(result.predicate, result.start): result.auc for result in self.of_policy(ORACLE)}

    def band(self, policy: str, predicate: str | None = None) -> tuple[Curve, Curve]:
        """Return mean and deviation over the starts of a policy's curve, for a predicate or all on the mean."""
        by_start: dict[int, list[Curve]] = defaultdict(list)
        for result in self.of_policy(policy, predicate):
            by_start[result.start].append(result.curve)
        return band([band(curves)[0] for curves in by_start.values()])


def _result(crawl: Crawl, budget: int) -> Result:
    told = [] if crawl.policy == ORACLE else crawl.order  # what the oracle knows is no probability
    pages = [request for request in crawl.order if request.page]
    hosts, sites = set[str](), [0] * budget
    for number, page in enumerate(pages[:budget]):
        hosts |= {host(page.url)} if page.hit else set()
        sites[number:] = [len(hosts)] * (budget - number)
    return Result(
        *crawl[:3],
        lift_curve([page.hit for page in pages], budget),
        lift_curve([request.hit for request in crawl.order], budget),
        sites,
        len(pages),
        len(crawl.order),
        outcomes(told, explored=False),
        outcomes(told, explored=True),
        sorted(request.answered for request in pages if request.hit),
        crawl.slots,
    )
