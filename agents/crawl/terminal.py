"""The live view of a crawl on a terminal: where it stands, its predicates and their newest matches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from scentline.agents.crawl.engine import Engine
from scentline.agents.crawl.run import Report, Status
from scentline.agents.crawl.view import clock, ending, further, progress
from scentline.agents.frontier.metrics import Kept
from scentline.streams.logging import printable

#: Newest matches shown.
MATCHES = 8


@contextmanager
def shown_on(out: TextIO) -> Iterator[Report]:
    """Give a report function that keeps the view on a terminal up to date."""
    with Live(console=Console(file=out), transient=False, refresh_per_second=4) as live:
        yield lambda engine, status: live.update(_view(engine, status))


def _view(engine: Engine, status: Status) -> Group:
    """Return a head line, the predicates, the newest matches."""
    parts = [
        clock(status.seconds), progress(status), f"{status.requests:,} requests", f"{status.failed:,} failed",
        f"{status.refused:,} refused", f"{status.candidates:,} candidates", *further(status),
        f"{status.in_flight} in flight", *([str(status.slots)] if status.slots else []),
    ]  # fmt: skip
    head = Text(ending(status)[0] if status.ended else "  ".join(parts), style="bold")
    columns = ["predicate", "hits", "judged", "harvest rate", "a request", "a minute", "lately", "lift (95 %)"]
    current = engine.frontier.revisits.figures()
    table = Table(*columns, *(["current"] if current else []), box=None)
    for name, predicate in status.predicates.items():
        table.add_row(
            name,
            str(predicate.hits),
            str(predicate.judged),
            f"{predicate.harvest_rate:.1%}",
            f"{predicate.hits_per_request:.1%}",
            f"{predicate.hits_per_minute:.0f}",
            f"{predicate.recent_rate:.1%}",
            str(predicate.lift or "-"),
            *([_share(current.get(name))] if current else []),
        )
    matches = Text("\n", overflow="ellipsis", no_wrap=True).join(
        Text(f"{name}  {printable(title or url)}  {printable(url)}")
        for name, url, title in reversed(engine.harvest.matches[-MATCHES:])
    )
    return Group(head, table, Text(), matches)


def _share(kept: Kept | None) -> str:
    """Return how many of the matches there are now are current, by estimate."""
    return "-" if kept is None else f"{kept.current / kept.matches:.0%} of {kept.matches}"
