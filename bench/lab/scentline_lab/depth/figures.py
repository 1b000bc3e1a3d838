"""The figures of all sites as tables: CSV files, and the object that ``--json`` prints."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from scentline.models.depth.site import Advice
from scentline.models.depth.surfers import Fit, Surfer, best, fit
from scentline.models.depth.visits import Move
from scentline_lab.depth.site import Site
from scentline_lab.output import OutputDirectory, rounded, write_table


@dataclass(frozen=True)
class Result:
    """A site's figures: the fits and the best of them where it has sessions, and the advice for ``share``.

    ``depth_views`` is the depth that keeps the share of the observed views, ``depth_links`` that of the surfer
    who follows links at random; None where there are none.
    """

    name: str
    site: Site
    share: float
    fits: tuple[Fit, ...]
    best: Fit | None
    depth_views: int | None
    depth_links: int | None
    advice: Advice

    def depth_of(self, found: Fit) -> int:
        """Return the depth that keeps the share of a fitted surfer's views."""
        return found.surfer.depth(found.q, self.share)


def result(name: str, site: Site, share: float) -> Result:
    """Work out a site's figures."""
    visits = site.visits
    seen = visits.sessions > 0
    return Result(
        name,
        site,
        share,
        tuple(fit(visits, surfer) for surfer in Surfer) if seen else (),
        best(visits) if seen else None,
        visits.depth(share) if seen else None,
        site.growth.depth(share) if site.growth.pages else None,
        site.advice(share),
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


def write_tables(output: OutputDirectory, results: Sequence[Result]) -> None:
    """Write the tables: a row for each site, level, level with its moves, and number of directories."""
    _write(output.table("sites"), _SITE, (tuple(as_object(found).values()) for found in results))
    _write(output.table("levels"), _LEVEL, (row for found in results for row in _levels(found)))
    columns = ("site", "level", "views", *Move)
    _write(output.table("moves"), columns, (row for found in results for row in _moves(found)))
    columns = ("site", "directories", "pages", "pages_share", "entry_pages", "entry_share")
    _write(output.table("directories"), columns, (row for found in results for row in _directories(found)))


def as_object(found: Result) -> dict[str, Any]:
    """Return a site's figures by the names of the columns of ``sites.csv``."""
    visits, growth, advice = found.site.visits, found.site.growth, found.advice
    sessions = visits.sessions
    fits: list[float | None] = [None for _ in Surfer for _ in _FIT]
    if found.fits:
        fits = [value for fit in found.fits for value in (*map(rounded, fit[1:]), found.depth_of(fit))]
    new = sum(growth.new)
    values = (
        found.name, advice.depth, advice.source, advice.why, sessions, visits.total, visits.put_back,
        _share(visits.homes, sessions), _share(visits.singles, sessions), found.depth_views,
        None if found.best is None else str(found.best.surfer), *fits, sum(growth.pages),
        new + sum(growth.seen), new, found.depth_links,
    )  # fmt: skip
    return dict(zip(_SITE, values, strict=True))


def _levels(found: Result) -> Iterator[tuple[object, ...]]:
    visits, growth = found.site.visits, found.site.growth
    levels = max(len(visits.views), len(growth.pages))
    reached = visits.reached()
    surfer = growth.surfer(levels) if growth.pages else []
    surfed = list(accumulate(surfer))
    ranks = found.site.ranks
    ranked = list(accumulate(ranks))
    for level in range(levels):
        views = visits.views[level] if level < len(visits.views) else 0
        fitted = {fit.surfer: rounded(fit.surfer.reached(fit.q, level)) for fit in found.fits}
        seen: tuple[object, ...] = (None, None, None)
        if level < len(growth.pages):
            seen = (growth.pages[level], growth.new[level] + growth.seen[level], growth.new[level])
        yield (
            found.name, level, views, _share(views, visits.total), _at(reached, level),
            *map(fitted.get, Surfer), *seen, _at(surfer, level), _at(surfed, level), _at(ranks, level),
            _at(ranked, level),
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


def _at(values: Sequence[float], level: int) -> float | None:
    return rounded(values[level]) if level < len(values) else None


def _write(path: Path, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    # RFC 4180 ends lines so.
    write_table(path, columns, rows, end="\r\n")
