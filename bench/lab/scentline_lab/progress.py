"""How far a long command is: a bar on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

#: Seconds between two plain lines.
LINE_SECONDS = 5.0


class Progress:
    """Is told of the steps of a phase, one after the other; writes a line at its end, and some before."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._started = out, time.monotonic()
        self.phase("", 0)

    def phase(self, name: str, steps: int) -> None:
        """Begin a phase of so many steps."""
        self._name, self._steps, self._done, self._last = name, steps, 0, time.monotonic()

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done."""
        self._done += steps
        now = time.monotonic()
        if self._done >= self._steps or now - self._last >= LINE_SECONDS:
            self._last = now
            self._out.write(f"{now - self._started:6.1f} s  {self._name}: {self._done} of {self._steps}\n")
            self._out.flush()


class _Bars(Progress):
    """The same with a bar for each phase."""

    def __init__(self, bars: RichProgress) -> None:
        self._bars = bars

    def phase(self, name: str, steps: int) -> None:
        self._task = self._bars.add_task(name, total=steps)

    def advance(self, steps: int = 1) -> None:
        self._bars.advance(self._task, steps)


@contextmanager
def progress(out: TextIO) -> Iterator[Progress]:
    """Give a progress display on ``out``, a terminal or not."""
    if not out.isatty():
        yield Progress(out)
        return
    left = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with RichProgress(*left, TextColumn("left"), TimeRemainingColumn(), console=Console(file=out)) as bars:
        yield _Bars(bars)
