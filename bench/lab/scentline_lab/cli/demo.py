"""``scentline demo``: crawl a synthetic web with and without learning, in about a minute."""

import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import AsJson
from scentline.agents.cli.output import print_json, print_table
from scentline_lab.cli.options import cell

if TYPE_CHECKING:
    from scentline_lab.demo.command import Comparison, Output


@app.command(epilog=examples("demo", "scentline demo", "scentline demo --out short --budget 200 --json"))
def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory for the files; replaces an earlier demo.")
    ] = Path("demo"),
    budget: Annotated[int, typer.Option(min=1, metavar="N", help="Pages to judge in each crawl.")] = 1500,
    random_seed: Annotated[int, typer.Option(metavar="N", help="Seed of the web and of every choice.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Crawl a synthetic web twice, breadth-first and learned, and compare; takes about a minute.

    Makes no request to the internet: the web is generated and served on this machine.
    """
    from scentline.streams.logging import configure
    from scentline.streams.settings import LogSettings
    from scentline_lab.demo.command import LEARNED, Output, run_demo
    from scentline_lab.experiment import interruptible

    configure(LogSettings(level="warning"))
    started = time.monotonic()
    output = Output(out)
    with interruptible(lambda: ". The next demo with the same --out starts over"):
        comparison = run_demo(output, random_seed, budget, typer.echo)
    _print_rates(comparison)
    typer.echo("\nFiles:")
    files = _files(output)
    width = max(len(str(path)) for path in files)
    for path, what in files.items():
        typer.echo(f"  {path!s:{width}}  {what}")
    _print_next(comparison, shlex.quote(str(output.data(LEARNED))))
    if as_json:
        print_json(_figures(comparison, time.monotonic() - started) | {"files": list(map(str, files))})


def _print_rates(comparison: "Comparison") -> None:
    from scentline_lab.demo.command import BASELINE, LEARNED, PREDICATES

    def cells(policy: str, name: str) -> str:
        curve = comparison.crawls[policy].curves[name]
        return f"{curve.rate:.1%} ({curve.found} of {len(curve.hits)})"

    typer.echo("\nHarvest rate: the share of fetched pages that satisfy a predicate.")
    rows = (
        (name, text, cells(BASELINE, name), cells(LEARNED, name), cell(comparison.ratio(name), ".1f"))
        for name, text in PREDICATES.items()
    )
    print_table(("predicate", "looks for", BASELINE, LEARNED, "ratio"), rows)


def _files(output: "Output") -> dict[Path, str]:
    from scentline_lab.demo.command import BASELINE, LEARNED

    return {
        output.lift: "harvest rate against pages fetched",
        output.log: "the log that both crawls read",
        output.labels: "the category of each page",
        output.config: "the settings of both crawls",
        output.data(BASELINE): "data directory of the first crawl",
        output.data(LEARNED): "data directory of the second crawl",
    }


def _print_next(comparison: "Comparison", data: str) -> None:
    """Print commands to try; ``data`` is the learned crawl's directory, quoted for a shell."""
    typer.echo("\nTry next:")
    called = _called()
    for what, command in (
        ("the pages found", f"{called} matches sports --data {data}"),
        ("the crawl in a browser", f"{called} window --data {data}"),
        ("why a page was fetched", f"{called} explain {comparison.found()} --data {data}"),
        ("recount every statistic", f"{called} audit --data {data}"),
        (
            "crawl a site of your own",
            f'{called} crawl --seed https://YOUR.SITE/ --predicate \'mine="a phrase" or title("word*")\' '
            "--budget 200 --set fetch.allow=YOUR.SITE",
        ),
    ):
        typer.echo(f"  # {what}\n  {command}")


def _called() -> str:
    """Return how the command is called from here: by its name where a shell finds it, else by its path."""
    program = Path(sys.argv[0])
    if shutil.which("scentline") or program.name != "scentline":
        return "scentline"
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)


def _figures(comparison: "Comparison", seconds: float) -> dict[str, object]:
    from scentline_lab.demo.command import PREDICATES

    crawls = {}
    for policy, crawled in comparison.crawls.items():
        curves = crawled.curves.items()
        found = {name: {"hits": curve.found, "harvest_rate": round(curve.rate, 4)} for name, curve in curves}
        figures = {"fetched": len(crawled.pages), "seconds": round(crawled.seconds, 1)}
        crawls[policy] = figures | {"predicates": found}
    ratios = {name: comparison.ratio(name) for name in PREDICATES}
    rounded = {name: None if ratio is None else round(ratio, 2) for name, ratio in ratios.items()}
    return {"seconds": round(seconds, 1), "crawls": crawls, "ratios": rounded}
