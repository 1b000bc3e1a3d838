"""The evaluation as tables: CSV files, and the object that ``--json`` prints; policies compared run by run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from scentline_lab.evaluate import results as of
from scentline_lab.evaluate.run import NEW_ONLY, NO_LOG, NO_USERS, REUSE
from scentline_lab.experiment import Output, rounded
from scentline_lab.simulation.policies import LEARNED, LIMITS, PRINTED
from scentline_lab.simulation.virtual import Request

Figure: TypeAlias = Callable[[of.Result], float]


class Versus(NamedTuple):
    """One policy against another: the mean figure of each, their ratio and the paired bootstrap."""

    policy: str
    other: str
    figure: float
    others: float
    ratio: float | None
    comparison: of.Comparison


class Compared(NamedTuple):
    """Policies against each other by a ``figure``, and the title in a report."""

    figure: str
    title: str
    found: Sequence[Versus]


AREAS: Mapping[str, Figure] = {name: attrgetter(name) for name in ("auc", "auc_by_request")}


def compared(results: of.Results, random_seed: int) -> list[Compared]:
    """Return all comparisons of one web."""
    early = f"harvest_{results.early}"
    reused = f"With an earlier crawl's state, against without, by the harvest at {results.early:,}"
    best = "One collaborative run against the best of all by links, by AUC"
    return [
        *compared_by_area([results], random_seed, "auc"),
        Compared(early, reused, reuse(results, random_seed)),
        Compared("auc, the other's best start", best, headline(results, random_seed)),
    ]


def compared_by_area(webs: Sequence[of.Results], random_seed: int, name: str) -> list[Compared]:
    """Return each policy against the best but for the limits; the learned one against each, and with less."""
    policies, figure = plain(webs), AREAS[name]
    contest = [policy for policy in policies if policy not in LIMITS]
    best = max(contest, key=lambda policy: of.macro([each.groups(policy, figure) for each in webs]), default="")
    less = (LEARNED + end for end in (NO_LOG, NO_USERS))
    learned = [(LEARNED, policy) for policy in policies if LEARNED in policies and policy != LEARNED]
    log = [(LEARNED, other) for other in less if all(other in results.policies for results in webs)]

    def against(title: str, pairs: Iterable[tuple[str, str]]) -> Compared:
        return Compared(name, title, [versus(webs, *pair, random_seed, figure) for pair in pairs])

    return [
        against("Each policy against the best, by AUC", ((each, best) for each in contest if each != best)),
        against("The learned policy against each other one, by AUC", learned),
        against("The learned policy against itself without log or users, by AUC", log),
    ]


def reuse(results: of.Results, random_seed: int) -> list[Versus]:
    """Return each policy with an earlier crawl's state against itself without, by the early harvest rate."""
    pairs = [(name + REUSE + end, name + end) for name in plain([results]) for end in ("", NEW_ONLY)]
    early: Figure = lambda result: float(result.curve[results.early - 1])  # noqa: E731
    return [versus([results], *pair, random_seed, early) for pair in pairs if pair[0] in results.policies]


def headline(results: of.Results, random_seed: int) -> list[Versus]:
    """Return each collaborative run against the best by links, by area (Aggarwal 2004, Figures 2 and 3)."""
    found = []
    for policy, other in (("collaborative" + end, "linkage" + end) for end in ("", PRINTED)):
        one, two = (results.groups(name, AREAS["auc"]) for name in (policy, other))
        if all(len(runs) > 1 for runs in (*one, *two)):
            best = [[max(runs)] * len(runs) for runs in two]
            found.append(_versus([one], [best], policy, other, random_seed))
    return found


def versus(webs: Sequence[of.Results], policy: str, other: str, random_seed: int, figure: Figure) -> Versus:
    """Return a policy against another over the runs of all webs, predicates and starts."""
    one, two = ([results.groups(name, figure) for results in webs] for name in (policy, other))
    return _versus(one, two, policy, other, random_seed)


def _versus(one: of.Groups, two: of.Groups, policy: str, other: str, random_seed: int) -> Versus:
    first, second = of.macro(one), of.macro(two)
    compared = of.paired_bootstrap(one, two, random_seed)
    return Versus(policy, other, first, second, of.relative(first, second), compared)


def plain(webs: Sequence[of.Results]) -> list[str]:
    """Return the policies that ran without a state on all pages of all webs."""
    changed = (REUSE, NEW_ONLY, NO_LOG, NO_USERS)
    everywhere = (name for name in webs[0].policies if all(name in results.policies for results in webs))
    return [name for name in everywhere if not name.endswith(changed)]


MEAN = "*"  #: Stands for a predicate in a row that is the mean of all.
DENSE = 100  #: Pages up to which the curves' table has a row each; then it has one for every tenth.
_BOUNDS = tuple(f"{area}_{end}" for area in AREAS for end in ("low", "high"))
# A single crawl has too few pages for these.
_OF_A_MEAN = ("base_brier", "ece_selected", "ece_explored")


