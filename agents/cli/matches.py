"""``scentline matches``: the pages that satisfy a predicate."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agents.cli.app import CommandError, app, examples
from agents.cli.options import Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import csv_line, json_line, print_table

if TYPE_CHECKING:
    from typing import BinaryIO

    from streams.records import Outcome

COLUMNS = ("url", "title", "time", "depth")


@app.command(
    epilog=examples(
        "matches",
        "scentline matches science --format jsonl",
        "scentline matches science --format csv",
        "scentline matches science --format warc --out science.warc.gz && ls science.warc.gz",
    )
)
def matches(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A predicate's name.")],
    form: Annotated[
        Literal["table", "jsonl", "csv", "warc"],
        typer.Option("--format", help="A table, JSON lines, CSV, or the pages themselves as WARC."),
    ] = "table",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="File to write, instead of standard output.")
    ] = None,
    data: DataDirectory = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Print the pages that satisfy the predicate NAME now, in the order of judging.

    --format warc has only kept pages: see the settings keep.pages and keep.max_bytes.
    """
    settings = load_settings(config, assignments, {"data": data}).settings
    rows = _matches(settings.data, name)
    if form == "table" and out is None:
        print_table(("url", "title"), ((outcome.url, outcome.title) for outcome in rows))
        return
    if form == "warc" and out is None and sys.stdout.isatty():
        raise CommandError("--format warc is not for a terminal: give --out FILE")
    with ExitStack() as resources:
        try:
            file = resources.enter_context(out.open("wb")) if out is not None else sys.stdout.buffer
        except OSError as error:
            raise CommandError(f"--out {out}: can't be written: {error.strerror}") from error
        if form == "warc":
            _warc(settings.data, rows, file)
        else:
            for line in _lines(rows, form):
                file.write(f"{line}\n".encode())


def _matches(data: Path, name: str) -> "list[Outcome]":
    from agents.operate.inspect.record import all_definitions, current_pages
    from streams.transport.journal import Journal

    with Journal.open(data / "journal", read_only=True) as journal:
        pages = current_pages(journal).values()
        known = {definition.name for definition in all_definitions(journal)}
    known = known.union(*(page.verdict for page in pages))
    if known and name not in known:
        raise CommandError(f"no predicate {name!r}; expected one of {', '.join(sorted(known))}")
    return sorted((page for page in pages if page.verdict.get(name)), key=lambda page: page.time)


def _lines(rows: "list[Outcome]", form: str) -> list[str]:
    if form == "csv":
        return [csv_line(COLUMNS), *(csv_line(getattr(row, name) for name in COLUMNS) for row in rows)]
    if form == "jsonl":
        return [json_line({name: getattr(row, name) for name in COLUMNS}) for row in rows]
    from streams.logging import printable

    return ["\t".join(printable(cell) for cell in (row.url, row.title)) for row in rows]


def _warc(data: Path, rows: "list[Outcome]", file: "BinaryIO") -> None:
    from importlib.metadata import version

    from agents.judge.keep.export import export

    written = export(data, {row.url: row.time for row in rows}, file, f"scentline {version('scentline')}")
    if written < len(rows):
        typer.echo(f"{len(rows) - written} of {len(rows)} pages are no longer kept", err=True)
