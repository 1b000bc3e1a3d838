"""The evaluate command: checks, the crawls, then tables, pictures and the report; of one web or of several."""

import difflib
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from pydantic import Field, ValidationError

from scentline.agents.cli.output import print_table
from scentline.agents.judge.predicates import check_judges
from scentline.agents.semantic.tables import table_of
from scentline.models.predicate import Predicate, parse
from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import Count, Section
from scentline.streams.settings import PredicateName, Settings
from scentline_lab.evaluate import tables
from scentline_lab.evaluate.crawls import Evaluation
from scentline_lab.evaluate.pictures import draw_lift, draw_reliability
from scentline_lab.evaluate.report import Compared, Facts, write_report
from scentline_lab.evaluate.results import Figures, Results
from scentline_lab.evaluate.run import Options, Output, crawl, prepare
from scentline_lab.experiment import OutputDirectory, cell, check_files, check_logs, finish, working
from scentline_lab.progress import Progress
from scentline_lab.simulation.policies import Maker, named, policies, reusable

#: Settings that a virtual crawl ignores, by dotted key: they are refused, for no figure is to stand beside one.
_REFUSED = (
    "frontier.ordering", "frontier.mode", "frontier.max_depth", "frontier.depth",
    "frontier.threshold", "frontier.visited_patterns_only",
)  # fmt: skip


def show(settings: Settings, options: Options, out: Path, *, as_json: bool) -> None:
    """Evaluate one web, and print its figures."""
    results = run(settings, options, out)
    _print(_figures(results))
    finish(out, "report.html", as_json, lambda: tables.as_object(results))


def run(settings: Settings, options: Options, out: Path) -> Results:
    """Evaluate and write everything into ``out``; raises what is wrong with the options before it begins."""
    for key in _REFUSED:
        section, name = key.split(".")
        given, usual = (getattr(getattr(each, section), name) for each in (settings, Settings()))
        if given != usual:
            raise ConfigurationError(
                f"{key} is {given!r}: an evaluation goes by its own options and policies; leave it out"
            )
    table = table_of(settings.learn.table)
    makers, heirs = named(settings, table), reusable(settings, table)
    options = replace(options, policies=_policies(options.policies or tuple(policies(settings)), makers))
    predicates = _predicates(settings)
    _check(options, heirs)
    output = Output(out)
    output.prepare()

    def left() -> str:
        done = len(list(output.orders.iterdir()))
        return f": {output.orders} has the orders of the {done} crawls that finished"

    with working(left) as bars:
        evaluation = prepare(settings, options, predicates, makers, heirs, bars)
        results = crawl(evaluation, output, options, bars)
        _write(output, evaluation, results, predicates, bars)
    return results


