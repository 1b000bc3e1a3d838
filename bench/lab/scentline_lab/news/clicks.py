"""Daily clicks of pages, within bounds (Wang 2007, section 3), and the news that they show."""

from collections.abc import Iterable, Mapping
from heapq import nsmallest
from itertools import groupby
from typing import NamedTuple

from scentline.models.news.clicks import Criterion, History, Standing, day_of, standing
from scentline.models.news.outlinks import Hub, Outlinks
from scentline.models.news.prefixes import NewsPrefix, PrefixTree


class DailyClicks:
    """The daily clicks of each page in the last ``window`` days; a user counts once a page and day.

    The newest day is that of the latest access. Accesses may come in any order within the last ``open_days``
    days, whose visitors are remembered; later ones are ``late`` and not counted. So the counts equal a recount
    of all others, whatever their order, as long as no bound is reached: beyond ``pages`` a tenth is
    ``forgotten``, those with the fewest clicks a day of their life; beyond so many ``visitors``, (page, user,
    day), the days before an access are closed early, the oldest first, and when that does not help, it is
    ``uncounted``.
    """

    def __init__(
        self, window: int = 60, *, open_days: int = 2, pages: int = 100_000, visitors: int = 1_000_000
    ) -> None:
        if not 1 <= open_days <= window:
            raise ValueError(f"daily clicks: {open_days} open days, expected 1 to the window of {window}")
        if min(pages, visitors) < 1:
            raise ValueError(
                f"daily clicks: room for {pages} pages and {visitors} visitors, expected 1 at least"
            )
        self.window = window
        self.newest: int | None = None
        self.late = self.forgotten = self.uncounted = 0
        self.histories: dict[str, History] = {}
        self._open_days, self._pages, self._limit = open_days, pages, visitors
        self._visitors: dict[int, dict[str, set[str]]] = {}
        self._held = 0

    def add(self, url: str, user: str, time: float) -> bool:
        """Count an access at ``time``, in seconds since the epoch; return whether it counts as a click."""
        day = day_of(time)
        self._advance(day)
        if day not in self._visitors:
            self.late += 1
            return False
        if user in self._visitors[day].get(url, ()):
            return False
        while self._held >= self._limit and (oldest := min(self._visitors)) < day:
            self._close(oldest)
        if self._held >= self._limit:
            self.uncounted += 1
            return False
        if url in self.histories:
            self.histories[url].count(day)
        else:
            if len(self.histories) >= self._pages:
                self._forget(max(1, self._pages // 10))
            self.histories[url] = History(day, [1])
        self._visitors[day].setdefault(url, set()).add(user)
        self._held += 1
        return True

    def _advance(self, day: int) -> None:
        """Move the window on, if ``day`` is a newer one than any before."""
        first_open = day - self._open_days + 1
        if self.newest is not None:
            if day <= self.newest:
                return
            for old in [opened for opened in self._visitors if opened < first_open]:
                self._close(old)
            # A day that was closed early stays closed.
            first_open = max(first_open, self.newest + 1)
        self.newest = day
        self._visitors |= {opened: {} for opened in range(first_open, day + 1)}
        start = day - self.window + 1
        for url, history in [item for item in self.histories.items() if item[1].first < start]:
            history.drop_before(start)
            if not history.clicks:
                del self.histories[url]

    def _close(self, day: int) -> None:
        self._held -= sum(map(len, self._visitors.pop(day).values()))

    def _forget(self, count: int) -> None:
        end = max(self._visitors) + 1
        rarest = nsmallest(
            count, self.histories.items(), key=lambda item: (item[1].total / (end - item[1].first), item[0])
        )
        for url, _ in rarest:
            del self.histories[url]
            for pages in self._visitors.values():
                self._held -= len(pages.pop(url, ()))
        self.forgotten += len(rarest)


def standings(histories: Mapping[str, History], last: int, criterion: Criterion) -> dict[str, Standing]:
    """Judge every page born by the end of day ``last``; what came later is not looked at."""
    return {
        url: standing(history.until(last), last, criterion)
        for url, history in histories.items()
        if history.first <= last
    }


class News(NamedTuple):
    """What was found: each page's standing, the URLs of the news among them, the hubs and the prefixes."""

    standings: Mapping[str, Standing]
    pages: frozenset[str]
    hubs: list[Hub]
    prefixes: list[NewsPrefix]


class NewsDiscovery:
    """Gathers accesses and links, within the bounds of its parts, and tells what is news at any time."""

    def __init__(self, clicks: DailyClicks, outlinks: Outlinks) -> None:
        self.clicks = clicks
        self.outlinks = outlinks

    def visit(self, url: str, user: str, time: float, referrer: str | None) -> None:
        """Count an access; one that is no click of its own still shows that the referrer leads to the page."""
        counted = self.clicks.add(url, user, time)
        if referrer is not None:
            self.outlinks.add(referrer, url, clicks=int(counted))

    def link(self, source: str, target: str) -> None:
        self.outlinks.add(source, target)

    def find(self, criterion: Criterion, *, hubs: int, share: float = 0.8, least: int = 1) -> News:
        """Return the news at the end of the newest day, top ``hubs``, and prefixes (`news_prefixes`)."""
        last = self.clicks.newest
        judged = {} if last is None else standings(self.clicks.histories, last, criterion)
        pages = frozenset(url for url, found in judged.items() if found.kind == "news")
        return News(judged, pages, self.outlinks.hubs(pages, hubs), prefixes(judged, share, least))


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
