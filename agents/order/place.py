"""Where a comparison puts its files."""

from pathlib import Path

from agents.lab.output import OutputDirectory


class Output(OutputDirectory):
    """The output directory of ``scentline order``."""

    command = "order"
    files = (
        "order.*.csv", "figures.csv", "threshold.csv", "stop.csv", "buffer.csv", "walk.csv", "histogram.csv",
        "topics.csv", "thresholds.png", "threshold-*.png", "stop.png", "buffer.png", "histogram.png",
        "topic-*.png",
    )  # fmt: skip
    others = "files that no comparison of orderings made"
    earlier = "an earlier comparison's"

    def order(self, name: str) -> Path:
        """Return the file of one crawl's order."""
        return self.table(f"order.{name}")
