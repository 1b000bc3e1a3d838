"""``scentline order``: compare orderings by importance on a known web."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import INTERRUPTED, app, examples
from scentline.agents.cli.options import Assignments, ConfigFile, load_settings
from scentline.agents.cli.output import print_table

if TYPE_CHECKING:
    from scentline_lab.order.results import Results


@app.command(
    epilog=examples(
        "order",
        "scentline order links.tsv.gz --threshold 3 --threshold 10",
        "scentline order pages.warc.gz --topic hockey --out ordering",
    )
)
def order(
    path: Annotated[Path, typer.Argument(metavar="GRAPH|ARCHIVE", help="File of links, or WARC file.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for tables, pictures and crawl orders.")
    ] = None,
    start: Annotated[str | None, typer.Option(metavar="PAGE", help="Start page: a URL or a number.")] = None,
    within: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="Crawl only URLs with this prefix.")
    ] = None,
    thresholds: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold",
            metavar="G",
            help="Least backlinks of a hot page; repeatable. Default: 3, 10 and 100.",
        ),
    ] = None,
    ranks: Annotated[
        list[float] | None,
        typer.Option(
            "--rank-threshold", metavar="G", help="Least PageRank of a hot page; repeatable. Default: 13."
        ),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="WORD", help="Also compare crawlers for this topic; repeatable."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of processes; doesn't change the results.")
    ] = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Crawl a known web breadth-first, by backlinks and by PageRank, and compare how soon each finds hot pages.

    Works offline. The web is everything reachable from the start page. By default that is the page with the
    most reachable pages, among those with the most in-links or out-links. A file of links has one link per
    line, two numbers; or a header, a line for each URL, then the links.

    A page is hot if it has at least G backlinks, or a PageRank of at least G (the mean is 1). P_ST is the
    share of hot pages that was crawled. DIR gets curves of P_ST, P_CS and limited buffers (P_BC), and the
    order of every crawl.
    """
    import os

    # Set before numpy is loaded: a process for each core leaves none to threads of a library.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from scentline_lab.order.command import Options, run
    from scentline_lab.order.reading import Chosen

    settings = load_settings(config, assignments).settings
    defaults = Options(path)
    options = Options(
        path,
        Chosen(start, within),
        tuple(topics or ()),
        tuple(thresholds or defaults.thresholds),
        tuple(ranks or defaults.ranks),
        jobs or os.cpu_count() or 1,
    )
    results = run(settings, options, out)
    if results is None:
        raise typer.Exit(INTERRUPTED)
    _print(results)
    if out is not None:
        typer.echo(f"\nEverything is in {out}")


def _print(results: "Results") -> None:
    """Print the share of the hot pages that each ordering has found after shares of the web."""
    from scentline_lab.order.results import TOLD

    web = results.web
    typer.echo(f"{len(web):,} pages, {len(web.graph.targets):,} links, from {web.name(web.start)[:200]!a}\n")
    columns = ["importance", "hot", "ordering", *(f"@{share:.0%}" for share in TOLD), "area"]
    print_table(
        columns,
        (
            (
                f"{each.hot.importance} >= {each.hot.threshold:g}", f"{each.hot.pages:,}", each.ordering,
                *(f"{share:.2f}" for share in each.at), f"{each.area:.3f}",
            )
            for each in results.figures()
        ),
    )  # fmt: skip
