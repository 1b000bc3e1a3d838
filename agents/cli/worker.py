"""``scentline worker``: run some roles of a crawl on Kafka."""

from typing import Annotated

import typer

from scentline.agents.cli.options import Given, command


@command(
    "worker",
    "scentline worker fetch judge --broker kafka://localhost:9092",
    "scentline worker all --broker kafka://localhost:9092 --config crawl.toml --data worker-1",
    takes=("crawl", "data", "broker"),
)
def worker(
    given: Given,
    roles: Annotated[
        list[str],
        typer.Argument(
            metavar="ROLE...", help="observe, browse, fetch, judge, frontier, learn, harvest, or all."
        ),
    ],
) -> None:
    """Run some roles of a crawl, beside any number of other workers, until SIGTERM or Ctrl-C.

    Workers with the same role share its partitions. Each worker needs its own --data directory. `scentline
    topics create` makes the topics; a worker waits for missing ones. Options mean the same as in `scentline
    crawl`; give every worker the same.
    """
    from scentline.agents.worker.command import played, run

    wanted = played(roles)
    run(given.on_kafka(), wanted)
