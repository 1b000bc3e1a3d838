"""``scentline changes``: what appeared among the matches, changed, left and moved."""

import os
import stat
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agents.cli.app import CommandError, app, examples
from agents.cli.options import (
    UNITS,
    Assignments,
    BrokerAddress,
    ConfigFile,
    DataDirectory,
    duration,
    load_settings,
)
from agents.cli.output import csv_line, json_line, lasting, print_table
from agents.stored import whole

if TYPE_CHECKING:
    from typing import BinaryIO

    from streams.records import Change
    from streams.settings import Settings

#: The columns of CSV and the keys of JSON, and those of the table.
FIELDS = ("time", "predicate", "kind", "url", "title", "excerpt", "before", "reason", "target", "origin")
COLUMNS = ("when", "predicate", "what", "title", "url", "more")
NONE = (
    "no change was told: only a crawl that visits pages again tells what becomes of its matches; "
    "the setting frontier.revisit says how much it does"
)

_SHOWN = 120  # characters of the last column of the table


@app.command(
    epilog=examples(
        "changes",
        "scentline changes --since 1d",
        "scentline changes --predicate science --format jsonl",
        "scentline changes --format rss --out feed.xml && ls feed.xml",
        "scentline changes --broker kafka://localhost:9092 --set frontier.revisit=0.5",
    )
)
def changes(
    follow: Annotated[bool, typer.Option("--follow", help="Go on with new changes until Ctrl-C.")] = False,
    predicate: Annotated[
        str | None, typer.Option("--predicate", metavar="NAME", help="Only this predicate's matches.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME|DURATION", help="Only what came since 2026-05-01, 2026-05-01T12:00, or 1d."
        ),
    ] = None,
    form: Annotated[
        Literal["table", "jsonl", "csv", "rss"],
        typer.Option("--format", help="A table, JSON lines, CSV, or a feed for reader programs."),
    ] = "table",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="File to write, instead of standard output.")
    ] = None,
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Print what appeared among the pages that satisfy a predicate, changed, left and moved, oldest first.

    Only crawls that visit pages again tell it. A feed (RSS) holds the newest 200 changes; with --follow and
    --out it is written anew whenever there are others.
    """
    if follow and (form == "rss") != (out is not None):
        raise CommandError("--follow prints lines, or writes a feed with --format rss --out FILE")
    settings = load_settings(config, assignments, {"data": data, "broker": broker}).settings
    asked = _Asked(predicate, None if since is None else _time(since))
    _check_known(settings, predicate)
    found = (filter(asked.matches, batch) for batch in _told(settings, follow))
    try:
        if form == "rss":
            _feeds(found, predicate, out)
        elif form == "table" and out is None and not follow:
            print_table(COLUMNS, map(_cells, chain.from_iterable(found)))
        else:
            _put(_lines(chain.from_iterable(found), form), out)
    except KeyboardInterrupt:
        return


class _Asked:
    """What is asked for: the changes of a predicate, since a time; None asks for all."""

    def __init__(self, predicate: str | None, since: float | None) -> None:
        self._predicate = predicate
        self._since = since

    def matches(self, change: "Change") -> bool:
        """Return whether a change is asked for."""
        since = self._since is None or change.time >= self._since
        return since and self._predicate in (None, change.predicate)


def _time(text: str) -> float:
    """Return the time that ``--since`` names, in seconds since the epoch; without a zone it is a local one."""
    if (ago := duration(text)) is not None:
        return time.time() - ago
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        expected = "expected a time, such as 2026-05-01T12:00, or a duration: 90m, 12h, 1d"
        raise CommandError(f"--since {text!r}: {expected}") from error


def _check_known(settings: "Settings", predicate: str | None) -> None:
    from agents.operate.control.command import known_predicates

    if predicate is None:
        return
    known = known_predicates(settings)
    if known and predicate not in known:
        raise CommandError(f"no predicate {predicate!r}; expected one of {', '.join(sorted(known))}")


def _told(settings: "Settings", follow: bool) -> "Iterator[Iterator[Change]]":
    """Yield the changes that were told, and with ``follow`` those that come; where none was, it is said why."""
    from agents.crawl.fixed import of_crawl
    from agents.operate.inspect.changes import told

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


def _lines(found: "Iterable[Change]", form: str) -> Iterator[str]:
    if form == "csv":
        yield csv_line(FIELDS)
    for change in found:
        if form == "csv":
            yield csv_line(_fields(change).values())
        elif form == "jsonl":
            yield json_line(_fields(change))
        else:
            yield "\t".join(_cells(change))


def _fields(change: "Change") -> dict[str, object]:
    before = None if change.before is None else _iso(change.before)
    fields: dict[str, object] = {name: getattr(change, name) for name in FIELDS}
    return fields | {"time": _iso(change.time), "before": before}


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _cells(change: "Change") -> tuple[str, ...]:
    from streams.logging import printable

    more = change.target or change.reason or change.excerpt
    age = time.time() - change.time
    when = f"{lasting(age)} ago" if age >= UNITS["m"] else "just now"
    cells = (when, change.predicate, change.kind, change.title, change.url)
    return (*map(printable, cells), printable(more, _SHOWN))


def _feeds(found: "Iterator[Iterator[Change]]", predicate: str | None, out: Path | None) -> None:
    """Write the feed, and anew after each of the batches that has something new."""
    from agents.operate.inspect.rss import ITEMS, feed

    title = "Scentline" if predicate is None else f"Scentline: {predicate}"
    newest: deque[Change] = deque(maxlen=ITEMS)
    for number, batch in enumerate(found):
        new = deque(batch, maxlen=ITEMS)
        newest += new
        if new or number == 0:
            _write(feed(title, reversed(newest)), out)


def _put(lines: Iterable[str], out: Path | None) -> None:
    if out is None:
        for line in lines:
            typer.echo(line)
        return
    with _whole(out) as file:
        file.writelines(f"{line}\n".encode() for line in lines)


def _write(text: bytes, out: Path | None) -> None:
    if out is None:
        typer.echo(text, nl=False)
        return
    with _whole(out) as file:
        file.write(text)


@contextmanager
def _whole(path: Path) -> "Iterator[BinaryIO]":
    """Open what takes the place of a file once it is whole; who may read the file stays as it is.

    What is no plain file, such as a pipe, is written to as it stands.
    """
    try:
        known = path.stat().st_mode if path.exists() else None
        with whole(path) if known is None or stat.S_ISREG(known) else path.open("wb") as file:
            yield file
            if known is not None and stat.S_ISREG(known):
                os.fchmod(file.fileno(), stat.S_IMODE(known))
    except OSError as error:
        raise CommandError(f"--out {path}: can't be written: {error.strerror}") from error
