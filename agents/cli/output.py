"""What commands print: a table on a terminal, plain lines elsewhere, JSON on request."""

import csv
import io
import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import typer

#: What is said of a request that a crawl did not take up within seconds.
NOT_YET = "requested: the crawl has not applied it yet"

#: What a spreadsheet takes for the beginning of a formula, in each of its widths.
_FORMULA = ("=", "+", "-", "@")


#: The units that people are told durations in, longest first.
_UNITS = (("week", 7 * 86_400), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


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
    if not isinstance(value, str):
        return value
    from streams.logging import printable

    text = printable(value, len(value))
    # Compatible forms are full-width, small and raised signs (UAX #15); some programs pass over white space.
    begins = unicodedata.normalize("NFKC", text.lstrip()[:1])
    return f"'{text}" if begins.startswith(_FORMULA) else text


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: drawn on a terminal, else a line a row with tabs between, the columns' names first."""
    from streams.logging import printable

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


def lasting(seconds: float) -> str:
    """Return a duration in words, in the largest unit that it has one of; what is less is 0 seconds.

    >>> lasting(59.9), lasting(2 * 3600 + 5), lasting(86_400)
    ('59 seconds', '2 hours', '1 day')
    """
    for word, unit in _UNITS:
        if (number := int(seconds // unit)) > 0:
            return f"{number:,} {word}{'s' if number > 1 else ''}"
    return "0 seconds"
