"""``scentline forget-user``: nothing that a crawl keeps leads to a user any more."""

from typing import Annotated

import typer

from agents.cli.app import app, examples
from agents.cli.options import AsJson, Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import print_json


@app.command(
    "forget-user",
    epilog=examples(
        "forget-user",
        "scentline forget-user 192.0.2.7 --data scentline-data",
        "scentline forget-user --pseudonym 25b8e0716cbcc8a0 --json",
    ),
)
def forget(
    user: Annotated[
        str, typer.Argument(metavar="USER", help="Who it is: the user name or address as the log has it.")
    ],
    pseudonym: Annotated[
        bool, typer.Option("--pseudonym", help="USER is a pseudonym, as the topics have it.")
    ] = False,
    data: DataDirectory = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Take a user out of tables and topics while no crawl runs: the pseudonym becomes one that no key leads to.

    Raw lines of the user on `proxy-log` are deleted. All statistics stay exact. Can be repeated when it was
    interrupted. Logs, and files of `state export`, are yours to clean.
    """
    from agents.privacy.forget import forget_user

    settings = load_settings(config, assignments, {"data": data}).settings
    done = forget_user(settings, user, is_name=not pseudonym)
    if as_json:
        print_json({"entries": done.entries, "lines": done.lines})
    elif done.entries or done.lines:
        typer.echo(f"forgotten: {done.entries} entries of topics and tables, {done.lines} raw lines")
    else:
        typer.echo("nothing was found; a user is known by the key only that the log was fed with")
