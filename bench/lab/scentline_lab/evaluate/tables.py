"""The evaluation as tables: CSV files, and the object that ``--json`` prints. Policies are compared run by run:
is one ahead beyond chance, and what was reuse worth.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from scentline_lab.evaluate.crawls import NEW_ONLY, NO_LOG, NO_USERS, REUSE
from scentline_lab.evaluate.results import Figures, Result, Results, mean_figures
from scentline_lab.experiment import OutputDirectory, rounded
from scentline_lab.simulation.metrics import Comparison, Groups, interval, macro, paired_bootstrap, relative
from scentline_lab.simulation.policies import LEARNED, LIMITS, PRINTED
from scentline_lab.simulation.virtual import Request

#: A figure by which crawls are compared.
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
    best = max(contest, key=lambda policy: macro([each.groups(policy, figure) for each in webs]), default="")
    return [versus(webs, policy, best, random_seed, figure) for policy in contest if policy != best]


def learned_against(webs: Sequence[Results], random_seed: int, figure: Figure = area) -> list[Versus]:
    """Return the learned policy against each other one; nothing where it did not run."""
    policies = plain(webs)
    others = [policy for policy in policies if policy != LEARNED] if LEARNED in policies else []
    return [versus(webs, LEARNED, policy, random_seed, figure) for policy in others]


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
    """Return the learned policy with the log against it without, and against it with the log's pages alone."""
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
    found = []
    for policy, other in (("collaborative" + end, "linkage" + end) for end in ("", PRINTED)):
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
    first, second = macro(one), macro(two)
    compared = paired_bootstrap(one, two, random_seed)
    return Versus(policy, other, first, second, relative(first, second), compared)


def plain(webs: Sequence[Results]) -> list[str]:
    """Return the policies that started without a state, on the whole of each web."""
    changed = (REUSE, NEW_ONLY, NO_LOG, NO_USERS)
    everywhere = (name for name in webs[0].policies if all(name in results.policies for results in webs))
    return [name for name in everywhere if not name.endswith(changed)]


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
#: Those of a single crawl: one has too few pages for a calibration error.
_OF_A_CRAWL = ("auc", "auc_of_oracle", "auc_by_request", "requests_a_page", "brier")
#: Those at each of the points.
_AT_POINTS = ("harvest", "harvest_by_request", "sites")


def write_order(output: OutputDirectory, name: str, order: Sequence[Request]) -> None:
    """Write the requests of one crawl in the order of their answers, and which brought a page."""
    columns = ["n", "url", "page", "hit", "probability", "explored", "came", "answered"]
    if not any(request.answered for request in order):
        del columns[-2:]
    rows = (
        (number, url, int(page), int(hit), probability, int(explored), *times)
        for number, (url, page, hit, probability, explored, *times) in enumerate(order, start=1)
    )
    output.write(name, columns, (row[: len(columns)] for row in rows))


def write_tables(output: OutputDirectory, results: Results, random_seed: int) -> None:
    """Write the figures of each crawl and of each policy, on the mean of all predicates and for each; curves.
    Behind the means stand the 95 % intervals of the areas over predicates.
    """
    columns = _columns(results.points, results.times)
    crawls = ((*found[:3], *_cells(results.figures_of([found]))) for found in results.all)
    output.write("results", ("predicate", "policy", "start", *columns), crawls)

    def means() -> Iterator[tuple[object, ...]]:
        for policy in results.policies:
            yield MEAN, policy, *_cells(results.figures(policy)), *_bounds([results], policy, random_seed)
        for name in results.predicates:
            for policy in results.policies:
                yield name, policy, *_cells(results.figures(policy, name)), *(None for _ in _BOUNDS)

    output.write("table", ("predicate", "policy", *columns, *_BOUNDS), means())
    output.write("curves", ("predicate", "policy", "pages", "harvest", "deviation"), _curves(results))


def _bounds(webs: Sequence[Results], policy: str, random_seed: int) -> list[float | None]:
    groups = ([results.groups(policy, figure) for results in webs] for figure in (area, area_by_request))
    return [end for each in groups for end in interval(each, random_seed)]


