"""News: the hubs that lead to it, the news prefixes found in a partition's clicks, and the new links to it.

What a hub brings is a function of the revisits and the known pages, so a crash does not change it. A revisit
teaches nothing: its links are not links of a judged page, and count for no verdict (Wang 2007, section 1).

Clicks are rows, and so are the latest findings from them; a look scans the rows a few at a time. News, its
prefixes and the pages it is recognized by share one host, and so one partition; a hub may be in any.
"""

import math
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from itertools import islice

from scentline.models.facts import (
    SIGHTINGS,
    Early,
    Fetched,
    Found,
    Hub,
    Linked,
    Moved,
    Neighbour,
    Page,
    Same,
    Visited,
)
from scentline.models.frontier import keys
from scentline.models.frontier.keys import Rows, hub_of, news_of, page_key
from scentline.models.frontier.pages import Pages
from scentline.models.frontier.queue import CandidateQueue
from scentline.models.frontier.rows import AccessRow, Brought, HubRow, PageRow, failed
from scentline.models.papers.hubs import DELAYS, ArrivalRate, Outlinks, remember
from scentline.models.papers.news import DAY, Criterion, History, NewsPrefixes, PrefixTree, day_of, standing
from scentline.models.records import Pack, Version, encode, partition_of
from scentline.models.settings import NewsSettings
from scentline.models.url import host, identifier

#: Seconds in which observations of a hub lose half their weight.
HALF_LIFE = 3 * DAY
#: The prior rate weighs as much as one observed link, or as a day without one where that is less.
_WEIGHT = 1.0


class Hubs:
    """Keeps the rows of hubs and of the links that they bring.

    ``news`` returns the news prefix of a URL. ``retry_seconds`` is the wait after a failure, doubled with each
    failure. ``changed`` collects the hubs whose rows changed, ``delays`` the URLs of fetched new links to news,
    each with its seconds from publication to fetch.
    """

    def __init__(
        self, pages: Pages, partitions: int, retry_seconds: float, news: Callable[[str], str | None]
    ) -> None:
        self._pages = pages
        self._partitions = partitions
        self._retry_seconds = retry_seconds
        self._news = news
        self.changed: set[str] = set()
        self.delays: list[tuple[str, float]] = []

    def named(self, shard: Rows, url: str, hub: Hub) -> None:
        """Make a page a hub, or extend the time for which it is one; it becomes a seed too."""
        row = hub_of(shard, url)
        if row is None:
            rate = ArrivalRate.expecting(hub.rate, min(_WEIGHT, hub.rate * DAY))
            row = HubRow(url, rate, hub.until)
            key, page = self._pages.find(shard, url, 0)
            self._pages.free(shard, page)
            self._pages.keep(shard, {key: page})
            if page.verdict is not None:
                _visited(row, page.judged_at)
        elif hub.until <= row.until:
            return
        row.until = hub.until
        if row.moved:
            name_hub(shard, row.moved, hub, self._partitions)
        self._keep(shard, row)

    def _keep(self, shard: Rows, row: HubRow) -> None:
        shard.put(keys.hub_key(row.url), row)
        self.changed.add(row.url)

    # links from hubs

    def listed(self, shard: Rows, sighting: Linked) -> None:
        """Apply the links of a revisited hub to this partition, and report the new ones to the hub's."""
        by = Brought(sighting.url, sighting.time, sighting.since) if sighting.since else None
        new = 0
        for link in sighting.links:
            if shard.get(page_key(link.url)) is None:
                key, row = self._pages.find(shard, link.url, sighting.depth + 1)
                row.found = by
                self._pages.keep(shard, {key: row})
                new += row.state != "trapped"
        if not new:
            return
        brought = Neighbour(identifier(sighting.url), new=new)
        partition = partition_of(host(sighting.url), self._partitions)
        if partition == shard.partition:
            self.brought(shard, brought)
        else:
            shard.emit(SIGHTINGS, partition, brought)

    def brought(self, shard: Rows, sighting: Neighbour) -> None:
        """Count new links of a hub; links to other partitions may be counted for the next visit."""
        row = shard.get(keys.HUB_PREFIX + sighting.page)
        if isinstance(row, HubRow):
            row.brought += sighting.new
            row.links += sighting.new
            shard.put(keys.hub_key(row.url), row)

    # results of visits

    def came(self, shard: Rows, end: Fetched) -> bool:
        """Apply the result of a revisit; return whether its order was still in flight."""
        row = hub_of(shard, end.url)
        if row is None or not row.lease or row.orders != end.order:
            return False  # the order was withdrawn, and perhaps repeated
        row.lease = 0.0
        match end.result:
            case Page(version=version):
                row.version = version
                _visited(row, end.time)
            case Same():
                _visited(row, end.time)
            case Early(wait=wait):
                row.not_before = end.time + wait
            case Moved(target=target, permanent=True):
                self._move(shard, row, target)
            case _:
                failed(row, self._retry_seconds, end.time, end.host.retry_after or 0.0)
        self._keep(shard, row)
        return True

    def moved(self, shard: Rows, url: str, target: str) -> None:
        """Apply a page's redirect: if the page is a hub, the target replaces it."""
        row = hub_of(shard, url)
        if row is not None:
            self._move(shard, row, target)
            self._keep(shard, row)

    def _move(self, shard: Rows, row: HubRow, target: str) -> None:
        row.moved = target
        # Without an origin: whether there is such a row depends on the clock, and a duplicate is harmless.
        name_hub(shard, target, Hub(row.rate.mean, row.until), self._partitions)

    def judged(self, shard: Rows, page: PageRow, time: float, version: Version | None) -> None:
        """Apply the first verdict on a page: for a hub it is a visit, for a new link the end of its delay."""
        row = hub_of(shard, page.url)
        if row is not None and not row.visited:
            row.version = version
            _visited(row, time)
            self._keep(shard, row)
        if page.found is not None and self._news(page.url):
            delay = max(0.0, time - published(page.found, version))
            self._count(shard, delay)
            self.delays.append((page.url, delay))

    def _count(self, shard: Rows, delay: float) -> None:
        news = news_of(shard)
        news.pages += 1
        news.delay += delay
        news.delays = news.delays or [0] * (len(DELAYS) + 1)
        news.delays[sum(delay > bound for bound in DELAYS)] += 1
        keys.put_news(shard, news)


