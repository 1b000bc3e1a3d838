"""The status of a crawl: its figures, in a live view on a terminal, in plain lines elsewhere."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias

from scentline.models.frontier.freshness import Kept
from scentline.models.frontier.instant import NewsStanding
from scentline.models.frontier.standing import Slots
from scentline.models.harvest import Harvest
from scentline.streams.logging import printable

if TYPE_CHECKING:
    from rich.console import Group

    from scentline.agents.worker.crawl import Engine


class PredicateStatus(NamedTuple):
    """A predicate's harvest, over all requests of the crawl and in the last minute of this run."""

    harvest: Harvest
    hits_per_request: float
    hits_per_minute: float


class KeptUp(NamedTuple):
    """How a crawl keeps up: ``revisits`` answered in all its runs, ``changes`` reported in this one."""

    revisits: int
    changes: int


@dataclass(frozen=True)
class Status:
    """A crawl's figures, over all its runs."""

    fetched: int
    pages_per_second: float  #: Judged in this run.
    requests: int  #: Answered ones.
    failed: int  #: URLs without a page; those ``refused`` are not for this crawl.
    refused: int
    seconds: float
    candidates: int
    in_flight: int
    log_read: float | None  #: The share of a log, None where unknown.
    waiting: int  #: Messages for the frontier.
    predicates: dict[str, PredicateStatus]
    news: NewsStanding | None = None  #: In the mode "instant".
    kept_up: KeptUp | None = None  #: Where pages are revisited.
    slots: Slots | None = None  #: Where requests have a delay.
    paused: bool = False
    alone: bool = False  #: Whether no client is at the door.
    budget: int = 0  #: Of pages, 0 for any number.
    seconds_left: float | None = None  #: By the time limit or the page rate.
    refused_seeds: frozenset[str] = frozenset()
    closed: tuple[str, ...] = ()  #: Why spaces of URLs are not fetched further.
    ended: str = ""  #: Why; in the final status.


class Meter:
    """Measures a running engine's status, from its own creation on."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._started = time.monotonic()
        self._before = engine.frontier.core.totals().judged
        self._hits: deque[tuple[float, dict[str, int]]] = deque()

    def status(self, waiting: int = 0) -> Status:
        """Return the current status; ``waiting`` messages wait for the frontier."""
        engine, core = self._engine, self._engine.frontier.core
        totals = core.totals()
        seconds = time.monotonic() - self._started
        harvest = {name: engine.harvest.whole(name) for name in engine.predicates.active}
        before, then = self._a_minute_ago(seconds, {name: state.hits for name, state in harvest.items()})
        run_fetched = totals.judged - self._before
        closed = totals.judged + totals.failed + totals.refused + totals.moved + totals.trapped
        return Status(
            fetched=totals.judged,
            pages_per_second=run_fetched / seconds if seconds else 0.0,
            requests=totals.requests,
            failed=totals.failed,
            refused=totals.refused,
            seconds=seconds,
            candidates=totals.discovered - closed,
            in_flight=len(core.candidates.flights),
            log_read=engine.log_read if engine.feeding else None,
            waiting=waiting,
            predicates={
                name: PredicateStatus(
                    state,
                    state.hits / totals.requests if totals.requests else 0.0,
                    60.0 * (state.hits - then.get(name, 0)) / max(1.0, seconds - before),
                )
                for name, state in harvest.items()
            },
            news=None if core.instant is None else core.instant.standing(),
            kept_up=None if core.schedule is None else KeptUp(totals.revisits, core.tally.changes.total()),
            slots=core.standing.slots(),
            paused=core.paused,
            alone=engine.door is not None and not engine.door.clients,
            budget=core.budget.pages,
            seconds_left=self._seconds_left(seconds, run_fetched),
            refused_seeds=core.refused_seeds,
            closed=(*core.book.spaces.spent.values(),),
        )

    def _seconds_left(self, seconds: float, run_fetched: int) -> float | None:
        settings, budget = self._engine.settings.frontier, self._engine.frontier.core.budget
        by_time = [settings.time - seconds] if settings.time else []
        by_rate = [(budget.remaining or 0) * seconds / run_fetched] if budget.pages and run_fetched else []
        return max(0.0, min(by_time + by_rate)) if by_time or by_rate else None

    def _a_minute_ago(self, seconds: float, hits: dict[str, int]) -> tuple[float, dict[str, int]]:
        """Note predicates' hits; return those of a minute ago, or of the run's start, and when that was."""
        self._hits.append((seconds, hits))
        while len(self._hits) > 1 and self._hits[1][0] <= seconds - 60.0:
            self._hits.popleft()
        return self._hits[0]


# what is shown

#: Called with the engine and its status at intervals.
Report: TypeAlias = "Callable[[Engine, Status], None]"

#: Seconds between two plain lines.
LINE_SECONDS = 5.0
#: Newest matches shown on a terminal, messages for the frontier above which they are mentioned, closed spaces
#: that are named.
MATCHES, WAITING, CLOSED = 8, 50, 5


@contextmanager
def reporter(out: TextIO) -> Iterator[Report]:
    """Yield a report function for ``out``, a terminal or not."""
    if out.isatty():
        # Imported here: rich takes 40 ms.
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(file=out), transient=False, refresh_per_second=4) as live:
            yield lambda engine, status: live.update(_view(engine, status))
    else:
        lines = Lines(out)
        yield lines
        lines.finish()


class Lines:
    """Writes a plain line every few seconds, and the final status."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = float("-inf")
        self._unwritten: Status | None = None

    def __call__(self, engine: "Engine", status: Status) -> None:
        """Write a line if it is time."""
        self._unwritten = status
        now = time.monotonic()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            self.finish()

    def finish(self) -> None:
        """Write the newest status if unwritten; the final one with each predicate's figures."""
        status, self._unwritten = self._unwritten, None
        if status is not None:
            lines = ending(status) if status.ended else [line(status)]
            print(*lines, sep="\n", file=self._out, flush=True)


