"""``scentline harvest``: the harvest-rate stream of each predicate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agents.cli.app import app, examples
from agents.cli.options import AsJson, Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import csv_line, lasting, print_json, print_table

if TYPE_CHECKING:
    from models.harvest import Lift
    from streams.records import HarvestPoint


@app.command(
    epilog=examples(
        "harvest", "scentline harvest", "scentline harvest --json", "scentline harvest --format csv"
    )
)
def harvest(
    follow: Annotated[bool, typer.Option("--follow", help="Print new points until Ctrl-C.")] = False,
    as_json: AsJson = False,
    form: Annotated[
        Literal["table", "jsonl", "csv"], typer.Option("--format", help="A table, JSON lines, or CSV.")
    ] = "table",
    data: DataDirectory = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Print each predicate's latest point, or every point with --format jsonl (or --json), csv, or --follow."""
    settings = load_settings(config, assignments, {"data": data}).settings
    form = "jsonl" if as_json else form
    if form == "table" and not follow:
        _newest(settings.data)
        return
    import asyncio

    if form == "csv":
        typer.echo(csv_line(FIELDS))
    try:
        asyncio.run(_all(settings.data, follow, form))
    except KeyboardInterrupt:
        return


def _newest(data: Path) -> None:
    from agents.operate.inspect.record import harvest_points
    from streams.transport.journal import Journal

    with Journal.open(data / "journal", read_only=True) as journal:
        newest = {point.predicate: point for point in harvest_points(journal)}
    print_table(COLUMNS, (_cells(point) for _, point in sorted(newest.items())))


async def _all(data: Path, follow: bool, form: str) -> None:
    import msgspec

    from agents.operate.inspect.record import follow_points
    from streams.transport.journal import Journal

    with Journal.open(data / "journal", read_only=True) as journal:
        async for point in follow_points(journal, follow):
            if form == "jsonl":
                print_json(msgspec.to_builtins(point) | {"lift": _lift(point)})
            elif form == "csv":
                lift = _lift(point)
                named = {
                    "lift": lift and lift.lift,
                    "lift_least": lift and lift.least,
                    "lift_most": lift and lift.most,
                }
                typer.echo(csv_line(named[name] if name in named else getattr(point, name) for name in FIELDS))
            else:
                typer.echo("\t".join(_cells(point)))


FIELDS = (
    "time", "predicate", "pages", "hits", "harvest_rate", "rate_by_pages", "rate_by_time", "lift", "lift_least",
    "lift_most", "requests",
    "hits_per_request", "matches", "freshness", "age", "revisits", "revisit_share",
)  # fmt: skip
COLUMNS = (
    "predicate",
    "pages",
    "hits",
    "harvest rate",
    "lately",
    "lift (95 %)",
    "requests",
    "a request",
    "current",
    "age",
    "revisits",
)


def _lift(point: "HarvestPoint") -> "Lift | None":
    from models.harvest import RANDOM, lift_if_sure

    return lift_if_sure(point.pages, point.hits, *point.policies.get(RANDOM, (0, 0)))


def _cells(point: "HarvestPoint") -> tuple[str, ...]:
    return (
        point.predicate,
        str(point.pages),
        str(point.hits),
        f"{point.harvest_rate:.3f}",
        f"{point.rate_by_pages:.3f}",
        str(_lift(point) or "-"),
        str(point.requests),
        f"{point.hits_per_request:.3f}",
        "-" if point.freshness is None else f"{point.freshness:.0%} of {point.matches}",
        "-" if point.age is None else lasting(point.age),
        "-" if point.matches is None else f"{point.revisits} ({point.revisit_share:.0%})",
    )
