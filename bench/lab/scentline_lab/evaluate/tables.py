"""The evaluation as tables: CSV files, and the object that ``--json`` prints.

Policies are set against each other run by run: is one ahead beyond chance, and what was reuse worth.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

from scentline_lab.evaluate.crawls import NEW_ONLY, NO_LOG, NO_USERS, REUSE
from scentline_lab.evaluate.results import Figures, Result, Results, mean_figures
from scentline_lab.output import rounded, write_table
from scentline_lab.simulation.metrics import relative
from scentline_lab.simulation.policies import LEARNED, LIMITS, PRINTED
from scentline_lab.simulation.significance import Comparison, Groups, interval, macro, paired_bootstrap
from scentline_lab.simulation.virtual import Request

#: What is compared of a crawl.
Figure: TypeAlias = Callable[[Result], float]


class Versus(NamedTuple):
    """One policy against another: the mean figure of each, their ratio (None: by 0), the paired bootstrap."""

    policy: str
    other: str
    figure: float
    others: float
    ratio: float | None
    comparison: Comparison


def area(result: Result) -> float:
    """Return the area under the curve by pages."""
    return result.auc


def area_by_request(result: Result) -> float:
    """Return the area under the curve by requests."""
    return result.auc_by_request


def against_best(webs: Sequence[Results], random_seed: int, figure: Figure = area) -> list[Versus]:
    """Return each policy against the one of the largest mean; the limits are out of contest."""
    contest = [policy for policy in plain(webs) if policy not in LIMITS]
    if not contest:
        return []
    best = max(contest, key=lambda policy: macro([results.groups(policy, figure) for results in webs]))
    return [versus(webs, policy, best, random_seed, figure) for policy in contest if policy != best]


def learned_against(webs: Sequence[Results], random_seed: int, figure: Figure = area) -> list[Versus]:
    """Return the learned policy against each other one; nothing where it did not run."""
    policies = plain(webs)
    if LEARNED not in policies:
        return []
    return [versus(webs, LEARNED, policy, random_seed, figure) for policy in policies if policy != LEARNED]


def reuse(results: Results, random_seed: int) -> list[Versus]:
    """Return each policy with an earlier crawl's state against itself without, by the early harvest rate."""
    pairs = [(name + REUSE + end, name + end) for name in plain([results]) for end in ("", NEW_ONLY)]
    early = results.early - 1
    return [
        versus([results], policy, other, random_seed, lambda result: float(result.curve[early]))
        for policy, other in pairs
        if policy in results.policies
    ]


def log_worth(webs: Sequence[Results], random_seed: int, figure: Figure = area) -> list[Versus]:
    """Return the learned policy with the log against itself without, and against itself with its pages alone.

    Nothing where it did not run, or a web has no log.
    """
    return [
        versus(webs, LEARNED, LEARNED + less, random_seed, figure)
        for less in (NO_LOG, NO_USERS)
        if all(LEARNED + less in results.policies for results in webs)
    ]


def headline(results: Results, random_seed: int) -> list[Versus]:
    """Return each single run of the collaborative policy against the best of the linkage policy's, by area.

    Aggarwal 2004, Figures 2 and 3: there one collaborative crawl is ahead of the best of five others, which
    began at other seeds. Nothing where one of the two did not run, or from one start alone.
    """
    pairs = [("collaborative" + end, "linkage" + end) for end in ("", PRINTED)]
    found = []
    for policy, other in pairs:
        one, two = (results.groups(name, area) for name in (policy, other))
        if all(len(runs) > 1 for runs in (*one, *two)):
            best = [[max(runs)] * len(runs) for runs in two]
            found.append(_versus([one], [best], policy, other, random_seed))
    return found


def versus(webs: Sequence[Results], policy: str, other: str, random_seed: int, figure: Figure = area) -> Versus:
    """Return ``policy`` against ``other`` over the runs of all webs, predicates and starts."""
    one, two = ([results.groups(name, figure) for results in webs] for name in (policy, other))
    return _versus(one, two, policy, other, random_seed)


