"""The evaluation as tables: CSV files, and the object that ``--json`` prints."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.lab.evaluate.comparisons import Versus
from agents.lab.evaluate.results import Figures, Results
from agents.lab.output import rounded, write_table
from models.evaluate.virtual import Fetched

#: What stands for a predicate in a row that is the mean of all: no name of one.
MEAN = "*"
#: Pages up to which the curves' table has a row each; then it has one for every tenth.
DENSE = 100

_FIGURES = ("auc", "auc_of_oracle", "brier", "base_brier", "ece_selected", "ece_explored")


def write_order(path: Path, order: Sequence[Fetched]) -> None:
    """Write the pages of one crawl in the order in which they were fetched."""
    rows = (
        (number, page.url, int(page.hit), rounded(page.probability), int(page.explored))
        for number, page in enumerate(order, start=1)
    )
    write_table(path, ("n", "url", "hit", "probability", "explored"), rows)


def write_seeds(path: Path, seeds: Mapping[int, Sequence[str]]) -> None:
    """Write the seed pages of each start."""
    write_table(path, ("start", "url"), ((start, url) for start, urls in seeds.items() for url in urls))


def write_results(path: Path, results: Results) -> None:
    """Write the figures of each crawl."""
    columns = ("predicate", "policy", "start", *_columns(results))
    rows = (
        (found.predicate, found.policy, found.start, *_cells(results.figures_of([found])))
        for found in results.all
    )
    write_table(path, columns, rows)


def write_means(path: Path, results: Results) -> None:
    """Write the figures of each policy: on the mean of all predicates, and for each."""
    rows = (
        (predicate or MEAN, policy, *_cells(results.figures(policy, predicate)))
        for predicate in (None, *results.predicates)
        for policy in results.policies
    )
    write_table(path, ("predicate", "policy", *_columns(results)), rows)


def write_comparisons(path: Path, comparisons: Iterable[tuple[str, Iterable[Versus]]]) -> None:
    """Write policies against each other, by the figure that is compared."""
    columns = ("figure", "policy", "other", "mean", "other_mean", "ratio", "difference", "low", "high", "ahead",
               "tied", "runs")  # fmt: skip
    rows = (
        (figure, found.policy, found.other, *map(rounded, (found.figure, found.others, found.ratio)),
         *map(rounded, found.comparison[:5]), found.comparison.runs)
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
                **_object(results.figures_of([found]), ("auc", "auc_of_oracle", "brier")),
            }
            for found in results.all
        ],
        "mean": {policy: _object(results.figures(policy), _FIGURES) for policy in results.policies},
    }


def _object(figures: Figures, names: Sequence[str]) -> dict[str, Any]:
    found = dict(zip(_FIGURES, figures[1:], strict=True))
    harvest = {str(point): rounded(rate) for point, rate in figures.harvest.items()}
    return {"harvest": harvest, **{name: rounded(found[name]) for name in names}}


def _columns(results: Results) -> tuple[str, ...]:
    return (*(f"harvest_{point}" for point in results.points), *_FIGURES)


def _cells(figures: Figures) -> tuple[float | None, ...]:
    return tuple(map(rounded, (*figures.harvest.values(), *figures[1:])))
