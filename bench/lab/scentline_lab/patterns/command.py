"""The patterns command: mine a log, compare with later accesses and a mirror, write, and print."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import typer

from scentline.agents.cli.output import print_table
from scentline.agents.observe.observer import HINT
from scentline.agents.offline.archive import Archive
from scentline.models.page import Page
from scentline.models.papers.patterns import Patterns, mine
from scentline.models.papers.ways import DISCOVERY, FETCH, Pattern, score
from scentline.streams.logging import printable
from scentline.streams.settings import ConfigurationError, Settings
from scentline_lab.experiment import Cut, Output, Progress, cell, check_files, check_logs
from scentline_lab.patterns import quality
from scentline_lab.patterns.pictures import draw_coverage, draw_curves, draw_tree
from scentline_lab.patterns.quality import Layout, Result, crawled, static
from scentline_lab.reading import load_web

#: Patterns that are printed; patterns.csv has all.
_SHOWN = 25
#: Pages of a mirror whose layouts are compared, each with each.
LAYOUTS = 300
#: Shares of the pages in the table of orderings: the throughputs of the paper's figures.
THROUGHPUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
_share = partial(cell, form=".1%")
_FILES = (
    "patterns.csv", "trees.csv", "coverage.csv", "orderings.csv",
    "tree.svg", "coverage.png", "fetch.png", "discovery.png",
)  # fmt: skip


@dataclass
class Found:
    """The findings so far."""

    patterns: Patterns | None = None
    trees: list[quality.TreeFigures] = field(default_factory=list)
    reliability: quality.Reliability | None = None
    orderings: list[Result] = field(default_factory=list)
    mirror: int = 0


class Options(NamedTuple):
    """The options of the command beside its settings."""

    log: str
    site: str | None
    archives: tuple[Path, ...]
    threshold: float


def show(settings: Settings, options: Options, out: Path | None, *, as_json: bool) -> None:
    """Mine and measure the patterns of a log, write each file once its figures are known, and print."""
    site, found = quality.Site(options.site, settings.observe.base_url), Found()
    check_logs([options.log])
    check_files("--archive ", options.archives)
    output = Output(out, "patterns", _FILES).prepare()
    bars = Progress()
    with Cut() as cut:
        _find(found, settings, options, site, output, bars)
    _print(found)
    output.finish("tree.svg", as_json and not cut.interrupted, lambda: _json(found))
    cut.end("Interrupted: the remaining results are missing.")


def _find(
    found: Found, settings: Settings, options: Options, site: quality.Site, output: Output, bars: Progress
) -> None:
    """Add each step's findings to ``found``."""
    records = list(site.records(options.log, settings.observe, bars))
    if not records:
        raise ConfigurationError(f"log {options.log}: no page view of {options.site or 'any site'}; {HINT}")
    whole = quality.counted(records)
    found.patterns = mine(whole, threshold=options.threshold)
    _write_patterns(output, found.patterns)
    name = printable(options.site or Path(options.log).name)
    output.draw("tree.svg", draw_tree, found.patterns, f"URL patterns of {name}")
    pages, layouts = _mirror(settings, options, site, bars)
    found.mirror = len(pages)
    found.trees = quality.tree_figures("all", (found.patterns, whole), pages, layouts)
    periods, first = quality.split(records)
    early = mine(first, threshold=options.threshold)
    found.reliability = quality.reliability(early, periods)
    found.trees += quality.tree_figures("first period", (early, first), pages, layouts)
    _write_reliability(output, found.trees, found.reliability)
    output.draw("coverage.png", draw_coverage, found.reliability)
    visits = found.reliability.later_visits
    if pages:
        found.orderings = crawled(early, first, pages, visits, settings.random_seed, bars)
    else:
        found.orderings = static(early, first, {*whole.visits, *visits}, visits)
    _write_orderings(output, found.orderings)


def _mirror(
    settings: Settings, options: Options, site: quality.Site, bars: Progress
) -> tuple[dict[str, Page], dict[str, Layout]]:
    """Return the site's pages in the archives, and the layouts of some, drawn by chance."""
    if not options.archives:
        return {}, {}
    web = load_web(options.archives, {}, None, settings, 1, bars)
    pages = {url: page for url, page in web.pages.items() if site.holds(url)}
    if not pages:
        none = f"none of its {len(web.pages):,} pages is of {options.site or 'the log'}"
        raise ConfigurationError(f"--archive: {none}; expected a mirror of the site")
    drawn = Random(settings.random_seed).sample(sorted(pages), min(LAYOUTS, len(pages)))
    with Archive(options.archives) as archive:
        return pages, {url: quality.layout_of(archive.answer(url, {}).body) for url in drawn}


