"""The paper's graphs as pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scentline_lab.experiment import Output
from scentline_lab.order.crawl import By
from scentline_lab.order.reading import IB, Curve
from scentline_lab.picture import INK, Look, canvas, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scentline_lab.order.command import Panel, Results

_COLUMNS = 3
_LOOKS: dict[str, Look] = {
    By.IDEAL: Look(INK, 1.4, (0, (5, 2))),
    By.PAGERANK: Look("#d81e3f", 2.4),
    By.BACKLINK: Look("#0b4ea2", 2.0),
    By.BREADTH_FIRST: Look("#12a5a0", 2.0),
    By.RANDOM: Look("#b4b7bc", 1.4, ":"),
}
_SHADES = ("#8fc1ee", "#2f8fdd", "#0b4ea2", "#062d5e")
_CRAWLED = "share of the web crawled"
_THRESHOLD = "P_ST: share of the hot pages crawled"
_STOP = "P_CS: share of hot pages"


class Lines(NamedTuple):
    """One panel: its title, what the vertical axis has, and the lines over the same ``across``."""

    title: str
    measure: str
    across: Curve
    curves: Mapping[str, Curve]
    looks: Mapping[str, Look] = _LOOKS


def draw_results(output: Output, results: "Results") -> None:
    """Write the pictures of the crawls without a topic: the paper's Graphs 1 to 6, and the limited buffer."""
    shares = results.shares
    output.draw("thresholds.png", draw, "Backlink ordering, as fewer pages are hot", [_thresholds(results)])
    for importance in dict.fromkeys(hot.importance for hot in results.hot):
        panels = [
            Lines(
                f"{importance} ≥ {hot.threshold:g}: {hot.pages:,} hot pages",
                _THRESHOLD,
                shares,
                results.with_threshold(hot),
            )
            for hot in results.hot
            if hot.importance == importance
        ]
        title = f"Crawl and stop with threshold: {importance}"
        output.draw(f"threshold-{importance.lower()}.png", draw, title, panels)
    stop = [
        Lines(f"importance: {importance}", _STOP, shares, _until_all_are_hot(results.stop(importance)))
        for importance in results.web.importance
    ]
    output.draw("stop.png", draw, "Crawl and stop", stop)
    output.draw("buffer.png", draw, "Limited buffer crawl: P_BC by size of the buffer", _buffers(results), True)


def draw_topic(output: Output, topic: str, shares: Curve, panels: "Sequence[Panel]") -> None:
    """Write the picture of a topic's graphs."""
    found = [
        Lines(f"{panel.title}: {panel.hot:,} hot pages", _THRESHOLD, shares, panel.curves) for panel in panels
    ]
    output.draw(f"topic-{topic}.png", draw, f"Pages on “{topic}”", found)


def draw(path: Path, title: str, panels: Sequence[Lines], points: bool = False) -> None:
    """Write a PNG with panels side by side; with ``points`` the lines join a few points on a log scale."""
    if not panels:
        return
    columns = min(len(panels), _COLUMNS)
    rows = -(-len(panels) // columns)
    figure = canvas(max(6.5, 5.2 * columns), 4.8 * rows + 0.3)
    figure.suptitle(title, x=0.01, ha="left", color=INK, fontsize=14, fontweight="bold")
    places = figure.subplots(rows, columns, squeeze=False).flatten()
    for place, lines in zip(places, panels, strict=False):
        _panel(place, lines, points)
    for place in places[len(panels) :]:
        place.set_visible(False)
    figure.savefig(path, format="png")


def _panel(panel: "Axes", lines: Lines, points: bool) -> None:
    from matplotlib.ticker import PercentFormatter

    for name, curve in lines.curves.items():
        # Every crawl begins with nothing crawled.
        across, up = (lines.across, curve) if points else (np.r_[0, lines.across], np.r_[0, curve])
        panel.plot(
            across, up, label=name, **lines.looks[name].line, marker="o" if points else "", markersize=4
        )  # fmt: skip
    panel.set_ylim(0, 1.02)
    if points:
        panel.set_xscale("log")
        panel.set_xticks(lines.across, [f"{share:.0%}" for share in lines.across])
        panel.minorticks_off()
    else:
        panel.set_xlim(0, 1)
    panel.set_title(lines.title, loc="left", color=INK, fontsize=11)
    panel.set_xlabel("room, as a share of the web" if points else _CRAWLED, color=INK)
    panel.set_ylabel(lines.measure, color=INK)
    panel.legend(loc="best" if points else "lower right", frameon=False, labelcolor=INK, fontsize=9)
    frame(panel)
    if not points:
        panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


def _until_all_are_hot(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """Return P_CS as far as it tells something: where pages are equally important, all are hot in the end."""
    told = curves[By.RANDOM] < 1
    return {name: np.where(told, curve, np.nan) for name, curve in curves.items()}


def _thresholds(results: "Results") -> Lines:
    found = [hot for hot in results.hot if hot.importance == IB]
    curves = {
        f"{hot.threshold:g} backlinks: {hot.pages:,} hot": results.with_threshold(hot)[By.BACKLINK]
        for hot in found
    }
    looks = {name: Look(_SHADES[number % len(_SHADES)], 2.0) for number, name in enumerate(curves)}
    curves[By.RANDOM] = results.shares
    return Lines("importance: backlinks", _THRESHOLD, results.shares, curves, {**_LOOKS, **looks})


def _buffers(results: "Results") -> list[Lines]:
    found = [each for each in results.buffers() if each.threshold is None]
    panels = []
    for importance in dict.fromkeys(each.importance for each in found):
        here = [each for each in found if each.importance == importance]
        sizes = np.array(sorted({each.size for each in here}))
        curves = {
            ordering: np.array([each.performance for each in here if each.ordering == ordering])
            for ordering in (By.IDEAL, *results.orders, By.RANDOM)
        }
        across = sizes / len(results.web)
        panels.append(Lines(f"importance: {importance}", "P_BC: share of hot pages kept", across, curves))
    return panels
