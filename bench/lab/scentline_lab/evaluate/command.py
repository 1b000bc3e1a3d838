"""The evaluate command: checks, the crawls, then tables, pictures and the report; for one web or several."""

import difflib
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from operator import attrgetter
from pathlib import Path
from string import Template
from typing import Any

import typer
from pydantic import Field, TypeAdapter, ValidationError

from scentline.agents.cli.output import print_table
from scentline.agents.judge.predicates import check_judges
from scentline.agents.stored import table_of
from scentline.models.columns import Name
from scentline.models.predicate import Predicate, parse
from scentline.streams.settings import ConfigurationError, Settings
from scentline_lab.evaluate import tables
from scentline_lab.evaluate.pictures import (
    draw_lift,
    draw_reliability,
    figures_table,
    versus_table,
    with_probabilities,
)
from scentline_lab.evaluate.results import AREA, Figures, Results, parts
from scentline_lab.evaluate.run import Crawl, Evaluation, Job, Options, order_name, prepare
from scentline_lab.experiment import Cut, Output, Progress, cell, check_files, check_logs, spread
from scentline_lab.simulation.policies import ASIDE, REUSABLE, Maker, policies

# Settings that a virtual crawl ignores: a figure must not stand beside one.
_REFUSED = (
    "frontier.ordering", "frontier.mode", "frontier.max_depth", "frontier.depth",
    "frontier.threshold", "frontier.visited_patterns_only",
)  # fmt: skip
_FILES = (
    "seeds.csv", "results.csv", "table.csv", "comparisons.csv", "curves.csv", "lift.png", "reliability.png",
    "report.html",
)  # fmt: skip


def show(settings: Settings, options: Options, out: Path, *, as_json: bool) -> None:
    """Evaluate one web and print its figures."""
    output = Output(out, "evaluate", _FILES, ("orders", "lift"))
    results = run(settings, options, output)
    _print(results.by_policy())
    output.finish("report.html", as_json, lambda: tables.as_object(results))


def run(settings: Settings, options: Options, output: Output) -> Results:
    """Evaluate and write everything; raises what is wrong with the options before it begins."""
    for key in _REFUSED:
        given, usual = (attrgetter(key)(each) for each in (settings, Settings()))
        if given != usual:
            why = "an evaluation goes by its own options and policies; leave it out"
            raise ConfigurationError(f"{key} is {given!r}: {why}")
    makers, predicates = policies(settings, table_of(settings.learn.table)), _predicates(settings)
    chosen = _policies(options.policies or [name for name in makers if name not in ASIDE], makers)
    options = options.model_copy(update={"policies": chosen})
    _check(options)
    orders, bars = output.prepare().path("orders"), Progress()
    with Cut() as cut:
        evaluation = prepare(settings, options, predicates, makers, bars)
        results = _crawl(evaluation, output, options, bars)
        compared = tables.compared(results, evaluation.random_seed)
        tables.write_tables(output, results, evaluation.random_seed)
        tables.write_comparisons(output, compared)
        _write_report(output, results, evaluation, compared, bars)
    finished = len(list(orders.iterdir()))
    cut.end(f"Interrupted: {orders} has the orders of the {finished} crawls that finished.")
    return results


def _crawl(evaluation: Evaluation, output: Output, options: Options, bars: Progress) -> Results:
    jobs = evaluation.jobs()
    seeds = ((start, url) for start in range(1, evaluation.starts + 1) for url in evaluation.seeds_of(start))
    output.write("seeds", ("start", "url"), seeds)
    done: dict[Job, list[Crawl]] = {}
    for job, crawls in spread(evaluation.run, jobs, options.processes, bars, "crawl"):
        for found in crawls:
            tables.write_order(output, order_name(*found[:3]), found.order)
        done[job] = crawls
    return Results.of((found for job in jobs for found in done[job]), options.budget, options.clock)


