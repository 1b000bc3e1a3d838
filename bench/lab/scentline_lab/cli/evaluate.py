"""``scentline evaluate``: compare policies on an archive, offline."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scentline.agents.cli.app import INTERRUPTED, CommandError, app, examples
from scentline.agents.cli.options import (
    Assignments,
    ConfigFile,
    Labels,
    LogSite,
    PredicateTexts,
    given_predicates,
    load_settings,
    of_site,
)
from scentline.agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from scentline.streams.settings import Settings
    from scentline_lab.evaluate.results import Figures
    from scentline_lab.evaluate.run import Options


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
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for the files; replaces an earlier evaluation.")
    ],
    archives: Annotated[
        list[Path] | None, typer.Option("--archive", metavar="WARC", help="Web to crawl; repeatable.")
    ] = None,
    webs: Annotated[
        Path | None, typer.Option(metavar="TOML", help="Several webs, each with its predicates, from a file.")
    ] = None,
    chosen: Annotated[
        list[str] | None, typer.Option("--web", metavar="NAME", help="Of that file only this; repeatable.")
    ] = None,
    logs: Annotated[
        list[str] | None,
        typer.Option("--log", metavar="FILE", help="Log of visits, known from the start; repeatable."),
    ] = None,
    site: LogSite = None,
    labels: Labels = None,
    predicates: PredicateTexts = None,
    policies: Annotated[
        list[str] | None, typer.Option("--policy", metavar="A,B,...", help="Policies; by default all.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Pages to fetch in each crawl; 1000 by default.")
    ] = None,
    clock: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Let time pass: each crawl goes on for so long, in place of a budget.",
        ),
    ] = None,
    starts: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Sets of seed pages; 5 by default.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Seed pages in a set; 10 by default.")
    ] = None,
    seed_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="URLs to draw seeds from instead of all pages.")
    ] = None,
    random_seed: Annotated[int | None, typer.Option(metavar="S", help="Seed of every random choice.")] = None,
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse",
            help="Also crawl with the state of an earlier crawl. Give its log first, then the later one's, or "
            "one log, which is split at the middle of its time.",
        ),
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of processes; doesn't change the results.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="End with one line of JSON.")] = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Simulate crawls of an archive with each policy, predicate and start, and compare their harvest.

    Works offline. Each start has its own seeds, drawn uniformly from all pages of the archive; they are the
    same for every policy and predicate, are fetched first, and count. A link whose page is not in the
    archive is a request that brings none, as a dead link is. DIR gets the order of every crawl, tables, lift
    curves, and report.html, which shows them all.

    With --clock, answers are as late as the web's, requests to a host are fetch.delay_seconds apart, pages take
    time to be read, and hits are counted by the second: which policy brings in most in a minute? No time is
    spent waiting.

    With --webs, all that is done for each web of a file, and tables have the means over them. The options
    given here win over the file's.

    With --reuse, the earlier crawl has its own seeds. NAME+reuse starts with its state. "New pages only"
    removes the earlier crawl's pages from the web.
    """
    import os

    # Set before numpy is loaded: a process for each core leaves none to threads of a library.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from scentline_lab.evaluate.run import Options

    given: dict[str, Any] = {
        "policies": tuple(name.strip() for text in policies or () for name in text.split(",")) or None,
        "budget": budget, "clock": clock, "starts": starts, "seeds": seeds, "seed_file": seed_file,
    }  # fmt: skip
    given = {key: value for key, value in given.items() if value is not None}
    given["processes"] = jobs or os.cpu_count() or 1
    if webs is None:
        if not archives:
            raise CommandError("an evaluation needs a web: give --archive WARC, or several by --webs TOML")
        settings = load_settings(
            config,
            assignments,
            {
                "random_seed": random_seed,
                "judge.labels": str(labels) if labels is not None else None,
                **given_predicates(predicates or ()),
            },
        ).settings
        options = Options(archives=tuple(archives), logs=tuple(logs or ()), reuse=reuse, **given)
        _evaluate_one(of_site(settings, site, options.logs), options, out, as_json=as_json)
        return
    if archives or logs or site or labels or predicates or reuse:
        raise CommandError("--webs: archives, logs, labels and predicates are in the file; give none beside it")
    from scentline_lab.evaluate.webs import read_webs

    found = {}
    for name, spec in read_webs(webs, chosen or ()).items():
        overrides = spec.overrides() | {"random_seed": random_seed}
        settings = load_settings(config, assignments, overrides).settings
        found[name] = settings, replace(spec.options(), **given)
    _evaluate_webs(found, out, as_json=as_json)


def _evaluate_one(settings: "Settings", options: "Options", out: Path, *, as_json: bool) -> None:
    from scentline_lab.evaluate.command import run

    results = run(settings, options, out)
    if results is None:
        raise typer.Exit(INTERRUPTED)
    _print({policy: results.figures(policy) for policy in results.policies})
    typer.echo(f"\nEverything is in {out}; look at {out / 'report.html'}")
    if as_json:
        from scentline_lab.evaluate.tables import as_json as object_of

        print_json(object_of(results))


def _evaluate_webs(webs: Mapping[str, tuple["Settings", "Options"]], out: Path, *, as_json: bool) -> None:
    from scentline_lab.evaluate.command import run_webs
    from scentline_lab.evaluate.tables import figures_of_webs, webs_as_json

    found = run_webs(webs, out)
    if found is None:
        raise typer.Exit(INTERRUPTED)
    for name, results in found.items():
        typer.echo(f"\n{name}")
        _print({policy: results.figures(policy) for policy in results.policies})
    typer.echo("\nmean of the webs")
    _print(figures_of_webs(list(found.values())))
    typer.echo(f"\nEverything is in {out}; look at {out / 'webs'}/*/report.html")
    if as_json:
        print_json(webs_as_json(found))


def _print(figures: "Mapping[str, Figures]") -> None:
    """Print each policy's figures, the best first."""
    points = next((list(found.harvest) for found in figures.values()), [])
    times = next((list(found.hits) for found in figures.values()), [])
    clock = [*(f"{time} s" for time in times), "slots"] if times else []
    columns = ["policy", *(f"@{point}" for point in points), *clock, "AUC", "/oracle", "AUC/request"]
    print_table(
        [*columns, "requests/page", "sites", "Brier", "ECE"],
        (
            (policy, *_cells(figures[policy]))
            for policy in sorted(figures, key=lambda policy: -figures[policy].auc)
        ),
    )


def _cells(figures: "Figures") -> list[str]:
    harvest = [f"{rate:.3f}" for rate in figures.harvest.values()]
    clock = [*(f"{hits:.1f}" for hits in figures.hits.values()), _cell(figures.slots)] if figures.hits else []
    areas = (figures.auc, figures.auc_of_oracle, figures.auc_by_request, figures.requests)
    sites = f"{list(figures.sites.values())[-1]:.1f}"
    told = (figures.brier, figures.selected)
    return [*harvest, *clock, *map(_cell, areas), sites, *map(_cell, told)]


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
