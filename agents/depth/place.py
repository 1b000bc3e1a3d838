"""Where the depth command puts its files; another's files are never touched."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from agents.output_directory import claimed

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

        Raises `agents.output_directory.OccupiedError`.
        """
        with claimed(self.directory, "depth"):
            if self.pictures.is_dir():
                shutil.rmtree(self.pictures)
            for path in map(self.table, TABLES):
                path.unlink(missing_ok=True)
            self.pictures.mkdir()
