"""What is news in a log, and how well it is found (Wang 2007)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from datetime import date, timedelta
from functools import partial
from itertools import groupby
from statistics import fmean
from typing import NamedTuple

from scentline.models.papers.hubs import Hub, Outlinks
from scentline.models.papers.news import (
    Criterion,
    History,
    NewsPrefix,
    NewsPrefixes,
    PrefixTree,
    Standing,
    day_of,
    standing,
)
from scentline.models.settings import NewsSettings
from scentline.models.url import host


def standings(histories: Mapping[str, History], last: int, criterion: Criterion) -> dict[str, Standing]:
    """Judge every page born by the end of day ``last``; what came later is not looked at."""
    return {
        url: standing(history.until(last), last, criterion)
        for url, history in histories.items()
        if history.first <= last
    }


class News(NamedTuple):
    """What was found: each page's clicks and standing, the URLs of the news, the hubs and the prefixes."""

    histories: Mapping[str, History]
    standings: Mapping[str, Standing]
    pages: frozenset[str]
    hubs: list[Hub]
    prefixes: list[NewsPrefix]


class NewsDiscovery:
    """Gathers accesses and links, and tells what is news at the end of the newest day, that of the latest
    access. A user counts once a page and day, and of the days the last ``window``.
    """

    def __init__(self, window: int = 60, links: int = 500_000) -> None:
        self.window, self.outlinks = window, Outlinks(pairs=links)
        self._visitors = defaultdict[str, dict[int, set[str]]](partial(defaultdict, set))

    def visit(self, url: str, user: str, time: float, referrer: str | None = None) -> None:
        """Count an access; one that is no click of its own still shows that the referrer leads to the page."""
        users = self._visitors[url][day_of(time)]
        fresh = user not in users
        users.add(user)
        if referrer is not None:
            self.outlinks.add(referrer, url, clicks=int(fresh))

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
        """Return the news at the end of the newest day, top ``hubs``, and prefixes (`news_prefixes`)."""
        histories = self.histories()
        last = max((each.first + len(each.clicks) - 1 for each in histories.values()), default=0)
        judged = standings(histories, last, criterion)
        pages = frozenset(url for url, found in judged.items() if found.kind == "news")
        return News(histories, judged, pages, self.outlinks.hubs(pages, hubs), prefixes(judged, share, least))


def prefixes(judged: Mapping[str, Standing], share: float = 0.8, least: int = 1) -> list[NewsPrefix]:
    """Return the news prefixes of the pages that could be judged."""
    tree = PrefixTree()
    for url, found in judged.items():
        if found.judged:
            tree.add(url, found.kind == "news")
    return tree.news_prefixes(share, least)


class Bar(NamedTuple):
    """A threshold, and how many pages are on their right side of it: news above, the others not."""

    threshold: float
    right: int


def best_bar(labelled: Iterable[tuple[float, bool]]) -> Bar | None:
    """Return the lowest threshold that puts the most pages right; None without pages. ``labelled`` are a
    concentration and whether the page is news. The threshold is 0 or one of the values: nothing changes in
    between.
    """
    pages = sorted(labelled)
    if not pages:
        return None
    right = sum(news for _, news in pages)  # all are above 0
    best = Bar(0.0, right)
    for value, group in groupby(pages, key=lambda page: page[0]):
        right += sum(-1 if news else 1 for _, news in group)
        if right > best.right:
            best = Bar(value, right)
    return best


class Measure(NamedTuple):
    """Pages that a ``method`` takes for news, against those that are by ``truth``, among ``pages``."""

    method: str
    truth: str
    pages: str
    found: int
    actual: int
    right: int

    @property
    def precision(self) -> float | None:
        """The share of what was found that is news; None where nothing was found."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of the news that was found; None where there is none."""
        return self.right / self.actual if self.actual else None


class Separation(NamedTuple):
    """How far concentration tells labelled pages apart (figure 2): means, and the others below 3."""

    news: int
    others: int
    mean_of_news: float
    mean_of_others: float
    others_below_3: float
    right: int
    best: Bar


class Reach(NamedTuple):
    """How many distinct news pages the hubs lead to, and how many the home pages of their sites do."""

    hubs: int
    from_hubs: int
    homes: int
    from_homes: int


def measures(
    news: News, labels: Mapping[str, bool] | None, criterion: Criterion, settings: NewsSettings
) -> list[Measure]:
    """Return every comparison; ``labels`` tells of canonical URLs whether they are news."""
    judged = _judged(news.standings)
    early, later = _halves(news, criterion, settings)
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
        under = {url for url in unseen if early.match(url)}
        measure("prefixes of the first half", truth, "born later", under, actual & unseen)
    return found


def separation(news: News, labels: Mapping[str, bool], threshold: float) -> Separation | None:
    """Compare the labelled pages that could be judged; None without pages of both kinds."""
    known = sorted(_judged(news.standings) & labels.keys())
    pages = [(news.standings[url].concentration, labels[url]) for url in known]
    ours, others = ([value for value, is_news in pages if is_news == wanted] for wanted in (True, False))
    best = best_bar(pages)
    if not ours or not others or best is None:
        return None
    right = sum((value > threshold) == is_news for value, is_news in pages)
    below = sum(value < 3 for value in others) / len(others)
    return Separation(len(ours), len(others), fmean(ours), fmean(others), below, right, best)


def reach(outlinks: Outlinks, news: News) -> Reach:
    """Compare the hubs with the home pages of their sites as seeds (section 6.2)."""
    hubs = {hub.url for hub in news.hubs}
    homes = {"/".join(url.split("/", 3)[:3]) + "/" for url in hubs}
    from_hubs, from_homes = (outlinks.reached(sources, news.pages) for sources in (hubs, homes))
    return Reach(len(hubs), from_hubs, len(homes), from_homes)


def _halves(news: News, criterion: Criterion, settings: NewsSettings) -> tuple[NewsPrefixes, Set[str]]:
    """Return the prefixes as of the middle of the days, and the pages born after it."""
    middle = sum(span(news.standings)) // 2
    early = standings(news.histories, middle, criterion)
    known = NewsPrefixes(found.prefix for found in prefixes(early, settings.share, settings.prefix_least))
    return known, {url for url, found in news.standings.items() if found.birth > middle}


def span(found: Mapping[str, Standing]) -> tuple[int, int]:
    """Return the first and the last day of pages' lives, of one page at least."""
    first = min(page.birth for page in found.values())
    return first, max(page.birth + page.days - 1 for page in found.values())


def _judged(found: Mapping[str, Standing]) -> Set[str]:
    return {url for url, page in found.items() if page.judged}


def day(number: int) -> date:
    """Return the date of a day, which is numbered from 1970-01-01 on."""
    return date(1970, 1, 1) + timedelta(days=number)
