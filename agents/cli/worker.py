"""``scentline worker``: run some roles of a crawl on Kafka."""

from typing import Annotated

import typer

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import (
    Assignments,
    BrokerAddress,
    BudgetPages,
    BudgetRequests,
    ConfigFile,
    DataDirectory,
    Labels,
    OrderingName,
    PolicyName,
    PredicateTexts,
    RandomSeed,
    RunTime,
    crawl_settings,
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
            metavar="ROLE...", help="observe, browse, fetch, judge, frontier, learn, harvest, or all."
        ),
    ],
    predicates: PredicateTexts = None,
    labels: Labels = None,
    policy: PolicyName = None,
    ordering: OrderingName = None,
    budget: BudgetPages = None,
    requests: BudgetRequests = None,
    time: RunTime = None,
    random_seed: RandomSeed = None,
    broker: BrokerAddress = None,
    data: DataDirectory = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Run some roles of a crawl, beside any number of other workers, until SIGTERM or Ctrl-C.

    Workers with the same role share its partitions. Each worker needs its own --data directory. `scentline
    topics create` makes the topics; a worker waits for missing ones. Options mean the same as in `scentline
    crawl`; give every worker the same.
    """
    from scentline.agents.worker.command import played, run

    wanted = played(roles)
    options = crawl_settings(
        predicates, labels, policy, ordering, budget, requests, time, random_seed, data=data, broker=broker
    )
    settings = kafka_settings(config, assignments, options)
    run(settings, wanted)
