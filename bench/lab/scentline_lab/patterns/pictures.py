"""Pictures of how long patterns hold, of what orderings bring, and of the tree of a site's patterns.

The tree is SVG, a line for each node, so that nothing lies on anything else.
"""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scentline.models.papers.pattern_tree import Node
from scentline.models.papers.patterns import Patterns
from scentline.models.papers.ways import VISITS, Pattern
from scentline_lab.patterns.quality import (
    BREADTH_FIRST,
    OWN_REFERRALS,
    OWN_VISITS,
    PAGERANK,
    URLS,
    Reliability,
    Result,
    reached,
)
from scentline_lab.picture import GRID, INK, SOFT, Look, canvas, frame

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


#: Nodes that are drawn; of more, those with the most visits.
ROWS = 400
_VISITS, _REFERRALS = "#0b4ea2", "#12a5a0"
_LINE, _STEP, _TOP = 22, 20, 84
# A monospaced sign of 12 px is 7.2 px wide, in some fonts a little more.
_SIGN = 7.4
_LABEL_SIGNS, _NAME_SIGNS = 34, 76
_BAR = 150


class _Row(NamedTuple):
    node: Node
    label: str
    pattern: Pattern


def draw_tree(path: Path, patterns: Patterns, title: str) -> None:
    """Write the tree down to the site's patterns, each with its URLs, visits and referrals."""
    rows = list(_rows(patterns))
    places = {row.node.index: number for number, row in enumerate(rows)}
    deepest = max(row.node.depth for row in rows)
    names = 16 + deepest * _STEP + _LABEL_SIGNS * _SIGN
    bars = names + min(_NAME_SIGNS, max(len(row.pattern.name) for row in rows)) * _SIGN + 16
    width, height = bars + 2 * _BAR + 3 * 90, _TOP + len(rows) * _LINE + 40
    body = [*_heading(patterns, title, names, bars), *_connections(rows, places)]
    for number, row in enumerate(rows):
        body += _line(row, _TOP + number * _LINE, names, bars, rows[0].pattern)
    drawn = {row.pattern.name for row in rows}
    left_out = [pattern for pattern in patterns.chosen if pattern.name not in drawn]
    if left_out:
        visits = sum(pattern.visits for pattern in left_out) / max(rows[0].pattern.visits, 1)
        text = f"{len(left_out)} more patterns, with {visits:.1%} of the visits, are in patterns.csv."
        body.append(_text(16, height - 14, text, SOFT))
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
        f'font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(body) + "\n</svg>\n",
        encoding="utf-8",
    )


def _rows(patterns: Patterns) -> Iterator[_Row]:
    """Yield the nodes to draw from top to bottom, of siblings the most visited first."""
    known = [(node, found) for node, found in zip(patterns.tree.nodes, patterns.all, strict=True) if found]
    most = sorted(known, key=lambda item: (-item[1].visits, item[0].index))[:ROWS]
    drawn = {node.index: found for node, found in most}
    stack = [_Row(patterns.tree.nodes[0], "", drawn[0])]
    while stack:
        row = stack.pop()
        yield row
        if row.pattern.leaf:
            continue
        below = [
            _Row(child, label, drawn[child.index])
            for label, child in _labelled(row.node)
            if child.index in drawn
        ]
        stack += sorted(below, key=lambda each: each.pattern.visits)


def _labelled(node: Node) -> Iterator[tuple[str, Node]]:
    for value, child in node.children.items():
        yield (f"no {node.key}" if value is None else f"{node.key} = {value or '(empty)'}"), child
    if node.rest is not None:
        yield f"other {node.key}", node.rest


def _heading(patterns: Patterns, title: str, names: float, bars: float) -> Iterator[str]:
    root = patterns.all[0]
    assert root is not None
    yield f'<text x="16" y="30" font-size="18" font-weight="bold" fill="{INK}">{escape(title)}</text>'
    facts = f"{root.urls:,} URLs, {root.visits:,} visits, {root.referrals:,} referrals"
    yield _text(16, 50, f"{len(patterns.chosen)} patterns of {facts}", SOFT)
    columns = (
        (names, "pattern"),
        (bars, "visits"),
        (bars + _BAR + 90, "referrals"),
        (bars + 2 * _BAR + 180, "URLs"),
    )
    for x, name in columns:
        yield _text(x, 74, name, SOFT)


def _connections(rows: list[_Row], places: dict[int, int]) -> Iterator[str]:
    """Yield the lines from each node down to its children."""
    for number, row in enumerate(rows[1:], start=1):
        assert row.node.parent is not None
        x = 16 + (row.node.depth - 2) * _STEP + 5
        top, bottom = _TOP + places[row.node.parent] * _LINE + 18, _TOP + number * _LINE + 11
        yield f'<path d="M{x} {top}V{bottom}h{_STEP - 8}" fill="none" stroke="#b4b7bc"/>'


def _line(row: _Row, top: int, names: float, bars: float, whole: Pattern) -> Iterator[str]:
    pattern, baseline = row.pattern, top + 15
    weight = "bold" if pattern.leaf else "normal"
    x = 16 + (row.node.depth - 1) * _STEP
    yield f"<g><title>{escape(pattern.name)}</title>"
    yield _text(x, baseline, _short(row.label or "the site", _LABEL_SIGNS), INK, weight)
    if pattern.leaf:
        yield _text(names, baseline, _short(pattern.name, _NAME_SIGNS), INK)
    pairs = ((pattern.visits, whole.visits, _VISITS), (pattern.referrals, whole.referrals, _REFERRALS))
    for place, (count, total, colour) in enumerate(pairs):
        start = bars + place * (_BAR + 90)
        length = _BAR * count / max(total, 1)
        yield f'<rect x="{start:.0f}" y="{top + 4}" width="{_BAR}" height="14" fill="{GRID}"/>'
        opacity = 1 if pattern.leaf else 0.35
        yield (
            f'<rect x="{start:.0f}" y="{top + 4}" width="{length:.1f}" height="14" fill="{colour}" '
            f'fill-opacity="{opacity}"/>'
        )
        yield _text(start + _BAR + 6, baseline, f"{count:,}", INK)
    yield _text(bars + 2 * _BAR + 180, baseline, f"{pattern.urls:,}", INK) + "</g>"


def _text(x: float, y: float, text: str, colour: str, weight: str = "normal") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" font-weight="{weight}">{escape(text)}</text>'


def _short(text: str, signs: int) -> str:
    return text if len(text) <= signs else f"{text[: signs - 1]}…"
