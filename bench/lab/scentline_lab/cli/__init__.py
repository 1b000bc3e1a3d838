"""The commands of the laboratory, one a file, as `scentline` finds them, and their common options."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer


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
