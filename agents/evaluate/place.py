"""Where an evaluation puts its files."""

import re
from pathlib import Path

from agents.lab.output import OutputDirectory

_UNSAFE = re.compile(r"[^A-Za-z0-9+_-]+")


class Output(OutputDirectory):
    """The output directory of ``scentline evaluate``.

    The tables are the seed pages, every crawl's figures, the means of them, policies compared, and the curves.
    """

    command = "evaluate"
    files = (
        "seeds.csv", "results.csv", "table.csv", "comparisons.csv", "curves.csv",
        "lift.png", "reliability.png", "report.html",
    )  # fmt: skip
    directories = ("orders", "lift")
    others = "files that no evaluation made"
    earlier = "an earlier evaluation's"

    @property
    def orders(self) -> Path:
        """The directory of the crawls' orders."""
        return self.directory / "orders"

    def order(self, predicate: str, policy: str, start: int) -> Path:
        """Return the file of one crawl's order."""
        return self.orders / f"{predicate}.{_UNSAFE.sub('-', policy)}.{start}.csv"

    def lift(self, predicate: str | None) -> Path:
        """Return the picture of a predicate's lift curves, or of the mean of all."""
        return self.picture("lift" if predicate is None else f"lift/{predicate}")

    @property
    def reliability(self) -> Path:
        """The reliability diagram."""
        return self.picture("reliability")

    @property
    def report(self) -> Path:
        """The page that shows everything."""
        return self.directory / "report.html"
