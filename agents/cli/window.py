"""``scentline window``: a crawl in a browser."""

from typing import Annotated

import typer

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import Assignments, BrokerAddress, ConfigFile, DataDirectory, load_settings


@app.command(
    epilog=examples("window", "scentline window", "scentline window --data hockey-data --port 8500 --read-only")
)
def window(
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help="Port to serve at; 0 takes any that is free.")
    ] = None,
    read_only: Annotated[
        bool | None, typer.Option("--read-only", help="Show the crawl without steering it.")
    ] = None,
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Show a crawl in a browser, and steer it, until Ctrl-C: one that runs, and one at rest.

    Open the address that is printed: it has a token, which keeps others out. Nothing but this machine can reach
    it unless the settings [window] say so. Of a crawl on Kafka it keeps a mirror in the directory --data.
    """
    from scentline.agents.window.command import run

    options = {"data": data, "broker": broker, "window.port": port, "window.read_only": read_only}
    run(load_settings(config, assignments, options).settings, lambda url: typer.echo(f"The window: {url}"))
