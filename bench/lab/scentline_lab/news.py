"""The news command: find news in logs, and measure how well it is found (Wang 2007)."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, get_args

import typer

from scentline.agents.cli.output import print_table
from scentline.agents.judge.judges import Labels, LabelsError, load_labels
from scentline.agents.observe.observer import HINT, observed, site_named
from scentline.models.papers.hubs import Hub, Outlinks
from scentline.models.papers.news import (
    DAY,
    Criterion,
    History,
    Kind,
    NewsPrefix,
    NewsPrefixes,
    PrefixTree,
    Standing,
    day_of,
    standing,
)
from scentline.models.settings import NewsSettings
from scentline.models.url import host
from scentline.streams.settings import ConfigurationError, Settings
from scentline_lab.experiment import Cut, Output, Progress, cell, check_logs
from scentline_lab.pictures import draw_concentration, draw_daily
from scentline_lab.reading import LogReader


def standings(histories: Mapping[str, History], last: int, criterion: Criterion) -> dict[str, Standing]:
    """Judge every page born by the end of day ``last`` by the clicks until then."""
    born = {url: history for url, history in histories.items() if history.first <= last}
    return {url: standing(history.until(last), last, criterion) for url, history in born.items()}


class News(NamedTuple):
    """Each page's clicks and standing, the URLs of the news, the hubs and the prefixes."""

    histories: Mapping[str, History]
    standings: Mapping[str, Standing]
    pages: frozenset[str]
    hubs: list[Hub]
    prefixes: list[NewsPrefix]

    @property
    def judged(self) -> Mapping[str, Standing]:
        return {url: page for url, page in self.standings.items() if page.judged}

    @property
    def days(self) -> tuple[int, int]:
        """The first and last day of the pages' lives."""
        pages = self.standings.values()
        return min(page.birth for page in pages), max(page.birth + page.days - 1 for page in pages)


class NewsDiscovery:
    """Finds the news at the end of the newest day; a user counts once a page and day of the last ``window``."""

    def __init__(self, window: int = 60, links: int = 500_000) -> None:
        self.window, self.outlinks = window, Outlinks(pairs=links)
        self._visitors = defaultdict[str, dict[int, set[str]]](partial(defaultdict, set))

    def visit(self, url: str, user: str, time: float, referrer: str | None = None) -> None:
        """Count an access; one that is no new click still shows that the referrer leads to the page."""
        users = self._visitors[url][day_of(time)]
        if referrer is not None:
            self.outlinks.add(referrer, url, clicks=int(user not in users))
        users.add(user)

    def histories(self) -> dict[str, History]:
        """Return the daily clicks of each page that has some in the window."""
        newest = max((day for days in self._visitors.values() for day in days), default=0)
        found = {}
        for url, visitors in self._visitors.items():
            days = {day: len(users) for day, users in visitors.items() if day > newest - self.window}
            if days:
                span = range(min(days), max(days) + 1)
                found[url] = History(span[0], [days.get(day, 0) for day in span])
        return found

    def find(self, criterion: Criterion, *, hubs: int, share: float = 0.8, least: int = 1) -> News:
        """Return the news at the end of the newest day, the top ``hubs``, and `prefixes`."""
        histories = self.histories()
        last = max((each.first + len(each.clicks) - 1 for each in histories.values()), default=0)
        judged = standings(histories, last, criterion)
        pages = frozenset(url for url, found in judged.items() if found.kind == _NEWS)
        return News(histories, judged, pages, self.outlinks.hubs(pages, hubs), prefixes(judged, share, least))


def prefixes(judged: Mapping[str, Standing], share: float = 0.8, least: int = 1) -> list[NewsPrefix]:
    """Return the news prefixes of the judged pages."""
    tree = PrefixTree()
    for url, found in judged.items():
        if found.judged:
            tree.add(url, found.kind == _NEWS)
    return tree.news_prefixes(share, least)


