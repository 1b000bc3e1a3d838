"""The report: one self-contained page with all figures and pictures; no scripts, nothing from elsewhere."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from string import Template

from scentline.models.predicate import Predicate
from scentline_lab.evaluate.pictures import (
    draw_lift,
    draw_reliability,
    figures_table,
    versus_table,
    with_probabilities,
)
from scentline_lab.evaluate.results import AREA, Results
from scentline_lab.evaluate.run import Evaluation
from scentline_lab.evaluate.tables import Compared
from scentline_lab.experiment import Output, Progress

_PAGE, _STYLE = (Path(__file__).with_suffix(suffix) for suffix in (".html", ".css"))
_CALIBRATION = (
    "Probabilities that a policy gave before it fetched a page, against what came of it. The larger a mark, "
    "the more pages; bars are one standard error. On the dashed line probabilities can be taken at their word. "
    "The pages that a policy selects are those whose probability came out high, by mistake too; the ones "
    "explored by chance show the calibration over the whole frontier."
)


def write_report(
    output: Output, results: Results, evaluation: Evaluation, compared: Iterable[Compared], bars: Progress
) -> None:
    """Draw the pictures, and write the report that has them."""
    predicates, told = evaluation.predicates, with_probabilities(results)
    bars.phase("write the report", len(predicates) + 1)
    output.draw(
        "lift.png", draw_lift, results, None, f"Mean of {len(predicates)} predicates", ", ".join(predicates)
    )
    if told:
        output.draw("reliability.png", draw_reliability, results, told)
    bars.advance()
    for name, predicate in predicates.items():
        output.draw(f"lift/{name}.png", draw_lift, results, name, name, str(predicate))
        bars.advance()
    tables = (
        f"<div><h3>{escape(each.title)}</h3>{versus_table(each.title, each.found)}</div>"
        for each in compared
        if each.found
    )
    facts = (
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>"
        for name, text in _facts(evaluation).items()
    )
    page = Template(_PAGE.read_text(encoding="utf-8")).substitute(
        style=_STYLE.read_text(encoding="utf-8"),
        policies=len(results.policies),
        facts="".join(facts),
        links=" ".join(f'<a href="#p-{escape(name)}">{escape(name)}</a>' for name in predicates),
        mean_picture=_picture(output.path("lift.png"), "Lift curves on the mean of all predicates"),
        mean_table=figures_table(results, None),
        area=f"{min(AREA, results.budget):,}",
        comparisons="".join(tables),
        calibration=_CALIBRATION if told else "None of these policies gives probabilities.",
        reliability=_picture(output.path("reliability.png"), "Reliability diagrams") if told else "",
        predicates="".join(_card(output, results, evaluation, *each) for each in predicates.items()),
    )
    output.path("report.html").write_text(page, encoding="utf-8")


def _facts(evaluation: Evaluation) -> Mapping[str, str]:
    pages, accesses, clock = evaluation.web.pages, evaluation.trace.accesses, evaluation.terms.clock
    end = {"pages a crawl": f"{evaluation.terms.budget:,}"}
    if clock is not None:
        end = {"seconds a crawl": f"{clock.seconds:,g}, {clock.delay:g} between requests to a host"}
    return {
        "pages": f"{len(pages):,}",
        "links": f"{sum(len(page.links) for page in pages.values()):,}",
        "accesses": f"{sum(accesses.values()):,}",
        "pages of the log": f"{len(accesses):,}",
        "predicates": str(len(evaluation.predicates)),
        "starts": str(evaluation.starts),
        "seeds a start": str(evaluation.seeds),
        **end,
        "random seed": str(evaluation.random_seed),
    }


def _card(output: Output, results: Results, evaluation: Evaluation, name: str, predicate: Predicate) -> str:
    hits, pages, safe = len(evaluation.web.hits[name]), len(evaluation.web.pages), escape(name)
    picture = _picture(output.path(f"lift/{name}.png"), f"Lift curves of {name}")
    return (
        f'<article id="p-{safe}"><h3>{safe} <code>{escape(str(predicate))}</code></h3>'
        f'<p class="note">{hits:,} of {pages:,} pages ({hits / pages:.1%}).</p>'
        f"{picture}{figures_table(results, name)}</article>"
    )


def _picture(path: Path, alternative: str) -> str:
    data = b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(alternative)}" src="data:image/png;base64,{data}">'
