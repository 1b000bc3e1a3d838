"""``scentline evaluate``: compare policies on an archive, offline."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.cli.app import INTERRUPTED, app, examples
from agents.cli.options import (
    Assignments,
    ConfigFile,
    Labels,
    LogSite,
    PredicateTexts,
    given_predicates,
    load_settings,
    of_site,
)
from agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from agents.lab.evaluate.results import Figures, Results


@app.command(
    epilog=examples(
        "evaluate",
        "scentline evaluate --archive pages.warc.gz --log access.log.gz --labels topics.tsv.gz"
        " --predicate 'science=category(\"Science\")' --policy combined,linkage,breadth-first,oracle"
        " --budget 100 --starts 2 --out evaluation",
    )
)
def evaluate(
    archives: Annotated[
        list[Path], typer.Option("--archive", metavar="WARC", help="Web to crawl; repeatable.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for the files; replaces an earlier evaluation.")
    ],
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
    budget: Annotated[int, typer.Option(min=1, metavar="N", help="Pages to fetch in each crawl.")] = 1000,
    starts: Annotated[int, typer.Option(min=1, metavar="K", help="Sets of seed pages.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seed pages in a set.")] = 10,
    random_seed: Annotated[int | None, typer.Option(metavar="S", help="Seed of every random choice.")] = None,
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse",
            help="Also crawl with the state of an earlier crawl. Give its log first, then the later one's, or "
            "one log, which is split at the middle of its time.",
        ),
    ] = False,
    semantic: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table made by `scentline semantic build`: also run learned+semantic.",
        ),
    ] = None,
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

    With --reuse, the earlier crawl has its own seeds. NAME+reuse starts with its state. "New pages only"
    removes the earlier crawl's pages from the web.
    """
    import os

    # Set before numpy is loaded: a process for each core leaves none to threads of a library.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from agents.lab.evaluate.command import run
    from agents.lab.evaluate.run import Options

    settings = load_settings(
        config,
        assignments,
        {
            "random_seed": random_seed,
            "judge.labels": str(labels) if labels is not None else None,
            **given_predicates(predicates or ()),
        },
    ).settings
    options = Options(
        archives=tuple(archives),
        logs=tuple(logs or ()),
        policies=tuple(name.strip() for text in policies or () for name in text.split(",")),
        budget=budget,
        starts=starts,
        seeds=seeds,
        reuse=reuse,
        processes=jobs or os.cpu_count() or 1,
        semantic=semantic,
    )
    results = run(of_site(settings, site, options.logs), options, out)
    if results is None:
        raise typer.Exit(INTERRUPTED)
    _print(results)
    typer.echo(f"\nEverything is in {out}; look at {out / 'report.html'}")
    if as_json:
        from agents.lab.evaluate.tables import as_json as object_of

        print_json(object_of(results))


def _print(results: "Results") -> None:
    """Print each policy's figures on the mean, the best first."""
    figures = {policy: results.figures(policy) for policy in results.policies}
    points = (f"@{point}" for point in results.points)
    columns = ["policy", *points, "AUC", "/oracle", "AUC/request", "requests/page", "sites", "Brier", "ECE"]
    print_table(
        columns,
        (
            (policy, *_cells(figures[policy]))
            for policy in sorted(figures, key=lambda policy: -figures[policy].auc)
        ),
    )


def _cells(figures: "Figures") -> list[str]:
    harvest = [f"{rate:.3f}" for rate in figures.harvest.values()]
    areas = (figures.auc, figures.auc_of_oracle, figures.auc_by_request, figures.requests)
    sites = f"{list(figures.sites.values())[-1]:.1f}"
    told = (figures.brier, figures.selected)
    return [*harvest, *map(_cell, areas), sites, *map(_cell, told)]


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