class Bar(NamedTuple):
    """A threshold, and how many pages it classifies right: news are above."""

    threshold: float
    right: int


def best_bar(labelled: Iterable[tuple[float, bool]]) -> Bar | None:
    """Return the lowest threshold that classifies most pages right, by concentration and whether it is news."""
    pages = sorted(labelled)
    right = sum(news for _, news in pages)  # all are above 0
    bars = [Bar(0.0, right)]
    for value, group in groupby(pages, key=lambda page: page[0]):
        right += sum(-1 if news else 1 for _, news in group)
        bars.append(Bar(value, right))
    return max(bars, key=lambda bar: bar.right) if pages else None


class Measure(NamedTuple):
    """How many pages a ``method`` found to be news, are news by ``truth``, and both, among ``pages``."""

    method: str
    truth: str
    pages: str
    found: int
    actual: int
    right: int

    @property
    def rates(self) -> dict[str, float | None]:
        wholes = {"precision": self.found, "recall": self.actual}
        return {name: self.right / whole if whole else None for name, whole in wholes.items()}


class Separation(NamedTuple):
    """How well concentration separates labelled pages (figure 2)."""

    news: int
    others: int
    mean_of_news: float
    mean_of_others: float
    others_below_3: float
    right: int
    best: Bar


class Reach(NamedTuple):
    """How many distinct news pages the hubs, and the home pages of their sites, lead to (section 6.2)."""

    hubs: int
    from_hubs: int
    homes: int
    from_homes: int


def measures(news: News, labels: Mapping[str, bool] | None, settings: NewsSettings) -> list[Measure]:
    """Return every comparison; ``labels`` has whether canonical URLs are news."""
    judged, middle = news.judged.keys(), sum(news.days) // 2
    early = standings(news.histories, middle, _criterion(settings))
    known = NewsPrefixes(found.prefix for found in prefixes(early, settings.share, settings.prefix_least))
    later = {url for url, found in news.standings.items() if found.birth > middle}
    chosen = NewsPrefixes(found.prefix for found in news.prefixes)
    sites = {host(hub.url) for hub in news.hubs}
    truths: list[tuple[str, str, Set[str], Set[str]]] = [("clicks", "judged", news.pages, judged)]
    found: list[Measure] = []

    def measure(method: str, truth: str, pages: str, taken: Set[str], actual: Set[str]) -> None:
        found.append(Measure(method, truth, pages, len(taken), len(actual), len(taken & actual)))

    if labels is not None:
        seen = labels.keys() & news.standings.keys()
        labelled = {url for url in seen if labels[url]}
        truths.append(("labels", "all", labelled, seen))
        measure("clicks", "labels", "judged", news.pages & seen, labelled & judged)
        measure("clicks", "labels", "all", news.pages & seen, labelled)
    for truth, name, actual, pages in truths:
        measure("prefixes", truth, name, {url for url in pages if chosen.match(url)}, actual)
        measure("sites of hubs", truth, name, {url for url in pages if host(url) in sites}, actual)
    for truth, _, actual, pages in truths:
        unseen = pages & later
        under = {url for url in unseen if known.match(url)}
        measure("prefixes of the first half", truth, "born later", under, actual & unseen)
    return found


def separation(news: News, labels: Mapping[str, bool], threshold: float) -> Separation | None:
    """Compare the labelled and judged pages; None without pages of both kinds."""
    pages = [(page.concentration, labels[url]) for url, page in news.judged.items() if url in labels]
    ours, others = (sorted(value for value, is_news in pages if is_news == wanted) for wanted in (True, False))
    best = best_bar(pages)
    if not ours or not others or best is None:
        return None
    right = sum((value > threshold) == is_news for value, is_news in pages)
    below = sum(value < 3 for value in others) / len(others)
    return Separation(len(ours), len(others), fmean(ours), fmean(others), below, right, best)


