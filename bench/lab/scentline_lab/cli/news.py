"""``scentline news``: find news pages in a log, the hubs that lead to them, and their URLs' prefixes."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import Given, OneSite, command
from scentline_lab.cli import AsJsonLine, OutDirectory, option

_LOGS = typer.Argument(metavar="LOG|-...", help="Logs, oldest first; - is standard input.")
_LABELS = option("--labels", "TSV", 'True labels, URL and "news" or another.')
_FIRST_DAYS = option("--first-days", "M", "First days of a page's life; m in the paper.")
_THRESHOLD = option("--threshold", "C", "Concentration above which a page is news.")


@command(
    "news",
    "scentline news access.log.gz",
    "scentline news access.log.gz --site example.org --first-days 1 --out news --json",
    takes=(),
)
def news(
    given: Given,
    sources: Annotated[list[str], _LOGS],
    site: OneSite = None,
    labels: Annotated[Path | None, _LABELS] = None,
    out: OutDirectory = None,
    first_days: Annotated[int | None, _FIRST_DAYS] = None,
    window: Annotated[int | None, option("--window", "DAYS", "Latest days to use.")] = None,
    threshold: Annotated[float | None, _THRESHOLD] = None,
    hubs: Annotated[int | None, option("--hubs", "N", "Number of hub pages.")] = None,
    as_json: AsJsonLine = False,
) -> None:
    """Find news pages, whose clicks concentrate in their first days, and the hubs where more will appear.

    A user counts once per page and day. DIR gets the pages, hubs and news prefixes as CSV, a picture of the
    daily clicks of a few pages and, with labels, precision and recall. The settings of [news] have more
    options. After Ctrl-C, the command reports on what it has read.
    """
    from scentline_lab.news_command import run

    own = {"first_days": first_days, "window": window, "threshold": threshold, "hubs": hubs}
    settings = given.settings(**{f"news.{name}": value for name, value in own.items()})
    run(settings, sources, labels, out, site, as_json=as_json)
