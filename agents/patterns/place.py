"""Where the command puts its files; another's files are never touched."""

from dataclasses import dataclass
from pathlib import Path

from agents.output_directory import claimed

#: The tables, as CSV: the patterns, what the trees came to, coverage over time, traffic, and the orderings.
TABLES = ("patterns", "trees", "coverage", "traffic", "orderings", "curves")
#: The pictures, by the end of their names.
PICTURES = {"tree": "svg", "coverage": "png", "fetch": "png", "discovery": "png"}


@dataclass(frozen=True)
class Place:
    """The output directory and the names of what is left in it."""

    directory: Path

    def table(self, name: str) -> Path:
        """Return the CSV file of one of `TABLES`."""
        return self.directory / f"{name}.csv"

    def picture(self, name: str) -> Path:
        """Return the file of one of `PICTURES`."""
        return self.directory / f"{name}.{PICTURES[name]}"

    def prepare(self) -> None:
        """Make the directory, or clear what an earlier run left in it, and nothing else.

        Raises `agents.output_directory.OccupiedError`.
        """
        with claimed(self.directory, "patterns"):
            for path in (*map(self.table, TABLES), *map(self.picture, PICTURES)):
                path.unlink(missing_ok=True)
