"""The commands to operate a crawl: topics and snapshots, settings, what was learned, and forgetting a user."""

import json
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.options import Given, command, command_group
from scentline.agents.cli.output import Columns, Shape, print_json, print_table

if TYPE_CHECKING:
    from scentline.streams.settings import Settings

# a crawl on Kafka

Partitions = Annotated[
    int | None, typer.Option(min=1, help="Partitions of each sharded topic: streams.partitions.")
]
Replication = Annotated[
    int | None, typer.Option(min=1, help="Brokers that keep each message: kafka.replication.")
]

command_group("topics", "List, make and check topics.")


@command("topics list", "scentline topics list", "scentline topics list --json", takes=("array",))
def list_(given: Given) -> None:
    """Print every topic: partitions, key, record, retention, writers and readers."""
    from scentline.streams.topics import TOPICS, Topic

    partitions = given.settings().streams.partitions

    def row(topic: Topic) -> dict[str, object]:
        return {
            "name": topic.name, "partitions": partitions if topic.shards else 1, "key": topic.key,
            "record": topic.record, "retention_seconds": topic.retention, "compacted": topic.compacted,
            "writers": topic.writers, "readers": topic.readers,
        }  # fmt: skip

    columns: Columns = {
        "name": "name", "partitions": lambda topic: row(topic)["partitions"], "key": "key", "record": "record",
        "kept": lambda topic: _kept(topic.retention), "written by": "writers", "read by": "readers",
    }  # fmt: skip
    given.print_rows(TOPICS, Shape(columns, tuple(row(TOPICS[0])), row))


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

    columns: Columns = {
        "name": "topic", "partitions": "partitions", "done": lambda each: " ".join((each.done, *each.keys)),
    }  # fmt: skip
    done = run(given.on_kafka(**{"streams.partitions": partitions, "kafka.replication": replication}))
    given.print_rows(done, Shape(columns, Done._fields))


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
    from scentline.agents.operate.topics import check as run

    columns: Columns = {
        "topic": "topic", "what": "what", "declared": "declared", "found": lambda each: each.found or "missing",
    }  # fmt: skip
    found = run(given.on_kafka(**{"streams.partitions": partitions, "kafka.replication": replication}))
    if found or given.form != "table":
        given.print_rows(found, Shape(columns))
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
    given.print_rows(found, Shape(Lag._fields[:-1], Lag._fields))


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
    from scentline.agents.operate.topics import follow, take

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


# settings, and what was learned

command_group("config", "Show the settings.")


@command(
    "config show",
    "scentline config show",
    "scentline config show --set frontier.budget=100 --json",
    takes=("json",),
)
def show(given: Given) -> None:
    """Print each setting's value and where it came from: default, file, environment or command line."""
    loaded = given.loaded()
    values = loaded.values()
    if given.form == "json":
        print_json({key: {"value": value, "origin": loaded.origins[key]} for key, value in values.items()})
        return
    print_table(
        ("key", "value", "from"), ((key, _shown(value), loaded.origins[key]) for key, value in values.items())
    )


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


command_group("state", "Start a crawl with what another one has learned.")

StateFile = Annotated[Path, typer.Argument(metavar="FILE", help="File of the learned state.")]


@command(
    "state export",
    "scentline state export science.state --data scentline-data",
    "scentline state export science.state --no-users --json",
    takes=("data", "json"),
)
def export(
    given: Given,
    file: StateFile,
    users: Annotated[bool, typer.Option("--users/--no-users", help="Include the users' pseudonyms.")] = True,
) -> None:
    """Write what a crawl has learned to a file, or replace one; a crawl may be running.

    The file has counts of words, parts of URLs and users, and the weights of the learned policy: of each
    predicate, and of which requests fail, the 100,000 features with the largest effect. It has no pages and no
    users' identities.
    """
    from scentline.agents.operate.reuse import export as run

    done = run(given.settings(), file, users)
    given.report(
        {"predicates": done.features, "requests": done.requests, "users": done.users, "bytes": done.size},
        *_features(done.features, done.requests),
        f"{done.users:,} users; {done.size:,} bytes in {file}",
    )


