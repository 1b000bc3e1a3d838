"""The comparison as a table: medians of both crawlers, and Scentline's as multiples of Scrapy's."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median

from bench.crawl.measure import Resumed, Run

_MEGABYTE = 1_000_000
_FIGURES: tuple[tuple[str, Callable[[Run], float]], ...] = (
    ("pages", lambda run: run.pages),
    ("pages a second", lambda run: run.rate),
    ("CPU a page, ms", lambda run: run.cpu_a_page),
    ("peak memory, MB", lambda run: run.memory / _MEGABYTE),
)
_COUNTS: tuple[tuple[str, Callable[[Resumed], int]], ...] = (
    ("served before", lambda crawl: crawl.before),
    ("served after", lambda crawl: crawl.after),
    ("never served", lambda crawl: crawl.lost),
    ("served twice", lambda crawl: crawl.twice),
    ("in the output", lambda crawl: crawl.kept),
    ("in a whole crawl's", lambda crawl: crawl.whole),
)


def table(runs: Mapping[str, Sequence[Run]], resumed: Mapping[str, Resumed]) -> str:
    """Return the report; ``runs`` and ``resumed`` have Scrapy first and Scentline second."""
    (first, base), (second, own) = runs.items()
    lines = [f"{'median of ' + str(len(base)) + ' crawls':<24}{first:>12}{second:>12}{'ratio':>10}"]
    for label, figure in _FIGURES:
        left, right = median(map(figure, base)), median(map(figure, own))
        lines.append(f"{label:<24}{left:>12.1f}{right:>12.1f}{right / left:>9.2f}x")
        spread = f"{_range(base, figure):>12}{_range(own, figure):>12}"
        lines.append(f"{'  least to most':<24}{spread}")
    lines += ["", f"{'killed with -9 half-way':<24}{first:>12}{second:>12}"]
    for label, count in _COUNTS:
        lines.append(f"{label:<24}" + "".join(f"{count(crawl):>12}" for crawl in resumed.values()))
    return "\n".join(lines)


def _range(runs: Sequence[Run], figure: Callable[[Run], float]) -> str:
    found = [figure(run) for run in runs]
    return f"{min(found):.0f}-{max(found):.0f}"
