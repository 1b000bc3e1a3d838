"""The commands that show what a crawl found and where it stands; they only read."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import Given, command
from scentline.agents.cli.output import Columns, Shape, lasting, opened, print_table

if TYPE_CHECKING:
    from typing import BinaryIO

    from scentline.agents.operate.versions import Listed
    from scentline.models.published import HarvestPoint
    from scentline.models.records import DeadLetter
    from scentline.streams.settings import Settings
    from scentline.streams.transport.database import Entry


@command(
    "window",
    "scentline window",
    "scentline window --data hockey-data --port 8500 --read-only",
    takes=("data", "broker"),
)
def window(
    given: Given,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help="Port to serve at; 0 takes any that is free.")
    ] = None,
    read_only: Annotated[
        bool | None, typer.Option("--read-only", help="Show the crawl without steering it.")
    ] = None,
) -> None:
    """Show a crawl in a browser, and steer it, until Ctrl-C: one that runs, and one at rest.

    Open the address that is printed: it has a token, which keeps others out. Nothing but this machine can reach
    it unless the settings [window] say so. Of a crawl on Kafka it keeps a mirror in the directory --data.
    """
    from scentline.agents.window.command import run

    options = {"window.port": port, "window.read_only": read_only}
    run(given.settings(**options), lambda url: typer.echo(f"The window: {url}"))


@command("top", "scentline top", "scentline top --data hockey-data --once")
def top(
    given: Given, once: Annotated[bool, typer.Option("--once", help="Print it once and end.")] = False
) -> None:
    """Show where a crawl stands, as the window's first screen does, in a terminal, until q or Ctrl-C.

    Only reads. Where the output is no terminal, it is printed once.
    """
    from scentline.agents.window.top import run

    run(given.settings(), sys.stdout, once=once)


# harvest rates


@command(
    "harvest",
    "scentline harvest",
    "scentline harvest --json",
    "scentline harvest --format csv",
    "scentline harvest --broker kafka://localhost:9092",
    takes=("data", "broker", "lines", "since"),
)
def harvest(
    given: Given,
    follow: Annotated[bool, typer.Option("--follow", help="Print new points until Ctrl-C.")] = False,
) -> None:
    """Print each predicate's latest point, or every point with --format jsonl (or --json), csv, or --follow."""
    if follow and given.out is not None:
        raise CommandError("--follow prints lines until Ctrl-C: it does not go with --out")
    points = (point for point in _points(given.settings(), follow) if point.time >= given.begin)
    if given.form == "table" and not follow:
        newest = {point.predicate: point for point in points}
        points = (newest[name] for name in sorted(newest))
    shape = Shape(_COLUMNS_OF_POINT, _NAMES_OF_POINT, _fields_of_point)
    with suppress(KeyboardInterrupt):
        given.print_rows(points, shape, follow=follow)


def _points(settings: "Settings", follow: bool) -> "Iterator[HarvestPoint]":
    from scentline.agents.operate.record import followed, read_point, records
    from scentline.streams.topics import HARVEST

    for partitions in followed(settings, HARVEST.name, follow):
        yield from records(chain.from_iterable(partitions), read_point)


#: The columns of CSV. In JSON a point has all its fields.
_NAMES_OF_POINT = (
    "time", "predicate", "pages", "hits", "harvest_rate", "rate_by_pages", "rate_by_time", "lift", "lift_least",
    "lift_most", "requests", "hits_per_request", "matches", "freshness", "age", "revisits", "revisit_share",
)  # fmt: skip


def _fields_of_point(point: "HarvestPoint") -> dict[str, object]:
    import msgspec

    lift = point.lift_if_sure
    bounds = {"lift": lift and lift.lift, "lift_least": lift and lift.least, "lift_most": lift and lift.most}
    return {**msgspec.to_builtins(point), **bounds}


_COLUMNS_OF_POINT: Columns = {
    "predicate": "predicate", "pages": "pages", "hits": "hits",
    "harvest rate": lambda each: f"{each.harvest_rate:.3f}",
    "lately": lambda each: f"{each.rate_by_pages:.3f}",
    "lift (95 %)": lambda each: each.lift_if_sure and f"{each.lift_if_sure}",
    "requests": "requests",
    "a request": lambda each: f"{each.hits_per_request:.3f}",
    "current": lambda each: None if each.freshness is None else f"{each.freshness:.0%} of {each.matches}",
    "age": lambda each: None if each.age is None else lasting(each.age),
    "revisits": lambda each: None if each.matches is None else f"{each.revisits} ({each.revisit_share:.0%})",
}  # fmt: skip


