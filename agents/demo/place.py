"""Where the demo puts its files; another's files are never touched."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from agents.output_directory import claimed
from streams.transport.journal import Journal


@dataclass(frozen=True)
class Place:
    """The output directory and the names of what the demo leaves in it."""

    directory: Path

    @property
    def log(self) -> Path:
        """The synthetic web's access log."""
        return self.directory / "access.log"

    @property
    def labels(self) -> Path:
        """URL and category of each page."""
        return self.directory / "labels.tsv"

    @property
    def config(self) -> Path:
        """The settings of both crawls."""
        return self.directory / "scentline.toml"

    @property
    def picture(self) -> Path:
        """The lift curves."""
        return self.directory / "lift.png"

    def data(self, policy: str) -> Path:
        """Return the data directory of a policy's crawl."""
        return self.directory / policy

    def prepare(self, policies: tuple[str, ...]) -> None:
        """Make the directory, or clear what an earlier demo left in it, and nothing else.

        Raises `agents.output_directory.OccupiedError`, and `JournalInUseError` while a crawl runs on the
        earlier demo's data.
        """
        with claimed(self.directory, "demo", "files that no demo made", "an earlier demo's"):
            made = [self.data(policy) for policy in policies]
            for directory in made:
                _refuse_if_in_use(directory)
            for path in (self.log, self.labels, self.config, self.picture, *made):
                _remove(path)


def _refuse_if_in_use(data: Path) -> None:
    journal = data / "journal"
    if journal.is_dir():
        Journal.open(journal).close()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