def reach(outlinks: Outlinks, news: News) -> Reach:
    """Compare the hubs with their sites' home pages as seeds."""
    hubs = {hub.url for hub in news.hubs}
    homes = {"/".join(url.split("/", 3)[:3]) + "/" for url in hubs}
    return Reach(len(hubs), outlinks.reached(hubs, news.pages), len(homes), outlinks.reached(homes, news.pages))


def _criterion(settings: NewsSettings) -> Criterion:
    return Criterion(settings.first_days, settings.threshold, settings.least)


def day(number: int) -> date:
    """Return the date of a day numbered from 1970-01-01 on."""
    return date(1970, 1, 1) + timedelta(days=number)


#: Printed hubs and prefixes; the label of a news page.
_SHOWN, _NEWS = 10, "news"
TABLES = ("pages", "hubs", "prefixes", "measures")
PICTURES = ("daily", "concentration")
_FILES = (*(f"{name}.csv" for name in TABLES), *(f"{name}.png" for name in PICTURES))


@dataclass(frozen=True)
class Result:
    """The findings in so many ``views``; ``separation`` is None without labels of both kinds."""

    views: int
    outlinks: Outlinks
    news: News
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
    """Read the logs, find news, write and print; Ctrl-C ends the reading alone.
    An access a day or more in the future would empty the window: it is skipped. Raises `ConfigurationError`
    without a page view.
    """
    check_logs(sources)
    only = None if site is None else site_named(site)
    table = load_labels(labels) if labels is not None else None
    output = Output(out, "news", _FILES).prepare()
    discovery, now = NewsDiscovery(settings.news.window, settings.news.links), time.time()
    views = untimely = 0
    bars = Progress()
    with Cut() as cut:
        reader = LogReader(observed(settings.observe, only), bars, everywhere=only is not None)
        for access in chain.from_iterable(map(reader.read, sources)):
            if only is not None and not only.holds(access.url):
                continue
            views += 1
            if 0 <= access.time < now + DAY:
                discovery.visit(access.url, access.user, access.time, access.referrer)
            else:
                untimely += 1
    given = settings.news
    news = discovery.find(_criterion(given), hubs=given.hubs, share=given.share, least=given.prefix_least)
    if not news.standings:
        wanted = f"expected page views{f' of {site}' if site else ''}, found none in {reader.lines} lines"
        raise ConfigurationError(f"news: {', '.join(sources)}: {wanted}; {HINT}")
    known = _labelled(table, news.standings) if table is not None else None
    apart = separation(news, known, given.threshold) if known is not None else None
    outlinks, compared = discovery.outlinks, measures(news, known, given)
    result = Result(views, outlinks, news, known, compared, reach(outlinks, news), apart)
    if out is not None:
        _write(output, result, settings.news)
    _print(result, untimely, settings.news)
    output.finish("daily.png", as_json, lambda: _object(result))
    cut.end(f"Interrupted: these results cover the first {reader.lines:,} lines")


def short(days: int, settings: NewsSettings) -> str | None:
    """Return why a log of so many days is too short for news, and the remedy; None if it is not."""
    most = {m: days / m for m in range(settings.first_days, 0, -1)}
    if most[settings.first_days] > settings.threshold:
        return None
    reason = f"in {days} days no page can be more concentrated than {most[settings.first_days]:.2f}"
    for m, concentration in most.items():
        if concentration > settings.threshold:
            return f"{reason}: with --first-days {m} or less it can be {concentration:.2f}"
    return f"{reason}: the log is too short"


def _labelled(labels: Labels, seen: Iterable[str]) -> dict[str, bool]:
    """Return whether the seen and labelled pages are news."""
    categories = {url: labels.categories(url) for url in seen}
    if known := {url: _NEWS in names for url, names in categories.items() if names}:
        return known
    none = f"none of the {len(labels):,} labelled pages is in the log"
    raise LabelsError(f"labels: {none}, expected some of its {len(categories):,} pages")