# the pages that satisfy a predicate


@command(
    "matches",
    "scentline matches science --format jsonl",
    "scentline matches science --format csv",
    "scentline matches science --format warc --out science.warc.gz && ls science.warc.gz",
    "scentline matches science --broker kafka://localhost:9092",
    takes=("data", "broker", "warc", "since"),
)
def matches(
    given: Given,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A predicate's name.")],
) -> None:
    """Print the pages that satisfy the predicate NAME now, in the order of judging.

    --format warc has only kept pages: see the settings keep.pages and keep.max_bytes.
    """
    settings = given.settings()
    rows = [page for page in _matches(settings, name) if page.time >= given.begin]
    if given.form != "warc":
        names = ("url", "title", "time", "depth")
        given.print_rows(rows, Shape(names[:2], names))
        return
    if given.out is None and sys.stdout.isatty():
        raise CommandError("--format warc is not for a terminal: give --out FILE")
    with opened(given.out) as file:
        _warc(settings.data, rows, file)


def _matches(settings: "Settings", name: str) -> "list[Listed]":
    from scentline.agents.operate.control import check_known
    from scentline.agents.operate.record import current_pages, kept_entries, outcomes_of
    from scentline.agents.operate.versions import read_listed
    from scentline.streams.topics import OUTCOMES

    pages = current_pages(outcomes_of(kept_entries(settings, OUTCOMES.name), read_listed)).values()
    check_known(settings, name, *(page.verdict for page in pages))
    return sorted((page for page in pages if page.verdict.get(name)), key=lambda page: page.time)


def _warc(data: Path, rows: "list[Listed]", file: "BinaryIO") -> None:
    from importlib.metadata import version

    from scentline.agents.judge.kept import export

    written = export(data, {row.url: row.time for row in rows}, file, f"scentline {version('scentline')}")
    if written < len(rows):
        typer.echo(f"{len(rows) - written} of {len(rows)} pages are no longer kept", err=True)


# the URLs that brought no page


class Refused(NamedTuple):
    """A URL that brought no page, with the cause in our words and the recorded reason."""

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
    from scentline.models.frontier.answers import KNOWN

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
    given.print_rows(found, Shape(Refused._fields))


def _refused(data: Path) -> Iterator[Refused]:
    from scentline.agents.operate.record import rows
    from scentline.models.frontier.answers import cause_of
    from scentline.models.frontier.keys import PAGE_PREFIX
    from scentline.models.frontier.rows import PageRow
    from scentline.streams.transport.journal import Journal

    with Journal.open(data / "journal", read_only=True) as journal:
        for _, row in rows(journal.table("frontier"), PAGE_PREFIX, PageRow):
            if row.state in ("refused", "gone", "given up"):
                yield Refused(row.url, row.state, cause_of(row.reason), row.reason)


# what could not be read


@command(
    "dead-letters",
    "scentline dead-letters",
    "scentline dead-letters --data scentline-data --json",
    "scentline dead-letters --broker kafka://localhost:9092",
    takes=("data", "broker", "lines", "since"),
)
def dead_letters(given: Given) -> None:
    """Print the messages and log lines that could not be read, each with its place and the reason.

    Only reads; a crawl may be running.
    """
    from scentline.agents.operate.record import kept_entries
    from scentline.streams.logging import printable
    from scentline.streams.topics import DEAD_LETTERS

    entries = kept_entries(given.settings(), DEAD_LETTERS.name)
    letters = (letter for letter in _letters(entries) if letter.time >= given.begin)
    names = ("time", "topic", "partition", "offset", "reason", "value")

    def fields(letter: "DeadLetter") -> dict[str, object]:
        return {name: getattr(letter, name) for name in names} | {"value": _text(letter.value)}

    columns: Columns = {
        "time": lambda letter: datetime.fromtimestamp(letter.time, UTC).isoformat(timespec="seconds"),
        "place": lambda letter: f"{letter.topic}/{letter.partition}@{letter.offset}",
        "reason": "reason",
        "content": lambda letter: printable(_text(letter.value), 120),
    }
    given.print_rows(letters, Shape(columns, names, fields))


def _letters(entries: "Iterable[Entry]") -> "Iterator[DeadLetter]":
    """Yield the letters, oldest first, without the repetitions that a restart leaves."""
    from scentline.agents.operate.record import read_letter

    seen: set[tuple[str, int, int, str]] = set()
    for letter in map(read_letter, entries):
        place = (letter.topic, letter.partition, letter.offset, letter.reason)
        if place not in seen:
            seen.add(place)
            yield letter


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")
