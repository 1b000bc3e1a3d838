"""Where the command puts its files; another's files are never touched."""

from dataclasses import dataclass
from pathlib import Path

from agents.output_directory import claimed

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

        Raises `agents.output_directory.OccupiedError`.
        """
        with claimed(self.directory, "news"):
            for path in (*map(self.table, TABLES), *map(self.picture, PICTURES)):
                path.unlink(missing_ok=True)
