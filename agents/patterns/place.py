"""Where the command puts its files."""

from pathlib import Path

from agents.lab.output import OutputDirectory


class Output(OutputDirectory):
    """The output directory of ``scentline patterns``.

    The tables are the patterns, what the trees came to, coverage over time, traffic, and the orderings.
    """

    command = "patterns"
    files = (
        "patterns.csv", "trees.csv", "coverage.csv", "traffic.csv", "orderings.csv", "curves.csv",
        "tree.svg", "coverage.png", "fetch.png", "discovery.png",
    )  # fmt: skip

    @property
    def tree(self) -> Path:
        """The drawing of the tree."""
        return self.directory / "tree.svg"
