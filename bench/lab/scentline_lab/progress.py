"""How far a long command is: a bar on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress

#: Seconds between two plain lines.
LINE_SECONDS = 5.0


class Progress(Protocol):
    """Is told of the steps of a phase, one after the other."""

    def phase(self, name: str, steps: int) -> None:
        """Begin a phase of so many steps."""

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""


@contextmanager
def progress(out: TextIO) -> Iterator[Progress]:
    """Give a progress display on ``out``, a terminal or not."""
    if out.isatty():
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        with RichProgress(*columns, console=Console(file=out)) as bars:
            yield Bars(bars)
    else:
        yield Lines(out)


class Bars:
    """A bar for each phase."""

    def __init__(self, bars: RichProgress) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def phase(self, name: str, steps: int) -> None:
        """Add a bar below the last one."""
        self._task = self._bars.add_task(name, total=steps)

    def advance(self, steps: int = 1) -> None:
        """Move the newest bar."""
        if self._task is not None:
            self._bars.advance(self._task, steps)


class Lines:
    """A line at the end of each phase, and every few seconds within one."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._started = self._last = time.monotonic()
        self._name, self._steps, self._done = "", 0, 0

    def phase(self, name: str, steps: int) -> None:
        """Begin to count anew."""
        self._name, self._steps, self._done = name, steps, 0
        self._last = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        """Write a line if it is time."""
        self._done += steps
        now = time.monotonic()
        if self._done >= self._steps or now - self._last >= LINE_SECONDS:
            self._last = now
            seconds = now - self._started
            self._out.write(f"{seconds:6.1f} s  {self._name}: {self._done} of {self._steps}\n")
            self._out.flush()
