"""``scentline forget-user``: remove every trace that leads from a crawl's data to a user."""

from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.options import AsJson, Given, command
from scentline.agents.cli.output import print_json

if TYPE_CHECKING:
    from scentline.agents.operate.privacy.kafka import ForgottenOnKafka
    from scentline.streams.settings import Settings

_NOTHING = "nothing was found; check that the key is the one that the log was fed with"


@command(
    "forget-user",
    "scentline forget-user 192.0.2.7 --data scentline-data",
    "scentline forget-user --pseudonym 25b8e0716cbcc8a0 --json",
    "scentline forget-user 192.0.2.7 --broker kafka://localhost:9092",
    takes=("data", "broker"),
)
def forget(
    given: Given,
    user: Annotated[str, typer.Argument(metavar="USER", help="User name or address, exactly as in the log.")],
    pseudonym: Annotated[
        bool, typer.Option("--pseudonym", help="USER is a pseudonym, as in the topics.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Replace a user's pseudonym by a random one in all tables and topics; no crawl may run.

    Raw lines of the user on `proxy-log` are deleted. All statistics stay exact. If interrupted, run it again.
    You must clean logs and files of `state export` yourself.

    On Kafka all workers must be stopped after they have absorbed everything. Absorbed raw lines, sightings and
    evidence are deleted there for all users: nothing needs them. The command prints what remains, and until
    when.
    """
    from scentline.agents.operate.privacy.forget import forget_user

    settings = given.settings()
    if settings.on_kafka:
        _on_kafka(settings, user, is_name=not pseudonym, as_json=as_json)
        return
    done = forget_user(settings, user, is_name=not pseudonym)
    if as_json:
        print_json({"entries": done.entries, "lines": done.lines})
    elif done.entries or done.lines:
        typer.echo(f"forgotten: {done.entries} entries of topics and tables, {done.lines} raw lines")
    else:
        typer.echo(_NOTHING)


def _on_kafka(settings: "Settings", user: str, is_name: bool, as_json: bool) -> None:
    from scentline.agents.operate.privacy.kafka import forget_user_on_kafka

    done = forget_user_on_kafka(settings, user, is_name, lambda what: typer.echo(what, err=True))
    if as_json:
        print_json(
            {
                "entries": done.entries, "deleted": done.deleted.messages, "unread": done.deleted.unread,
                "replaced_by": _day(done.replaced_at), "keys_gone_by": _day(done.deleted_at),
                "left_until": {topic: _day(at) for topic, at in done.left.items()},
            }
        )  # fmt: skip
    else:
        _tell(done)


def _tell(done: "ForgottenOnKafka") -> None:
    if done.entries:
        typer.echo(
            f"forgotten: {done.entries} rows of tables and values of topics have a new pseudonym; "
            f"compaction removes the old ones by {_day(done.replaced_at)}, the last of their keys by "
            f"{_day(done.deleted_at)}"
        )
    else:
        typer.echo(_NOTHING)
    for topic, messages in done.deleted.messages.items():
        typer.echo(f"deleted: {messages} messages of {topic}, of all users")
    for topic, at in done.left.items():
        typer.echo(
            f"left to its retention: {topic}, whose last message with the old pseudonym is gone by {_day(at)}"
        )
    if done.deleted.unread:
        typer.echo(
            f"not read yet: {done.deleted.unread} raw lines of proxy-log; those of the user will count as a "
            "new user's"
        )


def _day(at: float) -> str:
    """Return the first full day after a time."""
    from datetime import UTC, datetime, timedelta

    return (datetime.fromtimestamp(at, UTC) + timedelta(days=1)).date().isoformat()
