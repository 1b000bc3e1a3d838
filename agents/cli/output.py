"""What commands print: a table on a terminal, plain lines elsewhere, JSON on request."""

import csv
import io
import json
import os
import stat
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeAlias, TypeVar

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.stored import whole

T = TypeVar("T")

#: The columns of a table: each is an attribute of a row, or made by a function.
Columns: TypeAlias = Mapping[str, str | Callable[[Any], object]]
#: What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@")


#: The units of printed durations, longest first, with their seconds.
UNITS = {"week": 7 * 86_400, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}


def print_json(value: Any) -> None:
    """Print ``value`` as one line of JSON, with what could move a terminal's cursor escaped."""
    typer.echo(json_line(value))


def json_line(value: Any) -> str:
    r"""Return ``value`` as one line of JSON in which every sign that is not printable is escaped.

    >>> print(json_line({"title": "café 2J"}))
    {"title": "café \u009b2J"}
    """
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


def csv_line(cells: Iterable[object]) -> str:
    """Return one line of CSV (RFC 4180), safe to open in a spreadsheet.

    A text that a spreadsheet would take for a formula gets an apostrophe before it (OWASP, CSV Injection); what
    is not printable, line ends among it, is escaped.

    >>> print(csv_line(["=1+1", "＝1+1", 'say "hi", twice', -1.5, None]))
    '=1+1,'＝1+1,"say ""hi"", twice",-1.5,
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([_cell(cell) for cell in cells])
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        value = ", ".join(value)
    if not isinstance(value, str):
        return value
    from scentline.streams.logging import printable

    text = printable(value, len(value))
    # Compatible forms are full-width, small and raised signs (UAX #15); some programs pass over white space.
    begins = unicodedata.normalize("NFKC", text.lstrip()[:1])
    return f"'{text}" if begins.startswith(_FORMULA) else text


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: drawn on a terminal, else as tab-separated lines, the columns' names first."""
    from scentline.streams.logging import printable

    safe = ([printable(cell) for cell in row] for row in rows)
    if not sys.stdout.isatty():
        for row in (columns, *safe):
            typer.echo("\t".join(row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=box.SIMPLE_HEAD)
    for row in safe:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console().print(table)


@dataclass(frozen=True)
class Shape(Generic[T]):
    """How a command's rows look: the columns of a table, and the named fields of JSON and CSV.

    A cell is an attribute of the row, by default that of the column's name, or made by a function. By default
    the fields are the columns, too.
    """

    columns: Sequence[str] | Columns
    names: Sequence[str] = ()
    fields: Callable[[T], Mapping[str, object]] | None = None

    def head(self, form: str) -> list[str]:
        """Return the lines before the first row."""
        return [csv_line(self.names or self.columns)] if form == "csv" else []

    def cells(self, row: T) -> list[str]:
        """Return the cells of a row."""
        of = self.columns.values() if isinstance(self.columns, Mapping) else self.columns
        return [_text(getattr(row, each) if isinstance(each, str) else each(row)) for each in of]

    def named(self, row: T) -> Mapping[str, object]:
        """Return the fields of a row."""
        if self.fields is not None:
            return self.fields(row)
        return {name: getattr(row, name) for name in self.names or self.columns}

    def line(self, row: T, form: str) -> str:
        """Return the line of one row: of JSON, of CSV, or its tab-separated cells."""
        from scentline.streams.logging import printable

        if form == "jsonl":
            return json_line(self.named(row))
        if form == "csv":
            named = self.named(row)
            return csv_line(named[name] for name in self.names or self.columns)
        return "\t".join(map(printable, self.cells(row)))


def print_rows(
    rows: Iterable[T], shape: Shape[T], form: str, out: Path | None = None, *, follow: bool = False
) -> None:
    """Print rows as a table, jsonl, csv, or one array of json; or write them to a file.

    With ``follow`` rows may come without end, so that no table is drawn around them. Raises `CommandError`
    if the file can't be written.
    """
    if form == "table" and out is None and not follow:
        print_table([*shape.columns], map(shape.cells, rows))
        return
    lines: Iterable[str]
    if form == "json":
        lines = [json_line([shape.named(row) for row in rows])]
    else:
        lines = (shape.line(row, form) for row in rows)
    with opened(out) as file:
        for line in chain(shape.head(form), lines):
            file.write(f"{line}\n".encode())
            if out is None:
                file.flush()


@contextmanager
def opened(out: Path | None) -> Iterator[BinaryIO]:
    """Open standard output, or a temporary file that replaces ``out`` once it is complete.

    The permissions of the file stay. Anything but a plain file, such as a pipe, is written in place. Raises
    `CommandError` if it can't be written.
    """
    if out is None:
        yield sys.stdout.buffer
        return
    with writing(out):
        known = out.stat().st_mode if out.exists() else None
        with whole(out) if known is None or stat.S_ISREG(known) else out.open("wb") as file:
            yield file
            if known is not None and stat.S_ISREG(known):
                os.fchmod(file.fileno(), stat.S_IMODE(known))


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Raise `CommandError` where ``out`` can't be written in the block."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"--out {out}: can't be written: {error.strerror}") from error


def lasting(seconds: float) -> str:
    """Return a duration in words, in its largest whole unit; less than a second is 0 seconds.

    >>> lasting(59.9), lasting(2 * 3600 + 5), lasting(86_400)
    ('59 seconds', '2 hours', '1 day')
    """
    for word, unit in UNITS.items():
        if (number := int(seconds // unit)) > 0:
            return f"{number:,} {word}{'s' if number > 1 else ''}"
    return "0 seconds"
