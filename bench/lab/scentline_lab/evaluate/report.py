"""The report: one self-contained page with all figures and pictures; no scripts, nothing from elsewhere."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from scentline_lab.evaluate.pictures import figures_table, versus_table
from scentline_lab.evaluate.results import AREA, Results
from scentline_lab.evaluate.run import Output
from scentline_lab.evaluate.tables import Versus

_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #26292e; --soft: #5d626a; --line: #e3e5e8; --over: #f6f7f9; --link: #0b4ea2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #161616; --ink: #e4e6e9; --soft: #a3a8b0; --line: #34383d; --over: #202327; --link: #8ab8f2;
  }
  img, i { filter: invert(.912) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body {
  margin: 0 auto; padding: 2.5rem clamp(1rem, 3vw, 4rem) 4rem; max-width: 2100px; color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", sans-serif;
  background: var(--paper);
}
h1 { margin: 0 0 .3rem; font-size: 2.2rem; letter-spacing: -.02em; }
h2 { margin: 3.2rem 0 .8rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.5rem; }
h3 { margin: 0 0 .4rem; font-size: 1.1rem; overflow-wrap: anywhere; }
header p, .note { max-width: 62rem; }
.note { color: var(--soft); font-size: .9rem; }
code { margin-left: .5rem; color: var(--soft); font: .85rem ui-monospace, "Liberation Mono", monospace; }
dl { display: flex; flex-wrap: wrap; gap: .6rem 2.4rem; margin: 1.2rem 0; }
dt { color: var(--soft); font-size: .78rem; letter-spacing: .04em; text-transform: uppercase; }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .35rem 1rem; font-size: .92rem; }
nav a { color: var(--link); text-decoration: none; }
nav a:hover { text-decoration: underline; }
img { display: block; width: 100%; height: auto; max-width: 1430px; }
#reliability img { width: auto; max-width: 100%; }
.wide, .cards { display: grid; grid-template-columns: minmax(0, 1fr); gap: 3rem; align-items: start; }
article { scroll-margin-top: 1rem; }
.box { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; text-align: right; white-space: nowrap; }
th { font-weight: 500; }
thead th { color: var(--soft); font-size: .8rem; font-weight: 400; }
thead .over { padding-bottom: 0; text-align: center; }
thead tr:last-child th { border-bottom: 1px solid var(--soft); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody tr:hover > * { background: var(--over); }
tbody th, thead .name { text-align: left; }
tbody th { padding-left: 1.7rem; white-space: normal; text-indent: -1.2rem; }
tr > th:first-child { position: sticky; left: 0; background: var(--paper); }
small { color: var(--soft); font-size: .82em; }
i { display: inline-block; width: .7rem; height: .7rem; margin-right: .5rem; border-radius: 2px; }
@media (min-width: 2000px) {
  .wide, .cards { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
"""


@dataclass(frozen=True)
class Facts:
    """What the report says about its making: ``facts`` in words, and each predicate's expression and hits."""

    facts: Sequence[tuple[str, str]]
    expressions: dict[str, str]
    hits: dict[str, int]
    pages: int


@dataclass(frozen=True)
class Compared:
    """Policies against each other: by area the best, the learned, the log's worth and the headline, by early
    harvest reuse.
    """

    best: Sequence[Versus]
    learned: Sequence[Versus]
    log: Sequence[Versus]
    reuse: Sequence[Versus]
    headline: Sequence[Versus]


def write_report(output: Output, results: Results, facts: Facts, compared: Compared) -> None:
    """Write the report; the pictures have been drawn."""
    sections = [
        _head(results, facts),
        _mean(output, results),
        _comparisons(results, compared),
        _reliability(output),
        _predicates(output, results, facts),
    ]
    body = "\n".join(sections)
    title = "Scentline: evaluation"
    output.report.write_text(
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n",
        encoding="utf-8",
    )


