"""What a crawl shows while it runs: a live view on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from scentline.agents.crawl.engine import Engine
from scentline.agents.crawl.run import Report, Status
from scentline.agents.frontier.metrics import Kept
from scentline.streams.logging import printable

if TYPE_CHECKING:
    from rich.console import Group

#: Seconds between two plain lines, and how long these are at most.
LINE_SECONDS, COLUMNS = 5.0, 100
#: Newest matches shown on a terminal.
MATCHES = 8


@contextmanager
def reporter(out: TextIO) -> Iterator[Report]:
    """Give a report function for ``out``, a terminal or not."""
    if out.isatty():
        # Imported where it is used: rich takes 40 ms.
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(file=out), transient=False, refresh_per_second=4) as live:
            yield lambda engine, status: live.update(_view(engine, status))
    else:
        lines = Lines(out)
        yield lines
        lines.finish()


class Lines:
    """Writes a plain line every few seconds, and where the crawl stood at its end."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = float("-inf")
        self._unwritten: Status | None = None

    def __call__(self, engine: Engine, status: Status) -> None:
        """Write a line if it is time."""
        self._unwritten = status
        now = time.monotonic()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            self.finish()

    def finish(self) -> None:
        """Write the newest status unless it has been written; the last one with what each predicate had."""
        status, self._unwritten = self._unwritten, None
        if status is not None:
            lines = ending(status) if status.ended else [line(status)]
            self._out.write("\n".join(lines) + "\n")
            self._out.flush()


def line(status: Status) -> str:
    """Return where the crawl stands, in one line: of what there is to say, what has room."""
    predicates = status.predicates.values()
    text = f"{clock(status.seconds)}  {progress(status)}"
    for part in (
        f"{sum(each.hits for each in predicates):,} hits, "
        f"{sum(each.hits_per_minute for each in predicates):,.0f} a minute",
        *further(status),
        "" if status.slots is None else str(status.slots),
        f"{status.failed:,} failed, {status.refused:,} refused",
        f"{status.candidates:,} candidates",
    ):
        if part and len(text) + len(part) + 2 <= COLUMNS:
            text += f"; {part}"
    return text


def progress(status: Status) -> str:
    """Return how many pages of how many there are, how fast they come, and how long that will take."""
    of = f" of {status.budget:,}" if status.budget else ""
    left = "" if status.seconds_left is None or status.ended else f", {clock(status.seconds_left)} left"
    return f"{status.fetched:,}{of} pages, {status.pages_per_second:.1f}/s{left}"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it.

    >>> clock(65.2), clock(3600)
    ('1:05', '1:00:00')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def ending(status: Status) -> list[str]:
    """Return the lines that a crawl ends with: why, after how long, and what each predicate had of it."""
    head = ("predicate", "hits", "judged", "harvest rate", "a request", "a minute")
    rows = [
        (
            name, f"{each.hits:,}", f"{each.judged:,}", f"{each.harvest_rate:.1%}",
            f"{each.hits_per_request:.1%}", f"{each.hits_per_minute:,.0f}",
        )
        for name, each in status.predicates.items()
    ]  # fmt: skip
    seeds = f", {len(status.refused_seeds):,} of them seeds" if status.refused_seeds else ""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        f"The crawl ended after {clock(status.seconds)}: {status.ended}. "
        f"{status.fetched:,} pages of {status.requests:,} requests, {status.failed:,} failed, "
        f"{status.refused:,} refused{seeds}.",
        *("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in (head, *rows)),
    ]


def further(status: Status) -> list[str]:
    """Return what some crawls do besides: waiting, reading a log, fetching news, visiting pages again."""
    news, keeping = status.news, status.kept_up
    found = ["paused"] if status.paused else []
    found += [] if status.log_read is None else [f"{status.log_read:.0%} of the log read"]
    if news is not None:
        delay = f" after {news.delay:.1f} s on average" if news.pages else ""
        found.append(f"{news.hubs} hubs, {news.pages} news{delay}")
    if keeping is not None:
        found.append(f"{keeping.revisits:,} revisits, {keeping.changes:,} changes")
    return found


def _view(engine: Engine, status: Status) -> "Group":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

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
