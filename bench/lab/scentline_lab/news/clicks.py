"""Daily clicks of pages (Wang 2007, section 3), and the news that they show."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import groupby
from typing import NamedTuple

from scentline.models.news.clicks import Criterion, History, Standing, day_of, standing
from scentline.models.news.outlinks import Hub, Outlinks
from scentline.models.news.prefixes import NewsPrefix, PrefixTree


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


class Cut(NamedTuple):
    """A threshold, and how many pages are on their right side of it: news above, the others not."""

    threshold: float
    right: int


def best_cut(labelled: Iterable[tuple[float, bool]]) -> Cut | None:
    """Return the lowest threshold that puts the most pages right; None without pages. ``labelled`` are a
    concentration and whether the page is news. The threshold is 0 or one of the values: nothing changes in
    between.
    """
    pages = sorted(labelled)
    if not pages:
        return None
    right = sum(news for _, news in pages)  # all are above 0
    best = Cut(0.0, right)
    for value, group in groupby(pages, key=lambda page: page[0]):
        right += sum(-1 if news else 1 for _, news in group)
        if right > best.right:
            best = Cut(value, right)
    return best
