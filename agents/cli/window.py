"""``scentline window`` and ``top``: a crawl in a browser, and in a terminal."""

import sys
from typing import Annotated

import typer

from scentline.agents.cli.options import Given, command


@command(
    "window",
    "scentline window",
    "scentline window --data hockey-data --port 8500 --read-only",
    takes=("data", "broker"),
)
def window(
    given: Given,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help="Port to serve at; 0 takes any that is free.")
    ] = None,
    read_only: Annotated[
        bool | None, typer.Option("--read-only", help="Show the crawl without steering it.")
    ] = None,
) -> None:
    """Show a crawl in a browser, and steer it, until Ctrl-C: one that runs, and one at rest.

    Open the address that is printed: it has a token, which keeps others out. Nothing but this machine can reach
    it unless the settings [window] say so. Of a crawl on Kafka it keeps a mirror in the directory --data.
    """
    from scentline.agents.window.command import run

    options = {"window.port": port, "window.read_only": read_only}
    run(given.settings(**options), lambda url: typer.echo(f"The window: {url}"))


@command("top", "scentline top", "scentline top --data hockey-data --once")
def top(
    given: Given, once: Annotated[bool, typer.Option("--once", help="Print it once and end.")] = False
) -> None:
    """Show where a crawl stands, as the window's first screen does, in a terminal, until q or Ctrl-C.

    Only reads. Where the output is no terminal, it is printed once.
    """
    from scentline.agents.window.top import run

    run(given.settings(), sys.stdout, once=once)
