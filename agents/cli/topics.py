"""``scentline topics``: the topology, and the topics at a Kafka broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    load_settings,
)
from scentline.agents.cli.output import Shape, print_rows

if TYPE_CHECKING:
    from scentline.streams.settings import Settings

Partitions = Annotated[
    int | None, typer.Option(min=1, help="Partitions of each sharded topic: streams.partitions.")
]
Replication = Annotated[
    int | None, typer.Option(min=1, help="Brokers that keep each message: kafka.replication.")
]

topics = typer.Typer(no_args_is_help=True)
app.add_typer(topics, name="topics", help="List, make and check topics.")


@topics.command("list", epilog=examples("topics list", "scentline topics list", "scentline topics list --json"))
def show(
    file: ConfigFile = None,
    assignments: Assignments = None,
    form: Format = "table",
    as_json: AsJsonArray = False,
    out: Out = None,
) -> None:
    """Print every topic: partitions, key, record, retention, writers and readers."""
    from scentline.streams.topics import TOPICS, Topic

    partitions = load_settings(file, assignments).settings.streams.partitions

    def row(topic: Topic) -> dict[str, object]:
        return {
            "name": topic.name,
            "partitions": partitions if topic.shards else 1,
            "key": topic.key,
            "record": topic.record,
            "retention_seconds": topic.retention,
            "compacted": topic.compacted,
            "writers": topic.writers,
            "readers": topic.readers,
        }

    def cells(topic: Topic) -> tuple[str, ...]:
        return (
            topic.name, str(row(topic)["partitions"]), topic.key, topic.record,
            _kept(topic.retention), ", ".join(topic.writers), ", ".join(topic.readers),
        )  # fmt: skip

    def values(topic: Topic) -> list[object]:
        return [", ".join(value) if isinstance(value, tuple) else value for value in row(topic).values()]

    columns = ("name", "partitions", "key", "record", "kept", "written by", "read by")
    shape = Shape(columns, cells, tuple(row(TOPICS[0])), row, values)
    print_rows(TOPICS, shape, "json" if as_json else form, out)


@topics.command(
    epilog=examples(
        "topics create",
        "scentline topics create --broker kafka://localhost:9092 --partitions 8",
        "scentline topics create --broker kafka://localhost:9092 --partitions 8 --json",
    )
)
def create(
    partitions: Partitions = None,
    replication: Replication = None,
    broker: BrokerAddress = None,
    file: ConfigFile = None,
    assignments: Assignments = None,
    form: Format = "table",
    as_json: AsJsonArray = False,
    out: Out = None,
) -> None:
    """Make every topic and every table's changelog at a Kafka broker, with its retention and limits.

    Existing topics get the declared configuration; running it again is harmless. The number of partitions can't
    change later.
    """
    from scentline.agents.operate.topics.create import Done
    from scentline.agents.operate.topics.create import create as run

    def cells(each: Done) -> tuple[str, ...]:
        return each.topic, str(each.partitions), " ".join((each.done, *each.keys))

    done = run(_settings(file, assignments, broker, partitions, replication))
    shape = Shape(("name", "partitions", "done"), cells, Done._fields, Done._asdict)
    print_rows(done, shape, "json" if as_json else form, out)


@topics.command(
    epilog=examples(
        "topics check",
        "scentline topics check --broker kafka://localhost:9092 --partitions 8",
        "scentline topics check --broker kafka://localhost:9092 --partitions 8 --json",
    )
)
def check(
    partitions: Partitions = None,
    replication: Replication = None,
    broker: BrokerAddress = None,
    file: ConfigFile = None,
    assignments: Assignments = None,
    form: Format = "table",
    as_json: AsJsonArray = False,
    out: Out = None,
) -> None:
    """Compare the topics at a Kafka broker with their declaration; only reads.

    Prints what is missing or differs, and exits with status 1 if anything does.
    """
    from scentline.agents.operate.topics.create import Difference
    from scentline.agents.operate.topics.create import check as run

    def cells(each: Difference) -> tuple[str, ...]:
        return each.topic, each.what, each.declared, "missing" if each.found is None else each.found

    found = run(_settings(file, assignments, broker, partitions, replication))
    form_of_rows = "json" if as_json else form
    if found or form_of_rows != "table":
        fields = Difference._fields
        print_rows(found, Shape(fields, cells, fields, Difference._asdict), form_of_rows, out)
    else:
        typer.echo("every topic is as declared")
    if found:
        raise typer.Exit(1)


def _settings(
    file: Path | None,
    assignments: list[str] | None,
    broker: str | None,
    partitions: int | None,
    replication: int | None,
) -> "Settings":
    options = {"broker": broker, "streams.partitions": partitions, "kafka.replication": replication}
    return kafka_settings(file, assignments, options)


def _kept(retention: int | None) -> str:
    from scentline.streams.topics import DAY

    if retention is None:
        return "newest of each key"
    return f"{retention // DAY} day" + ("" if retention == DAY else "s")
