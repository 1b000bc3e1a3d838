"""The report: one self-contained page with all figures and pictures; no scripts, nothing from elsewhere."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

from scentline_lab.evaluate.pictures import figures_table, versus_table
from scentline_lab.evaluate.results import AREA, Results
from scentline_lab.evaluate.run import Output
from scentline_lab.evaluate.tables import Versus

_PAGE, _STYLE = (Path(__file__).with_suffix(suffix) for suffix in (".html", ".css"))
_CALIBRATION = (
    "Probabilities that a policy gave before it fetched a page, against what came of it. The larger a mark, "
    "the more pages; bars are one standard error. On the dashed line probabilities can be taken at their word. "
    "The pages that a policy selects are those whose probability came out high, by mistake too; the ones "
    "explored by chance show the calibration over the whole frontier."
)


@dataclass(frozen=True)
class Facts:
    """The evaluation: its ``facts`` in words, each predicate's expression and hits, and the number of pages."""

    facts: Sequence[tuple[str, str]]
    expressions: dict[str, str]
    hits: dict[str, int]
    pages: int


class Compared(NamedTuple):
    """Policies against each other: by the area, and with and without reuse by the early harvest."""

    best: Sequence[Versus]
    learned: Sequence[Versus]
    log: Sequence[Versus]
    reuse: Sequence[Versus]
    headline: Sequence[Versus]


def write_report(output: Output, results: Results, facts: Facts, compared: Compared) -> None:
    """Write the report; the pictures have been drawn."""
    titles = (
        "Each policy against the best, by AUC",
        "The learned policy against each other one, by AUC",
        "The learned policy against itself without log or users, by AUC",
        f"With an earlier crawl's state, against without, by the harvest at {results.early:,}",
        "One collaborative run against the best of all by links, by AUC",
    )
    tables = (
        f"<div><h3>{escape(title)}</h3>{versus_table(title, found)}</div>"
        for title, found in zip(titles, compared, strict=True)
        if found
    )
    diagrams = output.picture("reliability")
    page = Template(_PAGE.read_text(encoding="utf-8")).substitute(
        style=_STYLE.read_text(encoding="utf-8"),
        policies=len(results.policies),
        facts="".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.facts
        ),
        links=" ".join(f'<a href="#p-{escape(name)}">{escape(name)}</a>' for name in results.predicates),
        mean_picture=_picture(output.lift(None), "Lift curves on the mean of all predicates"),
        mean_table=figures_table(results, None),
        area=f"{min(AREA, results.budget):,}",
        comparisons="".join(tables),
        calibration=_CALIBRATION if diagrams.exists() else "None of these policies gives probabilities.",
        reliability=_picture(diagrams, "Reliability diagrams") if diagrams.exists() else "",
        predicates="".join(_card(output, results, facts, name) for name in results.predicates),
    )
    (output.directory / "report.html").write_text(page, encoding="utf-8")


def _card(output: Output, results: Results, facts: Facts, name: str) -> str:
    hits, safe = facts.hits[name], escape(name)
    return (
        f'<article id="p-{safe}"><h3>{safe} <code>{escape(facts.expressions[name])}</code></h3>'
        f'<p class="note">{hits:,} of {facts.pages:,} pages ({hits / facts.pages:.1%}).</p>'
        f"{_picture(output.lift(name), f'Lift curves of {name}')}{figures_table(results, name)}</article>"
    )


def _picture(path: Path, alternative: str) -> str:
    data = b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(alternative)}" src="data:image/png;base64,{data}">'