def write_webs(output: OutputDirectory, webs: Mapping[str, Results], random_seed: int) -> None:
    """Write the figures of each policy on the mean of all webs, each counting alike, and on each."""
    rows = [
        (name, policy, figures, _bounds(found, policy, random_seed))
        for name, found in ((MEAN, [*webs.values()]), *((name, [results]) for name, results in webs.items()))
        for policy, figures in figures_of_webs(found).items()
    ]
    points = list(rows[0][2].harvest)
    table = ((name, policy, *_cells(figures.at(points)), *bounds) for name, policy, figures, bounds in rows)
    times = next(iter(webs.values())).times
    output.write("webs", ("web", "policy", *_columns(points, times), *_BOUNDS), table)


def figures_of_webs(webs: Sequence[Results]) -> dict[str, Figures]:
    """Return the figures of each policy that ran on all webs, on the mean of these."""
    return {policy: mean_figures([results.figures(policy) for results in webs]) for policy in plain(webs)}


def write_comparisons(output: OutputDirectory, comparisons: Iterable[tuple[str, Iterable[Versus]]]) -> None:
    """Write policies against each other, by the figure that is compared."""
    columns = ("figure", "policy", "other", "mean", "other_mean", "ratio", *Comparison._fields)
    rows = ((figure, *found[:5], *found.comparison) for figure, versus in comparisons for found in versus)
    output.write("comparisons", columns, rows)


def _curves(results: Results) -> Iterator[Sequence[object]]:
    """Yield the lift curves: mean and deviation over the starts, for each predicate and the mean of all."""
    pages = [n for n in range(1, results.budget + 1) if n <= DENSE or n % 10 == 0 or n == results.budget]
    for predicate in (None, *results.predicates):
        for policy in results.policies:
            mean, deviation = results.band(policy, predicate)
            for n in pages:
                yield predicate or MEAN, policy, n, mean[n - 1], deviation[n - 1]


def as_object(results: Results) -> dict[str, Any]:
    """Return every crawl's figures and each policy's on the mean."""
    crawls = []
    for found in results.all:
        run = {"predicate": found.predicate, "policy": found.policy, "start": found.start}
        crawls.append(run | _object(results.figures_of([found]), _OF_A_CRAWL))
    means = {policy: _object(results.figures(policy), tuple(_SINGLE)) for policy in results.policies}
    return {"results": crawls, "mean": means}


def webs_as_object(webs: Mapping[str, Results]) -> dict[str, Any]:
    """Return what `as_object` has of each web, and the figures of each policy on their mean."""
    means = figures_of_webs(list(webs.values())).items()
    mean = {policy: _object(found, tuple(_SINGLE)) for policy, found in means}
    return {"webs": {name: as_object(results) for name, results in webs.items()}, "mean": mean}


def _object(figures: Figures, names: Sequence[str]) -> dict[str, Any]:
    def told(values: Mapping[int, float]) -> dict[str, float | None]:
        return {str(point): rounded(value) for point, value in values.items()}

    points = {name: told(getattr(figures, name)) for name in _AT_POINTS}
    clock = {"hits": told(figures.hits), "slots": rounded(figures.slots)} if figures.hits else {}
    return {**points, **clock, **{column: rounded(getattr(figures, _SINGLE[column])) for column in names}}


def _columns(points: Iterable[int], times: Sequence[int]) -> tuple[str, ...]:
    clock = (*(f"hits_{time}s" for time in times), "slots") if times else ()
    return (*(f"{column}_{point}" for column in _AT_POINTS for point in points), *clock, *_SINGLE)


def _cells(figures: Figures) -> tuple[float | None, ...]:
    points = (value for name in _AT_POINTS for value in getattr(figures, name).values())
    clock = (*figures.hits.values(), figures.slots) if figures.hits else ()
    return (*points, *clock, *(getattr(figures, name) for name in _SINGLE.values()))
