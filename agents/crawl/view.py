"""What a crawl shows while it runs: a live view on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from agents.crawl.engine import Engine
from agents.crawl.run import Report, Status

#: Seconds between two plain lines.
LINE_SECONDS = 5.0


@contextmanager
def reporter(out: TextIO) -> Iterator[Report]:
    """Give a report function for ``out``, a terminal or not."""
    if out.isatty():
        # Imported where it is used: it brings rich, 40 ms.
        from agents.crawl.terminal import shown_on

        with shown_on(out) as report:
            yield report
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
        """Write the newest status unless it has been written."""
        if self._unwritten is not None:
            self._out.write(line(self._unwritten) + "\n")
            self._out.flush()
            self._unwritten = None


def line(status: Status) -> str:
    """Return where the crawl stands, in one line."""
    rates = ", ".join(
        f"{name} {predicate.hits}/{predicate.judged} ({predicate.harvest_rate:.0%}, "
        f"{predicate.hits_per_request:.0%} of requests, {predicate.hits_per_minute:.0f} a minute)"
        for name, predicate in status.predicates.items()
    )
    return (
        f"{status.seconds:6.1f} s  {status.fetched} pages ({status.pages_per_second:.1f}/s) of "
        f"{status.requests} requests, {status.failed} failed, {status.refused} refused, "
        f"{status.candidates} candidates{_slots(status)}{further(status)}; {rates}"
    )


def _slots(status: Status) -> str:
    return "" if status.slots is None else f", {status.slots}"


def further(status: Status) -> str:
    """Return what some crawls do besides: waiting, reading a log, fetching news, visiting pages again."""
    paused = ", paused" if status.paused else ""
    return f"{paused}{_log_read(status)}{_news_fetched(status)}{_kept_up(status)}"


def _news_fetched(status: Status) -> str:
    news = status.news
    if news is None:
        return ""
    delay = f" after {news.delay:.1f} s on average" if news.pages else ""
    return f", {news.hubs} hubs, {news.pages} news{delay}"


def _kept_up(status: Status) -> str:
    keeping = status.kept_up
    return "" if keeping is None else f", {keeping.revisits} revisits, {keeping.changes} changes"


def _log_read(status: Status) -> str:
    return "" if status.log_read is None else f", {status.log_read:.0%} of the log read"
