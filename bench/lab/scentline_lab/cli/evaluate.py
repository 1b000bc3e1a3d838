"""``scentline evaluate``: compare policies on an archive, offline."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scentline.agents.cli.app import CommandError, app, examples
from scentline.agents.cli.options import (
    Assignments,
    ConfigFile,
    Labels,
    LogSite,
    PredicateTexts,
    RandomSeed,
    given_predicates,
    load_settings,
    of_site,
)
from scentline.agents.cli.output import print_table
from scentline_lab.cli.options import AsJsonLine, Jobs, cell, finish, option, processes

if TYPE_CHECKING:
    from scentline_lab.evaluate.results import Figures, Results

_Out = Annotated[Path, option("--out", "DIR", "Directory for the files; replaces an earlier evaluation.")]
_Archives = Annotated[list[Path] | None, option("--archive", "WARC", "Web to crawl; repeatable.")]
_WEBS = "Several webs, each with its predicates, from a file."
_Webs = Annotated[Path | None, option("--webs", "TOML", _WEBS)]
_Chosen = Annotated[list[str] | None, option("--web", "NAME", "Of that file only this; repeatable.")]
_Logs = Annotated[list[str] | None, option("--log", "FILE", "Log of visits, known from the start; repeatable.")]
_Policies = Annotated[list[str] | None, option("--policy", "A,B,...", "Policies; by default all.")]
_PAGES = "Pages to fetch in each crawl; 1000 by default."
_Budget = Annotated[int | None, option("--budget", "N", _PAGES, min=1)]
_CLOCK = "Let time pass: each crawl goes on for so long, in place of a budget."
_Clock = Annotated[float | None, option("--clock", "SECONDS", _CLOCK, min=1)]
_Starts = Annotated[int | None, option("--starts", "K", "Sets of seed pages; 5 by default.", min=1)]
_Seeds = Annotated[int | None, option("--seeds", "N", "Seed pages in a set; 10 by default.", min=1)]
_FROM = "URLs to draw seeds from instead of all pages."
_SeedFile = Annotated[Path | None, option("--seed-file", "FILE", _FROM)]
_REUSE = (
    "Also crawl with the state of an earlier crawl. Give its log first, then the later one's, or one log, "
    "which is split at the middle of its time."
)
_Reuse = Annotated[bool, typer.Option("--reuse", help=_REUSE)]


@app.command(
    epilog=examples(
        "evaluate",
        "scentline evaluate --archive pages.warc.gz --log access.log.gz --labels topics.tsv.gz"
        " --predicate 'science=category(\"Science\")' --policy combined,linkage,breadth-first,oracle"
        " --budget 100 --starts 2 --out evaluation",
        "scentline evaluate --webs webs.toml --policy learned,breadth-first,oracle --starts 2 --out evaluation",
    )
)
def evaluate(
    out: _Out,
    archives: _Archives = None,
    webs: _Webs = None,
    chosen: _Chosen = None,
    logs: _Logs = None,
    site: LogSite = None,
    labels: Labels = None,
    predicates: PredicateTexts = None,
    policies: _Policies = None,
    budget: _Budget = None,
    clock: _Clock = None,
    starts: _Starts = None,
    seeds: _Seeds = None,
    seed_file: _SeedFile = None,
    random_seed: RandomSeed = None,
    reuse: _Reuse = False,
    jobs: Jobs = None,
    as_json: AsJsonLine = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Simulate crawls of an archive with each policy, predicate and start, and compare their harvest.

    Works offline. Each start has its own seeds, drawn uniformly from all pages of the archive, the same for
    every policy and predicate; they are fetched first, and count. A link whose page is not in the archive is a
    request that brings none. DIR gets the order of every crawl, tables, and report.html, which shows them all.

    With --clock, answers are as late as the web's, requests to a host are fetch.delay_seconds apart, pages take
    time to be read, and hits are counted by the second. No time is spent waiting.

    With --webs, all that is done for each web of a file, and tables have the means over them. The options
    given here win over the file's.

    With --reuse, the earlier crawl has its own seeds. NAME+reuse starts with its state. "New pages only"
    removes the earlier crawl's pages from the web.
    """
    given: dict[str, Any] = {
        "policies": tuple(name.strip() for text in policies or () for name in text.split(",")) or None,
        "budget": budget, "clock": clock, "starts": starts, "seeds": seeds, "seed_file": seed_file,
        "processes": processes(jobs),
    }  # fmt: skip
    given = {key: value for key, value in given.items() if value is not None}
    overrides = {"random_seed": random_seed, "judge.labels": labels and str(labels)}
    if webs is not None:
        if archives or logs or site or labels or predicates or reuse:
            raise CommandError("--webs: archives, logs, labels and predicates are in the file, not beside it")
        _evaluate_webs(webs, chosen or [], given, (config, assignments, random_seed), out, as_json)
        return
    if not archives:
        raise CommandError("an evaluation needs a web: give --archive WARC, or several by --webs TOML")
    settings = load_settings(config, assignments, overrides | given_predicates(predicates or ())).settings
    from scentline_lab.evaluate.command import run
    from scentline_lab.evaluate.run import Options
    from scentline_lab.evaluate.tables import as_json as object_of

    options = Options(archives=tuple(archives), logs=tuple(logs or ()), reuse=reuse, **given)
    results = run(of_site(settings, site, options.logs), options, out)
    _print(_figures(results))
    finish(out, "report.html", as_json, lambda: object_of(results))


def _evaluate_webs(
    webs: Path,
    chosen: list[str],
    given: Mapping[str, Any],
    loaded: tuple[Path | None, list[str] | None, int | None],
    out: Path,
    as_json: bool,
) -> None:
    from scentline_lab.evaluate.command import read_webs, run_webs
    from scentline_lab.evaluate.tables import figures_of_webs, webs_as_json

    config, assignments, random_seed = loaded
    specs = {}
    for name, spec in read_webs(webs, chosen).items():
        settings = load_settings(config, assignments, spec.overrides() | {"random_seed": random_seed}).settings
        specs[name] = settings, replace(spec.options(), **given)
    found = run_webs(specs, out)
    for name, results in found.items():
        typer.echo(f"\n{name}")
        _print(_figures(results))
    typer.echo("\nmean of the webs")
    _print(figures_of_webs(list(found.values())))
    finish(out, "webs/*/report.html", as_json, lambda: webs_as_json(found))


def _figures(results: "Results") -> "Mapping[str, Figures]":
    return {policy: results.figures(policy) for policy in results.policies}


def _print(figures: "Mapping[str, Figures]") -> None:
    """Print each policy's figures, the best first."""
    points = next((list(found.harvest) for found in figures.values()), [])
    times = next((list(found.hits) for found in figures.values()), [])
    clock = [*(f"{time} s" for time in times), "slots"] if times else []
    columns = ["policy", *(f"@{point}" for point in points), *clock, "AUC", "/oracle", "AUC/request"]
    ranked = sorted(figures.items(), key=lambda item: -item[1].auc)
    rows = ((policy, *_cells(found)) for policy, found in ranked)
    print_table([*columns, "requests/page", "sites", "Brier", "ECE"], rows)


def _cells(figures: "Figures") -> list[str]:
    clock = [*(f"{hits:.1f}" for hits in figures.hits.values()), cell(figures.slots)] if figures.hits else []
    areas = (figures.auc, figures.auc_of_oracle, figures.auc_by_request, figures.requests)
    sites = f"{list(figures.sites.values())[-1]:.1f}"
    told = (figures.brier, figures.selected)
    return [*map(cell, figures.harvest.values()), *clock, *map(cell, areas), sites, *map(cell, told)]
