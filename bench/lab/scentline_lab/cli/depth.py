"""``scentline depth``: how deep to crawl a site, from its users' visits or its links."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import INTERRUPTED, app, examples
from scentline.agents.cli.options import Assignments, ConfigFile, OneSite, load_settings
from scentline.agents.cli.output import print_table
from scentline_lab.cli.options import AsJsonLine, OutDirectory, cell, finish, option

if TYPE_CHECKING:
    from scentline_lab.depth.command import Outcome
    from scentline_lab.depth.reading import Result

#: Sites that are printed; the tables have them all.
_PRINTED = 20
_ARCHIVE = "Archive whose sites to crawl; repeatable."
_SHARE = "Share of the page views to keep."
_GRAPH = "Link graph whose sites to crawl; repeatable."
_depth = partial(cell, form="d")


@app.command(
    epilog=examples(
        "depth",
        "scentline depth access.log.gz --site example.org --out depths",
        "scentline depth access.log.gz --archive pages.warc.gz --share 0.95 --json",
    )
)
def depth(
    logs: Annotated[
        list[str] | None, typer.Argument(metavar="LOG...", help='Logs to read; "-" is standard input.')
    ] = None,
    site: OneSite = None,
    archives: Annotated[list[Path] | None, option("--archive", "WARC", _ARCHIVE)] = None,
    graphs: Annotated[list[Path] | None, option("--graph", "FILE", _GRAPH)] = None,
    share: Annotated[float, option("--share", "PART", _SHARE, min=0, max=0.9999)] = 0.9,
    out: OutDirectory = None,
    as_json: AsJsonLine = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Advise how deep to crawl each site, in links from the pages where users enter.

    From a log, the command reconstructs sessions, counts the depth of each page view, and fits three models of
    a random surfer: A goes back one level, B to the start, C to any earlier level. Without a log it crawls the
    sites of an archive or graph breadth-first, offline, and compares new and seen URLs level by level.

    DIR gets sites.csv, levels.csv, moves.csv, directories.csv, and a picture of each site.
    """
    from scentline.agents.progress import progress
    from scentline_lab.depth.command import Options, as_object, run

    settings = load_settings(config, assignments).settings
    options = Options(tuple(logs or ()), tuple(archives or ()), tuple(graphs or ()), site, share)
    with progress(sys.stderr) as bars:
        outcome = run(settings, options, out, bars)
    _print(outcome)
    found = {"sites": [as_object(each) for each in outcome.results], "passed": outcome.passed}
    finish(out, as_json=as_json, found=lambda: found)
    if outcome.interrupted:
        raise typer.Exit(INTERRUPTED)


def _print(outcome: "Outcome") -> None:
    from scentline.agents.observe.site import HINT

    columns = ("site", "depth", "why", "by views", "by links", "best", "q", "95 %", "error", "views a session")
    print_table(columns, map(_row, outcome.results[:_PRINTED]))
    more = len(outcome.results) - _PRINTED
    if more > 0:
        typer.echo(f"\n{more:,} more sites have fewer views")
    if outcome.lines:
        passed = ", ".join(f"{reason} {count:,}" for reason, count in sorted(outcome.passed.items()) if count)
        typer.echo(f"\n{outcome.lines:,} lines read; skipped: {passed or 'none'}")
        if outcome.passed.get("site"):
            typer.echo(f"No site is known for {outcome.passed['site']:,} of them: {HINT}")
    if outcome.interrupted:
        typer.echo("Interrupted: these figures cover what was read so far.")


def _row(found: "Result") -> tuple[str, ...]:
    fitted = ("-", "-", "-", "-", "-")
    if found.best is not None:
        best, visits = found.best, found.site.visits
        fitted = (
            str(best.surfer), f"{best.q:.3f}", f"{best.low:.3f} to {best.high:.3f}", f"{best.error:.3f}",
            f"{visits.total / visits.sessions:.2f}",
        )  # fmt: skip
    depths = _depth(found.depth_views), _depth(found.depth_links)
    return found.name, _depth(found.advice.depth), found.advice.why, *depths, *fitted