@command(
    "state import",
    "scentline state import learned.state --data new-data",
    "scentline state import learned.state --data new-data --weight 1 --json",
    takes=("data", "json"),
)
def import_(
    given: Given,
    file: StateFile,
    weight: Annotated[
        float, typer.Option(min=0.001, max=1, help="Factor for the file's counts: evidence fades.")
    ] = 0.25,
) -> None:
    """Give a data directory what another crawl has learned; no crawl may be running there.

    Predicates are matched by name. A file that is imported twice counts once, with the first weight.
    """
    from scentline.agents.operate.reuse import import_state

    settings = given.settings()
    done = import_state(settings, file, weight)
    for remark in done.remarks:
        typer.echo(remark, err=True)
    given.report(
        {"predicates": done.features, "requests": done.requests, "repeated": done.repeated},
        *(
            [f"{settings.data} already has this file: nothing was changed"]
            if done.repeated
            else _features(done.features, done.requests, f" at weight {weight:g}")
        ),
    )


def _features(features: Mapping[str, int], requests: int, how: str = "") -> list[str]:
    counts = [*features.items(), *([("of requests", requests)] if requests else [])]
    return [f"{name}: {number:,} features{how}" for name, number in counts]


# users

_NOTHING = "nothing was found; check that the key is the one that the log was fed with"


@command(
    "forget-user",
    "scentline forget-user 192.0.2.7 --data scentline-data",
    "scentline forget-user --pseudonym 25b8e0716cbcc8a0 --json",
    "scentline forget-user 192.0.2.7 --broker kafka://localhost:9092",
    takes=("data", "broker", "json"),
)
def forget(
    given: Given,
    user: Annotated[str, typer.Argument(metavar="USER", help="User name or address, exactly as in the log.")],
    pseudonym: Annotated[
        bool, typer.Option("--pseudonym", help="USER is a pseudonym, as in the topics.")
    ] = False,
) -> None:
    """Replace a user's pseudonym by a random one in all tables and topics; no crawl may run.

    Raw lines of the user on `proxy-log` are deleted. All statistics stay exact. If interrupted, run it again.
    You must clean logs and files of `state export` yourself.

    On Kafka all workers must be stopped after they have absorbed everything. Absorbed raw lines, sightings and
    evidence are deleted there for all users: nothing needs them. The command prints what remains, and until
    when.
    """
    from scentline.agents.operate.forget import forget_user

    settings = given.settings()
    if settings.on_kafka:
        _on_kafka(given, settings, user, is_name=not pseudonym)
        return
    done = forget_user(settings, user, is_name=not pseudonym)
    counts = f"forgotten: {done.entries} entries of topics and tables, {done.lines} raw lines"
    given.report(
        {"entries": done.entries, "lines": done.lines}, counts if done.entries or done.lines else _NOTHING
    )


def _on_kafka(given: Given, settings: "Settings", user: str, is_name: bool) -> None:
    from scentline.agents.operate.forget_kafka import forget_user_on_kafka

    done = forget_user_on_kafka(settings, user, is_name, lambda what: typer.echo(what, err=True))
    replaced, gone = _day(done.replaced_at), _day(done.deleted_at)
    left = {topic: _day(at) for topic, at in done.left.items()}
    counts = (
        f"forgotten: {done.entries} rows of tables and values of topics have a new pseudonym; "
        f"compaction removes the old ones by {replaced}, the last of their keys by {gone}"
    )
    unread = done.deleted.unread
    given.report(
        {
            "entries": done.entries, "deleted": done.deleted.messages, "unread": unread,
            "replaced_by": replaced, "keys_gone_by": gone, "left_until": left,
        },
        counts if done.entries else _NOTHING,
        *(f"deleted: {messages} messages of {topic}, of all users"
          for topic, messages in done.deleted.messages.items()),
        *(f"left to its retention: {topic}, whose last message with the old pseudonym is gone by {day}"
          for topic, day in left.items()),
        *([f"not read yet: {unread} raw lines of proxy-log; those of the user will count as a new user's"]
          if unread else []),
    )  # fmt: skip


def _day(at: float) -> str:
    """Return the first full day after a time."""
    from datetime import UTC, datetime, timedelta

    return (datetime.fromtimestamp(at, UTC) + timedelta(days=1)).date().isoformat()
