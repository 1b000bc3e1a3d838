"""``scentline worker``: some of the roles of a crawl on Kafka."""

from typing import Annotated

import typer

from agents.cli.app import app, examples
from agents.cli.options import (
    Assignments,
    BrokerAddress,
    ConfigFile,
    DataDirectory,
    kafka_settings,
)


@app.command(
    epilog=examples(
        "worker",
        "scentline worker fetch judge --broker kafka://localhost:9092",
        "scentline worker all --broker kafka://localhost:9092 --config crawl.toml --data worker-1",
    )
)
def worker(
    roles: Annotated[
        list[str],
        typer.Argument(
            metavar="ROLE...", help="observe, browse, fetch, judge, frontier, learn, harvest; or all of them."
        ),
    ],
    broker: BrokerAddress = None,
    data: DataDirectory = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Play some of the roles of a crawl, beside any number of other workers, until SIGTERM or Ctrl-C.

    Workers that play the same role share its partitions. Each needs a --data directory of its own. The topics
    are made by scentline topics create; a worker waits for those that are missing.
    """
    from agents.worker.command import played, run

    settings = kafka_settings(config, assignments, {"broker": broker, "data": data})
    run(settings, played(roles))