def _policies(given: Sequence[str], makers: Mapping[str, Maker]) -> tuple[str, ...]:
    """Return the policies that are named, each once, in the order of the registry."""
    for name in given:
        if name not in makers:
            near = difflib.get_close_matches(name, makers, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ConfigurationError(f"--policy {name!r}: {hint}expected some of {', '.join(makers)}")
    return tuple(name for name in makers if name in given)


def _predicates(settings: Settings) -> dict[str, Predicate]:
    if not settings.predicates:
        raise ConfigurationError(
            "an evaluation needs at least one predicate, such as --predicate 'news=title(\"news\")'"
        )
    predicates = {name: parse(expression) for name, expression in settings.predicates.items()}
    check_judges(predicates, settings.judge)
    return predicates


def _check(options: Options, heirs: Collection[str]) -> None:
    check_files("--archive ", options.archives)
    check_logs(options.logs)
    if options.reuse and len(options.logs) not in (1, 2):
        raise ConfigurationError(f"--reuse: got {len(options.logs)} logs, expected two, or one to split")
    if options.reuse and set(heirs).isdisjoint(options.policies):
        raise ConfigurationError(
            f"--reuse: none of the policies can reuse a crawl's state; expected one of {', '.join(heirs)}"
        )


def _write(
    output: Output,
    evaluation: Evaluation,
    results: Results,
    predicates: Mapping[str, Predicate],
    bars: Progress,
) -> None:
    bars.phase("write the report", len(predicates) + 2)
    seed = evaluation.random_seed
    by_area = (tables.against_best, tables.learned_against, tables.log_worth)
    best, learned, log = (compare([results], seed) for compare in by_area)
    compared = Compared(best, learned, log, tables.reuse(results, seed), tables.headline(results, seed))
    tables.write_tables(output, results, seed)
    by = ("auc", "auc", "auc", f"harvest_{results.early}", "auc, the other's best start")
    tables.write_comparisons(output, zip(by, compared, strict=True))
    bars.advance()
    draw_lift(output.lift(None), results, None, f"Mean of {len(predicates)} predicates", ", ".join(predicates))
    draw_reliability(output.picture("reliability"), results)
    bars.advance()
    for name, predicate in predicates.items():
        draw_lift(output.lift(name), results, name, name, str(predicate))
        bars.advance()
    hits = {name: len(urls) for name, urls in evaluation.web.hits.items()}
    expressions = {name: str(predicate) for name, predicate in predicates.items()}
    facts = Facts(_facts(evaluation, results), expressions, hits, len(evaluation.web.pages))
    write_report(output, results, facts, compared)


def _facts(evaluation: Evaluation, results: Results) -> list[tuple[str, str]]:
    trace, clock = evaluation.trace, evaluation.terms.clock
    end = ("pages a crawl", f"{evaluation.terms.budget:,}")
    if clock is not None:
        end = ("seconds a crawl", f"{clock.seconds:,g}, {clock.delay:g} between requests to a host")
    return [
        ("pages", f"{len(evaluation.web.pages):,}"),
        ("links", f"{sum(len(page.links) for page in evaluation.web.pages.values()):,}"),
        ("accesses", f"{sum(trace.accesses.values()):,}"),
        ("pages of the log", f"{len(trace.accesses):,}"),
        ("predicates", str(len(results.predicates))),
        ("starts", str(evaluation.starts)),
        ("seeds a start", str(evaluation.seeds)),
        end,
        ("random seed", str(evaluation.random_seed)),
    ]


def _figures(results: Results) -> dict[str, Figures]:
    return {policy: results.figures(policy) for policy in results.policies}


def _print(figures: Mapping[str, Figures]) -> None:
    """Print each policy's figures, the best first."""
    ranked = sorted(figures.items(), key=lambda item: -item[1].auc)
    points, times = ([*getattr(ranked[0][1], name)] if ranked else [] for name in ("harvest", "hits"))
    clock = [*(f"{time} s" for time in times), "slots"] if times else []
    columns = ["policy", *(f"@{point}" for point in points), *clock, "AUC", "/oracle", "AUC/request"]
    rows = ((policy, *_cells(found)) for policy, found in ranked)
    print_table([*columns, "requests/page", "sites", "Brier", "ECE"], rows)


def _cells(figures: Figures) -> list[str]:
    clock = [*(f"{hits:.1f}" for hits in figures.hits.values()), cell(figures.slots)] if figures.hits else []
    areas = (figures.auc, figures.auc_of_oracle, figures.auc_by_request, figures.requests)
    sites = f"{list(figures.sites.values())[-1]:.1f}"
    told = (figures.brier, figures.selected)
    return [*map(cell, figures.harvest.values()), *clock, *map(cell, areas), sites, *map(cell, told)]


class WebSpec(Section):
    """One web of the file: what the command's options are for one alone; ``settings`` are by dotted key."""

    archives: tuple[Path, ...]
    logs: tuple[str, ...] = ()
    labels: Path | None = None
    predicates: dict[PredicateName, str]
    policies: tuple[str, ...] = Options.policies
    budget: Count = Options.budget
    starts: Count = Options.starts
    seeds: Count = Options.seeds
    seed_file: Path | None = None
    settings: Mapping[str, Any] = Field(default_factory=dict)

    def options(self) -> Options:
        names = ("archives", "logs", "policies", "budget", "starts", "seeds", "seed_file")
        return Options(**{name: getattr(self, name) for name in names})

    def overrides(self) -> dict[str, Any]:
        """Return the settings of this web by dotted key; None is one that is not given."""
        predicates = {f"predicates.{name}": text for name, text in self.predicates.items()}
        labels = None if self.labels is None else str(self.labels)
        return {**self.settings, "judge.labels": labels, **predicates}


class _File(Section):
    """The content of a file of webs; their names serve as those of directories."""

    webs: dict[PredicateName, WebSpec]


class WebsOutput(OutputDirectory):
    """The output directory of an evaluation of several webs: its tables, and each web's own directory."""

    command = "evaluate-webs"
    files = ("webs.csv", "comparisons.csv")
    directories = ("webs",)


def read_webs(path: Path, chosen: Sequence[str] = ()) -> dict[str, WebSpec]:
    """Return the webs of a TOML file by name, those ``chosen`` or all. Each is a table ``[webs.NAME]``; keys
    before the tables stand for all webs that don't say otherwise. Raises
    `ConfigurationError` for what is no such file, and for a name it has not.
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
        file = _File.model_validate({"webs": whole})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ConfigurationError(f"--webs {path}: {key}: {first['msg']}") from error
    return {name: spec for name, spec in file.webs.items() if not chosen or name in chosen}


def show_webs(
    specs: Mapping[str, WebSpec],
    settings_of: Callable[[dict[str, Any]], Settings],
    given: Mapping[str, Any],
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Evaluate each web into a directory of its own, write and print each policy's figures on all.
    ``settings_of`` gives the settings with a web's own; the options ``given`` win over those of a web.
    """
    webs = {
        name: (settings_of(spec.overrides()), replace(spec.options(), **given)) for name, spec in specs.items()
    }
    output = WebsOutput(out)
    output.prepare()
    found = {name: run(*each, out / "webs" / name) for name, each in webs.items()}
    seed = next(settings.random_seed for settings, _ in webs.values())
    tables.write_webs(output, found, seed)
    compared = [
        (name, compare(list(found.values()), seed, figure))
        for name, figure in (("auc", tables.area), ("auc_by_request", tables.area_by_request))
        for compare in (tables.against_best, tables.learned_against, tables.log_worth)
    ]
    tables.write_comparisons(output, compared)
    for name, results in found.items():
        typer.echo(f"\n{name}")
        _print(_figures(results))
    typer.echo("\nmean of the webs")
    _print(tables.figures_of_webs(list(found.values())))
    finish(out, "webs/*/report.html", as_json, lambda: tables.webs_as_object(found))
