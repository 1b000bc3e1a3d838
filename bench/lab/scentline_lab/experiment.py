"""What all experiments share: an output directory, tables, an end by Ctrl-C, work spread over processes."""

import gc
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import typer

from scentline.agents.cli.app import INTERRUPTED
from scentline.agents.cli.output import csv_line, print_json
from scentline.agents.observe.logfile import LogFile
from scentline.agents.stored import whole
from scentline.models.errors import ScentlineError
from scentline.streams.configuration import ConfigurationError
from scentline_lab.progress import Progress, progress

T = TypeVar("T")
R = TypeVar("R")
_ENDING = (signal.SIGINT, signal.SIGTERM)


class OccupiedError(ScentlineError):
    """The output directory can't be written to, or holds files of others; the text names it."""


class WorkerError(ScentlineError):
    """A worker process ended before its work did."""


class OutputDirectory:
    """The output directory of a ``command``: it writes ``files`` (patterns), empties ``directories``."""

    command: ClassVar[str]
    files: ClassVar[Sequence[str]]
    directories: ClassVar[Sequence[str]] = ()

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def prepared(cls, directory: Path | None) -> Self | None:
        if directory is None:
            return None
        output = cls(directory)
        output.prepare()
        return output

    def picture(self, name: str) -> Path:
        return self.directory / f"{name}.png"

    def write(
        self,
        name: str,
        columns: Sequence[str],
        rows: Iterable[Iterable[object]],
        *,
        form: str = "",
        end: str = "\n",
    ) -> None:
        """Write a table as a CSV file, whole or not at all: floats rounded, or in ``form``; None is empty."""

        def cells(row: Iterable[object]) -> Iterator[object]:
            for cell in row:
                yield (
                    cell
                    if not isinstance(cell, float)
                    else format(cell, form)
                    if form
                    else rounded(float(cell))
                )

        with whole(self.directory / f"{name}.csv") as file:
            file.writelines(f"{csv_line(cells(row))}{end}".encode() for row in chain((columns,), rows))

    def prepare(self) -> None:
        """Make the directory, or remove the files of an earlier run, and nothing else. The mark of the command
        is the file ``.scentline-COMMAND``. Raises `OccupiedError` for a path that is no directory, can't be
        made one or written to, or holds files and no mark.
        """
        mark = self.directory / f".scentline-{self.command}"
        if self.directory.exists() and not self.directory.is_dir():
            raise OccupiedError(f"--out {self.directory}: expected a directory, found a file")
        if not mark.is_file() and self.directory.is_dir() and any(self.directory.iterdir()):
            raise OccupiedError(
                f"--out {self.directory}: holds files that `scentline {self.command}` did not make; expected "
                "a new or empty directory, or an earlier run's"
            )
        made_by = f"Made by `scentline {self.command}`, which replaces its own files here.\n"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            mark.write_text(made_by, encoding="utf-8")
            self._clear()
        except OSError as error:
            raise OccupiedError(f"--out {self.directory}: can't be written to: {error.strerror}") from error

    def _clear(self) -> None:
        for path in chain.from_iterable(map(self.directory.glob, self.files)):
            path.unlink()
        for directory in map(self.directory.joinpath, self.directories):
            if directory.is_dir():
                shutil.rmtree(directory)
            directory.mkdir()


def rounded(value: float | None) -> float | None:
    """Return a figure as tables and JSON have it; None stays None."""
    return None if value is None else round(value, 6)


def cell(value: float | None, form: str = ".3f") -> str:
    """Return a figure as tables on a terminal have it, "-" for None."""
    return "-" if value is None else format(value, form)


def finish(out: Path | None, look: str = "", as_json: bool = False, found: Callable[[], Any] = dict) -> None:
    """Print where the files are, and which of them to look at; then what was ``found``, if JSON is wanted."""
    if out is not None:
        typer.echo(f"\nEverything is in {out}{f'; look at {out / look}' if look else ''}")
    if as_json:
        print_json(found())


def check_files(option: str, paths: Iterable[Path]) -> None:
    """Raise `ConfigurationError` for a path where there is no file; ``option`` stands before it."""
    for path in paths:
        if not path.is_file():
            raise ConfigurationError(f"{option}{path}: there is no such file")


def check_logs(sources: Iterable[str]) -> None:
    """Raise what opening a log raises, before anything is made of it; standard input and pipes open once."""
    for source in sources:
        if source != "-" and not Path(source).is_fifo():
            LogFile(source).close()


@contextmanager
def interruptible(left: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C end the command with a line, whose end ``left`` returns."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted{left()}.", err=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def working(left: Callable[[], str]) -> Iterator[Progress]:
    """Give a progress display, `interruptible`."""
    with interruptible(left), progress(sys.stderr) as bars:
        yield bars


def spread(function: Callable[[T], R], tasks: Iterable[T], processes: int) -> Generator[R, None, None]:
    """Yield what ``function`` returns for each task as it is done, in whatever order.

    ``function`` and all it holds are inherited by ``processes`` forked workers; tasks and results are pickled.
    What it raises is raised here. When the iteration ends, however it does, the workers are ended, in the
    middle of a task too. Raises `WorkerError` when one of them dies.
    """
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
    except BrokenProcessPool as error:
        raise WorkerError(
            f"a worker process ended before its work did: is there too little memory? {error}"
        ) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        gc.unfreeze()
        for worker in set(active_children()) - others:
            worker.terminate()
        workers.shutdown(cancel_futures=True)


_function: Callable[[Any], Any]


def _begin(function: Callable[[Any], Any]) -> None:
    """Begin as a worker. Ctrl-C goes to all processes of a terminal; the parent ends this one."""
    global _function  # noqa: PLW0603
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _do(task: Any) -> Any:
    return _function(task)