def _policies(given: Sequence[str], makers: Mapping[str, Maker]) -> tuple[str, ...]:
    for name in given:
        if name not in makers:
            near = difflib.get_close_matches(name, makers, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ConfigurationError(f"--policy {name!r}: {hint}expected some of {', '.join(makers)}")
    return tuple(name for name in makers if name in given)


def _predicates(settings: Settings) -> dict[str, Predicate]:
    if not settings.predicates:
        such = "--predicate 'news=title(\"news\")'"
        raise ConfigurationError(f"an evaluation needs at least one predicate, such as {such}")
    predicates = {name: parse(expression) for name, expression in settings.predicates.items()}
    check_judges(predicates, settings.judge)
    return predicates


def _check(options: Options) -> None:
    check_files("--archive ", options.archives)
    check_logs(options.logs)
    if options.reuse and len(options.logs) not in (1, 2):
        raise ConfigurationError(f"--reuse: got {len(options.logs)} logs, expected two, or one to split")
    if options.reuse and set(REUSABLE).isdisjoint(options.policies):
        expected = f"expected one of {', '.join(REUSABLE)}"
        raise ConfigurationError(f"--reuse: none of the policies can reuse a crawl's state; {expected}")


def _print(figures: Mapping[str, Figures]) -> None:
    ranked = sorted(figures.items(), key=lambda item: -(item[1]["auc"] or 0))
    one = ranked[0][1] if ranked else {}
    clock = {f"hits_{time}": f"{time[:-1]} s" for time in parts(one, "hits")}
    sites = f"sites_{[*parts(one, 'sites')][-1]}" if ranked else "sites"
    columns = {
        **{f"harvest_{point}": f"@{point}" for point in parts(one, "harvest")},
        **(clock | {"slots": "slots"} if clock else {}),
        "auc": "AUC", "auc_of_oracle": "/oracle", "auc_by_request": "AUC/request",
        "requests_a_page": "requests/page", sites: "sites", "brier": "Brier", "ece_selected": "ECE",
    }  # fmt: skip
    forms = dict.fromkeys(columns, ".3f") | dict.fromkeys((*clock, sites), ".1f")
    rows = ((policy, *(cell(found[each], forms[each]) for each in columns)) for policy, found in ranked)
    print_table(["policy", *columns.values()], rows)


# The report: one self-contained page with all figures and pictures.
_PAGE, _STYLE = (Path(__file__).with_name(f"report.{suffix}") for suffix in ("html", "css"))
_CALIBRATION = (
    "Probabilities that a policy gave before it fetched a page, against what came of it. The larger a mark, "
    "the more pages; bars are one standard error. On the dashed line probabilities can be taken at their word. "
    "The pages that a policy selects are those whose probability came out high, by mistake too; the ones "
    "explored by chance show the calibration over the whole frontier."
)


def _write_report(
    output: Output, results: Results, evaluation: Evaluation, compared: list[tables.Compared], bars: Progress
) -> None:
    predicates, told = evaluation.predicates, with_probabilities(results)
    bars.phase("write the report", len(predicates) + 1)
    title = f"Mean of {len(predicates)} predicates"
    output.draw("lift.png", draw_lift, results, None, title, ", ".join(predicates))
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
    page = Template(_PAGE.read_text(encoding="utf-8")).substitute(
        style=_STYLE.read_text(encoding="utf-8"),
        policies=len(results.policies),
        facts="".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in _facts(evaluation)),
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


def _facts(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    pages, accesses, clock = evaluation.web.pages, evaluation.trace.accesses, evaluation.terms.clock
    yield "pages", f"{len(pages):,}"
    yield "links", f"{sum(len(page.links) for page in pages.values()):,}"
    yield "accesses", f"{sum(accesses.values()):,}"
    yield "pages of the log", f"{len(accesses):,}"
    yield "predicates", str(len(evaluation.predicates))
    yield "starts", str(evaluation.starts)
    yield "seeds a start", str(evaluation.seeds)
    if clock is None:
        yield "pages a crawl", f"{evaluation.terms.budget:,}"
    else:
        yield "seconds a crawl", f"{clock.seconds:,g}, {clock.delay:g} between requests to a host"
    yield "random seed", str(evaluation.random_seed)


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


class WebSpec(Options):
    """One web of a file of several: the command's options for it; ``settings`` are by dotted key."""

    labels: Path | None = None
    predicates: dict[Name, str]
    settings: Mapping[str, Any] = Field(default_factory=dict)

    def overrides(self) -> dict[str, Any]:
        """Return this web's settings by dotted key; None is one that is not given."""
        predicates = {f"predicates.{name}": text for name, text in self.predicates.items()}
        labels = None if self.labels is None else str(self.labels)
        return {**self.settings, "judge.labels": labels, **predicates}


def read_webs(path: Path, chosen: Sequence[str] = ()) -> dict[str, WebSpec]:
    """Return the webs of a TOML file by name, those ``chosen`` or all: each a table ``[webs.NAME]``, the keys
    before them being the defaults. Raises `ConfigurationError` for another file or an unknown name.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"--webs {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--webs {path}: expected TOML: {error}") from error
    given = found.pop("webs", None)
    if not isinstance(given, dict) or not given:
        raise ConfigurationError(f"--webs {path}: expected at least one table [webs.NAME]")
    for name in chosen:
        if name not in given:
            raise ConfigurationError(f"--web {name}: {path} has {', '.join(given)}")
    whole = {name: found | (table if isinstance(table, dict) else {"": table}) for name, table in given.items()}
    try:
        webs = TypeAdapter(dict[Name, WebSpec]).validate_python(whole)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, ("webs", *first["loc"])))
        raise ConfigurationError(f"--webs {path}: {key}: {first['msg']}") from error
    return {name: spec for name, spec in webs.items() if not chosen or name in chosen}


def show_webs(
    specs: Mapping[str, WebSpec],
    settings_of: Callable[[dict[str, Any]], Settings],
    given: Mapping[str, Any],
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Evaluate each web into its own directory; then write and print each policy's figures on all.
    ``settings_of`` adds a web's own settings; the options ``given`` win over those of a web.
    """
    webs = {
        name: (settings_of(spec.overrides()), spec.model_copy(update=given)) for name, spec in specs.items()
    }
    output = Output(out, "evaluate-webs", ("webs.csv", "comparisons.csv"), ("webs",)).prepare()
    found = {
        name: run(*each, Output(out / "webs" / name, "evaluate", _FILES, ("orders", "lift")))
        for name, each in webs.items()
    }
    seed, all_results = next(iter(webs.values()))[0].random_seed, list(found.values())
    tables.write_webs(output, found, seed)
    compared = (each for name in tables.AREAS for each in tables.compared_by_area(all_results, seed, name))
    tables.write_comparisons(output, compared)
    for name, results in found.items():
        typer.echo(f"\n{name}")
        _print(results.by_policy())
    typer.echo("\nmean of the webs")
    _print(tables.figures_of_webs(all_results))
    output.finish("webs/*/report.html", as_json, lambda: tables.webs_as_object(found))