def name_hub(shard: Rows, url: str, hub: Hub, partitions: int) -> None:
    """Send a hub to the partition of its page; a duplicate is harmless."""
    pack: Pack[Found] = Pack(facts=[(0, 0, Found(url, hub=hub))])
    shard.send(SIGHTINGS, partition_of(host(url), partitions), None, encode(pack))


def published(found: Brought, version: Version | None) -> float:
    """Return when a page was published: its Last-Modified, or else the last visit that found no link to it.

    A Last-Modified later than the link is ignored: the server sets it for each answer, or the page has changed
    since.
    """
    try:
        modified = parsedate_to_datetime((version and version.last_modified) or "").timestamp()
    except (ValueError, OverflowError):
        return found.since
    return modified if 0 < modified <= found.time else found.since


def _visited(row: HubRow, time: float) -> None:
    """Learn the hub's rate of new links from a visit, except from the first, to which all links are new."""
    if row.visited and time > row.visited:
        row.rate.observe(row.brought, time - row.visited, HALF_LIFE)
    row.brought = 0
    row.visited = max(row.visited, time)
    row.visits += 1
    row.failures, row.not_before = 0, 0.0


#: Rows that one step of a look scans.
STEP = 200
#: Clicks that start a look before its time, or twice those at the last look where that is more.
_FIRST_CLICKS = 1_000
#: Looks for which a hub stays one without being found again.
_LOOKS = 3


class Prefixes:
    """The news prefixes in force: those configured, and those found in each partition held."""

    def __init__(self, given: tuple[str, ...]) -> None:
        self._given = given
        self._found: dict[int, list[str]] = {}
        self._all = NewsPrefixes(given)

    def tell(self, partition: int, prefixes: list[str]) -> None:
        """Replace the prefixes of a partition."""
        self._found[partition] = prefixes
        self._all = NewsPrefixes([*self._given, *(one for told in self._found.values() for one in told)])

    def match(self, url: str) -> str | None:
        """Return the prefix of a canonical URL, None without one."""
        return self._all.match(url)


