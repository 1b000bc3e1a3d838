"""What commands print: a table on a terminal, plain lines for everything else, JSON when asked."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer


def print_json(value: Any) -> None:
    """Print ``value`` as one line of JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False))


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
