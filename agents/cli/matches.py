"""``scentline matches``: the pages that satisfy a predicate."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import AsJsonLines, Given, Out, Since, command, time_since
from scentline.agents.cli.output import Shape, opened, print_rows

if TYPE_CHECKING:
    from typing import BinaryIO

    from scentline.streams.published import Outcome

FIELDS = ("url", "title", "time", "depth")


@command(
    "matches",
    "scentline matches science --format jsonl",
    "scentline matches science --format csv",
    "scentline matches science --format warc --out science.warc.gz && ls science.warc.gz",
)
def matches(
    given: Given,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A predicate's name.")],
    form: Annotated[
        Literal["table", "jsonl", "csv", "warc"],
        typer.Option("--format", help="A table, JSON lines, CSV, or the pages themselves as WARC."),
    ] = "table",
    as_json: AsJsonLines = False,
    out: Out = None,
    since: Since = None,
) -> None:
    """Print the pages that satisfy the predicate NAME now, in the order of judging.

    --format warc has only kept pages: see the settings keep.pages and keep.max_bytes.
    """
    settings = given.settings()
    form, begin = "jsonl" if as_json else form, time_since(since)
    rows = [page for page in _matches(settings.data, name) if page.time >= begin]
    if form != "warc":
        print_rows(
            rows, Shape(("url", "title"), lambda page: (page.url, page.title), FIELDS, _fields), form, out
        )
        return
    if out is None and sys.stdout.isatty():
        raise CommandError("--format warc is not for a terminal: give --out FILE")
    with opened(out) as file:
        _warc(settings.data, rows, file)


def _matches(data: Path, name: str) -> "list[Outcome]":
    from scentline.agents.operate.inspect.record import current_pages, definitions_of, entries
    from scentline.streams.topics import PREDICATES
    from scentline.streams.transport.journal import Journal

    with Journal.open(data / "journal", read_only=True) as journal:
        pages = current_pages(journal).values()
        known = set(definitions_of(entries(journal, PREDICATES.name, 0)))
    known = known.union(*(page.verdict for page in pages))
    if known and name not in known:
        raise CommandError(f"no predicate {name!r}; expected one of {', '.join(sorted(known))}")
    return sorted((page for page in pages if page.verdict.get(name)), key=lambda page: page.time)


def _fields(page: "Outcome") -> dict[str, object]:
    return {name: getattr(page, name) for name in FIELDS}


def _warc(data: Path, rows: "list[Outcome]", file: "BinaryIO") -> None:
    from importlib.metadata import version

    from scentline.agents.judge.keep.export import export

    written = export(data, {row.url: row.time for row in rows}, file, f"scentline {version('scentline')}")
    if written < len(rows):
        typer.echo(f"{len(rows) - written} of {len(rows)} pages are no longer kept", err=True)
