"""``scentline depth``: how deep to crawl a site, from its users' visits or its links."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import INTERRUPTED, app, examples
from scentline.agents.cli.options import Assignments, ConfigFile, OneSite, load_settings
from scentline.agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from scentline_lab.depth.command import Outcome
    from scentline_lab.depth.figures import Result

#: Sites that are printed; the tables have them all.
_PRINTED = 20


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
    archives: Annotated[
        list[Path] | None,
        typer.Option("--archive", metavar="WARC", help="Archive whose sites to crawl; repeatable."),
    ] = None,
    graphs: Annotated[
        list[Path] | None,
        typer.Option("--graph", metavar="FILE", help="Link graph whose sites to crawl; repeatable."),
    ] = None,
    share: Annotated[
        float, typer.Option(min=0, max=0.9999, metavar="PART", help="Share of the page views to keep.")
    ] = 0.9,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory for tables and pictures; replaces an earlier run's."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="End with one line of JSON.")] = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Advise how deep to crawl each site, in links from the pages where users enter.

    From a log, the command reconstructs sessions, counts the depth of each page view, and fits three models of
    a random surfer: A goes back one level, B to the start, C to any earlier level. Without a log it crawls the
    sites of an archive or graph breadth-first, offline, and compares new and seen URLs level by level.

    DIR gets sites.csv, levels.csv, moves.csv, directories.csv, and a picture of each site.
    """
    from scentline_lab.depth.command import Options, run
    from scentline_lab.depth.figures import as_object

    settings = load_settings(config, assignments).settings
    options = Options(tuple(logs or ()), tuple(archives or ()), tuple(graphs or ()), site, share)
    outcome = run(settings, options, out)
    _print(outcome)
    if out is not None:
        typer.echo(f"\nTables and pictures are in {out}")
    if as_json:
        print_json({"sites": [as_object(found) for found in outcome.results], "passed": outcome.passed})
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
    return (
        found.name, _cell(found.advice.depth), found.advice.why, _cell(found.depth_views),
        _cell(found.depth_links), *fitted,
    )  # fmt: skip


def _cell(depth: int | None) -> str:
    return "-" if depth is None else str(depth)