def _head(results: Results, facts: Facts) -> str:
    terms = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.facts)
    links = " ".join(f'<a href="#p-{escape(name)}">{escape(name)}</a>' for name in results.predicates)
    return (
        f"<header><h1>Which page next?</h1><p>Virtual crawls of one archive by {len(results.policies)} "
        f"policies, from the same seed pages, for each predicate. The harvest rate is the share of the "
        f"fetched pages that satisfy the predicate.</p><dl>{terms}</dl>"
        f'<nav><a href="#mean">Mean</a> <a href="#versus">Comparisons</a> '
        f'<a href="#reliability">Calibration</a> {links}</nav></header>'
    )


def _mean(output: Output, results: Results) -> str:
    return (
        f'<section id="mean"><h2>All predicates, on the mean</h2><div class="wide">'
        f"{_picture(output.lift(None), 'Lift curves on the mean of all predicates')}"
        f"<div>{figures_table(results, None)}{_legend(results)}</div></div></section>"
    )


def _legend(results: Results) -> str:
    area = min(AREA, results.budget)
    return (
        f'<p class="note">AUC is the mean harvest rate over the first {area:,} pages, or requests: a link '
        "whose page is not in the archive is a request that brings none. The oracle knows which "
        "of the pages that links have made known satisfy the predicate; the informed policy learned from the "
        "labels of four fifths of all URLs, never from the one in question. Of the policies that tell "
        "probabilities: the Brier score, in brackets that of telling every page the crawl’s own rate; ECE, "
        "the expected calibration error, over the pages that the policy selected, and over those that it "
        "explored by chance. In bold the best of a column, those two apart.</p>"
    )


def _comparisons(results: Results, compared: Compared) -> str:
    early = results.early
    tables = [
        _versus("Each policy against the best, by AUC", compared.best),
        _versus("The learned policy against each other one, by AUC", compared.learned),
        _versus("The learned policy against itself without log or users, by AUC", compared.log),
        _versus(f"With an earlier crawl's state, against without, by the harvest at {early:,}", compared.reuse),
        _versus("One collaborative run against the best of all by links, by AUC", compared.headline),
    ]  # fmt: skip
    return (
        '<section id="versus"><h2>Policies against each other</h2><p class="note">The same predicate and the '
        "same seeds make a pair of runs. Differences with their 95 % interval from a paired bootstrap over "
        f"the predicates, since runs of one predicate are alike: of one predicate it has no width.</p>"
        f'<div class="cards">{"".join(tables)}</div></section>'
    )


def _versus(title: str, found: Sequence[Versus]) -> str:
    return f"<div><h3>{escape(title)}</h3>{versus_table(title, found)}</div>" if found else ""


def _reliability(output: Output) -> str:
    if not output.reliability.exists():
        return (
            '<section id="reliability"><h2>Calibration</h2>'
            '<p class="note">None of these policies tells probabilities.</p></section>'
        )
    return (
        '<section id="reliability"><h2>Calibration</h2><p class="note">What a policy told before it fetched a '
        "page, against what came of it. The larger a mark, the more pages; bars are one standard error. On the "
        "dashed line probabilities can be taken at their word. The pages that a policy selects are those whose "
        "probability came out high, by mistake too; the ones explored by chance show how the whole frontier is "
        "judged.</p>"
        f"{_picture(output.reliability, 'Reliability diagrams')}</section>"
    )


def _predicates(output: Output, results: Results, facts: Facts) -> str:
    cards = "".join(
        f'<article id="p-{escape(name)}"><h3>{escape(name)} <code>{escape(facts.expressions[name])}</code></h3>'
        f'<p class="note">{facts.hits[name]:,} of {facts.pages:,} pages '
        f"({facts.hits[name] / facts.pages:.1%}).</p>"
        f"{_picture(output.lift(name), f'Lift curves of {name}')}{figures_table(results, name)}</article>"
        for name in results.predicates
    )
    return f'<section><h2>Each predicate</h2><div class="cards">{cards}</div></section>'


def _picture(path: Path, alternative: str) -> str:
    data = b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(alternative)}" src="data:image/png;base64,{data}">'