def _by_fetch(patterns: Patterns) -> list[Pattern]:
    ranking = FETCH["behaviour-fetch"]
    return sorted(patterns.chosen, key=lambda each: (-score(ranking, each), -each.visits, each.name))


def _print(found: Found) -> None:
    if found.patterns is not None:
        ranked = _by_fetch(found.patterns)
        rows = (
            (*map(str, (each[0], *each[2:5])), f"{each.authority:.4f}", f"{each.hub:.4f}") for each in ranked
        )
        print_table(("pattern", "URLs", "visits", "referrals", "authority", "hub"), islice(rows, _SHOWN))
        if len(ranked) > _SHOWN:
            typer.echo(f"... and {len(ranked) - _SHOWN} more")
    if found.trees:
        typer.echo("\nTrees (divergence in bits, between visits and their patterns)")
        columns = ("mined from", "tree", "patterns", "height", "divergence", "mirror covered")
        trees = ((*map(str, each[:4]), cell(each.approximation), _share(each.mirror)) for each in found.trees)
        print_table(columns, trees)
    if found.reliability is not None:
        typer.echo("\nCoverage of later visits by the first period's URLs and patterns")
        periods, coverages = found.reliability.periods, found.reliability.coverages
        rows = (
            (f"{number} ({periods[number - 1].span})", *(_share(each.visits) for each in coverage.values()))
            for number, coverage in enumerate(coverages, start=2)
        )
        print_table(("period", *(coverages[0] if coverages else ())), rows)
    if found.orderings:
        typer.echo("\nShare of the pages to fetch before 80 % of the later visits are fetched, or discovered")
        if not found.mirror:
            left = "any of the log's URLs may be next; orderings that need links are left out"
            typer.echo(f"(no --archive: {left})")
        orderings = ((each.aim, each.ordering, _share(each.pages)) for each in found.orderings)
        print_table(("aim", "ordering", "pages"), orderings)


def _json(found: Found) -> dict[str, Any]:
    assert found.patterns is not None
    assert found.reliability is not None
    coverages, keys = found.reliability.coverages, ("aim", "ordering", "pages")
    return {
        "patterns": [pattern._asdict() for pattern in found.patterns.chosen],
        "trees": [each._asdict() for each in found.trees],
        "coverage": [{name: each._asdict() for name, each in coverage.items()} for coverage in coverages],
        "orderings": [{key: getattr(each, key) for key in keys} for each in found.orderings],
    }


def _write_patterns(output: Output, patterns: Patterns) -> None:
    """Write each pattern with its figures and its place in each ranking."""
    chosen, places = _by_fetch(patterns), list[dict[str, int]]()
    for ranking in (*FETCH.values(), *DISCOVERY.values()):
        ranked = sorted(chosen, key=lambda each: -score(ranking, each))
        places.append({pattern.name: place for place, pattern in enumerate(ranked, start=1)})
    figures = ("urls", "visits", "referrals", "authority", "hub")
    rows = (
        (each.name, *(getattr(each, name) for name in figures), *(place[each.name] for place in places))
        for each in chosen
    )
    output.write("patterns", ("pattern", *figures, *FETCH, *DISCOVERY), rows, form=".6g")


def _write_reliability(
    output: Output, trees: Iterable[quality.TreeFigures], found: quality.Reliability
) -> None:
    columns = ("mined", "tree", "patterns", "height", "traffic_approximation", "mirror_coverage",
               "layout_similarity", "of_different_patterns")  # fmt: skip
    output.write("trees", columns, trees, form=".6g")
    coverage = (
        (number, found.periods[number - 1].span, name, float(each.urls), float(each.visits))
        for number, coverages in enumerate(found.coverages, start=2)
        for name, each in coverages.items()
    )
    output.write("coverage", ("period", "days", "by", "urls", "visits"), coverage, form=".6g")


def _write_orderings(output: Output, results: Sequence[Result]) -> None:
    columns = ("aim", "ordering", "pages_for_80_percent", *(f"visits_at_{part:g}" for part in THROUGHPUTS))
    rows = (
        (aim, name, pages, *(float(curve[round(part * (len(curve) - 1))]) for part in THROUGHPUTS))
        for aim, name, curve, pages in results
    )
    output.write("orderings", columns, rows, form=".6g")
    for aim, title, done in (
        ("fetch", "Comprehensive fetch", "fetched"),
        ("discovery", "Timely discovery", "discovered"),
    ):
        if found := [result for result in results if result.aim == aim]:
            output.draw(f"{aim}.png", draw_curves, found, title, f"share of the visits {done}")
