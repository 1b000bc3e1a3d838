"""``scentline snapshot``: copy what a crawl on Kafka knows, for commands that read a data directory."""

from contextlib import closing, suppress
from typing import Annotated

import typer

from scentline.agents.cli.options import Given, command


@command(
    "snapshot",
    "scentline snapshot --broker kafka://localhost:9092 --data today",
    "scentline snapshot --broker kafka://localhost:9092 --data mirror --follow",
    takes=("data", "broker"),
)
def snapshot(
    given: Given,
    following: Annotated[bool, typer.Option("--follow", help="Go on with what comes, until Ctrl-C.")] = False,
) -> None:
    """Copy what a crawl on Kafka knows to a new data directory, for audit, explain, matches, state and harvest.

    Only reads. Pages are left out. The crawl may continue meanwhile; the copy has only part of that. With
    --follow it stays a moment behind the crawl.
    """
    from scentline.agents.operate.snapshot import follow, take

    def progress(name: str) -> None:
        typer.echo(name, err=True)

    settings = given.on_kafka()
    if not following:
        typer.echo(f"{take(settings, progress)} records copied to {settings.data}")
        return
    with suppress(KeyboardInterrupt), closing(follow(settings, progress)) as copied:
        typer.echo(f"{next(copied)} records copied to {settings.data}; following what comes")
        for _ in copied:
            pass
