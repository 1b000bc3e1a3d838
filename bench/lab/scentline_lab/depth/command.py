"""The depth command: read, fetch without a network, compute each site's figures, write and print."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, zip_longest
from pathlib import Path
from typing import Any

import typer

from scentline.agents.cli.output import print_table
from scentline.agents.observe.observer import HINT, observed, site_named
from scentline.models.papers.depth import Surfer
from scentline.streams.settings import ConfigurationError, Settings
from scentline_lab.depth.site import Move, Result, Sites
from scentline_lab.experiment import Cut, Output, Progress, cell, check_files, check_logs, rounded
from scentline_lab.pictures import draw_site
from scentline_lab.reading import LogReader

#: Characters of a file's name: a host may have more than file systems take.
_LONGEST = 200
_UNSAFE = re.compile(r"[^a-z0-9._-]+")
#: Sites with a picture and a line on the terminal: those with the most views.
_SHOWN = 20
_FILES = ("sites.csv", "levels.csv", "moves.csv", "directories.csv")


def run(
    settings: Settings,
    logs: Sequence[str],
    archives: Sequence[Path],
    graphs: Sequence[Path],
    out: Path | None,
    site: str | None,
    share: float,
    *,
    as_json: bool,
) -> None:
    """Compute the depth of each site, write tables and pictures, and print; Ctrl-C ends the reading alone."""
    if not (logs or archives or graphs):
        raise ConfigurationError("depth needs something to read: a LOG, --archive WARC or --graph FILE")
    check_files("", (*archives, *graphs))
    check_logs(logs)
    only = None if site is None else site_named(site)
    output = Output(out, "depth", _FILES, ("sites",)).prepare()
    sites = Sites(None if only is None else only.host)
    bars = Progress()
    with Cut() as cut:
        reader = LogReader(observed(settings.observe, only), bars, everywhere=only is not None)
        if archives:
            sites.fetch_archives(archives, settings, bars)
        for path in graphs:
            sites.fetch_graph(path)
        for log in logs:
            sites.read_log(log, reader)
    for known in sites.known.values():
        known.finish()
    results = [Result(name, known, share) for name, known in sites.known.items()]
    results.sort(key=lambda found: (-found.site.visits.total, -sum(found.site.growth.pages), found.name))
    if out is not None:
        _write(output, results)
    passed = dict(sites.passed) | reader.passed
    _print(results, reader.lines, passed)
    output.finish(as_json=as_json, found=lambda: {"sites": list(map(as_object, results)), "passed": passed})
    cut.end("Interrupted: these figures cover what was read so far.")


def _print(results: Sequence[Result], lines: int, passed: dict[str, int]) -> None:
    columns = ("site", "depth", "why", "by views", "by links", "best", "q", "95 %", "error", "views a session")
    print_table(columns, map(_row, results[:_SHOWN]))
    if len(results) > _SHOWN:
        typer.echo(f"\n{len(results) - _SHOWN:,} more sites have fewer views")
    if lines:
        told = ", ".join(f"{reason} {count:,}" for reason, count in sorted(passed.items()) if count)
        typer.echo(f"\n{lines:,} lines read; skipped: {told or 'none'}")
        if passed.get("site"):
            typer.echo(f"No site is known for {passed['site']:,} of them: {HINT}")


def _row(found: Result) -> tuple[str, ...]:
    fitted, visits = ("-",) * 5, found.site.visits
    if (best := found.best) is not None:
        views = f"{visits.total / visits.sessions:.2f}"
        fitted = best.surfer, f"{best.q:.3f}", f"{best.low:.3f} to {best.high:.3f}", f"{best.error:.3f}", views
    depth, *depths = (cell(each, "d") for each in (found.advice.depth, found.depth_views, found.depth_links))
    return found.name, depth, found.advice.why, *depths, *fitted


_FIT = ("q", "low", "high", "error", "depth")
_LEVEL = (
    "site", "level", "views", "share", "reached", *(f"reached_{surfer}" for surfer in Surfer), "pages", "links",
    "links_to_new", "surfer", "surfer_reached", "pagerank", "pagerank_reached",
)  # fmt: skip
_DIRECTORIES = ("site", "directories", "pages", "pages_share", "entry_pages", "entry_share")


def _write(output: Output, results: Sequence[Result]) -> None:
    for name, columns, rows_of in (
        ("sites", list(as_object(results[0])) if results else (), lambda found: [as_object(found).values()]),
        ("levels", _LEVEL, _levels),
        ("moves", ("site", "level", "views", *Move), _moves),
        ("directories", _DIRECTORIES, _directories),
    ):
        output.write(name, columns, chain.from_iterable(map(rows_of, results)))
    for found in [found for found in results if found.fits or found.site.growth.pages][:_SHOWN]:
        output.draw(f"sites/{_UNSAFE.sub('-', found.name.lower())[:_LONGEST]}.png", draw_site, found)


def as_object(found: Result) -> dict[str, Any]:
    """Return a site's figures by the columns of ``sites.csv``."""
    visits, growth, advice = found.site.visits, found.site.growth, found.advice
    fits: dict[str, float | None] = {f"{figure}_{surfer}": None for surfer in Surfer for figure in _FIT}
    for each in found.fits:
        values = (*map(rounded, each[1:]), each.surfer.depth(each.q, found.share))
        fits |= {f"{figure}_{each.surfer}": value for figure, value in zip(_FIT, values, strict=True)}
    new = sum(growth.new)
    return {
        "site": found.name, "depth": advice.depth, "source": advice.source, "why": advice.why,
        "sessions": visits.sessions, "views": visits.total, "views_put_back": visits.put_back,
        "start_at_home": _share(visits.homes, visits.sessions),
        "single_view": _share(visits.singles, visits.sessions), "depth_views": found.depth_views,
        "best": None if found.best is None else str(found.best.surfer), **fits, "pages": sum(growth.pages),
        "links": new + sum(growth.seen), "links_to_new": new, "depth_links": found.depth_links,
    }  # fmt: skip


def _levels(found: Result) -> Iterator[tuple[object, ...]]:
    visits, growth, ranks = found.site.visits, found.site.growth, found.site.ranks
    levels = max(len(visits.views), len(growth.pages))
    surfer = growth.surfer(levels) if growth.pages else []
    links = [new + seen for new, seen in zip(growth.new, growth.seen, strict=True)]
    told = (growth.pages, links, growth.new, surfer, accumulate(surfer), ranks, accumulate(ranks))
    columns: Iterator[list[Any]] = map(list, zip_longest(visits.views, visits.reached(), *told))
    for level, (views, reached, *others) in zip(range(levels), columns, strict=False):
        fitted = {each.surfer: each.surfer.reached(each.q, level) for each in found.fits}
        share = _share(views or 0, visits.total)
        yield found.name, level, views or 0, share, reached, *map(fitted.get, Surfer), *others


def _moves(found: Result) -> Iterator[tuple[object, ...]]:
    visits = found.site.visits
    for level, (views, made) in enumerate(zip(visits.views, visits.moves, strict=True)):
        yield found.name, level, views, *(_share(made.get(move, 0), views) for move in Move)


def _directories(found: Result) -> Iterator[tuple[object, ...]]:
    counts = found.site.directories()
    pages, entries = (sum(count[place] for count in counts) for place in (0, 1))
    for depth, (seen, entered) in enumerate(counts):
        yield found.name, depth, seen, _share(seen, pages), entered, _share(entered, entries)


def _share(part: int, whole: int) -> float | None:
    return rounded(part / whole) if whole else None
