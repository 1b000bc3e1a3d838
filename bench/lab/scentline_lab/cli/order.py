"""``scentline order``: compare orderings by importance on a known web."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import Given, command
from scentline_lab.cli import Jobs, OutDirectory, option, processes

_PATH = typer.Argument(metavar="GRAPH|ARCHIVE", help="File of links, or WARC file.")
_LINKS = "Least backlinks of a hot page; repeatable. Default: 3, 10 and 100."
_RANK = "Least PageRank of a hot page; repeatable. Default: 13."
_TOPIC = "Also compare crawlers for this topic; repeatable."


@command(
    "order",
    "scentline order links.tsv.gz --threshold 3 --threshold 10",
    "scentline order pages.warc.gz --topic hockey --out ordering",
    takes=(),
)
def order(
    given: Given,
    path: Annotated[Path, _PATH],
    out: OutDirectory = None,
    start: Annotated[str | None, option("--start", "PAGE", "Start page: a URL or a number.")] = None,
    within: Annotated[str | None, option("--within", "PREFIX", "Crawl only URLs with this prefix.")] = None,
    thresholds: Annotated[list[float] | None, option("--threshold", "G", _LINKS)] = None,
    ranks: Annotated[list[float] | None, option("--rank-threshold", "G", _RANK)] = None,
    topics: Annotated[list[str] | None, option("--topic", "WORD", _TOPIC)] = None,
    jobs: Jobs = None,
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
    from scentline_lab.order.command import show
    from scentline_lab.order.reading import IB, IR

    hot = {IB: thresholds or (3, 10, 100), IR: ranks or (13,)}
    where = {"start": start, "within": within}
    show(given.settings(), path, out, topics=topics or (), thresholds=hot, processes=number, **where)
