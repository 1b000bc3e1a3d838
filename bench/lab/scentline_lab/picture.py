"""What the pictures of all laboratories have in common: paper, frame, ink and the look of a line."""

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#26292e"
SOFT = "#666b73"
GRID = "#e6e7ea"


class Look(NamedTuple):
    """A line's colour, its width in points and its dashes, as matplotlib writes them."""

    colour: str
    width: float = 1.6
    dashes: str | tuple[int, tuple[int, int]] = "-"

    @property
    def line(self) -> dict[str, Any]:
        """The look as arguments of ``plot``."""
        return {"color": self.colour, "linewidth": self.width, "linestyle": self.dashes}


def canvas(width: float, height: float) -> "Figure":
    """Return an empty figure of a size in inches."""
    # A first import reports on its font cache, which is nobody's concern here.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=130, layout="constrained")


def frame(panel: "Axes") -> None:
    """Give a panel quiet lines, and rates in per cent."""
    from matplotlib.ticker import PercentFormatter

    panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    panel.grid(axis="y", color=GRID, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.spines["bottom"].set_color("#b4b7bc")
    panel.tick_params(length=0, colors=INK)