def line(status: Status) -> str:
    """Return the status in one line."""
    predicates = status.predicates.values()
    parts = (
        f"{clock(status.seconds)}  {progress(status)}",
        f"{sum(each.harvest.hits for each in predicates):,} hits, "
        f"{sum(each.hits_per_minute for each in predicates):,.0f} a minute",
        *further(status),
        "" if status.slots is None else str(status.slots),
        f"{status.failed:,} failed, {status.refused:,} refused",
        f"{status.candidates:,} candidates",
    )
    return "; ".join(filter(None, parts))


def progress(status: Status) -> str:
    """Return the pages fetched, the budget, the rate and the time left."""
    of = f" of {status.budget:,}" if status.budget else ""
    known = None if status.ended or status.waiting > WAITING else status.seconds_left
    left = "" if known is None else f", {clock(known)} left"
    return f"{status.fetched:,}{of} pages, {status.pages_per_second:.1f}/s{left}"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it.

    >>> clock(65.2), clock(3600)
    ('1:05', '1:00:00')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


#: The columns of each predicate's figures.
HEAD = ("predicate", "hits", "judged", "harvest rate", "a request", "a minute")


def ending(status: Status) -> list[str]:
    """Return a crawl's last lines: why and after how long it ended, predicates' figures, what is closed."""
    rows = [HEAD, *_rows(status)]
    seeds = f", {len(status.refused_seeds):,} of them seeds" if status.refused_seeds else ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        f"The crawl ended after {clock(status.seconds)}: {status.ended}. "
        f"{status.fetched:,} pages of {status.requests:,} requests, {status.failed:,} failed, "
        f"{status.refused:,} refused{seeds}, {status.candidates:,} candidates left.",
        *("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows),
        *closed(status),
    ]


def closed(status: Status) -> list[str]:
    """Return which pages are not fetched further, as others like them brought nothing."""
    return [f"one of {len(status.closed):,} closed spaces: {why}" for why in status.closed[:CLOSED]]


def _rows(status: Status) -> Iterator[tuple[str, ...]]:
    for name, each in status.predicates.items():
        found = each.harvest
        rates = f"{found.rate:.1%}", f"{each.hits_per_request:.1%}", f"{each.hits_per_minute:,.0f}"
        yield (name, f"{found.hits:,}", f"{found.pages:,}", *rates)


def further(status: Status) -> list[str]:
    """Return the parts that only some crawls have: pause, log, waiting messages, news, revisits."""
    news, keeping = status.news, status.kept_up
    found = ["paused"] if status.paused else []
    found += ["no client at the door"] if status.alone else []
    found += [] if status.log_read is None else [f"{status.log_read:.0%} of the log read"]
    found += [f"{status.waiting:,} messages to take in first"] if status.waiting > WAITING else []
    if news is not None:
        delay = f" after {news.delay:.1f} s on average" if news.pages else ""
        found.append(f"{news.hubs} hubs, {news.pages} news{delay}")
    if keeping is not None:
        found.append(f"{keeping.revisits:,} revisits, {keeping.changes:,} changes")
    return found


def _view(engine: "Engine", status: Status) -> "Group":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts = [
        clock(status.seconds), progress(status), f"{status.requests:,} requests", f"{status.failed:,} failed",
        f"{status.refused:,} refused", f"{status.candidates:,} candidates", *further(status),
        f"{status.in_flight} in flight", *([str(status.slots)] if status.slots else []),
    ]  # fmt: skip
    head = Text(ending(status)[0] if status.ended else "  ".join(parts), style="bold")
    current = engine.frontier.core.freshness(time.time())
    table = Table(*HEAD, "lately", "lift (95 %)", *(["current"] if current else []), box=None)
    for row, (name, predicate) in zip(_rows(status), status.predicates.items(), strict=True):
        found = predicate.harvest
        lately = f"{found.rate_by_pages:.1%}", str(found.lift_if_sure or "-")
        table.add_row(*row, *lately, *([_share(current.get(name))] if current else []))
    matches = Text("\n", overflow="ellipsis", no_wrap=True).join(
        Text(f"{name}  {printable(title or url)}  {printable(url)}")
        for name, url, title in reversed(engine.harvest.matches[-MATCHES:])
    )
    return Group(head, table, Text("\n".join(closed(status))), matches)


def _share(kept: Kept | None) -> str:
    """Return the estimated share of the matches that is current, and their number."""
    return "-" if kept is None else f"{kept.current / kept.matches:.0%} of {kept.matches}"
