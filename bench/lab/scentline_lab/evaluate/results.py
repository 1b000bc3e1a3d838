"""The figures of an evaluation: of each crawl, and of each policy on the mean."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from scentline.models.reliability import Outcome, Running
from scentline.models.url import host
from scentline_lab.evaluate.crawls import NEW_ONLY, Crawl
from scentline_lab.simulation.metrics import Band, Curve, band, lift_curve, outcomes, relative
from scentline_lab.simulation.policies import ORACLE
from scentline_lab.simulation.virtual import Request

#: Pages, or requests, at which the harvest rate is given; the area is that under the curve's first 1,000.
POINTS = (12, 30, 100, 250, 500, 1000)
AREA = 1000
#: Seconds after which hits are counted, where time passes.
TIMES = (10, 20, 30, 60, 120, 300, 600, 1800, 3600)
#: Pages after which the worth of an earlier crawl's state is measured.
EARLY = 100


class Figures(NamedTuple):
    """The figures of a crawl, or of several on the mean; None where there is none."""

    #: The harvest rate at each number of pages, and of requests.
    harvest: Mapping[int, float]
    harvest_by_request: Mapping[int, float]
    #: The hosts of which a page that satisfies the predicate was found by then.
    sites: Mapping[int, float]
    #: The mean rate over the first 1,000 pages, or the budget; its share of the oracle's in the same crawls.
    auc: float
    auc_of_oracle: float | None
    auc_by_request: float
    #: Requests made for each page that came.
    requests: float | None
    #: The Brier score of the probabilities, and that of a crawl's own rate.
    brier: float | None
    base_brier: float | None
    #: The expected calibration error over the pages that the policy selected, and over those drawn by chance.
    selected: float | None
    explored: float | None
    #: Where time passes: the hits that came within so many seconds, the share of hosts' seconds that were used.
    hits: Mapping[int, float]
    slots: float | None

    def at(self, points: Sequence[int]) -> "Figures":
        """Return the figures with rates at these points alone."""
        rates = (self.harvest, self.harvest_by_request, self.sites)
        harvest, by_request, sites = ({point: rate[point] for point in points} for rate in rates)
        return self._replace(harvest=harvest, harvest_by_request=by_request, sites=sites)


def mean_figures(found: Sequence[Figures]) -> Figures:
    """Return the mean of several webs' figures, None where one has none; rates at the points that all have."""

    def mean(values: Sequence[Any]) -> Any:
        if isinstance(values[0], Mapping):
            common = [key for key in values[0] if all(key in value for value in values)]
            return {key: fmean(value[key] for value in values) for key in common}
        return None if None in values else fmean(values)

    return Figures(*map(mean, zip(*found, strict=True)))


class Result(NamedTuple):
    """One crawl."""

    predicate: str
    policy: str
    start: int
    #: The harvest rate after 1, 2, .. pages, and requests; the hosts of which there was a hit by then.
    curve: Curve
    by_request: Curve
    sites: Sequence[int]
    #: How many pages came, for how many requests.
    pages: int
    requests: int
    selected: Sequence[Outcome]
    explored: Sequence[Outcome]
    #: When each hit came, and the share of hosts' seconds that were used.
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
    """All results, in the order of predicates, policies and starts; ``seconds`` is 0 where no time passed."""

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
        return list(self._by_policy)

    @cached_property
    def points(self) -> tuple[int, ...]:
        """The numbers of pages at which the harvest rate is given; where the budget is small, the budget."""
        return tuple(point for point in POINTS if point <= self.budget) or (self.budget,)

    @cached_property
    def times(self) -> tuple[int, ...]:
        """The seconds after which hits are counted; none where no time passed."""
        return tuple(time for time in TIMES if time <= self.seconds)

    @property
    def early(self) -> int:
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
        return [[figure(found) for found in self.of_policy(policy, name)] for name in self.predicates]

    def with_probabilities(self) -> Iterator[str]:
        """Yield the policies that gave probabilities."""
        return (name for name, found in self._by_policy.items() if any(r.selected or r.explored for r in found))

    def figures(self, policy: str, predicate: str | None = None) -> Figures:
        return self.figures_of(self.of_policy(policy, predicate))

    def figures_of(self, found: Sequence[Result]) -> Figures:
        """Return the figures of one result, or of several of one policy on the mean."""
        told = (Running([*each.selected, *each.explored]).reliability() for each in found)
        calibrated = [each for each in told if each is not None]
        selected = Running(pair for result in found for pair in result.selected).reliability()
        explored = Running(pair for result in found for pair in result.explored).reliability()
        area = fmean(result.auc for result in found)
        pages = sum(result.pages for result in found)
        best = [self._oracle[key] for result in found if (key := _run(result)) in self._oracle]
        slots = [result.slots for result in found if result.slots is not None]
        # Without the pages of an earlier crawl the oracle, which had them, is no measure.
        comparable = best and not found[0].policy.endswith(NEW_ONLY)

        def at(figure: Callable[[Result, int], float]) -> dict[int, float]:
            return {point: fmean(figure(result, point) for result in found) for point in self.points}

        return Figures(
            harvest=at(lambda result, point: float(result.curve[point - 1])),
            harvest_by_request=at(lambda result, point: float(result.by_request[point - 1])),
            sites=at(lambda result, point: result.sites[point - 1]),
            auc=area,
            auc_of_oracle=relative(area, fmean(best)) if comparable else None,
            auc_by_request=fmean(result.auc_by_request for result in found),
            requests=sum(result.requests for result in found) / pages if pages else None,
            brier=fmean(each.brier for each in calibrated) if calibrated else None,
            base_brier=fmean(each.base_brier for each in calibrated) if calibrated else None,
            selected=None if selected is None else selected.error,
            explored=None if explored is None else explored.error,
            hits={time: fmean(bisect_right(result.came, time) for result in found) for time in self.times},
            slots=fmean(slots) if slots else None,
        )

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
    """Return of how many hosts there was a hit after 1, 2, .. ``budget`` pages."""
    found: set[str] = set()
    counts = []
    for page in pages[:budget]:
        found |= {host(page.url)} if page.hit else set()
        counts.append(len(found))
    return counts + [len(found)] * (budget - len(counts))


def _run(result: Result) -> tuple[str, int]:
    return result.predicate, result.start


def _result(crawl: Crawl, budget: int) -> Result:
    # What the oracle knows is no probability.
    told = [] if crawl.policy == ORACLE else crawl.order
    pages = [request for request in crawl.order if request.page]
    return Result(
        *crawl[:3],
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
