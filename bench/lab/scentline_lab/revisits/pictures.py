"""The picture of the freshness that each policy keeps."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scentline_lab.picture import INK, Look, canvas, frame
from scentline_lab.revisits.policies import Name

_LOOKS = {
    Name.OPTIMUM_SIGNALS: Look("#d81e3f", 1.4, (0, (5, 2))),
    Name.LEARNED_SIGNALS: Look("#d81e3f", 2.4),
    Name.OPTIMUM: Look("#0b4ea2", 1.4, (0, (5, 2))),
    Name.LEARNED: Look("#0b4ea2", 2.4),
    Name.STORMCRAWLER: Look("#12a5a0", 2.0),
    Name.NUTCH: Look("#e08a00", 2.0),
    Name.UNIFORM: Look("#666b73", 1.4),
    Name.PROPORTIONAL: Look("#b4b7bc", 1.4, ":"),
}


def draw(path: Path, curves: Mapping[str, Sequence[float]], learning: int) -> None:
    """Write a PNG of curves that have a point for each visit a page; a line is where learning ends."""
    figure = canvas(9, 5.4)
    panel = figure.subplots()
    for policy, look in _LOOKS.items():
        curve = curves[policy]
        across = [part + 0.5 for part in range(len(curve))]
        panel.plot(across, curve, label=policy, **look.line)
    panel.axvline(learning, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    panel.set_xlim(0, len(next(iter(curves.values()))))
    panel.set_title("Freshness, weighed by requests", loc="left", color=INK, fontsize=13, fontweight="bold")
    panel.set_xlabel("visits a page, in the mean", color=INK)
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, labelcolor=INK, fontsize=9)
    frame(panel)
    figure.savefig(path, format="png")
