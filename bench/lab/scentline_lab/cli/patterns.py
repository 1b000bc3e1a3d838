"""``scentline patterns``: find a site's URL patterns from its users' behaviour."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import Given, OneSite, command
from scentline_lab.cli import AsJsonLine, OutDirectory, option

_MIRROR = option("--archive", "WARC", "Mirror of the site, with its links; repeatable.")
_MERGED = "Similarity of referrers and targets above which siblings are merged.  [default: 0.7]"
_THRESHOLD = option("--threshold", "X", _MERGED, min=0.0, max=1.0)


@command(
    "patterns",
    "scentline patterns access.log.gz",
    "scentline patterns access.log.gz --site example.org --archive pages.warc.gz --out patterns --json",
    takes=(),
)
def patterns(
    given: Given,
    log: Annotated[str, typer.Argument(metavar="LOG", help="Log, oldest line first.")],
    site: OneSite = None,
    archives: Annotated[list[Path] | None, _MIRROR] = None,
    threshold: Annotated[float | None, _THRESHOLD] = None,
    out: OutDirectory = None,
    as_json: AsJsonLine = False,
) -> None:
    """Find the URL patterns of a site and rank them by what people do there.

    The log's URLs form a tree, which is cut to the patterns that separate people's visits (Liu 2011). Then the
    log is split into six periods, and the patterns of the first are tested on the later ones. With --archive,
    orderings are compared by crawling the site; without it, those that need links are left out.
    """
    from scentline.models.papers.patterns import THRESHOLD
    from scentline_lab.patterns.command import Options, show

    least = THRESHOLD if threshold is None else threshold
    show(given.settings(), Options(log, site, tuple(archives or ()), least), out, as_json=as_json)
