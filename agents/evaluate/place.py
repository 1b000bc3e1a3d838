"""Where an evaluation puts its files; another's files are never touched."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from agents.output_directory import claimed

_UNSAFE = re.compile(r"[^A-Za-z0-9+_-]+")


@dataclass(frozen=True)
class Place:
    """The output directory and the names of what an evaluation leaves in it."""

    directory: Path

    @property
    def orders(self) -> Path:
        """The directory of the crawls' orders."""
        return self.directory / "orders"

    def order(self, predicate: str, policy: str, start: int) -> Path:
        """Return the file of one crawl's order."""
        return self.orders / f"{predicate}.{_slug(policy)}.{start}.csv"

    @property
    def lifts(self) -> Path:
        """The directory of the predicates' lift curves."""
        return self.directory / "lift"

    def lift(self, predicate: str | None) -> Path:
        """Return the picture of a predicate's lift curves, or of the mean of all."""
        return self.directory / "lift.png" if predicate is None else self.lifts / f"{predicate}.png"

    @property
    def reliability(self) -> Path:
        """The reliability diagram."""
        return self.directory / "reliability.png"

    @property
    def report(self) -> Path:
        """The page that shows everything."""
        return self.directory / "report.html"

    def table(self, name: str) -> Path:
        """Return the CSV file of one of `TABLES`."""
        return self.directory / f"{name}.csv"

    def prepare(self) -> None:
        """Make the directory, or clear what an earlier evaluation left in it, and nothing else.

        Raises `agents.output_directory.OccupiedError`.
        """
        with claimed(self.directory, "evaluate", "files that no evaluation made", "an earlier evaluation's"):
            self._clear()
            self.orders.mkdir()
            self.lifts.mkdir()

    def _clear(self) -> None:
        for directory in (self.orders, self.lifts):
            if directory.is_dir():
                shutil.rmtree(directory)
        for path in (self.lift(None), self.reliability, self.report, *map(self.table, TABLES)):
            path.unlink(missing_ok=True)


#: The tables: the seed pages, every crawl's figures, the means of them, policies compared, and the curves.
TABLES = ("seeds", "results", "table", "comparisons", "curves")


def _slug(policy: str) -> str:
    return _UNSAFE.sub("-", policy)