def clicked(shard: Rows, sighting: Visited, window: int) -> None:
    """Count a click on a page, within the last ``window`` days of its clicks."""
    key, day = keys.clicks_key(sighting.url), day_of(sighting.time)
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
    keys.put_news(shard, news)


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
        """Scan the next few rows; return whether they were the last."""
        looked_at = 0
        for key, row in islice(self.shard.scan(keys.CLICKS_PREFIX, self._cursor), STEP):
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
        # Rows come in the order of their hashes, so the pages within the bound are a random sample.
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
                self._outlinks.add(keys.parent_of(self.shard, parent).url, row.url)

    def prefixes(self) -> list[str]:
        """Return the news prefixes."""
        settings = self._settings
        return [found.prefix for found in self._tree.news_prefixes(settings.share, settings.prefix_least)]

    def hubs(self, until: float, count: int) -> Iterator[tuple[str, Hub]]:
        """Yield the pages that lead to the most news, each with its expected news a second."""
        seconds = (self._last - self._first + 1) * DAY
        for hub in self._outlinks.hubs(self._news, count):
            yield hub.url, Hub(hub.news / seconds, until)


class NewsLooks:
    """Looks at the clicks of the shards held, one shard at a time, when there is something to learn from them.

    ``committing`` is called with each shard whose rows a look changed.
    """

    def __init__(self, settings: NewsSettings, prefixes: Prefixes, committing: Callable[[Rows], None]) -> None:
        self._settings = settings
        self._prefixes = prefixes
        self._committing = committing
        self._look: _Look | None = None
        self._seen: dict[int, int] = {}

    def open(self, shard: Rows) -> None:
        """Load the prefixes of a shard."""
        self._prefixes.tell(shard.partition, news_of(shard).prefixes)

    def close(self, shard: Rows) -> None:
        """Forget a shard."""
        self._prefixes.tell(shard.partition, [])
        self._seen.pop(shard.partition, None)
        if self._look is not None and self._look.shard is shard:
            self._look = None

    def step(self, shards: Iterator[Rows], now: float, partitions: int) -> None:
        """Continue a look, or begin one that is due."""
        if self._look is None:
            shard = next((shard for shard in shards if self._due(shard, now)), None)
            if shard is None:
                return
            news = news_of(shard)
            self._seen[shard.partition] = news.clicks
            # The newest day of the log, which may be old; log lines of the future are ignored.
            self._look = _Look(shard, self._settings, min(news.newest, day_of(now)))
        if self._look.step():
            self._apply(self._look, now, partitions)
            self._look = None

    def _due(self, shard: Rows, now: float) -> bool:
        news = news_of(shard)
        seen = self._seen.get(shard.partition, 0)
        if news.clicks == seen:
            return False
        return news.clicks >= max(_FIRST_CLICKS, 2 * seen) or now >= news.told + self._settings.refresh_seconds

    def _apply(self, look: _Look, now: float, partitions: int) -> None:
        shard, settings = look.shard, self._settings
        news = news_of(shard)
        news.prefixes, news.told = look.prefixes(), now
        keys.put_news(shard, news)
        self._prefixes.tell(shard.partition, news.prefixes)
        until = now + _LOOKS * max(DAY, settings.refresh_seconds)
        for url, hub in look.hubs(until, math.ceil(settings.hubs / partitions)):
            name_hub(shard, url, hub, partitions)
        self._committing(shard)


class Fresh:
    """The candidates found by a revisit and under a news prefix, at most ``limit``.

    They are also in the queues of the predicates.
    """

    def __init__(self, prefixes: Prefixes, limit: int) -> None:
        self._prefixes = prefixes
        self._queue = CandidateQueue(limit)

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[str]:
        return iter(self._queue)

    def wants(self, row: PageRow) -> bool:
        """Return whether a page belongs here."""
        return row.found is not None and self._prefixes.match(row.url) is not None

    def take(self, row: PageRow, *, kept: bool) -> None:
        """Add a candidate that belongs here, or remove it where it is not ``kept``."""
        if not kept:
            self._queue.discard(row.url)
        elif row.found is not None and self.wants(row):
            self._queue.put(row.url, host(row.url), row.found.time, row.discovered)

    def discard(self, url: str) -> None:
        """Remove a candidate, if it is here."""
        self._queue.discard(url)

    def best(self, ready: Callable[[str], bool]) -> str | None:
        """Return the newest candidate of a ready host."""
        best = self._queue.best(1, ready)
        return best[0] if best else None
