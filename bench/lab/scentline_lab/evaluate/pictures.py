"""The pictures and HTML tables of an evaluation, in which kindred policies have kindred colours.

Lift curves are harvest rates against pages fetched (as in Aggarwal 2004, section 4). Reliability diagrams hold
what policies told of the pages that they then fetched against what came of them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from scentline.models.harvest import wilson
from scentline_lab.evaluate.results import Bin, Figures, Outcome, Result, Results, parts, reliability
from scentline_lab.evaluate.run import NEW_ONLY, NO_LOG, NO_USERS, REUSE
from scentline_lab.evaluate.tables import Versus
from scentline_lab.picture import INK, SOFT, Look, canvas, frame
from scentline_lab.simulation.policies import LIMITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS = {
    "oracle": Look("#26292e", 1.4, (0, (5, 2))),
    "informed": Look("#6b7078", 1.4, (0, (2, 1))),
    "learned": Look("#d81e3f", 3.0),
    "learned-plain": Look("#f2789a", 2.4),
    "learned+significance": Look("#5f2f8f", 2.4),
    "learned+visits": Look("#8f5f2f", 2.4),
    "combined": Look("#0b4ea2", 2.2),
    "linkage": Look("#2f8fdd", 1.8),
    "collaborative": Look("#12a5a0", 1.8),
    "best-first": Look("#e08a00", 1.8),
    "link-classifier": Look("#7d45b5", 1.8),
    "shark-search": Look("#c46a2b", 1.4),
    "tag-paths": Look("#3f8f5f", 1.4),
    "opic": Look("#b0912f", 1.4),
    "pagerank": Look("#7f8f2a", 1.4),
    "backlink": Look("#a5714f", 1.4),
    "breadth-first": Look("#85898f", 1.4),
    "random": Look("#b4b7bc", 1.4, ":"),
}
_OTHER = Look("#555555")
_EXPLORED = "#85898f"
#: Characters of an expression that a picture has room for.
_SUBTITLE = 130
#: A line's label takes this part of the panel's height.
_LINE = 0.047
#: The first pages' rates jump between 0 and 1, and are the seeds', which all policies have in common.
_SKIPPED = 10
#: Panels side by side.
_COLUMNS = 3


def look(policy: str) -> Look:
    """Return a policy's look: its own, in dashes with the state of an earlier crawl, thin without the log.

    >>> look("learned").colour == look("learned+reuse").colour
    True
    """
    name = policy.removesuffix(NEW_ONLY).removesuffix(NO_LOG).removesuffix(NO_USERS)
    found = _LOOKS.get(name.removesuffix(REUSE), _OTHER)
    if name.endswith(REUSE):
        found = found._replace(dashes="--")
    if policy.endswith(NO_USERS):
        found = found._replace(dashes=":")
    if policy.endswith((NEW_ONLY, NO_LOG)):
        found = found._replace(width=found.width / 2)
    return found


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
        panel.plot(pages, mean, **style.line)
        ends.append((float(mean[-1]), policy))
    panel.set_xlim(0, results.budget)
    panel.set_ylim(0, min(1.0, 1.04 * panel.get_ylim()[1]))
    _name(panel, ends)
    panel.set_title(f"{title}\n", loc="left", color=INK, fontsize=14, fontweight="bold")
    panel.text(
        0, 1.025, shorten(subtitle, _SUBTITLE), transform=panel.transAxes, color=SOFT, fontsize=9.5,
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


def with_probabilities(results: Results) -> list[str]:
    """Return the policies that gave probabilities."""
    told = (result.policy for result in results.all if result.selected or result.explored)
    return list(dict.fromkeys(told))


def draw_reliability(path: Path, results: Results, policies: Sequence[str]) -> None:
    """Write a PNG with a panel for each of some policies that give probabilities."""
    columns = min(len(policies), _COLUMNS)
    rows = -(-len(policies) // columns)
    figure = canvas(4.6 * columns, 5.2 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for panel, policy in zip(panels, policies, strict=False):
        _diagram(panel, policy, results.of_policy(policy))
    for panel in panels[len(policies) :]:
        panel.set_visible(False)
    figure.savefig(path, format="png")


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
    found = reliability(sample)
    if found is None:
        return
    intervals = [wilson(each.rate, each.size) for each in found.bins]
    panel.vlines([each.probability for each in found.bins], *zip(*intervals, strict=True), color=colour)
    panel.scatter(
        [each.probability for each in found.bins], [each.rate for each in found.bins],
        [_area(each, len(sample)) for each in found.bins], color=colour, marker=marker, zorder=3,
        label=f"{name}: {len(sample):,} pages, error {found.error:.3f}",
    )  # fmt: skip


def _area(found: Bin, count: int) -> float:
    """Return the size of a bin's mark: the more pages, the larger."""
    return 12 + 150 * math.sqrt(found.size / count)


