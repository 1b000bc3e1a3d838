"""What the clicks of a partition's pages tell: which are news, their prefixes, and the hubs that lead to them.

Clicks are rows, and so is what was told of them last; a look goes through the rows a few at a time. News, the
prefixes above it and the pages it is told from are of one host, and so of one partition; a hub may be of any.
"""

import math
from collections.abc import Callable, Iterator
from itertools import islice

from scentline.models.facts import Hub, Visited
from scentline.models.frontier.hubs import name_hub
from scentline.models.frontier.keys import (
    CLICKS_PREFIX,
    Rows,
    clicks_key,
    news_of,
    page_key,
    parent_of,
    put_news,
)
from scentline.models.frontier.queue import CandidateQueue
from scentline.models.frontier.rows import AccessRow, PageRow
from scentline.models.papers.hubs import Outlinks, remember
from scentline.models.papers.news import DAY, Criterion, History, NewsPrefixes, PrefixTree, day_of, standing
from scentline.models.settings import NewsSettings
from scentline.models.url import host

#: Rows that one step of a look goes through.
STEP = 200
#: Clicks that are worth a look, however little time went by: as many again as there were at the last.
_FIRST_CLICKS = 1_000
#: For how many looks a hub stays one that is not found again.
_LOOKS = 3


class Prefixes:
    """The news prefixes that hold: those given, and those told of each partition held."""

    def __init__(self, given: tuple[str, ...]) -> None:
        self._given = given
        self._told: dict[int, list[str]] = {}
        self._all = NewsPrefixes(given)

    def tell(self, partition: int, prefixes: list[str]) -> None:
        """Absorb the prefixes of a partition, in the place of what they were."""
        self._told[partition] = prefixes
        self._all = NewsPrefixes([*self._given, *(one for told in self._told.values() for one in told)])

    def match(self, url: str) -> str | None:
        """Return the prefix that a canonical URL is under, None where there is none."""
        return self._all.match(url)


def clicked(shard: Rows, sighting: Visited, window: int) -> None:
    """Count a click of a page, within the last ``window`` days of its clicks."""
    key, day = clicks_key(sighting.url), day_of(sighting.time)
    row = shard.get(key)
    row = row if isinstance(row, AccessRow) else AccessRow(sighting.url)
    history = row.clicks = row.clicks or History(day, [])
    last = history.first + len(history.clicks) - 1
    if day <= last - window or day < 0:
        return
    if day > last:
        history.drop_before(day - window + 1)
        if not history.clicks:
            history.first = day
    history.count(day)
    if sighting.referrer is not None:
        remember(row.referrers, sighting.referrer, sighting.url)
    shard.put(key, row)
    news = news_of(shard)
    news.clicks += 1
    news.newest = max(news.newest, day)
    put_news(shard, news)


class _Look:
    """One look at the clicks of a shard."""

    def __init__(self, shard: Rows, settings: NewsSettings, last: int) -> None:
        self.shard = shard
        self._settings = settings
        self._criterion = Criterion(settings.first_days, settings.threshold, settings.least)
        self._last = last
        self._first = last
        self._tree = PrefixTree()
        self._outlinks = Outlinks(pairs=settings.links)
        self._news: set[str] = set()
        self._judged = 0
        self._cursor: bytes | None = None

    def step(self) -> bool:
        """Go through the next few rows; return whether they were the last."""
        looked_at = 0
        for key, row in islice(self.shard.scan(CLICKS_PREFIX, self._cursor), STEP):
            looked_at += 1
            self._cursor = key
            if isinstance(row, AccessRow) and row.clicks is not None:
                if row.clicks.first + len(row.clicks.clicks) <= self._last + 1 - self._settings.window:
                    self.shard.delete(key)
                elif row.clicks.first <= self._last:
                    self._see(row, row.clicks)
        return looked_at < STEP

    def _see(self, row: AccessRow, clicks: History) -> None:
        settings = self._settings
        history = clicks.until(self._last)
        self._first = min(self._first, history.first)
        found = standing(history, self._last, self._criterion)
        # Rows come in the order of their hashes: beyond the bound there is a sample of the pages.
        if not found.judged or self._judged >= settings.pages:
            return
        self._judged += 1
        self._tree.add(row.url, found.kind == "news")
        if found.kind == "news":
            self._news.add(row.url)
            for referrer, number in row.referrers.items():
                self._outlinks.add(referrer, row.url, number)
            page = self.shard.get(page_key(row.url))
            for parent in page.parents if isinstance(page, PageRow) else ():
                self._outlinks.add(parent_of(self.shard, parent).url, row.url)

    def prefixes(self) -> list[str]:
        """Return the news prefixes."""
        settings = self._settings
        return [found.prefix for found in self._tree.news_prefixes(settings.share, settings.prefix_least)]

    def hubs(self, until: float, count: int) -> Iterator[tuple[str, Hub]]:
        """Return the pages that lead to the most news, each with the news a second that it may bring."""
        seconds = (self._last - self._first + 1) * DAY
        for hub in self._outlinks.hubs(self._news, count):
            yield hub.url, Hub(hub.news / seconds, until)


