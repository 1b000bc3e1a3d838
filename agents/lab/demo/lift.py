"""A demo's lift curves: each predicate's harvest rate as pages come in, and their picture, a line a policy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agents.lab.picture import INK, canvas, frame
from agents.operate.inspect.record import judged_pages
from streams.records import Outcome
from streams.transport.journal import Journal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by the colour-blind too (Okabe and Ito)
_BASELINE = "#8a8a8a"
#: The first pages' rates jump between 0 and 1 and would hide the rest.
_SKIPPED = 20


@dataclass(frozen=True)
class Curve:
    """One predicate in one crawl: ``hits[n]`` of the first n + 1 pages judged satisfy it."""

    hits: tuple[int, ...]

    @property
    def found(self) -> int:
        """Pages that satisfy the predicate."""
        return self.hits[-1] if self.hits else 0

    @property
    def rates(self) -> list[float]:
        """The harvest rate after each page.

        >>> Curve((0, 1, 2, 2)).rates
        [0.0, 0.5, 0.6666666666666666, 0.5]
        """
        return [hits / pages for pages, hits in enumerate(self.hits, start=1)]

    @property
    def rate(self) -> float:
        """The harvest rate of the whole crawl; 0 before its first page."""
        return self.found / len(self.hits) if self.hits else 0.0


def judged(data: Path) -> list[Outcome]:
    """Return the pages of the crawl in directory ``data``, each once, in the order of judging."""
    with Journal.open(data / "journal", read_only=True) as journal:
        return sorted(judged_pages(journal).values(), key=lambda outcome: outcome.time)


def curves(pages: Iterable[Outcome], predicates: Iterable[str]) -> dict[str, Curve]:
    """Return the curve of each of ``predicates`` over pages in the order of judging."""
    hits: dict[str, list[int]] = {name: [] for name in predicates}
    for page in pages:
        for name, counts in hits.items():
            counts.append((counts[-1] if counts else 0) + page.verdict[name])
    return {name: Curve(tuple(counts)) for name, counts in hits.items()}


def draw(
    path: Path,
    expressions: Mapping[str, str],
    baseline: Mapping[str, Curve],
    learned: Mapping[str, Curve],
    names: tuple[str, str],
) -> None:
    """Write a PNG with a panel for each predicate of ``expressions`` (name to expression).

    ``baseline`` and ``learned`` have a curve for each; ``names`` are what the two policies are called.
    """
    figure = canvas(4 * len(expressions) + 0.5, 4.4)
    panels = figure.subplots(1, len(expressions), sharex=True, sharey=True, squeeze=False)[0]
    for number, (name, expression) in enumerate(expressions.items()):
        panel, colour = panels[number], _COLOURS[number % len(_COLOURS)]
        panel.set_title(f"{name}\n", color=colour, fontsize=14, fontweight="bold", loc="left")
        panel.text(0, 1.03, expression, transform=panel.transAxes, fontsize=8.5, color=INK, family="monospace")
        _line(panel, learned[name], colour)
        _line(panel, baseline[name], _BASELINE)
        _note(panel, 0.985, f"{names[1]} {learned[name].rate:.0%}", colour)
        _note(panel, 0.915, f"{names[0]} {baseline[name].rate:.0%}", _BASELINE)
        frame(panel)
        panel.margins(x=0.02)
    panels[0].set_ylabel("harvest rate of all pages so far", color=INK)
    # Room above the highest line for the notes, which so can't lie on one.
    panels[0].set_ylim(0, 1.25 * panels[0].get_ylim()[1])
    figure.supxlabel("pages fetched", fontsize=10, color=INK)
    figure.savefig(path, format="png")


def _line(panel: "Axes", curve: Curve, colour: str) -> None:
    pages = range(1, len(curve.hits) + 1)
    skipped = min(_SKIPPED, len(curve.hits) // 10)
    panel.plot(pages[skipped:], curve.rates[skipped:], color=colour, linewidth=2.2)


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
