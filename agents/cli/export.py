"""The command that makes a data set of a crawl's pages."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import Given, command
from scentline.agents.cli.output import Shape, json_line, opened

if TYPE_CHECKING:
    from scentline.agents.operate.parts import Row


@command(
    "export",
    "scentline export --out pages",
    "scentline export --format parquet --out science.parquet science",
    "scentline export --format csv --out new --since 1d --all",
    "scentline export --format wacz --out science.wacz science",
    takes=("data", "broker", "since"),
)
def export(
    given: Given,
    out: Annotated[
        Path, typer.Option("--out", metavar="PLACE", help="Directory of the files; of wacz, the file.")
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Only pages that satisfy one of these predicates."),
    ] = None,
    form: Annotated[
        Literal["jsonl", "csv", "parquet", "wacz"],
        typer.Option("--format", help="JSON lines, CSV, Parquet (scentline[parquet]), or WACZ, an archive."),
    ] = "jsonl",
    every: Annotated[
        bool, typer.Option("--all", help="Every judged page, not only those that satisfy a predicate.")
    ] = False,
) -> None:
    """Write what pages hold as a data set: text, links, verdicts, and the fields of the settings [extract].

    The same command goes on where it was stopped or killed; later it adds what is new since. A page that was
    visited again comes again. A WACZ has kept pages as they were fetched, and is made anew each time.
    """
    from importlib.metadata import version

    from scentline.agents.operate.export import Export
    from scentline.agents.operate.parts import Cursor, Lines, columns_of, parquet

    if every and names:
        raise CommandError("--all is every judged page: it does not go with the names of predicates")
    settings = given.settings()
    columns = columns_of(settings.extract)
    chosen = None if every else sorted(set(names or ()))
    shape: Shape[Row] = Shape([*columns], fields=partial(_fields, columns, form))
    lines = partial(Lines, shape.head(form), partial(shape.line, form=form))
    new, tell = parquet(columns) if form == "parquet" else lines, partial(typer.echo, err=True)
    work, lost = Export(settings, chosen, given.begin, out, new, tell), "what they hold is null"
    if form == "wacz":
        with opened(out) as file:
            written, missing, unread = work.archive(file, f"scentline {version('scentline')}")
        done, lost = f"{written:,} pages", "it lacks them, or their text"
    else:
        cursor, missing, unread = work.run(Cursor(form=form, columns=columns, predicates=chosen))
        done = f"{cursor.rows:,} rows in {cursor.parts:,} parts"
    typer.echo(f"{out}: {done}")
    for number, what in (missing, "kept any more"), (unread, "readable within the bounds of [judge]"):
        if number:
            tell(f"{number:,} pages are not {what}: {lost}")


def _fields(columns: Mapping[str, str], form: str, row: "Row") -> Mapping[str, object]:
    """Return a row's values by column as JSON has them; in CSV, lists are JSON too."""
    found: dict[str, Any] = dict(zip(columns, row, strict=True))
    found["time"] = datetime.fromtimestamp(found["time"] / 1e6, UTC).isoformat()
    if form == "csv":
        lists = (name for name, value in found.items() if isinstance(value, list | tuple))
        found |= {name: json_line(found[name]) for name in [*lists]}
    return found