def _print(result: Result, untimely: int, settings: NewsSettings) -> None:
    news, reach, told, (first, last) = result.news, result.reach, result.separation, result.news.days
    kinds = Counter(page.kind for page in news.standings.values())
    typer.echo(f"{result.views:,} page views of {len(news.standings):,} pages, {day(first)} to {day(last)}")
    typer.echo(", ".join(f"{kinds[kind]:,} {kind}" for kind in get_args(Kind)))
    if untimely:
        typer.echo(f"{untimely:,} page views are in the future or before 1970")
    if (reason := short(last - first + 1, settings)) is not None:
        typer.echo(reason, err=True)
    if news.hubs:
        print_table(("hub", *Hub._fields[1:]), (tuple(map(str, hub)) for hub in news.hubs[:_SHOWN]))
        typer.echo(
            f"{reach.hubs} hubs lead to {reach.from_hubs:,} news pages, "
            f"the {reach.homes} home pages of their sites to {reach.from_homes:,}"
        )
    if news.prefixes:
        most = sorted(news.prefixes, key=lambda found: -found.news)[:_SHOWN]
        print_table(("prefix", "news", "pages"), (tuple(map(str, found)) for found in most))
    if any(found.actual for found in result.measures):
        measures = ((*map(str, found), *map(cell, found.rates.values())) for found in result.measures)
        print_table(("method", "truth", "pages", "found", "news", "right", *result.measures[0].rates), measures)
    if told is not None:
        typer.echo(
            f"mean concentration {told.mean_of_news:.2f} of news, {told.mean_of_others:.2f} of others, "
            f"{told.others_below_3:.1%} of the others below 3; {told.right:,} of {told.news + told.others:,} "
            f"classified correctly, {told.best.right:,} with the threshold {told.best.threshold:.2f}"
        )


def _object(result: Result) -> dict[str, Any]:
    told = result.separation
    return {
        "days": [str(day(number)) for number in result.news.days],
        "views": result.views,
        "pages": dict(Counter(page.kind for page in result.news.standings.values())),
        "hubs": [hub._asdict() for hub in result.news.hubs],
        "prefixes": [found._asdict() for found in result.news.prefixes],
        "measures": [each._asdict() | each.rates for each in result.measures],
        "reach": result.reach._asdict(),
        "separation": None if told is None else {**told._asdict(), "best": told.best._asdict()},
    }


def _write(output: Output, result: Result, settings: NewsSettings) -> None:
    news, labels = result.news, result.labels
    columns = ("url", "first_day", "days", "clicks", "clicks_a_day", "concentration", "kind", "label")
    output.write("pages", columns, _pages(news, labels or {}))
    ranked = {"links": news.hubs, "clicks": result.outlinks.hubs(news.pages, settings.hubs, by="clicks")}
    hubs = ((by, rank, *hub) for by, found in ranked.items() for rank, hub in enumerate(found, start=1))
    output.write("hubs", ("by", "rank", *Hub._fields), hubs)
    rows = ((*found, found.news / found.pages) for found in news.prefixes)
    output.write("prefixes", ("prefix", "news", "pages", "share"), rows)
    told = ((*found, *found.rates.values()) for found in result.measures)
    output.write("measures", (*Measure._fields, "precision", "recall"), told)
    output.draw("daily.png", draw_daily, news, day(news.days[0]))
    output.draw("concentration.png", draw_concentration, news, labels, settings.threshold)


def _pages(news: News, labels: Mapping[str, bool]) -> Iterator[tuple[object, ...]]:
    """Yield a row of each page, news first, each kind by concentration."""
    kinds, names = get_args(Kind), {True: "news", False: "other", None: None}
    ranked = ((kinds.index(page.kind), -page.concentration, url, page) for url, page in news.standings.items())
    for *_, url, page in sorted(ranked):
        figures = day(page.birth), page.days, page.clicks, page.average, page.concentration
        yield url, *figures, page.kind, names[labels.get(url)]
