"""Where the depth command puts its files."""

import re
from pathlib import Path

from agents.lab.output import OutputDirectory

#: Characters of a file's name: a host may have more than file systems take.
_LONGEST = 200
_UNSAFE = re.compile(r"[^a-z0-9._-]+")


class Output(OutputDirectory):
    """The output directory of ``scentline depth``.

    The tables have a row for each site, for each level of a site, and for the moves from each level.
    """

    command = "depth"
    files = ("sites.csv", "levels.csv", "moves.csv")
    directories = ("sites",)

    def picture(self, name: str) -> Path:
        """Return the picture of a site."""
        return self.directory / "sites" / f"{_UNSAFE.sub('-', name.lower())[:_LONGEST]}.png"
