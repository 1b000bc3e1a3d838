"""``scentline lag``: the messages that wait for each role."""

from typing import TYPE_CHECKING

import typer

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import (
    AsJsonArray,
    Assignments,
    BrokerAddress,
    ConfigFile,
    Format,
    Out,
    kafka_settings,
)
from scentline.agents.cli.output import Shape, print_rows

if TYPE_CHECKING:
    from scentline.agents.operate.topics.lag import Lag


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
    form: Format = "table",
    as_json: AsJsonArray = False,
    out: Out = None,
) -> None:
    """Print how many messages wait for each role's consumer group at a Kafka broker, by partition.

    Only reads. A group without a committed offset reads from the start.
    """
    from scentline.agents.operate.topics.lag import Lag, lags

    found = list(lags(kafka_settings(file, assignments, {"broker": broker})))
    for each in found:
        if each.dropped:
            typer.echo(
                f"{each.topic}/{each.partition}: {each.dropped} messages expired before {each.group} read "
                "them: it lagged by more than the topic's retention",
                err=True,
            )
    shape = Shape(("group", "topic", "partition", "end", "committed", "lag"), _cells, Lag._fields, Lag._asdict)
    print_rows(found, shape, "json" if as_json else form, out)


def _cells(each: "Lag") -> tuple[str, ...]:
    committed = "none" if each.committed is None else str(each.committed)
    return each.group, each.topic, str(each.partition), str(each.end), committed, str(each.lag)
