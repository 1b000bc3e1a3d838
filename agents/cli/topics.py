"""``scentline topics``: the topology, and the topics at a Kafka broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.cli.app import app, examples
from agents.cli.options import AsJson, Assignments, BrokerAddress, ConfigFile, kafka_settings, load_settings
from agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from streams.settings import Settings

Partitions = Annotated[
    int | None, typer.Option(min=1, help="Partitions of each sharded topic: streams.partitions.")
]
Replication = Annotated[
    int | None, typer.Option(min=1, help="Brokers that keep each message: kafka.replication.")
]

topics = typer.Typer(no_args_is_help=True)
app.add_typer(topics, name="topics", help="List, make and check topics.")


@topics.command("list", epilog=examples("topics list", "scentline topics list", "scentline topics list --json"))
def show(file: ConfigFile = None, assignments: Assignments = None, as_json: AsJson = False) -> None:
    """Print every topic: partitions, key, record, retention, writers and readers."""
    from streams.topics import TOPICS, Topic

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

    if as_json:
        print_json([row(topic) for topic in TOPICS])
        return
    print_table(
        ("name", "partitions", "key", "record", "kept", "written by", "read by"),
        (
            (
                topic.name, str(row(topic)["partitions"]), topic.key, topic.record,
                _kept(topic.retention), ", ".join(topic.writers), ", ".join(topic.readers),
            )
            for topic in TOPICS
        ),
    )  # fmt: skip


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
    as_json: AsJson = False,
) -> None:
    """Make every topic and every table's changelog at a Kafka broker, with its retention and limits.

    Existing topics get the declared configuration; running it again is harmless. The number of partitions can't
    change later.
    """
    from agents.operate.topics.create import create as run

    settings = _settings(file, assignments, broker, partitions, replication)
    done = run(settings)
    if as_json:
        print_json([each._asdict() for each in done])
        return
    print_table(
        ("name", "partitions", "done"),
        ((each.topic, str(each.partitions), " ".join((each.done, *each.keys))) for each in done),
    )


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
    as_json: AsJson = False,
) -> None:
    """Compare the topics at a Kafka broker with their declaration; only reads.

    Prints what is missing or differs, and exits with status 1 if anything does.
    """
    from agents.operate.topics.create import check as run

    found = run(_settings(file, assignments, broker, partitions, replication))
    if as_json:
        print_json([each._asdict() for each in found])
    elif found:
        print_table(
            ("topic", "what", "declared", "found"),
            (
                (each.topic, each.what, each.declared, "missing" if each.found is None else each.found)
                for each in found
            ),
        )
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
    from streams.topics import DAY

    if retention is None:
        return "newest of each key"
    return f"{retention // DAY} day" + ("" if retention == DAY else "s")
