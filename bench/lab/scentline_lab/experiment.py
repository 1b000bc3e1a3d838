"""What all experiments share: where they write, an end by Ctrl-C, and work spread over processes."""

import gc
import shutil
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Self, TextIO, TypeVar

import typer

from scentline.agents.cli.app import INTERRUPTED
from scentline.agents.cli.output import csv_line, print_json
from scentline.agents.observe.logfile import LogFile
from scentline.agents.stored import whole
from scentline.models.errors import ScentlineError
from scentline.streams.settings import ConfigurationError

T = TypeVar("T")
R = TypeVar("R")
_ENDING = (signal.SIGINT, signal.SIGTERM)


class OccupiedError(ScentlineError):
    """The output directory can't be written to, or holds files of others; the text names it."""


class WorkerError(ScentlineError):
    """A worker process ended before its work did."""


@dataclass
class Output:
    """Where a ``command`` writes ``files`` (patterns) and ``directories``; nowhere without a directory."""

    directory: Path | None
    command: str
    files: Sequence[str]
    directories: Sequence[str] = ()

    def path(self, name: str) -> Path:
        assert self.directory is not None
        return self.directory / name

    def write(
        self, name: str, columns: Iterable[str], rows: Iterable[Iterable[object]], form: str = ""
    ) -> None:
        """Write a table as a CSV file, whole or not at all: floats rounded, or in ``form``; None is empty."""

        def told(cell: object) -> object:
            return cell if not isinstance(cell, float) else format(cell, form) if form else rounded(float(cell))

        if self.directory is not None:
            with whole(self.directory / f"{name}.csv") as file:
                file.writelines(f"{csv_line(map(told, row))}\n".encode() for row in chain((columns,), rows))

    def draw(self, name: str, picture: Callable[..., object], *given: object) -> None:
        if self.directory is not None:
            picture(self.directory / name, *given)

    def prepare(self) -> Self:
        """Make the directory, or remove the files of an earlier run, which its file ``.scentline-COMMAND``
        marks. Raises `OccupiedError` for a path that can't be a directory of the command, or be written to.
        """
        directory, command = self.directory, self.command
        if directory is None:
            return self
        mark = directory / f".scentline-{command}"
        if directory.exists() and not directory.is_dir():
            raise OccupiedError(f"--out {directory}: expected a directory, found a file")
        if not mark.is_file() and directory.is_dir() and any(directory.iterdir()):
            why = f"holds files that `scentline {command}` did not make"
            expected = "expected a new or empty directory, or an earlier run's"
            raise OccupiedError(f"--out {directory}: {why}; {expected}")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            mark.write_text(f"Made by `scentline {command}`, which replaces its own files here.\n")
            self._clear(directory)
        except OSError as error:
            raise OccupiedError(f"--out {directory}: can't be written to: {error.strerror}") from error
        return self

    def _clear(self, directory: Path) -> None:
        for path in chain.from_iterable(map(directory.glob, self.files)):
            path.unlink()
        for emptied in map(directory.joinpath, self.directories):
            if emptied.is_dir():
                shutil.rmtree(emptied)
            emptied.mkdir()

    def finish(self, look: str = "", as_json: bool = False, found: Callable[[], Any] = dict) -> None:
        """Print where the files are, and which to look at; then what was ``found``, if JSON is wanted."""
        if self.directory is not None:
            at = f"; look at {self.directory / look}" if look else ""
            typer.echo(f"\nEverything is in {self.directory}{at}")
        if as_json:
            print_json(found())


def rounded(value: float | None) -> float | None:
    """Return a figure as tables and JSON have it; None stays None."""
    return None if value is None else round(value, 6)


def cell(value: float | None, form: str = ".3f") -> str:
    """Return a figure as tables on a terminal have it, "-" for None."""
    return "-" if value is None else format(value, form)


def check_files(option: str, paths: Iterable[Path]) -> None:
    """Raise `ConfigurationError` for a path without a file; ``option`` stands before it."""
    for path in paths:
        if not path.is_file():
            raise ConfigurationError(f"{option}{path}: there is no such file")


def check_logs(sources: Iterable[str]) -> None:
    """Raise what opening a log raises, before anything is made of it; standard input and pipes open once."""
    for source in sources:
        if source != "-" and not Path(source).is_fifo():
            LogFile(source).close()


class Cut:
    """Lets Ctrl-C end what is done ``with`` it; what follows covers what was done so far."""

    interrupted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> bool:
        self.interrupted = kind is KeyboardInterrupt
        return self.interrupted

    def end(self, text: str) -> None:
        """End the command with ``text`` if it was interrupted."""
        if self.interrupted:
            typer.echo(f"\n{text}", err=True)
            raise typer.Exit(INTERRUPTED)


def spread(
    function: Callable[[T], R],
    tasks: Iterable[T],
    processes: int,
    bars: "Progress | None" = None,
    phase: str = "",
) -> Generator[R, None, None]:
    """Yield what ``function`` returns for each task as it is done; a ``phase`` of ``bars`` counts them.

    ``processes`` forked workers inherit ``function`` and all it holds, and end with the iteration, even in the
    middle of a task. Raises what a worker raises, and `WorkerError` if one dies.
    """
    if bars is not None:
        bars.phase(phase, len(tasks := list(tasks)))
    waiting, others = iter(tasks), set(active_children())
    # What the garbage collector does not touch stays shared: a look at an object writes to its page of memory.
    gc.freeze()
    # None of the signals comes between a fork and `_begin`.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    workers = ProcessPoolExecutor(processes, get_context("fork"), initializer=_begin, initargs=(function,))
    try:
        busy = {workers.submit(_do, task) for task in islice(waiting, 2 * processes)}
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        while busy:
            done, busy = wait(busy, return_when=FIRST_COMPLETED)
            busy |= {workers.submit(_do, task) for task in islice(waiting, len(done))}
            for future in done:
                yield future.result()
                if bars is not None:
                    bars.advance()
    except BrokenProcessPool as error:
        why = "a worker process ended before its work did: is there too little memory?"
        raise WorkerError(f"{why} {error}") from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        gc.unfreeze()
        for worker in set(active_children()) - others:
            worker.terminate()
        workers.shutdown(cancel_futures=True)


_function: Callable[[Any], Any]


def _begin(function: Callable[[Any], Any]) -> None:
    # Ctrl-C goes to all processes of a terminal; the parent ends this one.
    global _function  # noqa: PLW0603
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _do(task: Any) -> Any:
    return _function(task)


_LINE_SECONDS = 5.0


class Progress:
    """Counts the steps of one phase after another; writes a line at the end of each, and some before."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out, self._started = out or sys.stderr, time.monotonic()
        self.phase("", 0)

    def phase(self, name: str, steps: int) -> None:
        self._name, self._steps, self._done, self._last = name, steps, 0, time.monotonic()

    def advance(self, steps: int = 1) -> None:
        self._done += steps
        now = time.monotonic()
        if self._done >= self._steps or now - self._last >= _LINE_SECONDS:
            self._last = now
            self._out.write(f"{now - self._started:6.1f} s  {self._name}: {self._done} of {self._steps}\n")
            self._out.flush()