@dataclass(frozen=True)
class _Column:
    """A column: its name, the figure that it has, in which form, and whether the least is the best."""

    name: str
    figure: str
    form: str = ".3f"
    least: bool = False
    beside: str = ""

    def best(self, figures: Iterable[Figures]) -> float | None:
        """Return the best value, None where there is none."""
        found = [value for each in figures if (value := each[self.figure]) is not None]
        return (min if self.least else max)(found, default=None)

    def cell(self, found: Figures, best: float | None) -> str:
        """Return a figure as a cell, in bold where it is the best."""
        value = found[self.figure]
        if value is None:
            return "<td></td>"
        text = _strong(format(value, self.form), value == best)
        if self.beside and (other := found[self.beside]) is not None:
            text += f" <small>({other:.3f})</small>"
        return f"<td>{text}</td>"


_AREAS = (
    _Column("AUC", "auc"),
    _Column("of oracle", "auc_of_oracle", ".0%"),
    _Column("AUC by request", "auc_by_request"),
    _Column("requests a page", "requests_a_page", least=True),
)
_CALIBRATION = (
    _Column("Brier", "brier", least=True, beside="base_brier"),
    _Column("ECE sel.", "ece_selected", least=True),
    _Column("ECE expl.", "ece_explored", least=True),
)


def figures_table(results: Results, predicate: str | None) -> str:
    """Return the figures of each policy for a predicate, or on the mean of all; the largest area first."""
    figures = {policy: results.figures(policy, predicate) for policy in results.policies}
    told = any(found["brier"] is not None for found in figures.values())
    one = next(iter(figures.values()))
    rates = [_Column(f"{int(point):,}", f"harvest_{point}") for point in parts(one, "harvest")]
    clock = [_Column(f"{int(time[:-1]):,} s", f"hits_{time}", ".1f") for time in parts(one, "hits")]
    slots = [_Column("slots used", "slots", ".0%")] if clock else []
    columns = [*rates, *clock, *slots, *_AREAS, *(_CALIBRATION if told else ())]
    contest = [found for policy, found in figures.items() if policy not in LIMITS]
    best = [column.best(contest) for column in columns]
    rows = (
        f"<tr>{policy_cell(policy)}"
        + "".join(column.cell(figures[policy], top) for column, top in zip(columns, best, strict=True))
        for policy in sorted(figures, key=lambda policy: -(figures[policy]["auc"] or 0))
    )
    above = f'<tr><td></td><th class="over" scope="colgroup" colspan="{len(rates)}">harvest rate at</th>'
    if clock:
        above += f'<th class="over" scope="colgroup" colspan="{len(clock)}">hits within</th>'
    above += "</tr>"
    title = f"Figures of {predicate or 'all predicates'}"
    return _table(title, [column.name for column in columns], ["policy"], rows, above)


def versus_table(title: str, found: Sequence[Versus]) -> str:
    """Return policies against each other, a row a pair."""
    return _table(
        title,
        ["mean", "other’s", "ratio", "difference", "95 % interval", "ahead in", "runs", "predicates"],
        ["policy", "against"],
        (_versus(each) for each in found),
    )


def policy_cell(policy: str) -> str:
    """Return a policy's name beside its colour; a narrow window breaks it behind a plus."""
    name = escape(policy).replace("+", "+<wbr>")
    return f'<th scope="row"><i style="background:{look(policy).colour}"></i>{name}</th>'


def _versus(found: Versus) -> str:
    comparison = found.comparison
    cells = (
        f"{found.figure:.3f}",
        f"{found.others:.3f}",
        "" if found.ratio is None else f"{found.ratio:.2f}",
        _strong(f"{comparison.difference:+.3f}", comparison.significant),
        f"{comparison.low:+.3f} to {comparison.high:+.3f}",
        f"{comparison.ahead:.0%}",
        str(comparison.runs),
        str(comparison.predicates),
    )
    names = policy_cell(found.policy) + policy_cell(found.other)
    return f"<tr>{names}{''.join(f'<td>{cell}</td>' for cell in cells)}"


def _table(
    title: str, columns: Sequence[str], names: Sequence[str], rows: Iterable[str], above: str = ""
) -> str:
    """Return a table in a box of its own, which scrolls, by keyboard too, where the window is narrower."""
    head = "".join(f'<th class="name" scope="col">{name}</th>' for name in names)
    head += "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(f"{row}</tr>" for row in rows)
    return (
        f'<div class="box" role="region" tabindex="0" aria-label="{escape(title)}">'
        f"<table><thead>{above}<tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _strong(text: str, strong: bool) -> str:
    return f"<b>{text}</b>" if strong else text
