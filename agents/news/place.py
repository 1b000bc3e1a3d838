"""Where the command puts its files; another's files are never touched."""

from dataclasses import dataclass
from pathlib import Path

from agents.demo.place import OccupiedError

#: A file that says that a directory is the command's own, and that its files may be replaced.
MARK = ".scentline-news"
#: The tables, as CSV: pages, hubs, prefixes, how well news were told, and the daily clicks that are drawn.
TABLES = ("pages", "hubs", "prefixes", "measures", "daily")
#: The pictures.
PICTURES = ("daily", "concentration")


@dataclass(frozen=True)
class Place:
    """The output directory and the names of what is left in it."""

    directory: Path

    def table(self, name: str) -> Path:
        """Return the CSV file of one of `TABLES`."""
        return self.directory / f"{name}.csv"

    def picture(self, name: str) -> Path:
        """Return the file of one of `PICTURES`."""
        return self.directory / f"{name}.png"

    def prepare(self) -> None:
        """Make the directory, or clear what an earlier run left in it, and nothing else.

        Raises `OccupiedError` for a path that is no directory, can't be made one, or holds files and no mark.
        """
        mark = self.directory / MARK
        if self.directory.exists() and not self.directory.is_dir():
            raise OccupiedError(f"--out {self.directory}: expected a directory, found a file")
        if not mark.is_file() and self.directory.is_dir() and any(self.directory.iterdir()):
            raise OccupiedError(
                f"--out {self.directory}: holds files that `scentline news` did not make; expected a new or "
                "empty directory, or an earlier run's"
            )
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            mark.write_text("Made by `scentline news`, which replaces its own files here.\n", encoding="utf-8")
            for path in (*map(self.table, TABLES), *map(self.picture, PICTURES)):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise OccupiedError(f"--out {self.directory}: can't be written to: {error.strerror}") from error
