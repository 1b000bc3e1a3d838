"""Options that several commands of the laboratory share, and what they print alike."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from scentline.agents.cli.output import print_json


def option(name: str, metavar: str, text: str, **bounds: Any) -> Any:
    """Return an option with its help."""
    return typer.Option(name, metavar=metavar, help=text, **bounds)


_OUT = "Directory for tables and pictures; replaces an earlier run's."
OutDirectory = Annotated[Path | None, option("--out", "DIR", _OUT)]
_JOBS = "Number of processes; doesn't change the results."
Jobs = Annotated[int | None, option("--jobs", "N", _JOBS, min=1)]
AsJsonLine = Annotated[bool, typer.Option("--json", help="End with one line of JSON.")]


def processes(jobs: int | None) -> int:
    """Return the number of processes, by default one a core."""
    # Set before numpy is loaded: a process for each core leaves none to threads of a library.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return jobs or os.cpu_count() or 1


def finish(out: Path | None, look: str = "", as_json: bool = False, found: Callable[[], Any] = dict) -> None:
    """Print where the files are, and which of them to look at; then what was ``found``, if JSON is wanted."""
    if out is not None:
        typer.echo(f"\nEverything is in {out}{f'; look at {out / look}' if look else ''}")
    if as_json:
        print_json(found())


def cell(value: float | None, form: str = ".3f") -> str:
    """Return a figure as tables on a terminal have it, "-" for None."""
    return "-" if value is None else format(value, form)
