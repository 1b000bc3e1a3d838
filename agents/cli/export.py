"""The command that makes a data set of a crawl's pages."""

from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from scentline.agents.cli.app import CommandError, literal
from scentline.agents.cli.options import Given, command
from scentline.agents.cli.output import Shape, json_line, opened, writing

if TYPE_CHECKING:
    from scentline.agents.operate.export import Export
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
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Directory of the export, or a WACZ file.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Only pages that satisfy one of these predicates."),
    ] = None,
    form: Annotated[
        Literal["jsonl", "csv", "parquet", "wacz"],
        typer.Option("--format", help=literal("JSON lines, CSV, Parquet (scentline[parquet]), or one WACZ.")),
    ] = "jsonl",
    every: Annotated[
        bool, typer.Option("--all", help="Every judged page, not only those that satisfy a predicate.")
    ] = False,
) -> None:
    """Write what pages hold as a data set: text, links, verdicts, and the fields of the settings [extract].

    The same command goes on where it was stopped or killed; later it adds what is new since. A page that was
    visited again comes again. A WACZ has kept pages as they were fetched, and is made anew each time.
    """
    from scentline.agents.operate.export import Export
    from scentline.agents.operate.parts import Cursor, columns_of, lines, parquet

    if every and names:
        raise CommandError("--all is every judged page: it does not go with the names of predicates")
    settings, tell = given.settings(), partial(typer.echo, err=True)
    chosen, columns = None if every else sorted(set(names or ())), columns_of(settings.extract)
    wanted = Export(settings, chosen, given.begin, tell)
    if form == "wacz":
        typer.echo(f"{out}: {_wacz(wanted, out):,} pages")
    else:
        shape: Shape[Row] = Shape([*columns], fields=partial(_fields, columns, form))
        plain = partial(lines, shape.head(form), partial(shape.line, form=form))
        asked = Cursor(form=form, columns=columns, predicates=chosen)
        with writing(out):
            cursor = wanted.in_parts(out, asked, parquet(columns) if form == "parquet" else plain)
        typer.echo(f"{out}: {cursor.rows:,} rows in {cursor.parts:,} parts")
    if wanted.lost:
        tell(f"{wanted.lost:,} pages are not kept (see [keep]), or can't be read: what they hold is missing")


def _wacz(wanted: "Export", out: Path) -> int:
    """Write the kept pages; return how many they are."""
    from scentline.agents.operate.wacz import Wacz

    number = 0
    with opened(out) as file, closing(Wacz(file, f"scentline {version('scentline')}")) as archive:
        for page in wanted.pages(out, {}):
            if page.records is not None:
                archive.add(page.records, page.outcome.title, None if page.seen is None else page.seen.text)
                number += 1
    return number


def _fields(columns: Mapping[str, str], form: str, row: "Row") -> Mapping[str, object]:
    """Return a row's values by column as JSON has them; in CSV, lists are JSON too."""
    found: dict[str, Any] = dict(zip(columns, row, strict=True))
    found["time"] = datetime.fromtimestamp(found["time"] / 1e6, UTC).isoformat()
    if form == "csv":
        lists = (name for name, value in found.items() if isinstance(value, list | tuple))
        found |= {name: json_line(found[name]) for name in [*lists]}
    return found
