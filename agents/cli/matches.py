"""``scentline matches``: the pages that satisfy a predicate."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agents.cli.app import CommandError, app, examples
from agents.cli.options import Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from streams.records import Outcome


@app.command(epilog=examples("matches", "scentline matches science --format jsonl"))
def matches(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A predicate's name.")],
    form: Annotated[
        Literal["table", "jsonl"], typer.Option("--format", help="A table, or a line of JSON a page.")
    ] = "table",
    data: DataDirectory = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Print the pages that satisfy the predicate NAME, in the order in which they were judged."""
    from agents.inspect.record import outcomes
    from streams.transport.journal import Journal

    settings = load_settings(config, assignments, {"data": data}).settings
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        found: dict[str, Outcome] = {}
        known: set[str] = set()
        for outcome in outcomes(journal):
            known |= outcome.verdict.keys()
            if outcome.verdict.get(name):
                found.setdefault(outcome.url, outcome)
    if known and name not in known:
        raise CommandError(f"no predicate {name!r}; expected one of {', '.join(sorted(known))}")
    rows = sorted(found.values(), key=lambda outcome: outcome.time)
    if form == "table":
        print_table(("url", "title"), ((outcome.url, outcome.title) for outcome in rows))
        return
    for outcome in rows:
        print_json({"url": outcome.url, "title": outcome.title, "time": outcome.time, "depth": outcome.depth})
