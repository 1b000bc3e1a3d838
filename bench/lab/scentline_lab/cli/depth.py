"""``scentline depth``: how deep to crawl a site, from its users' visits or its links."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import Given, OneSite, command
from scentline_lab.cli import AsJsonLine, OutDirectory, option

_LOGS = typer.Argument(metavar="LOG...", help='Logs to read; "-" is standard input.')
_ARCHIVE = option("--archive", "WARC", "Archive whose sites to crawl; repeatable.")
_GRAPH = option("--graph", "FILE", "Link graph whose sites to crawl; repeatable.")
_SHARE = option("--share", "PART", "Share of the page views to keep.", min=0, max=0.9999)


@command(
    "depth",
    "scentline depth access.log.gz --site example.org --out depths",
    "scentline depth access.log.gz --archive pages.warc.gz --share 0.95 --json",
    takes=(),
)
def depth(
    given: Given,
    logs: Annotated[list[str] | None, _LOGS] = None,
    site: OneSite = None,
    archives: Annotated[list[Path] | None, _ARCHIVE] = None,
    graphs: Annotated[list[Path] | None, _GRAPH] = None,
    share: Annotated[float, _SHARE] = 0.9,
    out: OutDirectory = None,
    as_json: AsJsonLine = False,
) -> None:
    """Advise how deep to crawl each site, in links from the pages where users enter.

    From a log, the command reconstructs sessions, counts the depth of each page view, and fits three models of
    a random surfer: A goes back one level, B to the start, C to any earlier level. Without a log it crawls the
    sites of an archive or graph breadth-first, offline, and compares new and seen URLs level by level.

    DIR gets sites.csv, levels.csv, moves.csv, directories.csv, and a picture of each site.
    """
    from scentline_lab.depth.command import run

    read = logs or (), archives or (), graphs or ()
    run(given.settings(), *read, out, site=site, share=share, as_json=as_json)
