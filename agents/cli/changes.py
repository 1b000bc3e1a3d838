"""``scentline changes``: what appeared among the matches, changed, left and moved."""

import time
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import Given, Since, command, time_since
from scentline.agents.cli.output import UNITS, Shape, lasting, opened

if TYPE_CHECKING:
    from scentline.models.published import Change
    from scentline.streams.settings import Settings

#: The columns of CSV and the keys of JSON, and those of the table.
FIELDS = ("time", "predicate", "kind", "url", "title", "excerpt", "before", "reason", "target", "origin")
COLUMNS = ("when", "predicate", "what", "title", "url", "more")
NONE = (
    "no change was told: only a crawl that visits pages again tells what becomes of its matches; "
    "the setting frontier.revisit says how much it does"
)

_SHOWN = 120  # characters of the last column of the table


@command(
    "changes",
    "scentline changes --since 1d",
    "scentline changes --predicate science --format jsonl",
    "scentline changes --format rss --out feed.xml && ls feed.xml",
    "scentline changes --broker kafka://localhost:9092 --set frontier.revisit=0.5",
    takes=("data", "broker", "rss"),
)
def changes(
    given: Given,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with new changes until Ctrl-C.")] = False,
    predicate: Annotated[
        str | None, typer.Option("--predicate", metavar="NAME", help="Only this predicate's matches.")
    ] = None,
    since: Since = None,
) -> None:
    """Print what appeared among the pages that satisfy a predicate, changed, left and moved, oldest first.

    Only crawls that visit pages again tell it. A feed (RSS) holds the newest 200 changes; with --follow and
    --out it is written anew whenever there are others.
    """
    if follow and (given.form == "rss") != (given.out is not None):
        raise CommandError("--follow prints lines, or writes a feed with --format rss --out FILE")
    settings = given.settings()
    begin = time_since(since)

    def asked(change: "Change") -> bool:
        return change.time >= begin and predicate in (None, change.predicate)

    _check_known(settings, predicate)
    found = (filter(asked, batch) for batch in _told(settings, follow))
    try:
        if given.form == "rss":
            _feeds(found, predicate, given.out)
        else:
            shape = Shape(COLUMNS, _cells, FIELDS, _fields)
            given.print_rows(chain.from_iterable(found), shape, follow=follow)
    except KeyboardInterrupt:
        return


def _check_known(settings: "Settings", predicate: str | None) -> None:
    from scentline.agents.operate.control.command import known_predicates

    if predicate is None:
        return
    known = known_predicates(settings)
    if known and predicate not in known:
        raise CommandError(f"no predicate {predicate!r}; expected one of {', '.join(sorted(known))}")


def _told(settings: "Settings", follow: bool) -> "Iterator[Iterator[Change]]":
    """Yield the changes that were told, and with ``follow`` those that come; where none was, it is said why."""
    from scentline.agents.crawl.directory import of_crawl
    from scentline.agents.operate.inspect.changes import told

    settings = settings if settings.on_kafka else of_crawl(settings)
    batches = told(settings, follow)
    there = next(batches)
    first = next(there, None)
    if first is not None:
        yield chain((first,), there)
    elif settings.frontier.revisit == 0 and not follow:
        raise CommandError(NONE)
    else:
        typer.echo(NONE, err=True)
        yield iter(())
    yield from batches


def _fields(change: "Change") -> dict[str, object]:
    before = None if change.before is None else _iso(change.before)
    fields: dict[str, object] = {name: getattr(change, name) for name in FIELDS}
    return fields | {"time": _iso(change.time), "before": before}


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _cells(change: "Change") -> tuple[str, ...]:
    from scentline.streams.logging import printable

    more = change.target or change.reason or change.excerpt
    age = time.time() - change.time
    when = f"{lasting(age)} ago" if age >= UNITS["minute"] else "just now"
    cells = (when, change.predicate, change.kind, change.title, change.url)
    return (*map(printable, cells), printable(more, _SHOWN))


def _feeds(found: "Iterator[Iterator[Change]]", predicate: str | None, out: Path | None) -> None:
    from scentline.agents.operate.inspect.changes import ITEMS, feed

    title = "Scentline" if predicate is None else f"Scentline: {predicate}"
    newest: deque[Change] = deque(maxlen=ITEMS)
    for number, batch in enumerate(found):
        new = deque(batch, maxlen=ITEMS)
        newest += new
        if new or number == 0:
            with opened(out) as file:
                file.write(feed(title, reversed(newest)))
                file.flush()
