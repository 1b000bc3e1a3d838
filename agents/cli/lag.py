"""``scentline lag``: the messages that wait for each role."""

import typer

from agents.cli.app import app, examples
from agents.cli.options import AsJson, Assignments, BrokerAddress, ConfigFile, kafka_settings
from agents.cli.output import print_json, print_table


@app.command(
    epilog=examples(
        "lag",
        "scentline lag --broker kafka://localhost:9092",
        "scentline lag --broker kafka://localhost:9092 --json",
    )
)
def lag(
    broker: BrokerAddress = None,
    file: ConfigFile = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Print how many messages wait for each role's consumer group at a Kafka broker, by partition.

    Only reads. A group without a committed offset reads from the start.
    """
    from agents.operate.topics.lag import lags

    found = list(lags(kafka_settings(file, assignments, {"broker": broker})))
    for each in found:
        if each.dropped:
            typer.echo(
                f"{each.topic}/{each.partition}: {each.dropped} messages expired before {each.group} read "
                "them: it lagged by more than the topic's retention",
                err=True,
            )
    if as_json:
        print_json([each._asdict() for each in found])
        return
    print_table(
        ("group", "topic", "partition", "end", "committed", "lag"),
        (
            (
                each.group, each.topic, str(each.partition), str(each.end),
                "none" if each.committed is None else str(each.committed), str(each.lag),
            )
            for each in found
        ),
    )  # fmt: skip
