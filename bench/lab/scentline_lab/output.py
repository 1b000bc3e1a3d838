"""What a laboratory leaves: tables, and a directory in which another's files are never touched."""

import shutil
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar, Self

from scentline.agents.cli.output import csv_line
from scentline.agents.stored import whole
from scentline.models.errors import ScentlineError


class OccupiedError(ScentlineError):
    """The output directory can't be had, or holds what the command did not put there; the text names it."""


class OutputDirectory:
    """The output directory of a command, and where in it the command leaves its tables and pictures.

    A subclass names the command, the files that it leaves, as patterns, and its directories, which are made
    anew. In an error ``others`` are the files of another, and an ``earlier`` run's would do.
    """

    command: ClassVar[str]
    files: ClassVar[Sequence[str]]
    directories: ClassVar[Sequence[str]] = ()
    others: ClassVar[str | None] = None
    earlier: ClassVar[str] = "an earlier run's"

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def prepared(cls, directory: Path | None) -> Self | None:
        """Return the directory as `prepare` leaves it, None where there is to be none."""
        if directory is None:
            return None
        output = cls(directory)
        output.prepare()
        return output

    def table(self, name: str) -> Path:
        """Return the CSV file of a table."""
        return self.directory / f"{name}.csv"

    def picture(self, name: str) -> Path:
        """Return the file of a picture."""
        return self.directory / f"{name}.png"

    def prepare(self) -> None:
        """Make the directory, or clear what an earlier run left in it, and nothing else.

        The mark of the command is the file ``.scentline-COMMAND``. Raises `OccupiedError` for a path that is no
        directory, can't be made one or written to, or holds files and no mark.
        """
        mark = self.directory / f".scentline-{self.command}"
        if self.directory.exists() and not self.directory.is_dir():
            raise OccupiedError(f"--out {self.directory}: expected a directory, found a file")
        if not mark.is_file() and self.directory.is_dir() and any(self.directory.iterdir()):
            held = self.others or f"files that `scentline {self.command}` did not make"
            raise OccupiedError(
                f"--out {self.directory}: holds {held}; expected a new or empty directory, or {self.earlier}"
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


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Iterable[object]], end: str = "\n") -> None:
    """Write a CSV file, as `csv_line` has its lines, with ``end`` behind each: the whole file, or none."""
    with whole(path) as file:
        file.writelines(f"{csv_line(cells)}{end}".encode() for cells in chain((columns,), rows))


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Return a figure as tables have it; None, an empty cell, stays None."""
    return None if value is None else round(value, digits)
