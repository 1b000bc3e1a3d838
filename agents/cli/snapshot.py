"""``scentline snapshot``: copy what a crawl on Kafka knows, for commands that read a data directory."""

import typer

from agents.cli.app import app, examples
from agents.cli.options import Assignments, BrokerAddress, ConfigFile, DataDirectory, kafka_settings


@app.command(
    epilog=examples(
        "snapshot",
        "scentline snapshot --broker kafka://localhost:9092 --data today",
    )
)
def snapshot(
    broker: BrokerAddress = None,
    data: DataDirectory = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Copy what a crawl on Kafka knows to a new data directory, for audit, explain, matches, state and harvest.

    Only reads. Pages are left out. The crawl may continue meanwhile; the copy has only part of that.
    """
    from agents.operate.snapshot import take

    settings = kafka_settings(config, assignments, {"broker": broker, "data": data})
    records = take(settings, lambda name: typer.echo(f"copying {name}", err=True))
    typer.echo(f"{records} records copied to {settings.data}")
