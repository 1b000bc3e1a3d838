"""``scentline refused``: the URLs that brought no page, and why."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from agents.cli.app import CommandError, app, examples
from agents.cli.options import Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import csv_line, json_line, print_table


class Refused(NamedTuple):
    """A URL that brought no page, with the cause in our words and the reason as it was told."""

    url: str
    state: str
    cause: str
    reason: str


@app.command(
    epilog=examples(
        "refused",
        "scentline refused",
        "scentline refused --reason HTTP --format jsonl",
        "scentline refused --format csv",
    )
)
def refused(
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Only URLs whose cause has this in it.")
    ] = "",
    form: Annotated[
        Literal["table", "jsonl", "csv"],
        typer.Option("--format", help="A table; or each URL as JSON lines or CSV."),
    ] = "table",
    data: DataDirectory = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Print which URLs brought no page, and why; without options, how many there are of each cause.

    They were refused (by robots.txt, by this crawl's rules, or since they are no pages), are gone, or were
    given up. A crawl that runs may be asked too.
    """
    from models.frontier.causes import KNOWN

    directory = load_settings(config, assignments, {"data": data}).settings.data
    found, causes = [], Counter[str]()
    for each in _refused(directory):
        causes[each.cause] += 1
        if reason.casefold() in each.cause.casefold():
            found.append(each)
    if not found and not any(reason.casefold() in each.casefold() for each in (*KNOWN, "HTTP")):
        known = ", ".join(sorted(causes)) or "none"
        raise CommandError(f"--reason {reason!r}: there is no such cause; of this crawl there are: {known}")
    if form == "table" and not reason:
        print_table(("cause", "URLs"), ((cause, f"{count:,}") for cause, count in causes.most_common()))
    elif form == "table":
        print_table(Refused._fields, found)
    else:
        if form == "csv":
            typer.echo(csv_line(Refused._fields))
        for each in found:
            typer.echo(csv_line(each) if form == "csv" else json_line(each._asdict()))


def _refused(data: Path) -> Iterator[Refused]:
    from agents.frontier.keys import PAGE_PREFIX
    from agents.frontier.rows import FrontierRow, PageRow
    from models.frontier.causes import cause_of
    from streams.inbox import Codec
    from streams.transport.journal import Journal

    decode = Codec[FrontierRow](FrontierRow).decode
    with Journal.open(data / "journal", read_only=True) as journal:
        for part in journal.table("frontier").values():
            for _, raw in part.scan(PAGE_PREFIX):
                row = decode(raw)
                if isinstance(row, PageRow) and row.state in ("refused", "gone", "given up"):
                    yield Refused(row.url, row.state, cause_of(row.reason), row.reason)