def write_order(output: Output, name: str, order: Sequence[Request]) -> None:
    """Write the requests of one crawl in the order of their answers, with times where time passed."""
    columns = ("n", *Request._fields)[: None if any(each.answered for each in order) else -2]
    rows = (
        (number, url, int(page), int(hit), probability, int(explored), *times)
        for number, (url, page, hit, probability, explored, *times) in enumerate(order, start=1)
    )
    output.write(name, columns, (row[: len(columns)] for row in rows))


def write_tables(output: Output, results: of.Results, random_seed: int) -> None:
    """Write the figures of each crawl, those of each policy on the mean with 95 % intervals, and the curves."""
    columns = list(results.figures_of(results.all[:1]))
    rows = ((*found[:3], *results.figures_of([found]).values()) for found in results.all)
    output.write("results", ("predicate", "policy", "start", *columns), rows)

    means: list[tuple[object, ...]] = []
    for name, policy in product((None, *results.predicates), results.policies):
        bounds = [None] * len(_BOUNDS) if name else _bounds([results], policy, random_seed)
        means.append((name or MEAN, policy, *results.figures(policy, name).values(), *bounds))
    output.write("table", ("predicate", "policy", *columns, *_BOUNDS), means)
    output.write("curves", ("predicate", "policy", "pages", "harvest", "deviation"), _curves(results))


def _bounds(webs: Sequence[of.Results], policy: str, random_seed: int) -> list[float | None]:
    groups = ([results.groups(policy, figure) for results in webs] for figure in AREAS.values())
    return [end for each in groups for end in of.interval(each, random_seed)]


def write_webs(output: Output, webs: Mapping[str, of.Results], random_seed: int) -> None:
    """Write the figures of each policy on the mean of all webs, and on each."""
    groups = {MEAN: [*webs.values()], **{name: [results] for name, results in webs.items()}}
    rows = [(name, *each) for name, found in groups.items() for each in figures_of_webs(found).items()]
    columns = list(rows[0][2])
    table = (
        (name, policy, *map(figures.get, columns), *_bounds(groups[name], policy, random_seed))
        for name, policy, figures in rows
    )
    output.write("webs", ("web", "policy", *columns, *_BOUNDS), table)


def figures_of_webs(webs: Sequence[of.Results]) -> dict[str, of.Figures]:
    """Return the figures of each policy that ran on all webs, on the mean of these."""
    return {policy: of.mean_figures([results.figures(policy) for results in webs]) for policy in plain(webs)}


def write_comparisons(output: Output, comparisons: Iterable[Compared]) -> None:
    """Write each policy against another as a row."""
    columns = ("figure", "policy", "other", "mean", "other_mean", "ratio", *of.Comparison._fields)
    rows = ((each.figure, *found[:5], *found.comparison) for each in comparisons for found in each.found)
    output.write("comparisons", columns, rows)


def _curves(results: of.Results) -> Iterator[Sequence[object]]:
    pages = [n for n in range(1, results.budget + 1) if n <= DENSE or n % 10 == 0 or n == results.budget]
    for predicate, policy in product((None, *results.predicates), results.policies):
        mean, deviation = results.band(policy, predicate)
        yield from ((predicate or MEAN, policy, n, mean[n - 1], deviation[n - 1]) for n in pages)


def as_object(results: of.Results) -> dict[str, Any]:
    """Return every crawl's figures and each policy's on the mean."""
    crawls = [
        dict(zip(of.Result._fields[:3], found, strict=False)) | _object(results.figures_of([found]))
        for found in results.all
    ]
    return {
        "results": [{name: each[name] for name in each if name not in _OF_A_MEAN} for each in crawls],
        "mean": {policy: _object(figures) for policy, figures in results.by_policy().items()},
    }


def webs_as_object(webs: Mapping[str, of.Results]) -> dict[str, Any]:
    """Return each web `as_object`, and the figures of each policy on their mean."""
    mean = {policy: _object(found) for policy, found in figures_of_webs(list(webs.values())).items()}
    return {"webs": {name: as_object(results) for name, results in webs.items()}, "mean": mean}


def _object(figures: of.Figures) -> dict[str, Any]:
    """Return figures, those at points beneath their name."""
    told = {column: rounded(value) for column, value in figures.items()}
    points: dict[str, Any] = {name: of.parts(told, name) for name in ("harvest", "harvest_by_request", "sites")}
    hits = {point.rstrip("s"): value for point, value in of.parts(told, "hits").items()}
    single = {name: value for name, value in told.items() if not name.rpartition("_")[2].rstrip("s").isdigit()}
    return points | ({"hits": hits} if hits else {}) | single
