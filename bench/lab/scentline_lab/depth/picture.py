"""A site's picture: where its users' views lie, how the surfers fit, and where its links lead to new pages."""

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from scentline.models.depth.surfers import Surfer
from scentline_lab.depth.site import Result
from scentline_lab.picture import INK, canvas, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Levels that a picture shows at least and at most, and the share of the views that it shows if it can.
_LEAST, _MOST, _SHOWN = 6, 16, 0.995
#: Characters of a title's line above one panel.
_TITLE = 60
_OBSERVED, _NEW, _SURFER, _RANKED, _LIMIT = "#b9cde6", "#bfe0dd", "#12a5a0", "#7f8f2a", "#d81e3f"
_FITTED = {Surfer.B: "#0b4ea2", Surfer.C: "#e08a00"}


def draw(path: Path, found: Result) -> None:
    """Write a PNG of a site; raises ValueError for one of which nothing is known."""
    pictures = [
        *([(_draw_shares, "upper right"), (_draw_reached, "lower right")] if found.fits else []),
        *([(_draw_links, "center right")] if found.site.growth.pages else []),
    ]
    figure = canvas(5.2 * len(pictures) + 0.6, 4.6)
    levels = range(_levels(found))
    panels = figure.subplots(1, len(pictures), squeeze=False)[0]
    for panel, (picture, place) in zip(panels, pictures, strict=True):
        picture(panel, found, levels)
        panel.set_xlabel("links from the start page", color=INK)
        panel.set_xticks(levels)
        panel.set_xlim(-0.6, len(levels) - 0.4)
        frame(panel)
        # Where each kind of panel has least to show.
        panel.legend(loc=place, framealpha=0.9, edgecolor="none", fontsize=9, labelcolor=INK)
    depth = "unknown" if found.advice.depth is None else str(found.advice.depth)
    title = fill(f"{found.name}: depth {depth}; {found.advice.why}", _TITLE * len(pictures))
    figure.suptitle(title, x=0.01, ha="left", color=INK, fontsize=11, fontweight="bold", parse_math=False)
    figure.savefig(path, format="png")


def _levels(found: Result) -> int:
    """Return how many levels to show: those of nearly all views, and of nearly all that surfers see."""
    reached = found.site.visits.reached()
    surfed = accumulate(found.site.growth.surfer(_MOST))
    needed = (
        next((level + 1 for level, share in enumerate(shares) if share >= _SHOWN), _LEAST)
        for shares in (reached, surfed)
    )
    return min(_MOST, max(_LEAST, *needed))


def _draw_shares(panel: "Axes", found: Result, levels: range) -> None:
    visits = found.site.visits
    shares = [views / visits.total for views in visits.views]
    panel.bar(levels, _first(shares, levels), color=_OBSERVED, label="observed")
    for fit in found.fits:
        if fit.surfer in _FITTED:
            fitted = [fit.surfer.share(fit.q, level) for level in levels]
            panel.plot(levels, fitted, color=_FITTED[fit.surfer], marker="o", label=_named(found, fit.surfer))
    panel.set_title("page views on a level", loc="left", color=INK, fontsize=10.5)


def _draw_reached(panel: "Axes", found: Result, levels: range) -> None:
    reached = found.site.visits.reached()
    panel.bar(levels, _first(reached, levels, 1.0), color=_OBSERVED, label="observed")
    for fit in found.fits:
        if fit.surfer in _FITTED:
            fitted = [fit.surfer.reached(fit.q, level) for level in levels]
            label = f"error {fit.error:.1%}"
            panel.plot(levels, fitted, color=_FITTED[fit.surfer], marker="o", label=label)
    _limit(panel, found)
    panel.set_title("page views on all levels up to it", loc="left", color=INK, fontsize=10.5)


def _draw_links(panel: "Axes", found: Result, levels: range) -> None:
    growth = found.site.growth
    links = [new + seen for new, seen in zip(growth.new, growth.seen, strict=True)]
    ratios = [new / all_links if all_links else 0.0 for new, all_links in zip(growth.new, links, strict=True)]
    panel.bar(levels, _first(ratios, levels), color=_NEW, label="links to new URLs")
    reached = list(accumulate(growth.surfer(len(levels))))
    panel.plot(levels, reached, color=_SURFER, marker="o", label="surfer at random, up to the level")
    ranked = _first(list(accumulate(found.site.ranks)), levels, 1.0)
    panel.plot(levels, ranked, color=_RANKED, marker=".", label="PageRank, up to the level")
    _limit(panel, found)
    panel.set_title("new URLs against seen ones", loc="left", color=INK, fontsize=10.5)


def _limit(panel: "Axes", found: Result) -> None:
    panel.axhline(found.share, color=_LIMIT, linewidth=1, linestyle="--", label=f"{found.share:.0%}")
    panel.set_ylim(0, 1.02)


def _named(found: Result, surfer: Surfer) -> str:
    """Name the fit of a surfer; A is B to the levels, with another q."""
    q = {fit.surfer: fit.q for fit in found.fits}
    if surfer is Surfer.C:
        return f"C, q = {q[Surfer.C]:.2f}"
    return f"A, q = {q[Surfer.A]:.2f}; B, q = {q[Surfer.B]:.2f}"


def _first(values: Sequence[float], levels: range, rest: float = 0.0) -> list[float]:
    return [values[level] if level < len(values) else rest for level in levels]
