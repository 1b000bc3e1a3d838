"""Reliability diagrams: what policies told of the pages that they then fetched, against what came of them."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from agents.evaluate.colours import look
from agents.evaluate.results import Result, Results
from agents.lab.picture import INK, canvas, frame
from models.evaluate.calibration import Bin, Outcome, calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EXPLORED = "#85898f"
_COLUMNS = 3


def draw_reliability(path: Path, results: Results) -> bool:
    """Write a PNG with a panel for each policy that gives probabilities; return whether there is one."""
    policies = list(results.with_probabilities())
    if not policies:
        return False
    columns = min(len(policies), _COLUMNS)
    rows = -(-len(policies) // columns)
    figure = canvas(4.6 * columns, 5.2 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for panel, policy in zip(panels, policies, strict=False):
        _diagram(panel, policy, results.of_policy(policy))
    for panel in panels[len(policies) :]:
        panel.set_visible(False)
    figure.savefig(path, format="png")
    return True


def _diagram(panel: "Axes", policy: str, found: list[Result]) -> None:
    from matplotlib.ticker import PercentFormatter

    panel.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    explored = [pair for result in found for pair in result.explored]
    selected = [pair for result in found for pair in result.selected]
    _points(panel, explored, _EXPLORED, "s", "explored by chance")
    _points(panel, selected, look(policy).colour, "o", "selected")
    panel.set_title(policy, loc="left", color=INK, fontsize=13, fontweight="bold", pad=44)
    panel.set_xlabel("probability of a hit, as told", color=INK)
    panel.set_ylabel("share of hits, as found", color=INK)
    panel.set_xlim(-0.03, 1.03)
    panel.set_ylim(-0.03, 1.03)
    panel.set_aspect("equal")
    panel.legend(loc="lower left", bbox_to_anchor=(-0.02, 1), frameon=False, labelcolor=INK, reverse=True)
    frame(panel)
    panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


def _points(panel: "Axes", sample: list[Outcome], colour: str, marker: str, name: str) -> None:
    found = calibration(sample)
    if found is None:
        return
    intervals = [wilson(each.rate, each.size) for each in found.bins]
    panel.vlines([each.probability for each in found.bins], *zip(*intervals, strict=True), color=colour)
    panel.scatter(
        [each.probability for each in found.bins], [each.rate for each in found.bins],
        [_area(each, found.size) for each in found.bins], color=colour, marker=marker, zorder=3,
        label=f"{name}: {found.size:,} pages, error {found.error:.3f}",
    )  # fmt: skip


def wilson(rate: float, count: int) -> tuple[float, float]:
    """Return the interval of one standard error about a rate (Wilson 1927), never empty at 0 and 1.

    >>> low, high = wilson(0.0, 9)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.1)
    """
    middle = (rate + 0.5 / count) / (1 + 1 / count)
    half = math.sqrt(rate * (1 - rate) / count + 0.25 / count**2) / (1 + 1 / count)
    return middle - half, middle + half


def _area(found: Bin, count: int) -> float:
    """Return the size of a bin's mark: the more pages, the larger."""
    return 12 + 150 * math.sqrt(found.size / count)
