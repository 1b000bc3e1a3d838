"""``scentline refused``: the URLs that brought no page, and why."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import Given, command
from scentline.agents.cli.output import Shape, print_table


class Refused(NamedTuple):
    """A URL that brought no page, with the cause in our words and the reason as it was told."""

    url: str
    state: str
    cause: str
    reason: str


@command(
    "refused",
    "scentline refused",
    "scentline refused --reason HTTP --format jsonl",
    "scentline refused --format csv",
    takes=("data", "lines"),
)
def refused(
    given: Given,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Only URLs whose cause has this in it.")
    ] = "",
) -> None:
    """Print which URLs brought no page, and why; without options, how many there are of each cause.

    They were refused (by robots.txt, by this crawl's rules, or since they are no pages), are gone, or were
    given up. A crawl that runs may be asked too.
    """
    from scentline.models.frontier.causes import KNOWN

    directory = given.settings().data
    found, causes = [], Counter[str]()
    for each in _refused(directory):
        causes[each.cause] += 1
        if reason.casefold() in each.cause.casefold():
            found.append(each)
    if not found and not any(reason.casefold() in each.casefold() for each in (*KNOWN, "HTTP")):
        known = ", ".join(sorted(causes)) or "none"
        raise CommandError(f"--reason {reason!r}: there is no such cause; of this crawl there are: {known}")
    if given.form == "table" and not reason and given.out is None:
        print_table(("cause", "URLs"), ((cause, f"{count:,}") for cause, count in causes.most_common()))
        return
    fields = Refused._fields
    shape: Shape[Refused] = Shape(fields, lambda each: each, fields, lambda each: each._asdict())
    given.print_rows(found, shape)


def _refused(data: Path) -> Iterator[Refused]:
    from scentline.agents.frontier.keys import PAGE_PREFIX
    from scentline.agents.frontier.rows import FrontierRow, PageRow
    from scentline.models.frontier.causes import cause_of
    from scentline.streams.inbox import Codec
    from scentline.streams.transport.journal import Journal

    decode = Codec[FrontierRow](FrontierRow).decode
    with Journal.open(data / "journal", read_only=True) as journal:
        for part in journal.table("frontier").values():
            for _, raw in part.scan(PAGE_PREFIX):
                row = decode(raw)
                if isinstance(row, PageRow) and row.state in ("refused", "gone", "given up"):
                    yield Refused(row.url, row.state, cause_of(row.reason), row.reason)
