"""``scentline changes``: what appeared among the matches, changed, left and moved; also as a feed.

Feed readers subscribe to it (RSS 2.0, https://www.rssboard.org/rss-specification). Titles are plain text,
descriptions HTML: text from pages is escaped in both. It loses what XML 1.0 can't hold (2.2, Characters),
control characters, and those that change the direction of text (Unicode UAX 9).
"""

import html
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import blake2b
from heapq import merge
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree.ElementTree import Element, SubElement, tostring

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import Given, command
from scentline.agents.cli.output import UNITS, Columns, Shape, lasting, opened

if TYPE_CHECKING:
    from scentline.models.published import Change
    from scentline.streams.settings import Settings

#: The columns of CSV and the keys of JSON.
FIELDS = ("time", "predicate", "kind", "url", "title", "excerpt", "before", "reason", "target", "origin")
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
    takes=("data", "broker", "rss", "since"),
)
def changes(
    given: Given,
    follow: Annotated[bool, typer.Option("--follow", help="Go on with new changes until Ctrl-C.")] = False,
    predicate: Annotated[
        str | None, typer.Option("--predicate", metavar="NAME", help="Only this predicate's matches.")
    ] = None,
) -> None:
    """Print what appeared among the pages that satisfy a predicate, changed, left and moved, oldest first.

    Only crawls that visit pages again tell it. A feed (RSS) holds the newest 200 changes; with --follow and
    --out it is written anew whenever there are others.
    """
    from scentline.agents.operate.control import check_known

    if follow and (given.form == "rss") != (given.out is not None):
        raise CommandError("--follow prints lines, or writes a feed with --format rss --out FILE")
    settings = given.settings()

    def asked(change: "Change") -> bool:
        return change.time >= given.begin and predicate in (None, change.predicate)

    if predicate is not None:
        check_known(settings, predicate)
    found = (filter(asked, batch) for batch in _told(settings, follow))
    try:
        if given.form == "rss":
            _feeds(found, predicate, given.out)
        else:
            shape = Shape(_COLUMNS, FIELDS, _fields)
            given.print_rows(chain.from_iterable(found), shape, follow=follow)
    except KeyboardInterrupt:
        return


def _told(settings: "Settings", follow: bool) -> "Iterator[Iterator[Change]]":
    """Yield the published changes, and with ``follow`` new ones; if there are none, say why."""
    from scentline.agents.worker.directory import of_crawl

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


def _when(change: "Change") -> str:
    age = time.time() - change.time
    return f"{lasting(age)} ago" if age >= UNITS["minute"] else "just now"


def _more(change: "Change") -> str:
    from scentline.streams.logging import printable

    return printable(change.target or change.reason or change.excerpt, _SHOWN)


_COLUMNS: Columns = {
    "when": _when, "predicate": "predicate", "what": "kind", "title": "title", "url": "url", "more": _more,
}  # fmt: skip


def _feeds(found: "Iterator[Iterator[Change]]", predicate: str | None, out: Path | None) -> None:
    title = "Scentline" if predicate is None else f"Scentline: {predicate}"
    newest: deque[Change] = deque(maxlen=ITEMS)
    for number, batch in enumerate(found):
        new = deque(batch, maxlen=ITEMS)
        newest += new
        if new or number == 0:
            with opened(out) as file:
                file.write(feed(title, reversed(newest)))
                file.flush()


#: Changes remembered to detect repeats. These come soon, when a worker takes over from another.
REMEMBERED = 100_000


def told(settings: "Settings", follow: bool) -> "Iterator[Iterator[Change]]":
    """Yield the changes of a crawl, and with ``follow`` new ones as they arrive, in batches, each change once.

    Those of a partition are in its order, those of several are merged by time. Changes of equal origin,
    predicate and kind are one. Raises `JournalMissingError` without a crawl, `AdminError` if brokers don't
    answer.
    """
    from scentline.agents.operate.record import followed, read_change, records
    from scentline.streams.topics import CHANGES

    seen: dict[tuple[str, str, str], None] = {}

    def is_new(change: "Change") -> bool:
        key = change.origin, change.predicate, change.kind
        known = key in seen
        seen[key] = None
        if len(seen) > REMEMBERED:
            del seen[next(iter(seen))]
        return not known

    for partitions in followed(settings, CHANGES.name, follow):
        changes = (records(found, read_change) for found in partitions)
        yield filter(is_new, merge(*changes, key=attrgetter("time")))


#: Most changes in a feed, the newest: readers poll before so many more have come.
ITEMS = 200
#: Characters of a title, and of an excerpt or a reason.
TITLE, TEXT = 200, 1_000

_UNSHOWN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def feed(title: str, newest: "Iterable[Change]") -> bytes:
    """Return a feed of these changes, at most `ITEMS`, in their order."""
    changes = list(newest)[:ITEMS]
    rss = Element("rss", version="2.0")
    channel = SubElement(rss, "channel")
    _say(channel, "title", title)
    # A channel needs the address of a site, and a crawl has no single one.
    _say(channel, "link", _link(changes[0]) if changes else "about:blank")
    _say(channel, "description", "What appeared, changed, left and moved")
    _say(channel, "generator", "Scentline")
    if changes:
        _say(channel, "lastBuildDate", _date(max(change.time for change in changes)))
    for change in changes:
        _item(SubElement(channel, "item"), change)
    text: bytes = tostring(rss, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _item(item: Element, change: "Change") -> None:
    _say(item, "title", f"{change.kind.capitalize()}: {(change.title or change.url)[:TITLE]}")
    _say(item, "link", _link(change))
    _say(item, "description", "".join(f"<p>{html.escape(line)}</p>" for line in _description(change)))
    _say(item, "category", change.predicate)
    _say(item, "pubDate", _date(change.time))
    SubElement(item, "guid", isPermaLink="false").text = guid(change)


def guid(change: "Change") -> str:
    """Return the name of a change: the same wherever it is published, and unique."""
    parts = (change.origin, change.predicate, change.kind, change.url, repr(change.time))
    return "scentline:" + blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _link(change: "Change") -> str:
    return change.target or change.url


def _description(change: "Change") -> Iterable[str]:
    """Yield lines: the page's excerpt, where it went or why, and when it was visited before."""
    where = f"{change.url} is at {change.target} now" if change.target else change.reason
    yield from filter(None, (change.excerpt[:TEXT], where[:TEXT]))
    if change.before is not None:
        yield f"The visit before was on {_date(change.before)}"


def _date(time: float) -> str:
    return format_datetime(datetime.fromtimestamp(time, UTC), usegmt=True)


def _say(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _UNSHOWN.sub("", text)