def _versus(one: Groups, two: Groups, policy: str, other: str, random_seed: int) -> Versus:
    comparison = paired_bootstrap(one, two, Random(random_seed))
    first, second = macro(one), macro(two)
    return Versus(policy, other, first, second, relative(first, second), comparison)


def plain(webs: Sequence[Results]) -> list[str]:
    """Return the policies that started from nothing, on the whole of each web."""
    return [
        policy
        for policy in webs[0].policies
        if not policy.endswith((REUSE, NEW_ONLY, NO_LOG, NO_USERS))
        and all(policy in results.policies for results in webs)
    ]


#: What stands for a predicate in a row that is the mean of all: no name of one.
MEAN = "*"
#: Pages up to which the curves' table has a row each; then it has one for every tenth.
DENSE = 100

#: The figures of `Figures` that are single numbers, by column.
_SINGLE = {
    "auc": "auc", "auc_of_oracle": "auc_of_oracle", "auc_by_request": "auc_by_request",
    "requests_a_page": "requests", "brier": "brier", "base_brier": "base_brier", "ece_selected": "selected",
    "ece_explored": "explored",
}  # fmt: skip
#: The ends of the intervals, behind the figures of means.
_BOUNDS = ("auc_low", "auc_high", "auc_by_request_low", "auc_by_request_high")
#: Those that are told of a single crawl: one has too few pages for a calibration error.
_OF_A_CRAWL = ("auc", "auc_of_oracle", "auc_by_request", "requests_a_page", "brier")
#: Those at each of the points, by what the column begins with.
_AT_POINTS = {"harvest": "harvest", "harvest_by_request": "harvest_by_request", "sites": "sites"}


def write_order(path: Path, order: Sequence[Request]) -> None:
    """Write the requests of one crawl in the order of their answers, and which brought a page."""
    rows = (
        (
            number, asked.url, int(asked.page), int(asked.hit), rounded(asked.probability), int(asked.explored),
            rounded(asked.came), rounded(asked.answered),
        )
        for number, asked in enumerate(order, start=1)
    )  # fmt: skip
    columns = ("n", "url", "page", "hit", "probability", "explored", "came", "answered")
    timed = any(asked.answered for asked in order)
    write_table(path, columns if timed else columns[:-2], (row if timed else row[:-2] for row in rows))


def write_seeds(path: Path, seeds: Mapping[int, Sequence[str]]) -> None:
    """Write the seed pages of each start."""
    write_table(path, ("start", "url"), ((start, url) for start, urls in seeds.items() for url in urls))


def write_results(path: Path, results: Results) -> None:
    """Write the figures of each crawl."""
    columns = ("predicate", "policy", "start", *_columns(results.points, results.times))
    rows = (
        (found.predicate, found.policy, found.start, *_cells(results.figures_of([found])))
        for found in results.all
    )
    write_table(path, columns, rows)


def write_means(path: Path, results: Results, random_seed: int) -> None:
    """Write the figures of each policy: on the mean of all predicates, and for each.

    Behind the means stand the 95 % intervals of the areas over predicates.
    """
    rows = (
        (
            predicate or MEAN,
            policy,
            *_cells(results.figures(policy, predicate)),
            *_interval(results, policy, predicate, random_seed),
        )
        for predicate in (None, *results.predicates)
        for policy in results.policies
    )
    write_table(path, ("predicate", "policy", *_columns(results.points, results.times), *_BOUNDS), rows)


def _interval(results: Results, policy: str, predicate: str | None, random_seed: int) -> Sequence[float | None]:
    if predicate is not None:
        return [None] * len(_BOUNDS)
    return _bounds([results], policy, random_seed)


def _bounds(webs: Sequence[Results], policy: str, random_seed: int) -> Sequence[float | None]:
    found = (
        interval([results.groups(policy, figure) for results in webs], Random(random_seed))
        for figure in (area, area_by_request)
    )
    return tuple(map(rounded, chain.from_iterable(found)))


