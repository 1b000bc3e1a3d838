"""The demo's picture: the lift curves of both crawls, a panel for each predicate."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scentline_lab.demo.command import Crawled
from scentline_lab.picture import INK, canvas, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by the colour-blind too (Okabe and Ito)
_BASELINE = "#8a8a8a"
#: The first pages' rates jump between 0 and 1 and would hide the rest.
_SKIPPED = 20


def draw(path: Path, expressions: Mapping[str, str], crawls: Mapping[str, Crawled]) -> None:
    """Write a PNG with a panel for each predicate of ``expressions``; the baseline's crawl is the first."""
    figure = canvas(4 * len(expressions) + 0.5, 4.4)
    panels = figure.subplots(1, len(expressions), sharex=True, sharey=True, squeeze=False)[0]
    for number, (name, expression) in enumerate(expressions.items()):
        panel, colour = panels[number], _COLOURS[number % len(_COLOURS)]
        panel.set_title(f"{name}\n", color=colour, fontsize=14, fontweight="bold", loc="left")
        panel.text(0, 1.03, expression, transform=panel.transAxes, fontsize=8.5, color=INK, family="monospace")
        # The learned one lies below, and is named above.
        for (policy, crawled), height, shade in zip(
            reversed(list(crawls.items())), (0.985, 0.915), (colour, _BASELINE), strict=True
        ):
            rates = crawled.rates(name)
            skipped = min(_SKIPPED, len(rates) // 10)
            panel.plot(range(1, len(rates) + 1)[skipped:], rates[skipped:], color=shade, linewidth=2.2)
            _note(panel, height, f"{policy} {crawled.rate(name):.0%}", shade)
        frame(panel)
        panel.margins(x=0.02)
    panels[0].set_ylabel("harvest rate of all pages so far", color=INK)
    # Room above the highest line for the notes, which so can't lie on one.
    panels[0].set_ylim(0, 1.25 * panels[0].get_ylim()[1])
    figure.supxlabel("pages fetched", fontsize=10, color=INK)
    figure.savefig(path, format="png")


def _note(panel: "Axes", height: float, text: str, colour: str) -> None:
    panel.text(
        1,
        height,
        text,
        transform=panel.transAxes,
        ha="right",
        va="top",
        color=colour,
        fontweight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )
