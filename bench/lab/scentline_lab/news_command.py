"""The news command: read logs, find news in them, write tables and pictures, and print."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import typer

from scentline.agents.cli.output import print_table
from scentline.agents.judge.judges import Labels, LabelsError, load_labels
from scentline.agents.observe.observer import HINT, observed, site_named
from scentline.models.papers.hubs import Outlinks
from scentline.models.papers.news import DAY, Criterion, History, Kind
from scentline.models.settings import NewsSettings
from scentline.streams.settings import ConfigurationError, Settings
from scentline_lab.experiment import Cut, Output, cell, check_logs, progress
from scentline_lab.news import (
    Measure,
    News,
    NewsDiscovery,
    Reach,
    Separation,
    day,
    measures,
    reach,
    separation,
    span,
)
from scentline_lab.pictures import draw_concentration, draw_daily
from scentline_lab.reading import LogReader

#: Hubs and prefixes that are printed; the files have all. Pages of each kind that are drawn.
_SHOWN, _DRAWN = 10, 3
#: The label of a news page; any other label is that of another page.
_NEWS = "news"
#: The tables, as CSV; `measures` has precision and recall.
TABLES = ("pages", "hubs", "prefixes", "measures")
PICTURES = ("daily", "concentration")
_FILES = (*(f"{name}.csv" for name in TABLES), *(f"{name}.png" for name in PICTURES))


@dataclass(frozen=True)
class Result:
    """What was found in so many ``views``; ``separation`` is None without labels of both kinds."""

    views: int
    outlinks: Outlinks
    news: News
    days: tuple[int, int]
    labels: Mapping[str, bool] | None
    measures: Sequence[Measure]
    reach: Reach
    separation: Separation | None


def run(
    settings: Settings,
    sources: Sequence[str],
    labels: Path | None,
    out: Path | None,
    site: str | None,
    *,
    as_json: bool,
) -> None:
    """Read the logs, find news, write and print; Ctrl-C ends the reading alone. A line whose time is more than
    a day in the future is skipped: it would move the window on and empty it. Raises `ConfigurationError`
    without a page view.
    """
    check_logs(sources)
    only = None if site is None else site_named(site)
    table = load_labels(labels) if labels is not None else None
    output = Output(out, "news", _FILES).prepare()
    discovery, now = NewsDiscovery(settings.news.window, settings.news.links), time.time()
    views = untimely = 0
    with progress(sys.stderr) as bars, Cut() as cut:
        reader = LogReader(observed(settings.observe, only), bars, everywhere=only is not None)
        for access in chain.from_iterable(map(reader.read, sources)):
            if only is not None and not only.holds(access.url):
                continue
            views += 1
            if 0 <= access.time < now + DAY:
                discovery.visit(access.url, access.user, access.time, access.referrer)
            else:
                untimely += 1
    result = _found(discovery, settings.news, views, table)
    if result is None:
        raise ConfigurationError(
            f"news: {', '.join(sources)}: expected page views{f' of {site}' if site else ''}, found none in "
            f"{reader.lines} lines; {HINT}"
        )
    if out is not None:
        _write(output, result, settings.news)
    _print(result, untimely, settings.news)
    output.finish("daily.png", as_json, lambda: _object(result))
    cut.end(f"Interrupted: these results cover the first {reader.lines:,} lines")


def _found(discovery: NewsDiscovery, given: NewsSettings, views: int, table: Labels | None) -> Result | None:
    """Return what there is to tell; None where there is no page."""
    criterion = Criterion(given.first_days, given.threshold, given.least)
    news = discovery.find(criterion, hubs=given.hubs, share=given.share, least=given.prefix_least)
    if not news.standings:
        return None
    known = _labelled(table, news.standings) if table is not None else None
    told = measures(news, known, criterion, given), reach(discovery.outlinks, news)
    apart = separation(news, known, given.threshold) if known is not None else None
    return Result(views, discovery.outlinks, news, span(news.standings), known, *told, apart)


def short(days: int, settings: NewsSettings) -> str | None:
    """Return why a log of so many days is too short for any news, and the remedy; None if it is not."""
    if days / settings.first_days > settings.threshold:
        return None
    fitting = next((m for m in range(settings.first_days, 0, -1) if days / m > settings.threshold), None)
    reason = f"in {days} days no page can be more concentrated than {days / settings.first_days:.2f}"
    if fitting is None:
        return f"{reason}: the log is too short"
    return f"{reason}: with --first-days {fitting} or less it can be {days / fitting:.2f}"


def _labelled(labels: Labels, seen: Iterable[str]) -> dict[str, bool]:
    """Return whether the pages that were seen and labelled are news."""
    categories = {url: labels.categories(url) for url in seen}
    known = {url: _NEWS in names for url, names in categories.items() if names}
    if not known:
        raise LabelsError(
            f"labels: none of the {len(labels):,} labelled pages is in the log, expected some of its "
            f"{len(categories):,} pages"
        )
    return known


def _print(result: Result, untimely: int, settings: NewsSettings) -> None:
    (first, last), pages = result.days, result.news.standings
    kinds = Counter(page.kind for page in pages.values())
    typer.echo(f"{result.views:,} page views of {len(pages):,} pages, {day(first)} to {day(last)}")
    typer.echo(", ".join(f"{kinds[kind]:,} {kind}" for kind in get_args(Kind)))
    if untimely:
        typer.echo(f"{untimely:,} page views are in the future or before 1970")
    reason = short(last - first + 1, settings)
    if reason is not None:
        typer.echo(reason, err=True)
    _print_found(result)


def _print_found(result: Result) -> None:
    news, reach, told = result.news, result.reach, result.separation
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
    if told is not None:
        typer.echo(
            f"mean concentration {told.mean_of_news:.2f} of news, {told.mean_of_others:.2f} of others, "
            f"{told.others_below_3:.1%} of the others below 3; {told.right:,} of {told.news + told.others:,} "
            f"classified correctly, {told.best.right:,} with the threshold {told.best.threshold:.2f}"
        )


def _object(result: Result) -> dict[str, Any]:
    told = result.separation
    return {
        "days": [str(day(number)) for number in result.days],
        "views": result.views,
        "pages": dict(Counter(page.kind for page in result.news.standings.values())),
        "hubs": [hub._asdict() for hub in result.news.hubs],
        "prefixes": [found._asdict() for found in result.news.prefixes],
        "measures": [
            each._asdict() | {"precision": each.precision, "recall": each.recall} for each in result.measures
        ],
        "reach": result.reach._asdict(),
        "separation": None if told is None else {**told._asdict(), "best": told.best._asdict()},
    }


def _write(output: Output, result: Result, settings: NewsSettings) -> None:
    news, labels = result.news, result.labels
    columns = ("url", "first_day", "days", "clicks", "clicks_a_day", "concentration", "kind", "label")
    output.write("pages", columns, _pages(news, labels))
    by_clicks = result.outlinks.hubs(news.pages, settings.hubs, by="clicks")
    hubs = (
        (by, rank, hub.url, hub.news, hub.clicks, hub.pages)
        for by, found in (("links", news.hubs), ("clicks", by_clicks))
        for rank, hub in enumerate(found, start=1)
    )
    output.write("hubs", ("by", "rank", "url", "news", "clicks", "pages"), hubs)
    prefixes = ((found.prefix, found.news, found.pages, found.news / found.pages) for found in news.prefixes)
    output.write("prefixes", ("prefix", "news", "pages", "share"), prefixes)
    told = ((*found, found.precision, found.recall) for found in result.measures)
    output.write("measures", (*Measure._fields, "precision", "recall"), told)
    ours, others = _typical(result)
    output.draw("daily.png", draw_daily, result.days, day(result.days[0]), ours, others)
    kinds, title = _concentrations(news, labels)
    output.draw("concentration.png", draw_concentration, kinds, settings.threshold, title)


def _pages(news: News, labels: Mapping[str, bool] | None) -> Iterator[tuple[object, ...]]:
    """Yield a row of each page: news first, each kind by concentration."""
    kinds, known = get_args(Kind), labels or {}
    names = {True: "news", False: "other", None: None}
    ranked = sorted(
        news.standings.items(), key=lambda item: (kinds.index(item[1].kind), -item[1].concentration, item[0])
    )
    for url, page in ranked:
        figures = day(page.birth), page.days, page.clicks, page.average, page.concentration
        yield url, *figures, page.kind, names[known.get(url)]


def _typical(result: Result) -> tuple[dict[str, History], dict[str, History]]:
    """Return the news most clicked in their first days beyond an even share, and the others most clicked."""
    judged = [(url, page) for url, page in result.news.standings.items() if page.judged]
    news = [(page.average * (page.concentration - 1), url) for url, page in judged if page.kind == _NEWS]
    others = [(page.average, url) for url, page in judged if page.kind != _NEWS]
    histories = result.news.histories
    ours, theirs = ({url: histories[url] for _, url in nlargest(_DRAWN, found)} for found in (news, others))
    return ours, theirs


def _concentrations(news: News, labels: Mapping[str, bool] | None) -> tuple[list[tuple[str, list[float]]], str]:
    """Return the concentrations of the judged pages, by label if there are labels, else by classification."""
    judged = {url: page.concentration for url, page in news.standings.items() if page.judged}
    is_news, title = {url: url in news.pages for url in judged}, "Pages by what they are taken for"
    if labels is not None:
        is_news, title = {url: labels[url] for url in judged if url in labels}, "Pages by their label"
    return [
        (name, [judged[url] for url, found in is_news.items() if found == wanted])
        for name, wanted in (("news", True), ("others", False))
    ], title
