"""Where a comparison puts its files; another's files are never touched."""

from dataclasses import dataclass
from pathlib import Path

from agents.output_directory import claimed

# The files that a comparison leaves, as patterns.
_OWN = (
    "order.*.csv", "figures.csv", "threshold.csv", "stop.csv", "buffer.csv", "walk.csv", "histogram.csv",
    "topics.csv", "thresholds.png", "threshold-*.png", "stop.png", "buffer.png", "histogram.png", "topic-*.png",
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """The output directory and the names of what a comparison leaves in it."""

    directory: Path

    def order(self, name: str) -> Path:
        """Return the file of one crawl's order."""
        return self.directory / f"order.{name}.csv"

    def table(self, name: str) -> Path:
        """Return a CSV file."""
        return self.directory / f"{name}.csv"

    def picture(self, name: str) -> Path:
        """Return a picture."""
        return self.directory / f"{name}.png"

    def prepare(self) -> None:
        """Make the directory, or remove what an earlier comparison left in it, and nothing else.

        Raises `agents.output_directory.OccupiedError`.
        """
        theirs, earlier = "files that no comparison of orderings made", "an earlier comparison's"
        with claimed(self.directory, "order", theirs, earlier):
            for pattern in _OWN:
                for path in self.directory.glob(pattern):
                    path.unlink()