def write_webs(path: Path, webs: Mapping[str, Results], random_seed: int) -> None:
    """Write the figures of each policy on the mean of all webs, each counting alike, and on each.

    Behind them stand the 95 % intervals of the areas over predicates.
    """
    rows = [
        (MEAN if name is None else name, policy, figures, _bounds(found, policy, random_seed))
        for name, found in ((None, list(webs.values())), *((name, [results]) for name, results in webs.items()))
        for policy, figures in figures_of_webs(found).items()
    ]
    points = list(rows[0][2].harvest)
    table = ((name, policy, *_cells(figures.at(points)), *bounds) for name, policy, figures, bounds in rows)
    times = next(iter(webs.values())).times
    write_table(path, ("web", "policy", *_columns(points, times), *_BOUNDS), table)


def figures_of_webs(webs: Sequence[Results]) -> dict[str, Figures]:
    """Return the figures of each policy that ran on all webs, on the mean of these."""
    return {policy: mean_figures([results.figures(policy) for results in webs]) for policy in plain(webs)}


def write_comparisons(path: Path, comparisons: Iterable[tuple[str, Iterable[Versus]]]) -> None:
    """Write policies against each other, by the figure that is compared."""
    columns = ("figure", "policy", "other", "mean", "other_mean", "ratio", "difference", "low", "high", "ahead",
               "tied", "predicates", "runs")  # fmt: skip
    rows = (
        (figure, found.policy, found.other, *map(rounded, (found.figure, found.others, found.ratio)),
         *map(rounded, found.comparison[:5]), *found.comparison[5:])
        for figure, versus in comparisons
        for found in versus
    )  # fmt: skip
    write_table(path, columns, rows)


def write_curves(path: Path, results: Results) -> None:
    """Write the lift curves: mean and deviation over the starts, for each predicate and the mean of all."""
    write_table(path, ("predicate", "policy", "pages", "harvest", "deviation"), _curves(results))


def _curves(results: Results) -> Iterator[Sequence[object]]:
    pages = [n for n in range(1, results.budget + 1) if n <= DENSE or n % 10 == 0 or n == results.budget]
    for predicate in (None, *results.predicates):
        for policy in results.policies:
            mean, deviation = results.band(policy, predicate)
            for n in pages:
                yield (
                    predicate or MEAN,
                    policy,
                    n,
                    rounded(float(mean[n - 1])),
                    rounded(float(deviation[n - 1])),
                )


def as_json(results: Results) -> dict[str, Any]:
    """Return every crawl's figures and each policy's on the mean."""
    return {
        "results": [
            {
                "predicate": found.predicate,
                "policy": found.policy,
                "start": found.start,
                **_object(results.figures_of([found]), _OF_A_CRAWL),
            }
            for found in results.all
        ],
        "mean": {policy: _object(results.figures(policy), tuple(_SINGLE)) for policy in results.policies},
    }


def webs_as_json(webs: Mapping[str, Results]) -> dict[str, Any]:
    """Return what `as_json` has of each web, and the figures of each policy on their mean."""
    mean = {
        policy: _object(found, tuple(_SINGLE)) for policy, found in figures_of_webs(list(webs.values())).items()
    }
    return {"webs": {name: as_json(results) for name, results in webs.items()}, "mean": mean}


def _object(figures: Figures, names: Sequence[str]) -> dict[str, Any]:
    points = {
        column: {str(point): rounded(value) for point, value in getattr(figures, name).items()}
        for column, name in _AT_POINTS.items()
    }
    clock: dict[str, Any] = {}
    if figures.hits:
        clock["hits"] = {str(time): rounded(hits) for time, hits in figures.hits.items()}
        clock["slots"] = rounded(figures.slots)
    return {**points, **clock, **{column: rounded(getattr(figures, _SINGLE[column])) for column in names}}


def _columns(points: Iterable[int], times: Sequence[int]) -> tuple[str, ...]:
    clock = (*(f"hits_{time}s" for time in times), "slots") if times else ()
    return (*(f"{column}_{point}" for column in _AT_POINTS for point in points), *clock, *_SINGLE)


def _cells(figures: Figures) -> tuple[float | None, ...]:
    points = (value for name in _AT_POINTS.values() for value in getattr(figures, name).values())
    clock = (*figures.hits.values(), figures.slots) if figures.hits else ()
    return tuple(map(rounded, (*points, *clock, *(getattr(figures, name) for name in _SINGLE.values()))))
