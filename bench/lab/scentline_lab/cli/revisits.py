"""``scentline revisits``: how fresh revisits keep the copies of a simulated web, by each policy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import INTERRUPTED, app, examples
from scentline.agents.cli.output import print_table

if TYPE_CHECKING:
    from scentline_lab.revisits.command import Figures


@app.command(epilog=examples("revisits", "scentline revisits --pages 50 --seeds 1 --out revisits"))
def revisits(
    pages: Annotated[int, typer.Option(min=10, metavar="N", help="Pages of each web.")] = 1000,
    visits: Annotated[
        float, typer.Option(min=0.001, max=100, metavar="RATE", help="Visits a page and day, in the mean.")
    ] = 0.1,
    recall: Annotated[
        float, typer.Option(min=0, max=0.9, metavar="PART", help="Part of the changes that shows in the log.")
    ] = 0.5,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of webs.")] = 3,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory for tables and a picture; replaces an earlier run's."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of processes; doesn't change the results.")
    ] = None,
) -> None:
    """Crawl simulated webs whose pages change, again and again, and compare how fresh each policy keeps them.

    Works offline, and is the same each time. Freshness is the share of requests for pages whose copy is
    right, after 20 visits a page, during 10 more. Policies: uniform; in proportion to the rates of change; the
    adaptive intervals of Nutch and StormCrawler; what a crawl learns, without and with signals of changes; and,
    for both, the optimum, which knows the rates.
    """
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from scentline_lab.revisits.command import Options, run

    found = run(Options(pages, visits, recall, seeds, jobs or os.cpu_count() or 1), out)
    if found is None:
        raise typer.Exit(INTERRUPTED)
    _print(found)
    if out is not None:
        typer.echo(f"\nTables and a picture are in {out}")


def _print(found: "list[Figures]") -> None:
    rows = ((each.policy, f"{each.freshness:.3f}", f"{each.least:.3f} to {each.most:.3f}") for each in found)
    print_table(("policy", "freshness", "webs"), rows)
