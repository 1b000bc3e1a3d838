"""``scentline patterns``: find a site's URL patterns from its users' behaviour."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scentline.agents.cli.app import INTERRUPTED, app, examples
from scentline.agents.cli.options import Assignments, ConfigFile, OneSite, load_settings
from scentline.agents.cli.output import print_table
from scentline_lab.cli.options import AsJsonLine, OutDirectory, cell, finish, option

if TYPE_CHECKING:
    from scentline_lab.patterns.command import Found

#: Patterns that are printed; patterns.csv has all.
_SHOWN = 25
_share = partial(cell, form=".1%")
_MIRROR = "Mirror of the site, with its links; repeatable."
_THRESHOLD = "Similarity of referrers and targets above which siblings are merged.  [default: 0.7]"


@app.command(
    epilog=examples(
        "patterns",
        "scentline patterns access.log.gz",
        "scentline patterns access.log.gz --site example.org --archive pages.warc.gz --out patterns --json",
    )
)
def patterns(
    log: Annotated[str, typer.Argument(metavar="LOG", help="Log, oldest line first.")],
    site: OneSite = None,
    archives: Annotated[list[Path] | None, option("--archive", "WARC", _MIRROR)] = None,
    threshold: Annotated[float | None, option("--threshold", "X", _THRESHOLD, min=0.0, max=1.0)] = None,
    out: OutDirectory = None,
    as_json: AsJsonLine = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Find the URL patterns of a site and rank them by what people do there.

    The log's URLs form a tree, which is cut to the patterns that separate people's visits (Liu 2011). Then the
    log is split into six periods, and the patterns of the first are tested on the later ones. With --archive,
    orderings are compared by crawling the site; without it, those that need links are left out.
    """
    from scentline.agents.progress import progress
    from scentline.models.patterns.cuts import THRESHOLD
    from scentline_lab.patterns.command import Options, run

    settings = load_settings(config, assignments).settings
    least = THRESHOLD if threshold is None else threshold
    with progress(sys.stderr) as bars:
        found = run(settings, Options(log, site, tuple(archives or ()), least, out), bars)
    _print(found)
    finish(out, "tree.svg", as_json and not found.interrupted, lambda: _json(found))
    if found.interrupted:
        typer.echo("Interrupted: the remaining results are missing.", err=True)
        raise typer.Exit(INTERRUPTED)


def _print(found: "Found") -> None:
    if found.patterns is not None:
        _print_patterns(found)
    if found.trees:
        typer.echo("\nTrees (divergence in bits, between visits and their patterns)")
        trees = (
            (
                each.mined,
                each.tree,
                str(each.patterns),
                str(each.height),
                cell(each.approximation),
                _share(each.mirror),
            )
            for each in found.trees
        )
        print_table(("mined from", "tree", "patterns", "height", "divergence", "mirror covered"), trees)
    if found.reliability is not None:
        typer.echo("\nCoverage of later visits by the first period's URLs and patterns")
        coverages = list(zip(found.reliability.periods[1:], found.reliability.coverages, strict=True))
        rows = (
            (f"{number} ({period.span})", *(_share(each.visits) for each in coverage.values()))
            for number, (period, coverage) in enumerate(coverages, start=2)
        )
        print_table(("period", *(coverages[0][1] if coverages else ())), rows)
    if found.orderings:
        typer.echo("\nShare of the pages to fetch before 80 % of the later visits are fetched, or discovered")
        if not found.mirror:
            typer.echo(
                "(no --archive: any of the log's URLs may be next; orderings that need links are left out)"
            )
        orderings = ((each.aim, each.ordering, _share(each.pages)) for each in found.orderings)
        print_table(("aim", "ordering", "pages"), orderings)


def _print_patterns(found: "Found") -> None:
    from scentline_lab.patterns.command import by_fetch

    assert found.patterns is not None
    rows = by_fetch(found.patterns)
    print_table(
        ("pattern", "URLs", "visits", "referrals", "authority", "hub"),
        (
            (
                row.name,
                *map(str, (row.urls, row.visits, row.referrals)),
                f"{row.authority:.4f}",
                f"{row.hub:.4f}",
            )
            for row in rows[:_SHOWN]
        ),
    )
    if len(rows) > _SHOWN:
        typer.echo(f"... and {len(rows) - _SHOWN} more")
    if found.forgotten:
        typer.echo(f"{found.forgotten:,} URLs with few visits were forgotten.")


def _json(found: "Found") -> dict[str, Any]:
    assert found.patterns is not None
    assert found.reliability is not None
    coverages = found.reliability.coverages
    return {
        "patterns": [pattern._asdict() for pattern in found.patterns.chosen],
        "trees": [vars(each) for each in found.trees],
        "coverage": [{name: each._asdict() for name, each in coverage.items()} for coverage in coverages],
        "orderings": [
            {"aim": each.aim, "ordering": each.ordering, "pages": each.pages} for each in found.orderings
        ],
    }
