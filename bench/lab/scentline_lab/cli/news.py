"""``scentline news``: find news pages in a log, the hubs that lead to them, and their URLs' prefixes."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scentline.agents.cli.app import INTERRUPTED, app, examples
from scentline.agents.cli.options import Assignments, ConfigFile, OneSite, load_settings
from scentline.agents.cli.output import print_table
from scentline_lab.cli.options import AsJsonLine, OutDirectory, cell, finish, option

if TYPE_CHECKING:
    from scentline.streams.crawl_settings import NewsSettings
    from scentline_lab.news.command import Result

#: Hubs and prefixes that are printed; the files have all.
_SHOWN = 10
_Labels = Annotated[Path | None, option("--labels", "TSV", 'True labels, URL and "news" or another.')]
_FIRST_DAYS = "First days of a page's life; m in the paper."
_FirstDays = Annotated[int | None, option("--first-days", "M", _FIRST_DAYS)]
_Window = Annotated[int | None, option("--window", "DAYS", "Latest days to use.")]
_CONCENTRATION = "Concentration above which a page is news."
_Threshold = Annotated[float | None, option("--threshold", "C", _CONCENTRATION)]


@app.command(
    epilog=examples(
        "news",
        "scentline news access.log.gz",
        "scentline news access.log.gz --site example.org --first-days 1 --out news --json",
    )
)
def news(
    sources: Annotated[
        list[str], typer.Argument(metavar="LOG|-...", help="Logs, oldest first; - is standard input.")
    ],
    site: OneSite = None,
    labels: _Labels = None,
    out: OutDirectory = None,
    first_days: _FirstDays = None,
    window: _Window = None,
    threshold: _Threshold = None,
    hubs: Annotated[int | None, option("--hubs", "N", "Number of hub pages.")] = None,
    as_json: AsJsonLine = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Find news pages, whose clicks concentrate in their first days, and the hubs where more will appear.

    A user counts once per page and day. DIR gets the pages, hubs and news prefixes as CSV, a picture of the
    daily clicks of a few pages and, with labels, precision and recall. The settings of [news] have more
    options. After Ctrl-C, the command reports on what it has read.
    """
    from scentline.agents.progress import progress
    from scentline_lab.news.command import run

    given = {"first_days": first_days, "window": window, "threshold": threshold, "hubs": hubs}
    overrides = {f"news.{name}": value for name, value in given.items()}
    settings = load_settings(config, assignments, overrides).settings
    with progress(sys.stderr) as bars:
        result = run(settings, sources, labels, out, site, bars)
    _print(result, settings.news)
    finish(out, "daily.png", as_json, lambda: _object(result))
    if result.read.interrupted:
        typer.echo(f"Interrupted: these results cover the first {result.read.lines:,} lines", err=True)
        raise typer.Exit(INTERRUPTED)


def _print(result: "Result", settings: "NewsSettings") -> None:
    from scentline_lab.news.command import short
    from scentline_lab.news.measures import day

    first, last = result.days
    kinds = Counter(page.kind for page in result.news.standings.values())
    typer.echo(
        f"{result.read.views:,} page views of {len(result.news.standings):,} pages, {day(first)} to {day(last)}"
    )
    typer.echo(", ".join(f"{kinds[kind]:,} {kind}" for kind in ("news", "other", "young", "rare")))
    clicks = result.discovery.clicks
    for number, text in (
        (clicks.late, "page views came too late to be counted: give logs oldest first"),
        (result.read.untimely, "page views are in the future or before 1970"),
        (clicks.forgotten, "pages were forgotten to save memory (news.pages)"),
        (clicks.uncounted, "page views were not counted to save memory (news.visitors)"),
    ):
        if number:
            typer.echo(f"{number:,} {text}")
    reason = short(last - first + 1, settings)
    if reason is not None:
        typer.echo(reason, err=True)
    _print_found(result)


def _print_found(result: "Result") -> None:
    news, reach = result.news, result.reach
    if news.hubs:
        hubs = ((hub.url, str(hub.news), str(hub.clicks), str(hub.pages)) for hub in news.hubs[:_SHOWN])
        print_table(("hub", "news", "clicks", "pages"), hubs)
        typer.echo(
            f"{reach.hubs} hubs lead to {reach.from_hubs:,} news pages, "
            f"the {reach.homes} home pages of their sites to {reach.from_homes:,}"
        )
    if news.prefixes:
        most = sorted(news.prefixes, key=lambda found: -found.news)[:_SHOWN]
        rows = ((found.prefix, str(found.news), str(found.pages)) for found in most)
        print_table(("prefix", "news", "pages"), rows)
    if any(found.actual for found in result.measures):
        measures = ((*map(str, found), cell(found.precision), cell(found.recall)) for found in result.measures)
        print_table(("method", "truth", "pages", "found", "news", "right", "precision", "recall"), measures)
    told = result.separation
    if told is not None:
        typer.echo(
            f"mean concentration {told.mean_of_news:.2f} of news, {told.mean_of_others:.2f} of others, "
            f"{told.others_below_3:.1%} of the others below 3; {told.right:,} of {told.news + told.others:,} "
            f"classified correctly, {told.best.right:,} with the threshold {told.best.threshold:.2f}"
        )


def _object(result: "Result") -> dict[str, Any]:
    from scentline_lab.news.measures import day

    told = result.separation
    return {
        "days": [str(day(number)) for number in result.days],
        "views": result.read.views,
        "pages": dict(Counter(page.kind for page in result.news.standings.values())),
        "hubs": [hub._asdict() for hub in result.news.hubs],
        "prefixes": [found._asdict() for found in result.news.prefixes],
        "measures": [
            each._asdict() | {"precision": each.precision, "recall": each.recall} for each in result.measures
        ],
        "reach": result.reach._asdict(),
        "separation": None if told is None else {**told._asdict(), "best": told.best._asdict()},
    }
