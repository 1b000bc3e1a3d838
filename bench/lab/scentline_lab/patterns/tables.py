"""What was found as CSV files."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from scentline.models.patterns.mine import Patterns
from scentline.models.patterns.ranking import DISCOVERY, FETCH, Pattern, score
from scentline_lab.output import write_table
from scentline_lab.patterns.measures import Reliability, TreeFigures
from scentline_lab.patterns.orderings import Result

#: Shares of the pages at which a curve is told in `write_orderings`: the throughputs of the paper's figures.
THROUGHPUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
_POINTS = 200
_DIGITS = 6


def by_fetch(patterns: Patterns) -> list[Pattern]:
    """Return a site's patterns in the order of a comprehensive fetch by the behaviour graph."""
    return sorted(
        patterns.chosen,
        key=lambda pattern: (-score(FETCH["behaviour-fetch"], pattern), -pattern.visits, pattern.name),
    )


def write_patterns(path: Path, patterns: Patterns) -> None:
    """Write each pattern with its figures and its place in each ranking, 1 the first."""
    rankings = {**FETCH, **DISCOVERY}
    chosen = by_fetch(patterns)
    places = {
        name: {
            pattern.name: place
            for place, pattern in enumerate(sorted(chosen, key=lambda each: -score(ranking, each)), start=1)
        }
        for name, ranking in rankings.items()
    }
    write_table(
        path,
        ("pattern", "urls", "visits", "referrals", "authority", "hub", *rankings),
        (
            (pattern.name, pattern.urls, pattern.visits, pattern.referrals, _cell(pattern.authority),
             _cell(pattern.hub), *(places[name][pattern.name] for name in rankings))
            for pattern in chosen
        ),
    )  # fmt: skip


def write_trees(path: Path, figures: Iterable[TreeFigures]) -> None:
    """Write what each tree came to."""
    write_table(
        path,
        ("mined", "tree", "patterns", "height", "traffic_approximation", "mirror_coverage",
         "layout_similarity", "of_different_patterns"),
        (
            (each.mined, each.tree, each.patterns, each.height, _cell(each.approximation), _cell(each.mirror),
             _cell(each.layout), _cell(each.apart))
            for each in figures
        ),
    )  # fmt: skip


def write_coverage(path: Path, found: Reliability) -> None:
    """Write which share of each later period's URLs and visits is covered, by URLs and by patterns."""
    write_table(
        path,
        ("period", "days", "by", "urls", "visits"),
        (
            (number, found.periods[number - 1].span, name, _cell(each.urls), _cell(each.visits))
            for number, coverages in enumerate(found.coverages, start=2)
            for name, each in coverages.items()
        ),
    )


def write_traffic(path: Path, found: Reliability) -> None:
    """Write the URLs and visits of each period."""
    write_table(
        path,
        ("period", "days", "urls", "visits"),
        (
            (number, period.span, len(period.visits), sum(period.visits.values()))
            for number, period in enumerate(found.periods, start=1)
        ),
    )


def write_orderings(path: Path, results: Iterable[Result]) -> None:
    """Write the share of the pages at 80 % of the visits, and the share of the visits at each throughput."""
    columns = tuple(f"visits_at_{throughput:g}" for throughput in THROUGHPUTS)
    write_table(
        path,
        ("aim", "ordering", "pages_for_80_percent", *columns),
        (
            (each.aim, each.ordering, _cell(each.pages),
             *(_cell(float(each.curve[round(part * (len(each.curve) - 1))])) for part in THROUGHPUTS))
            for each in results
        ),
    )  # fmt: skip


def write_curves(path: Path, results: Iterable[Result]) -> None:
    """Write the curves that the pictures show, at 200 points or at each page."""

    def points(each: Result) -> Iterable[Sequence[object]]:
        pages = len(each.curve) - 1
        for place in sorted({round(pages * point / _POINTS) for point in range(_POINTS + 1)}):
            yield each.aim, each.ordering, _cell(place / max(pages, 1)), _cell(float(each.curve[place]))

    write_table(path, ("aim", "ordering", "pages", "visits"), (row for each in results for row in points(each)))


def _cell(value: float | None) -> str:
    return "" if value is None else f"{round(value, _DIGITS):g}"
