"""``scentline order``: compare orderings by importance on a known web."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import Assignments, ConfigFile, load_settings
from scentline.agents.cli.output import print_table
from scentline_lab.cli.options import Jobs, OutDirectory, finish, option, processes

if TYPE_CHECKING:
    from scentline_lab.order.results import Results

_Start = Annotated[str | None, option("--start", "PAGE", "Start page: a URL or a number.")]
_Within = Annotated[str | None, option("--within", "PREFIX", "Crawl only URLs with this prefix.")]
_LINKS = "Least backlinks of a hot page; repeatable. Default: 3, 10 and 100."
_RANK = "Least PageRank of a hot page; repeatable. Default: 13."
_TOPIC = "Also compare crawlers for this topic; repeatable."


@app.command(
    epilog=examples(
        "order",
        "scentline order links.tsv.gz --threshold 3 --threshold 10",
        "scentline order pages.warc.gz --topic hockey --out ordering",
    )
)
def order(
    path: Annotated[Path, typer.Argument(metavar="GRAPH|ARCHIVE", help="File of links, or WARC file.")],
    out: OutDirectory = None,
    start: _Start = None,
    within: _Within = None,
    thresholds: Annotated[list[float] | None, option("--threshold", "G", _LINKS)] = None,
    ranks: Annotated[list[float] | None, option("--rank-threshold", "G", _RANK)] = None,
    topics: Annotated[list[str] | None, option("--topic", "WORD", _TOPIC)] = None,
    jobs: Jobs = None,
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
    number = processes(jobs)
    from scentline_lab.order.command import Options, run
    from scentline_lab.order.reading import Chosen

    usual = Options(path)
    hot = tuple(thresholds or usual.thresholds), tuple(ranks or usual.ranks)
    options = Options(path, Chosen(start, within), tuple(topics or ()), *hot, number)
    _print(run(load_settings(config, assignments).settings, options, out))
    finish(out)


def _print(results: "Results") -> None:
    """Print the share of the hot pages that each ordering has found after shares of the web."""
    from scentline_lab.order.results import TOLD

    web = results.web
    typer.echo(f"{len(web):,} pages, {len(web.graph.targets):,} links, from {web.name(web.start)[:200]!a}\n")
    columns = ["importance", "hot", "ordering", *(f"@{share:.0%}" for share in TOLD), "area"]
    rows = (
        (
            f"{each.hot.importance} >= {each.hot.threshold:g}", f"{each.hot.pages:,}", each.ordering,
            *(f"{share:.2f}" for share in each.at), f"{each.area:.3f}",
        )
        for each in results.figures()
    )  # fmt: skip
    print_table(columns, rows)
