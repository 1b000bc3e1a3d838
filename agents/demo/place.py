"""Where the demo puts its files; another's files are never touched."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from streams.transport.journal import Journal

#: A file that says that a directory is a demo's, and that its files may be replaced by another demo's.
MARK = ".scentline-demo"


class OccupiedError(Exception):
    """The output directory holds something that no demo put there; the text names it."""


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

        Raises `OccupiedError` for a path that is no directory, or one that holds files and no mark of a
        demo; `JournalInUseError` while a crawl runs on the earlier demo's data.
        """
        mark = self.directory / MARK
        if self.directory.exists() and not self.directory.is_dir():
            raise OccupiedError(f"--out {self.directory}: expected a directory, found a file")
        if not mark.is_file() and self.directory.is_dir() and any(self.directory.iterdir()):
            raise OccupiedError(
                f"--out {self.directory}: holds files that no demo made; expected a new or empty directory, "
                "or an earlier demo's"
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        mark.write_text("Made by `scentline demo`, which replaces its own files here.\n", encoding="utf-8")
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
