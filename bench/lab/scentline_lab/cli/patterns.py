"""``scentline patterns``: find a site's URL patterns from its users' behaviour."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scentline.agents.cli.app import INTERRUPTED, app, examples
from scentline.agents.cli.options import Assignments, ConfigFile, OneSite, load_settings
from scentline.agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from scentline_lab.patterns.command import Found

#: Patterns that are printed; patterns.csv has all.
_SHOWN = 25


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
    archives: Annotated[
        list[Path] | None,
        typer.Option("--archive", metavar="WARC", help="Mirror of the site, with its links; repeatable."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="X",
            help="Similarity of referrers and targets above which siblings are merged.  [default: 0.7]",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for the files; replaces an earlier run's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="End with one line of JSON.")] = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Find the URL patterns of a site and rank them by what people do there.

    The log's URLs form a tree, which is cut to the patterns that separate people's visits (Liu 2011). Then the
    log is split into six periods, and the patterns of the first are tested on the later ones. With --archive,
    orderings are compared by crawling the site; without it, those that need links are left out.
    """
    from scentline.models.patterns.cuts import THRESHOLD
    from scentline_lab.patterns.command import Options, run

    settings = load_settings(config, assignments).settings
    asked = Options(log, site, tuple(archives or ()), THRESHOLD if threshold is None else threshold, out)
    found = run(settings, asked)
    _print(found)
    if out is not None:
        typer.echo(f"\nEverything is in {out}; look at {out / 'tree.svg'}")
    if found.interrupted:
        typer.echo("Interrupted: the remaining results are missing.", err=True)
        raise typer.Exit(INTERRUPTED)
    if as_json:
        print_json(_json(found))


def _print(found: "Found") -> None:
    if found.patterns is not None:
        _print_patterns(found)
    if found.trees:
        typer.echo("\nTrees (divergence in bits, between visits and their patterns)")
        print_table(
            ("mined from", "tree", "patterns", "height", "divergence", "mirror covered"),
            (
                (each.mined, each.tree, str(each.patterns), str(each.height), f"{each.approximation:.3f}",
                 _share(each.mirror))
                for each in found.trees
            ),
        )  # fmt: skip
    if found.reliability is not None:
        typer.echo("\nCoverage of later visits by the first period's URLs and patterns")
        names = list(found.reliability.coverages[0]) if found.reliability.coverages else []
        print_table(
            ("period", *names),
            (
                (f"{number} ({found.reliability.periods[number - 1].span})",
                 *(_share(coverages[name].visits) for name in names))
                for number, coverages in enumerate(found.reliability.coverages, start=2)
            ),
        )  # fmt: skip
    if found.orderings:
        _print_orderings(found)


def _print_patterns(found: "Found") -> None:
    from scentline_lab.patterns.tables import by_fetch

    assert found.patterns is not None
    rows = by_fetch(found.patterns)
    print_table(
        ("pattern", "URLs", "visits", "referrals", "authority", "hub"),
        (
            (
                row.name,
                str(row.urls),
                str(row.visits),
                str(row.referrals),
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


def _print_orderings(found: "Found") -> None:
    typer.echo("\nShare of the pages to fetch before 80 % of the later visits are fetched, or discovered")
    if not found.mirror:
        typer.echo("(no --archive: any of the log's URLs may be next; orderings that need links are left out)")
    print_table(
        ("aim", "ordering", "pages"),
        ((each.aim, each.ordering, _share(each.pages)) for each in found.orderings),
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _json(found: "Found") -> dict[str, Any]:
    assert found.patterns is not None
    assert found.reliability is not None
    return {
        "patterns": [pattern._asdict() for pattern in found.patterns.chosen],
        "trees": [vars(each) for each in found.trees],
        "coverage": [
            {name: each._asdict() for name, each in coverages.items()}
            for coverages in found.reliability.coverages
        ],
        "orderings": [
            {"aim": each.aim, "ordering": each.ordering, "pages": each.pages} for each in found.orderings
        ],
    }
