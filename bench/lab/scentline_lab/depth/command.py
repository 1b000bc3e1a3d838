"""The depth command: read, fetch without a network, compute each site's figures, write."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from scentline.agents.observe.site import observed, site_named
from scentline.agents.progress import Progress
from scentline.models.depth.surfers import Surfer, best, fit
from scentline.models.depth.visits import Move
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline_lab.depth.picture import draw
from scentline_lab.depth.reading import Places, Result, Sites, fetch_archives, fetch_graph, read_log
from scentline_lab.experiment import OutputDirectory, check_files, rounded, write_table
from scentline_lab.reading import LogReader

#: Characters of a file's name: a host may have more than file systems take.
_LONGEST = 200
_UNSAFE = re.compile(r"[^a-z0-9._-]+")
#: Sites that get a picture: those with the most views.
PICTURES = 20


@dataclass(frozen=True)
class Options:
    """What to read, and the share of page views to keep."""

    logs: tuple[str, ...]
    archives: tuple[Path, ...]
    graphs: tuple[Path, ...]
    site: str | None
    share: float


@dataclass(frozen=True)
class Outcome:
    """The sites' figures, the most viewed first; the lines that were read, and those skipped, by reason."""

    results: tuple[Result, ...]
    lines: int
    passed: dict[str, int]
    interrupted: bool


class Output(OutputDirectory):
    """The output directory of ``scentline depth``."""

    command = "depth"
    files = ("sites.csv", "levels.csv", "moves.csv", "directories.csv")
    directories = ("sites",)

    def picture(self, name: str) -> Path:
        """Return the picture of a site."""
        return self.directory / "sites" / f"{_UNSAFE.sub('-', name.lower())[:_LONGEST]}.png"


def run(settings: Settings, options: Options, out: Path | None, bars: Progress) -> Outcome:
    """Compute the depth of each site, and write tables and pictures into ``out``.

    Ctrl-C ends the reading; the figures of what was read until then are written all the same. Raises what
    is wrong with the options before anything is read, and what can't be read.
    """
    if not (options.logs or options.archives or options.graphs):
        raise ConfigurationError("depth needs something to read: a LOG, --archive WARC or --graph FILE")
    check_files("", (*options.archives, *options.graphs))
    site = None if options.site is None else site_named(options.site)
    output = Output.prepared(out)
    sites, places = Sites(), Places(None if site is None else site.host)
    reader = LogReader(observed(settings.observe, site), bars, everywhere=site is not None)
    interrupted = False
    try:
        if options.archives:
            fetch_archives(options.archives, settings, places, sites, bars)
        for path in options.graphs:
            fetch_graph(path, places, sites, bars)
        for log in options.logs:
            read_log(log, reader, places, sites)
    except KeyboardInterrupt:
        interrupted = True
    sites.finish()
    results = tuple(_result(name, sites, options.share) for name in sites.largest())
    if output is not None:
        _write(output, results, bars)
    return Outcome(results, reader.lines, dict(sites.passed) | reader.passed, interrupted)


def _result(name: str, sites: Sites, share: float) -> Result:
    site = sites.known[name]
    visits, growth = site.visits, site.growth
    seen = visits.sessions > 0
    fits = tuple(fit(visits, surfer) for surfer in Surfer) if seen else ()
    by_views = visits.depth(share) if seen else None
    by_links = growth.depth(share) if growth.pages else None
    return Result(
        name, site, share, fits, best(visits) if seen else None, by_views, by_links, site.advice(share)
    )


_FIT = ("q", "low", "high", "error", "depth")
_SITE = (
    "site", "depth", "source", "why", "sessions", "views", "views_put_back", "start_at_home", "single_view",
    "depth_views", "best", *(f"{figure}_{surfer}" for surfer in Surfer for figure in _FIT), "pages", "links",
    "links_to_new", "depth_links",
)  # fmt: skip
_LEVEL = (
    "site", "level", "views", "share", "reached", *(f"reached_{surfer}" for surfer in Surfer), "pages", "links",
    "links_to_new", "surfer", "surfer_reached", "pagerank", "pagerank_reached",
)  # fmt: skip
_DIRECTORIES = ("site", "directories", "pages", "pages_share", "entry_pages", "entry_share")


def _write(output: Output, results: Sequence[Result], bars: Progress) -> None:
    """Write the tables: a row for each site, level, level with its moves, and number of directories."""
    for name, columns, rows_of in (
        ("sites", _SITE, lambda found: [as_object(found).values()]),
        ("levels", _LEVEL, _levels),
        ("moves", ("site", "level", "views", *Move), _moves),
        ("directories", _DIRECTORIES, _directories),
    ):
        rows = (row for found in results for row in rows_of(found))
        write_table(output.table(name), columns, rows, end="\r\n")  # as RFC 4180 ends lines
    shown = [found for found in results if found.fits or found.site.growth.pages][:PICTURES]
    bars.phase("draw the sites", len(shown))
    for found in shown:
        draw(output.picture(found.name), found)
        bars.advance()


def as_object(found: Result) -> dict[str, Any]:
    """Return a site's figures by the names of the columns of ``sites.csv``."""
    visits, growth, advice = found.site.visits, found.site.growth, found.advice
    sessions = visits.sessions
    fits: list[float | None] = [None for _ in Surfer for _ in _FIT]
    if found.fits:
        depths = [each.surfer.depth(each.q, found.share) for each in found.fits]
        fits = [
            value
            for each, depth in zip(found.fits, depths, strict=True)
            for value in (*map(rounded, each[1:]), depth)
        ]
    new = sum(growth.new)
    values = (
        found.name, advice.depth, advice.source, advice.why, sessions, visits.total, visits.put_back,
        _share(visits.homes, sessions), _share(visits.singles, sessions), found.depth_views,
        None if found.best is None else str(found.best.surfer), *fits, sum(growth.pages),
        new + sum(growth.seen), new, found.depth_links,
    )  # fmt: skip
    return dict(zip(_SITE, values, strict=True))


def _levels(found: Result) -> Iterator[tuple[object, ...]]:
    visits, growth, ranks = found.site.visits, found.site.growth, found.site.ranks
    levels = max(len(visits.views), len(growth.pages))
    reached = visits.reached()
    surfer = growth.surfer(levels) if growth.pages else []
    surfed, ranked = list(accumulate(surfer)), list(accumulate(ranks))
    for level in range(levels):
        views = visits.views[level] if level < len(visits.views) else 0
        fitted = {each.surfer: each.surfer.reached(each.q, level) for each in found.fits}
        seen: tuple[object, ...] = (None, None, None)
        if level < len(growth.pages):
            seen = (growth.pages[level], growth.new[level] + growth.seen[level], growth.new[level])
        shares = (values[level] if level < len(values) else None for values in (surfer, surfed, ranks, ranked))
        yield (
            found.name, level, views, _share(views, visits.total),
            reached[level] if level < len(reached) else None, *map(fitted.get, Surfer), *seen, *shares,
        )  # fmt: skip


def _moves(found: Result) -> Iterator[tuple[object, ...]]:
    visits = found.site.visits
    for level, (views, made) in enumerate(zip(visits.views, visits.moves, strict=True)):
        yield found.name, level, views, *(_share(made.get(move, 0), views) for move in Move)


def _directories(found: Result) -> Iterator[tuple[object, ...]]:
    counts = found.site.directories.counts()
    pages, entries = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    for depth, (seen, entered) in enumerate(counts):
        yield found.name, depth, seen, _share(seen, pages), entered, _share(entered, entries)


def _share(part: int, whole: int) -> float | None:
    return rounded(part / whole) if whole else None
