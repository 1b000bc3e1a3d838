"""Where a comparison puts its files; another's files are never touched."""

from dataclasses import dataclass
from pathlib import Path

from agents.demo.place import OccupiedError

#: A file that says that a directory is a comparison's, and that another may replace its files.
MARK = ".scentline-order"
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

        Raises `OccupiedError` for a path that is no directory, can't be made one, or holds files and no mark
        of a comparison.
        """
        mark = self.directory / MARK
        if self.directory.exists() and not self.directory.is_dir():
            raise OccupiedError(f"--out {self.directory}: expected a directory, found a file")
        if not mark.is_file() and self.directory.is_dir() and any(self.directory.iterdir()):
            raise OccupiedError(
                f"--out {self.directory}: holds files that no comparison of orderings made; expected a new or "
                "empty directory, or an earlier comparison's"
            )
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            mark.write_text("Made by `scentline order`, which replaces its own files here.\n", "utf-8")
            for pattern in _OWN:
                for path in self.directory.glob(pattern):
                    path.unlink()
        except OSError as error:
            raise OccupiedError(f"--out {self.directory}: can't be written to: {error.strerror}") from error
