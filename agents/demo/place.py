"""Where the demo puts its files."""

import shutil
from pathlib import Path

from agents.lab.output import OutputDirectory
from streams.transport.journal import Journal

BASELINE, LEARNED = "breadth-first", "learned"
POLICIES = (BASELINE, LEARNED)


class Output(OutputDirectory):
    """The output directory of ``scentline demo``."""

    command = "demo"
    files = ("access.log", "labels.tsv", "scentline.toml", "lift.png")
    others = "files that no demo made"
    earlier = "an earlier demo's"

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
    def lift(self) -> Path:
        """The lift curves."""
        return self.picture("lift")

    def data(self, policy: str) -> Path:
        """Return the data directory of a policy's crawl."""
        return self.directory / policy

    def _clear(self) -> None:
        """Remove the data of both crawls too; raises `JournalInUseError` while a crawl runs on them."""
        made = [self.data(policy) for policy in POLICIES]
        for journal in (data / "journal" for data in made):
            if journal.is_dir():
                Journal.open(journal).close()
        super()._clear()
        for data in made:
            if data.is_dir() and not data.is_symlink():
                shutil.rmtree(data)
            else:
                data.unlink(missing_ok=True)
