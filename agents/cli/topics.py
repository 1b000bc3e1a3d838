"""``scentline topics list``: the topology."""

import typer

from agents.cli.app import app, examples
from agents.cli.options import AsJson, Assignments, ConfigFile, load_settings
from agents.cli.output import print_json, print_table

topics = typer.Typer(no_args_is_help=True)
app.add_typer(topics, name="topics", help="Look at the topics that messages travel on.")


@topics.command("list", epilog=examples("topics list", "scentline topics list", "scentline topics list --json"))
def show(file: ConfigFile = None, assignments: Assignments = None, as_json: AsJson = False) -> None:
    """Print every topic: its partitions, key and record, how long it is kept, who writes and who reads."""
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


def _kept(retention: int | None) -> str:
    from streams.topics import DAY

    if retention is None:
        return "newest of each key"
    return f"{retention // DAY} day" + ("" if retention == DAY else "s")
