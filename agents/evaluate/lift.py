"""The lift curves of an evaluation (as in Aggarwal 2004, section 4): harvest rate against pages fetched."""

from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from agents.evaluate.colours import look
from agents.evaluate.results import Results
from agents.lab.picture import INK, canvas, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SOFT = "#666b73"
#: Characters of an expression that a picture has room for.
_SUBTITLE = 130
#: A line's label takes this part of the panel's height.
_LINE = 0.047
#: The first pages' rates jump between 0 and 1, and are the seeds', which all policies have in common.
_SKIPPED = 10


def draw_lift(path: Path, results: Results, predicate: str | None, title: str, subtitle: str) -> None:
    """Write a PNG of each policy's lift curve for a predicate, or on the mean of all.

    A line is the mean over the starts, the band about it one standard deviation.
    """
    figure = canvas(11, 6.2)
    panel = figure.subplots()
    ends: list[tuple[float, str]] = []
    skipped = min(_SKIPPED, results.budget // 10)
    pages = range(1, results.budget + 1)[skipped:]
    for policy in results.policies:
        mean, deviation = (line[skipped:] for line in results.band(policy, predicate))
        style = look(policy)
        panel.fill_between(
            pages, mean - deviation, mean + deviation, color=style.colour, alpha=0.1, linewidth=0
        )
        panel.plot(pages, mean, color=style.colour, linewidth=style.width, linestyle=style.dashes)
        ends.append((float(mean[-1]), policy))
    panel.set_xlim(0, results.budget)
    panel.set_ylim(0, min(1.0, 1.04 * panel.get_ylim()[1]))
    _name(panel, ends)
    panel.set_title(f"{title}\n", loc="left", color=INK, fontsize=14, fontweight="bold")
    panel.text(
        0, 1.025, shorten(subtitle, _SUBTITLE), transform=panel.transAxes, color=_SOFT, fontsize=9.5,
        family="monospace", parse_math=False,
    )  # fmt: skip
    panel.set_xlabel("pages fetched", color=INK, fontsize=11)
    panel.set_ylabel("harvest rate of all pages so far", color=INK, fontsize=11)
    frame(panel)
    figure.savefig(path, format="png")


def _name(panel: "Axes", ends: list[tuple[float, str]]) -> None:
    """Write each line's name behind its end, moved apart where they would lie on each other."""
    top = panel.get_ylim()[1]
    wanted = sorted((rate / top, policy) for rate, policy in ends)
    for place, (height, policy) in zip(apart([end for end, _ in wanted], _LINE), wanted, strict=True):
        style = look(policy)
        rate = height * top
        panel.annotate(
            f"{policy}  {rate:.1%}", xy=(1, height), xytext=(1.045, place), xycoords="axes fraction",
            textcoords="axes fraction", color=style.colour, va="center", fontsize=10.5,
            fontweight="bold" if style.width > 2 else "normal", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": style.colour, "linewidth": 0.8, "shrinkA": 2, "shrinkB": 0,
                        "relpos": (0, 0.5)},
        )  # fmt: skip


def apart(heights: list[float], least: float) -> list[float]:
    """Return ascending places near ascending ``heights``, at least ``least`` from each other.

    Places that would come too near move as a block whose middle is the middle of what they stand for.

    >>> [round(place, 2) for place in apart([0.1, 0.5, 0.5], 0.1)]
    [0.1, 0.45, 0.55]
    """
    blocks: list[tuple[list[float], float]] = []
    for height in heights:
        members, middle = [height], height
        while blocks and middle - blocks[-1][1] < least * (len(members) + len(blocks[-1][0])) / 2:
            members = blocks.pop()[0] + members
            middle = max(sum(members) / len(members), least * (len(members) - 1) / 2)
        blocks.append((members, middle))
    return [
        middle + least * (number - (len(members) - 1) / 2)
        for members, middle in blocks
        for number in range(len(members))
    ]
