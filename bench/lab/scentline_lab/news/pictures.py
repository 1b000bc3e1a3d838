"""Pictures of what tells news apart: daily clicks, and how concentrated they are (Wang 2007, figures 1, 2)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scentline.models.news.pages import History
from scentline_lab.news.measures import day
from scentline_lab.picture import INK, canvas, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEWS, _OTHER = "#d81e3f", "#0b4ea2"
_SHADES = (1.0, 0.65, 0.4)
#: Characters of a URL that a legend has room for.
_URL = 60
_BINS = 40


def draw_daily(
    path: Path, days: tuple[int, int], news: Mapping[str, History], others: Mapping[str, History]
) -> None:
    """Write a PNG of the daily clicks of a few news pages, and of a few others, between two days."""
    first, last = days
    from matplotlib.ticker import MaxNLocator

    figure = canvas(13, 5.4)
    panels = figure.subplots(1, 2, squeeze=False)[0]
    for panel, histories, colour, title in (
        (panels[0], news, _NEWS, "Taken for news"),
        (panels[1], others, _OTHER, "Taken for others"),
    ):
        for (url, history), shade in zip(histories.items(), _SHADES, strict=False):
            clicks = [*history.clicks, *[0] * (last + 1 - history.first - len(history.clicks))]
            panel.plot(
                range(history.first - first, last - first + 1),
                clicks,
                color=colour,
                alpha=shade,
                linewidth=2,
                label=_short(url),
            )
        _panel(panel, title, "clicks a day", bool(histories))
        panel.set_xlim(0, max(1, last - first))
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.set_xlabel(f"days since {day(first)}", color=INK)
    figure.savefig(path, format="png")


def draw_concentration(
    path: Path, kinds: Sequence[tuple[str, Sequence[float]]], threshold: float, title: str
) -> None:
    """Write a PNG of how many news pages, and how many others, have which concentration.

    ``kinds`` are the two names with the values of their pages, news first.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    figure = canvas(9, 5)
    panel = figure.subplots()
    values = [value for _, found in kinds for value in found if value > 0]
    low, high = min(values, default=0.1), max(values, default=10.0) * 1.001
    ratio = (high / low) ** (1 / _BINS)
    edges = [low * ratio**place for place in range(_BINS + 1)]
    for (name, found), colour in zip(kinds, (_NEWS, _OTHER), strict=True):
        panel.hist(found, bins=edges, color=colour, alpha=0.55, label=f"{name} ({len(found):,})")
    panel.axvline(threshold, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    panel.annotate(
        f" threshold {threshold:g}", xy=(threshold, 1), xycoords=("data", "axes fraction"), va="top", color=INK
    )
    panel.set_xscale("log")
    panel.set_xlabel("concentration of clicks in the first days of life; 1 is even", color=INK)
    _panel(panel, title, "pages", bool(values))
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_locator(NullLocator())
    figure.savefig(path, format="png")


def _panel(panel: "Axes", title: str, label: str, filled: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    frame(panel)
    panel.yaxis.set_major_formatter("{x:,.0f}")
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_ylim(0, None if filled else 1)
    panel.set_ylabel(label, color=INK)
    panel.set_title(title, loc="left", color=INK, fontsize=13, fontweight="bold")
    if filled:
        panel.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.13), frameon=False, labelcolor=INK, fontsize=9)
    else:
        panel.text(0.5, 0.5, "none", transform=panel.transAxes, color=INK, ha="center", fontsize=11)


def _short(url: str) -> str:
    """Return a URL as a legend can show it: short, and without signs that mean mathematics to matplotlib."""
    text = url.partition("://")[2].replace("$", "%24")
    return text if len(text) <= _URL else f"{text[: _URL - 3]}..."
