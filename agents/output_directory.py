"""The output directory of a command: its own files are replaced, another's are never touched."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from models.errors import ScentlineError


class OccupiedError(ScentlineError):
    """The output directory can't be had, or holds what the command did not put there; the text names it."""


@contextmanager
def claimed(
    directory: Path, command: str, theirs: str | None = None, earlier: str = "an earlier run's"
) -> Iterator[None]:
    """Make the directory and mark it as the command's; within, the files of an earlier run are cleared.

    The mark is the file ``.scentline-COMMAND``. Raises `OccupiedError` for a path that is no directory, can't
    be made one or written to, or holds files and no mark: ``theirs`` says whose these are, ``earlier`` whose
    would do.
    """
    mark = directory / f".scentline-{command}"
    if directory.exists() and not directory.is_dir():
        raise OccupiedError(f"--out {directory}: expected a directory, found a file")
    if not mark.is_file() and directory.is_dir() and any(directory.iterdir()):
        held = theirs or f"files that `scentline {command}` did not make"
        raise OccupiedError(f"--out {directory}: holds {held}; expected a new or empty directory, or {earlier}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        mark.write_text(
            f"Made by `scentline {command}`, which replaces its own files here.\n", encoding="utf-8"
        )
        yield
    except OSError as error:
        raise OccupiedError(f"--out {directory}: can't be written to: {error.strerror}") from error


class Outputs:
    """The output directory of a command, and where in it the command leaves its tables and pictures.

    A subclass names the command, its tables, which are CSV files, and how each picture's name ends.
    """

    command: ClassVar[str]
    tables: ClassVar[Sequence[str]]
    pictures: ClassVar[Mapping[str, str]]

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def table(self, name: str) -> Path:
        """Return the CSV file of a table."""
        return self.directory / f"{name}.csv"

    def picture(self, name: str) -> Path:
        """Return the file of a picture."""
        return self.directory / f"{name}.{self.pictures[name]}"

    def prepare(self) -> None:
        """Make the directory, or clear what an earlier run left in it, and nothing else.

        Raises `OccupiedError`.
        """
        with claimed(self.directory, self.command):
            for path in (*map(self.table, self.tables), *map(self.picture, self.pictures)):
                path.unlink(missing_ok=True)