class NewsLooks:
    """Looks at the clicks of the shards held, one shard at a time, when there is something to learn from them.

    ``committing`` is told of a shard whose rows a look changed.
    """

    def __init__(self, settings: NewsSettings, prefixes: Prefixes, committing: Callable[[Rows], None]) -> None:
        self._settings = settings
        self._prefixes = prefixes
        self._committing = committing
        self._look: _Look | None = None
        self._seen: dict[int, int] = {}

    def open(self, shard: Rows) -> None:
        """Take up what was told of a shard."""
        self._prefixes.tell(shard.partition, news_of(shard).prefixes)

    def close(self, shard: Rows) -> None:
        """Forget a shard."""
        self._prefixes.tell(shard.partition, [])
        self._seen.pop(shard.partition, None)
        if self._look is not None and self._look.shard is shard:
            self._look = None

    def step(self, shards: Iterator[Rows], now: float, partitions: int) -> None:
        """Go on with a look, or begin one where it is time."""
        if self._look is None:
            shard = next((shard for shard in shards if self._due(shard, now)), None)
            if shard is None:
                return
            news = news_of(shard)
            self._seen[shard.partition] = news.clicks
            # The newest day of the log, which may be an old one; lines of the future count for nothing.
            self._look = _Look(shard, self._settings, min(news.newest, day_of(now)))
        if self._look.step():
            self._tell(self._look, now, partitions)
            self._look = None

    def _due(self, shard: Rows, now: float) -> bool:
        news = news_of(shard)
        seen = self._seen.get(shard.partition, 0)
        if news.clicks == seen:
            return False
        return news.clicks >= max(_FIRST_CLICKS, 2 * seen) or now >= news.told + self._settings.refresh_seconds

    def _tell(self, look: _Look, now: float, partitions: int) -> None:
        shard, settings = look.shard, self._settings
        news = news_of(shard)
        news.prefixes, news.told = look.prefixes(), now
        put_news(shard, news)
        self._prefixes.tell(shard.partition, news.prefixes)
        until = now + _LOOKS * max(DAY, settings.refresh_seconds)
        for url, hub in look.hubs(until, math.ceil(settings.hubs / partitions)):
            name_hub(shard, url, hub, partitions)
        self._committing(shard)


class Fresh:
    """The candidates that a revisit brought and that are under a news prefix, ``limit`` at most.

    They are in the queues of the predicates too.
    """

    def __init__(self, prefixes: Prefixes, limit: int) -> None:
        self._prefixes = prefixes
        self._queue = CandidateQueue(limit)

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[str]:
        return iter(self._queue)

    def wants(self, row: PageRow) -> bool:
        """Return whether a page is one of these."""
        return row.found is not None and self._prefixes.match(row.url) is not None

    def offer(self, row: PageRow) -> None:
        """Absorb a candidate, if it is one of these."""
        if row.found is not None and self.wants(row):
            self._queue.put(row.url, host(row.url), row.found.time, row.discovered)

    def discard(self, url: str) -> None:
        """Take out a candidate, if it is here."""
        self._queue.discard(url)

    def best(self, ready: Callable[[str], bool]) -> str | None:
        """Return the newest of those whose hosts are ready."""
        best = self._queue.best(1, ready)
        return best[0] if best else None
