"""``scentline topics`` and ``lag``: the topology, the topics at a Kafka broker, and what waits there."""

from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.options import Given, command, command_group
from scentline.agents.cli.output import Shape

if TYPE_CHECKING:
    from scentline.agents.operate.topics import Lag

Partitions = Annotated[
    int | None, typer.Option(min=1, help="Partitions of each sharded topic: streams.partitions.")
]
Replication = Annotated[
    int | None, typer.Option(min=1, help="Brokers that keep each message: kafka.replication.")
]

command_group("topics", "List, make and check topics.")


@command("topics list", "scentline topics list", "scentline topics list --json", takes=("array",))
def show(given: Given) -> None:
    """Print every topic: partitions, key, record, retention, writers and readers."""
    from scentline.streams.topics import TOPICS, Topic

    partitions = given.settings().streams.partitions

    def row(topic: Topic) -> dict[str, object]:
        return {
            "name": topic.name, "partitions": partitions if topic.shards else 1, "key": topic.key,
            "record": topic.record, "retention_seconds": topic.retention, "compacted": topic.compacted,
            "writers": topic.writers, "readers": topic.readers,
        }  # fmt: skip

    def cells(topic: Topic) -> tuple[str, ...]:
        return (
            topic.name, str(row(topic)["partitions"]), topic.key, topic.record,
            _kept(topic.retention), ", ".join(topic.writers), ", ".join(topic.readers),
        )  # fmt: skip

    def values(topic: Topic) -> list[object]:
        return [", ".join(value) if isinstance(value, tuple) else value for value in row(topic).values()]

    columns = ("name", "partitions", "key", "record", "kept", "written by", "read by")
    shape = Shape(columns, cells, tuple(row(TOPICS[0])), row, values)
    given.print_rows(TOPICS, shape)


@command(
    "topics create",
    "scentline topics create --broker kafka://localhost:9092 --partitions 8",
    "scentline topics create --broker kafka://localhost:9092 --partitions 8 --json",
    takes=("broker", "array"),
)
def create(given: Given, partitions: Partitions = None, replication: Replication = None) -> None:
    """Make every topic and every table's changelog at a Kafka broker, with its retention and limits.

    Existing topics get the declared configuration; running it again is harmless. The number of partitions can't
    change later.
    """
    from scentline.agents.operate.topics import Done
    from scentline.agents.operate.topics import create as run

    def cells(each: Done) -> tuple[str, ...]:
        return each.topic, str(each.partitions), " ".join((each.done, *each.keys))

    done = run(given.on_kafka(**{"streams.partitions": partitions, "kafka.replication": replication}))
    shape = Shape(("name", "partitions", "done"), cells, Done._fields, Done._asdict)
    given.print_rows(done, shape)


@command(
    "topics check",
    "scentline topics check --broker kafka://localhost:9092 --partitions 8",
    "scentline topics check --broker kafka://localhost:9092 --partitions 8 --json",
    takes=("broker", "array"),
)
def check(given: Given, partitions: Partitions = None, replication: Replication = None) -> None:
    """Compare the topics at a Kafka broker with their declaration; only reads.

    Prints what is missing or differs, and exits with status 1 if anything does.
    """
    from scentline.agents.operate.topics import Difference
    from scentline.agents.operate.topics import check as run

    def cells(each: Difference) -> tuple[str, ...]:
        return each.topic, each.what, each.declared, "missing" if each.found is None else each.found

    found = run(given.on_kafka(**{"streams.partitions": partitions, "kafka.replication": replication}))
    if found or given.form != "table":
        fields = Difference._fields
        given.print_rows(found, Shape(fields, cells, fields, Difference._asdict))
    else:
        typer.echo("every topic is as declared")
    if found:
        raise typer.Exit(1)


def _kept(retention: int | None) -> str:
    from scentline.streams.topics import DAY

    if retention is None:
        return "newest of each key"
    return f"{retention // DAY} day" + ("" if retention == DAY else "s")


@command(
    "lag",
    "scentline lag --broker kafka://localhost:9092",
    "scentline lag --broker kafka://localhost:9092 --json",
    takes=("broker", "array"),
)
def lag(given: Given) -> None:
    """Print how many messages wait for each role's consumer group at a Kafka broker, by partition.

    Only reads. A group without a committed offset reads from the start.
    """
    from scentline.agents.operate.topics import Lag, lags

    found = list(lags(given.on_kafka()))
    for each in found:
        if each.dropped:
            typer.echo(
                f"{each.topic}/{each.partition}: {each.dropped} messages expired before {each.group} read "
                "them: it lagged by more than the topic's retention",
                err=True,
            )
    shape = Shape(("group", "topic", "partition", "end", "committed", "lag"), _cells, Lag._fields, Lag._asdict)
    given.print_rows(found, shape)


def _cells(each: "Lag") -> tuple[str, ...]:
    committed = "none" if each.committed is None else str(each.committed)
    return each.group, each.topic, str(each.partition), str(each.end), committed, str(each.lag)
