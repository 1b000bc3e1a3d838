"""Where the depth command puts its files; another's files are never touched."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from agents.demo.place import OccupiedError

#: A file that says that a directory is the depth command's, and that another run may replace its files.
MARK = ".scentline-depth"

#: The tables: a row for each site, for each level of a site, and for the moves from each level.
TABLES = ("sites", "levels", "moves")

#: Characters of a file's name: a host may have more than file systems take.
_LONGEST = 200
_UNSAFE = re.compile(r"[^a-z0-9._-]+")


@dataclass(frozen=True)
class Place:
    """The output directory and the names of what is left in it."""

    directory: Path

    @property
    def pictures(self) -> Path:
        """The directory of the pictures, one a site."""
        return self.directory / "sites"

    def picture(self, site: str) -> Path:
        """Return the picture of a site."""
        return self.pictures / f"{_UNSAFE.sub('-', site.lower())[:_LONGEST]}.png"

    def table(self, name: str) -> Path:
        """Return the CSV file of one of `TABLES`."""
        return self.directory / f"{name}.csv"

    def prepare(self) -> None:
        """Make the directory, or clear what an earlier run left in it, and nothing else.

        Raises `OccupiedError` for a path that is no directory, can't be made one, or holds files and no mark.
        """
        mark = self.directory / MARK
        if self.directory.exists() and not self.directory.is_dir():
            raise OccupiedError(f"--out {self.directory}: expected a directory, found a file")
        if not mark.is_file() and self.directory.is_dir() and any(self.directory.iterdir()):
            raise OccupiedError(
                f"--out {self.directory}: holds files that `scentline depth` did not make; expected a new or "
                "empty directory, or an earlier run's"
            )
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            mark.write_text("Made by `scentline depth`, which replaces its own files here.\n", "utf-8")
            if self.pictures.is_dir():
                shutil.rmtree(self.pictures)
            for path in map(self.table, TABLES):
                path.unlink(missing_ok=True)
            self.pictures.mkdir()
        except OSError as error:
            raise OccupiedError(f"--out {self.directory}: can't be written to: {error.strerror}") from error
