"""Pictures of how long patterns hold, and of what orderings bring."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agents.lab.patterns.measures import URLS, Reliability
from agents.lab.patterns.orderings import BREADTH_FIRST, OWN_REFERRALS, OWN_VISITS, PAGERANK, Result
from agents.lab.picture import INK, Look, canvas, frame
from models.patterns.measures import reached
from models.patterns.ranking import VISITS

_LOOKS = {
    URLS: Look("#85898f", 1.8),
    "syntax": Look("#2f8fdd", 1.8),
    "visit": Look("#12a5a0", 2.2, "--"),
    "transit": Look("#d81e3f", 2.2, (0, (2, 2))),
    BREADTH_FIRST: Look("#85898f", 1.6),
    PAGERANK: Look("#7f8f2a", 1.6),
    "volume": Look("#e08a00", 1.6),
    "overall-visit": Look("#2f8fdd", 1.6),
    "average-visit": Look("#0b4ea2", 1.8),
    "overall-referral": Look("#2f8fdd", 1.6),
    "average-referral": Look("#0b4ea2", 1.8),
    "behaviour-fetch": Look("#d81e3f", 2.8),
    "behaviour-discovery": Look("#d81e3f", 2.8),
    VISITS: Look("#12a5a0", 2.4),
    OWN_VISITS: Look("#b4b7bc", 1.6, ":"),
    OWN_REFERRALS: Look("#b4b7bc", 1.6, ":"),
}
#: Beyond this share of the visits of the slowest ordering there is nothing more to see.
_SHOWN = 0.97
_SIDES = ("URLs covered", "visits covered")


def draw_coverage(path: Path, found: Reliability) -> None:
    """Write a PNG of how patterns, and URLs, of the first period cover later ones (Liu 2011, Figure 6)."""
    figure = canvas(11, 4.4)
    panels = figure.subplots(1, 2, squeeze=False)[0]
    periods = range(2, len(found.coverages) + 2)
    for side, panel in enumerate(panels):
        for name in found.coverages[0] if found.coverages else ():
            shares = [coverages[name][side] for coverages in found.coverages]
            label = "the URLs themselves" if name == URLS else f"patterns, {name} tree"
            panel.plot(periods, shares, **_LOOKS[name].line, marker="o", markersize=4, label=label)
        panel.set_ylim(0, 1.04)
        panel.set_xticks(list(periods))
        panel.set_xlabel("period of the log", color=INK)
        panel.set_title(_SIDES[side], loc="left", color=INK, fontsize=13, fontweight="bold")
        frame(panel)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, format="png")


def draw_curves(path: Path, results: Sequence[Result], title: str, axis: str) -> None:
    """Write a PNG of shares of the visits against shares of the pages fetched (Liu 2011, Figures 7 to 10)."""
    from matplotlib.ticker import PercentFormatter

    figure = canvas(11, 6)
    panel = figure.subplots()
    for result in sorted(results, key=lambda each: 2.0 if each.pages is None else each.pages):
        pages = np.linspace(0, 1, len(result.curve))
        label = f"{result.ordering}, {'never' if result.pages is None else f'{result.pages:.1%}'}"
        panel.plot(pages, result.curve, **_LOOKS[result.ordering].line, label=label)
    ends = [reached(result.curve, _SHOWN) for result in results]
    panel.set_xlim(0, max(1.0 if end is None else end for end in ends))
    panel.set_ylim(0, 1.02)
    panel.axhline(0.8, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    panel.legend(
        loc="lower right", title="80 % of the visits at", labelcolor=INK, framealpha=1, edgecolor="none"
    )
    panel.set_title(title, loc="left", color=INK, fontsize=14, fontweight="bold")
    panel.set_xlabel("share of the pages fetched", color=INK, fontsize=11)
    panel.set_ylabel(axis, color=INK, fontsize=11)
    frame(panel)
    panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    figure.savefig(path, format="png")
