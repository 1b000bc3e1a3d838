"""The tables of the report, as HTML: figures by policy, and policies against each other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from agents.lab.evaluate.comparisons import Versus
from agents.lab.evaluate.pictures import look
from agents.lab.evaluate.results import Figures, Results
from models.evaluate.policies import LIMITS


@dataclass(frozen=True)
class _Column:
    """A column of figures: what it is called, where it is found, whether the least is the best."""

    name: str
    value: Callable[[Figures], float | None]
    percent: bool = False
    least: bool = False
    beside: Callable[[Figures], float | None] | None = None

    def best(self, figures: Iterable[Figures]) -> float | None:
        """Return the best value, None where there is none."""
        found = [value for each in figures if (value := self.value(each)) is not None]
        return (min if self.least else max)(found, default=None)

    def cell(self, found: Figures, best: float | None) -> str:
        """Return a figure as a cell, in bold where it is the best."""
        value = self.value(found)
        if value is None:
            return "<td></td>"
        text = _strong(f"{value:.0%}" if self.percent else f"{value:.3f}", value == best)
        if self.beside is not None and (other := self.beside(found)) is not None:
            text += f" <small>({other:.3f})</small>"
        return f"<td>{text}</td>"


_AREAS = (
    _Column("AUC", lambda found: found.auc),
    _Column("of oracle", lambda found: found.auc_of_oracle, percent=True),
    _Column("AUC by request", lambda found: found.auc_by_request),
    _Column("requests a page", lambda found: found.requests, least=True),
)
_CALIBRATION = (
    _Column("Brier", lambda found: found.brier, least=True, beside=lambda found: found.base_brier),
    _Column("ECE sel.", lambda found: found.selected, least=True),
    _Column("ECE expl.", lambda found: found.explored, least=True),
)


def figures_table(results: Results, predicate: str | None) -> str:
    """Return the figures of each policy for a predicate, or on the mean of all; the largest area first."""
    figures = {policy: results.figures(policy, predicate) for policy in results.policies}
    told = any(found.brier is not None for found in figures.values())
    rates = [_Column(f"{point:,}", _harvest(point)) for point in results.points]
    columns = [*rates, *_AREAS, *(_CALIBRATION if told else ())]
    contest = [found for policy, found in figures.items() if policy not in LIMITS]
    best = [column.best(contest) for column in columns]
    rows = (
        f"<tr>{policy_cell(policy)}"
        + "".join(column.cell(figures[policy], top) for column, top in zip(columns, best, strict=True))
        for policy in sorted(figures, key=lambda policy: -figures[policy].auc)
    )
    above = f'<tr><td></td><td class="over" colspan="{len(rates)}">harvest rate at</td></tr>'
    return _table([column.name for column in columns], ["policy"], rows, above)


def versus_table(found: Sequence[Versus]) -> str:
    """Return policies against each other, a row a pair."""
    return _table(
        ["mean", "other’s", "ratio", "difference", "95 % interval", "ahead in", "runs", "predicates"],
        ["policy", "against"],
        (_versus(each) for each in found),
    )


def policy_cell(policy: str) -> str:
    """Return a policy's name beside its colour."""
    return f'<th><i style="background:{look(policy).colour}"></i>{escape(policy)}</th>'


def _harvest(point: int) -> Callable[[Figures], float | None]:
    return lambda found: found.harvest[point]


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


def _table(columns: Sequence[str], names: Sequence[str], rows: Iterable[str], above: str = "") -> str:
    head = "".join(f'<th class="name">{name}</th>' for name in names)
    head += "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(f"{row}</tr>" for row in rows)
    return f"<table><thead>{above}<tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _strong(text: str, strong: bool) -> str:
    return f"<b>{text}</b>" if strong else text
