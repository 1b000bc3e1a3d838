"""``scentline top``: where a crawl stands, in a terminal."""

import sys
from typing import Annotated

import typer

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import Assignments, ConfigFile, DataDirectory, load_settings


@app.command(epilog=examples("top", "scentline top", "scentline top --data hockey-data --once"))
def top(
    once: Annotated[bool, typer.Option("--once", help="Print it once and end.")] = False,
    data: DataDirectory = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Show where a crawl stands, as the window's first screen does, in a terminal, until q or Ctrl-C.

    Only reads. Where the output is no terminal, it is printed once.
    """
    from scentline.agents.window.top import run

    run(load_settings(config, assignments, {"data": data}).settings, sys.stdout, once=once)
