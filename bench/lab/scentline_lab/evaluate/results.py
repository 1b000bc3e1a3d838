"""The figures of an evaluation: of each crawl, and of each policy on the mean."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

from scentline.models.reliability import Outcome
from scentline.models.url import host
from scentline_lab.evaluate.crawls import NEW_ONLY, Crawl
from scentline_lab.simulation.calibration import Calibration, calibration, outcomes
from scentline_lab.simulation.metrics import Band, Curve, band, lift_curve, relative
from scentline_lab.simulation.policies import ORACLE
from scentline_lab.simulation.virtual import Request

#: Pages, or requests, at which the harvest rate is told; the area is that under the curve's first 1,000.
POINTS = (12, 30, 100, 250, 500, 1000)
AREA = 1000
#: Seconds after which hits are counted, where time passes.
TIMES = (10, 20, 30, 60, 120, 300, 600, 1800, 3600)
#: Pages after which what an earlier crawl learned has shown its worth.
EARLY = 100


class Figures(NamedTuple):
    """What is told of a crawl, or of several on the mean; None is what can't be told.

    ``harvest`` is the rate at each number of pages, ``harvest_by_request`` of requests; ``sites`` the hosts of
    which a page that satisfies the predicate was found by then. ``auc`` is the mean rate over the first 1,000
    pages, or the budget, ``auc_by_request`` over as many requests; ``auc_of_oracle`` the (mean) area as a share
    of the oracle's (mean) in the same crawls. ``requests`` were made for each page that came, None where none
    came. Of policies that give probabilities there are the Brier score, that of a crawl's own rate
    (``base_brier``), and the expected calibration error over the pages ``selected``, and over those
    ``explored`` by chance, of all crawls together. Where time passes there are the ``hits`` that came within so
    many seconds, and the share of hosts' seconds that were used, ``slots``.
    """

    harvest: Mapping[int, float]
    harvest_by_request: Mapping[int, float]
    sites: Mapping[int, float]
    auc: float
    auc_of_oracle: float | None
    auc_by_request: float
    requests: float | None
    brier: float | None
    base_brier: float | None
    selected: float | None
    explored: float | None
    hits: Mapping[int, float]
    slots: float | None

    def at(self, points: Sequence[int]) -> "Figures":
        """Return the figures with rates at these points alone."""
        harvest, by_request, sites = (
            {point: rates[point] for point in points}
            for rates in (self.harvest, self.harvest_by_request, self.sites)
        )
        return self._replace(harvest=harvest, harvest_by_request=by_request, sites=sites)


def mean_figures(found: Sequence[Figures]) -> Figures:
    """Return the mean of figures, of webs say; None where one of them can't be told.

    Rates are told at the points that all have.
    """
    points = [point for point in found[0].harvest if all(point in each.harvest for each in found)]

    def at(rates: Callable[[Figures], Mapping[int, float]]) -> dict[int, float]:
        return {point: fmean(rates(each)[point] for each in found) for point in points}

    def mean(figure: Callable[[Figures], float | None]) -> float | None:
        told = [value for each in found if (value := figure(each)) is not None]
        return fmean(told) if len(told) == len(found) else None

    return Figures(
        at(lambda each: each.harvest),
        at(lambda each: each.harvest_by_request),
        at(lambda each: each.sites),
        fmean(each.auc for each in found),
        mean(lambda each: each.auc_of_oracle),
        fmean(each.auc_by_request for each in found),
        mean(lambda each: each.requests),
        mean(lambda each: each.brier),
        mean(lambda each: each.base_brier),
        mean(lambda each: each.selected),
        mean(lambda each: each.explored),
        {time: fmean(each.hits[time] for each in found) for time in found[0].hits},
        mean(lambda each: each.slots),
    )


class Result(NamedTuple):
    """One crawl: the harvest rate after 1, 2, .. pages, or requests; what its probabilities came to.

    ``sites`` are the hosts of which a hit was found after as many pages; ``pages`` came for ``requests``.
    ``came`` is when each hit did, ``slots`` the share of hosts' seconds that were used.
    """

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
        """The area under the curve."""
        return float(self.curve[:AREA].mean())

    @property
    def auc_by_request(self) -> float:
        """The area under the curve by requests."""
        return float(self.by_request[:AREA].mean())

    @property
    def calibration(self) -> Calibration | None:
        """The calibration over all pages that had a probability."""
        return calibration([*self.selected, *self.explored])


@dataclass(frozen=True)
class Results:
    """All results of an evaluation, in the order of predicates, policies and starts.

    Every predicate and policy has the same starts. ``seconds`` is how long each crawl was, 0 where no time
    passed.
    """

    all: Sequence[Result]
    budget: int
    seconds: float = 0.0

    @classmethod
    def of(cls, crawls: Iterable[Crawl], budget: int, seconds: float = 0.0) -> "Results":
        """Work out the results of crawls."""
        return cls([_result(crawl, budget) for crawl in crawls], budget, seconds)

    @cached_property
    def predicates(self) -> list[str]:
        """The predicates' names."""
        return list(dict.fromkeys(result.predicate for result in self.all))

    @cached_property
    def policies(self) -> list[str]:
        """The policies' names."""
        return list(self._by_policy)

    @cached_property
    def points(self) -> tuple[int, ...]:
        """The numbers of pages at which the harvest rate is told; where the budget is small, the budget."""
        return tuple(point for point in POINTS if point <= self.budget) or (self.budget,)

    @cached_property
    def times(self) -> tuple[int, ...]:
        """The seconds after which hits are counted; none where no time passed."""
        return tuple(time for time in TIMES if time <= self.seconds)

    @property
    def early(self) -> int:
        """The number of pages at which a start is told to be a good one."""
        return min(EARLY, self.budget)

    @cached_property
    def _by_policy(self) -> dict[str, list[Result]]:
        found: dict[str, list[Result]] = defaultdict(list)
        for result in self.all:
            found[result.policy].append(result)
        return dict(found)

    def of_policy(self, policy: str, predicate: str | None = None) -> list[Result]:
        """Return a policy's results for a predicate, or for all; none for a policy that did not run."""
        found = self._by_policy.get(policy, [])
        return [result for result in found if predicate is None or result.predicate == predicate]

    def groups(self, policy: str, figure: Callable[[Result], float]) -> list[list[float]]:
        """Return a figure of a policy's crawls, by predicate."""
        return [[figure(found) for found in self.of_policy(policy, name)] for name in self.predicates]

    def with_probabilities(self) -> Iterator[str]:
        """Yield the policies that gave probabilities."""
        return (name for name, found in self._by_policy.items() if any(r.selected or r.explored for r in found))

    def figures(self, policy: str, predicate: str | None = None) -> Figures:
        """Return a policy's figures for a predicate, or on the mean of all."""
        return self.figures_of(self.of_policy(policy, predicate))

    def figures_of(self, found: Sequence[Result]) -> Figures:
        """Return the figures of one result, or of several of one policy on the mean."""
        calibrations = [each for result in found if (each := result.calibration) is not None]
        selected = calibration([pair for result in found for pair in result.selected])
        explored = calibration([pair for result in found for pair in result.explored])
        area = fmean(result.auc for result in found)
        pages = sum(result.pages for result in found)
        best = [self._oracle[key] for result in found if (key := _run(result)) in self._oracle]
        slots = [result.slots for result in found if result.slots is not None]
        # Without the pages of an earlier crawl the oracle, which had them, is no measure.
        comparable = best and not found[0].policy.endswith(NEW_ONLY)
        return Figures(
            harvest=self._at(lambda result, point: float(result.curve[point - 1]), found),
            harvest_by_request=self._at(lambda result, point: float(result.by_request[point - 1]), found),
            sites=self._at(lambda result, point: result.sites[point - 1], found),
            auc=area,
            auc_of_oracle=relative(area, fmean(best)) if comparable else None,
            auc_by_request=fmean(result.auc_by_request for result in found),
            requests=sum(result.requests for result in found) / pages if pages else None,
            brier=fmean(each.brier for each in calibrations) if calibrations else None,
            base_brier=fmean(each.base_brier for each in calibrations) if calibrations else None,
            selected=None if selected is None else selected.error,
            explored=None if explored is None else explored.error,
            hits={time: fmean(bisect_right(result.came, time) for result in found) for time in self.times},
            slots=fmean(slots) if slots else None,
        )

    def _at(self, figure: Callable[[Result, int], float], found: Sequence[Result]) -> dict[int, float]:
        return {point: fmean(figure(result, point) for result in found) for point in self.points}

    @cached_property
    def _oracle(self) -> dict[tuple[str, int], float]:
        return {_run(result): result.auc for result in self.of_policy(ORACLE)}

    def band(self, policy: str, predicate: str | None = None) -> Band:
        """Return mean and deviation over the starts of a policy's curve, for a predicate or their mean."""
        by_start: dict[int, list[Curve]] = defaultdict(list)
        for result in self.of_policy(policy, predicate):
            by_start[result.start].append(result.curve)
        return band([band(curves).mean for curves in by_start.values()])


def relevant_sites(pages: Sequence[Request], budget: int) -> list[int]:
    """Return how many hosts have shown a hit after 1, 2, .. ``budget`` pages.

    >>> relevant_sites([Request("http://a/1", True, True), Request("http://a/2", True, True)], 3)
    [1, 1, 1]
    """
    found: set[str] = set()
    counts = []
    for page in pages[:budget]:
        if page.hit:
            found.add(host(page.url))
        counts.append(len(found))
    return counts + [len(found)] * (budget - len(counts))


def _run(result: Result) -> tuple[str, int]:
    return result.predicate, result.start


def _result(crawl: Crawl, budget: int) -> Result:
    # What the oracle knows is no probability.
    told = [] if crawl.policy == ORACLE else crawl.order
    pages = [request for request in crawl.order if request.page]
    return Result(
        crawl.predicate,
        crawl.policy,
        crawl.start,
        lift_curve([page.hit for page in pages], budget),
        lift_curve([request.hit for request in crawl.order], budget),
        relevant_sites(pages, budget),
        len(pages),
        len(crawl.order),
        outcomes(told, explored=False),
        outcomes(told, explored=True),
        sorted(request.answered for request in pages if request.hit),
        crawl.slots,
    )
