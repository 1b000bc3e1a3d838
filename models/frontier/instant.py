"""The mode "instant": news hubs are revisited, and new links to news fetched before all else (Wang 2007).

All state here is in memory, rebuilt when a partition is opened from its rows (`models.frontier.news`).
"""

import math
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from scentline.models.errors import EventLog
from scentline.models.facts import Fetched, Hub
from scentline.models.frontier.book import Book
from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.flights import Tally, outcome_of
from scentline.models.frontier.keys import HUB_PREFIX, Rows, hub_key, hub_of, news_of
from scentline.models.frontier.leases import Orders, Visiting
from scentline.models.frontier.news import Fresh, NewsLooks
from scentline.models.frontier.rows import INSTANT, Choice, HubRow, PageRow
from scentline.models.papers.hubs import DELAYS, Revisits
from scentline.models.records import Revisit
from scentline.models.settings import NewsSettings
from scentline.models.url import host

#: Most instant fetches in a row while others wait.
BURST = 5.0

log = EventLog("frontier")
#: Links a second that a hub in the settings is expected to bring at first.
GIVEN_RATE = 1 / 3600
#: Seconds for which it is a hub, unless it is named again.
GIVEN_SECONDS = 86_400.0


class NewsStanding(NamedTuple):
    """The hubs that are revisited, and the new links to news fetched in all runs of the crawl.

    ``delay`` is their mean seconds from publication to fetch; half of them took at most ``half_within``.
    """

    hubs: int
    pages: int
    delay: float
    half_within: float


class Instant(Visiting[HubRow]):
    """Chooses instant fetches within their share: new links to news, and then revisits that are due.

    They take at most ``frontier.instant_share`` of all fetches while other fetches are possible; spare ones are
    free.
    """

    visit = "links"

    def __init__(
        self,
        news: NewsSettings,
        candidates: Candidates,
        book: Book,
        orders: Orders,
        tally: Tally,
    ) -> None:
        super().__init__(candidates, orders)
        self._news = news
        self._hubs = book.hubs
        self._looks = NewsLooks(news, book.prefixes, orders.soon)
        self._fresh = candidates.fresh = Fresh(book.prefixes, candidates.settings.queue)
        candidates.scope.news = self._fresh.wants
        self._revisits = Revisits(
            news.visits_a_minute / 60, shortest=news.shortest_seconds, longest=news.longest_seconds
        )
        self._named = -math.inf
        share = candidates.settings.instant_share
        self._earned = share / (1 - share) if share < 1 else math.inf
        self._credit = self._burst = BURST if share < 1 else math.inf
        self._tally = tally

    # shards

    def prepare(self, shard: Rows) -> None:
        """Load a shard's news prefixes, before its candidates: they decide which of these are news."""
        self._looks.open(shard)

    def open(self, shard: Rows, now: float) -> None:
        """Load the hubs of an opened shard, and name those in the settings."""
        self._name_given(now)
        rows = [row for _, row in shard.scan(HUB_PREFIX) if isinstance(row, HubRow)]
        for row in rows:
            if row.lease > now:
                self._fly(row, now)
        self._spend()
        self._put(rows)

    def close(self, shard: Rows) -> None:
        """Drop a shard that another worker owns now, and the hubs of all shards no longer held."""
        self._looks.close(shard)
        held = {url for url in self._revisits.hubs if self._candidates.shards.of(url) is not None}
        self._revisits.keep(held)
        self._spend()

    def _spend(self) -> None:
        shards = self._candidates.shards
        part = max(1, len(shards)) / shards.partitions
        self._revisits.spend(self._news.visits_a_minute / 60 * part)

    # events

    def look(self, now: float) -> None:
        """Continue a scan of the clicks, and name the hubs in the settings again in time."""
        if now >= self._named + GIVEN_SECONDS / 2:
            self._name_given(now)
        shards = self._candidates.shards
        self._looks.step(iter(shards.values()), now, shards.partitions)

    def _name_given(self, now: float) -> None:
        self._named = now
        for url in self._news.hubs_given:
            shard = self._candidates.shards.of(url)
            if shard is not None:
                self._hubs.named(shard, url, Hub(GIVEN_RATE, now + GIVEN_SECONDS))
                self._orders.soon(shard)

    def settle(self, now: float) -> None:
        """Load the hubs whose rows changed, and report the news that were fetched."""
        for url, delay in self._hubs.delays:
            self._tally.delays.append(delay)
            log.info("news fetched", url=url, delay=round(delay, 3))
        self._hubs.delays.clear()
        changed, self._hubs.changed = self._hubs.changed, set()
        found = (self._find(url) for url in changed)
        self._put([hub[1] for hub in found if hub is not None])

    def _put(self, rows: list[HubRow]) -> None:
        kept = [row for row in rows if not row.moved]
        self._drop(row.url for row in rows if row.moved)
        self._revisits.know({row.url: (row.rate, row.visited) for row in kept})
        for row in kept:
            if row.not_before or row.lease:
                self._revisits.postpone(row.url, max(row.not_before, row.lease))

    def _drop(self, urls: Iterable[str]) -> None:
        self._revisits.keep(self._revisits.hubs - set(urls))

    # standing

    @property
    def hubs(self) -> int:
        """How many hubs are revisited."""
        return len(self._revisits)

    @property
    def waiting(self) -> int:
        """How many new links to news wait to be fetched."""
        return len(self._fresh)

    def standing(self) -> NewsStanding:
        """Return the standing of the shards held."""
        rows = [news_of(shard) for shard in self._candidates.shards.values()]
        pages = sum(row.pages for row in rows)
        counts = [sum(column) for column in zip(*(row.delays for row in rows if row.delays), strict=True)]
        place = next((place for place, so_far in enumerate(accumulate(counts)) if 2 * so_far >= pages), 0)
        within = (*DELAYS, math.inf)[place]
        delay = sum(row.delay for row in rows)
        return NewsStanding(self.hubs, pages, delay / pages if pages else 0.0, within if pages else 0.0)

    # choices

    def earn(self) -> None:
        """Count a fetch that is not instant."""
        self._credit = min(self._burst, self._credit + self._earned)

    def next(self, now: float, *, spare: bool) -> tuple[Rows, PageRow | HubRow] | None:
        """Return the page to fetch at once, or the hub to revisit; None without one on a ready host.

        ``spare`` says that no other fetch is possible: then it is free.
        """
        if not spare and self._credit < 1:
            return None
        found = self._next_page(now) or self._next_hub(now)
        if found is not None and not spare:
            self._credit -= 1
        return found

    def _next_page(self, now: float) -> tuple[Rows, PageRow] | None:
        """Return the newest link to news: it is the most useful."""
        while True:
            url = self._fresh.best(lambda name: self._candidates.clocks.ready(name, now))
            if url is None:
                return None
            found = self._candidates.choosable(url)
            if found is not None:
                return found
            self._fresh.discard(url)

    def _next_hub(self, now: float) -> tuple[Rows, PageRow | HubRow] | None:
        """Return the hub whose links have waited longest, or its page, where that was never fetched."""
        for url in self._revisits.due(now):
            hub = self._find(url)
            excluded = self._candidates.scope.exclusions.has(url)
            if hub is None or excluded or url in self._candidates.flights:
                continue
            if hub[1].until <= now:
                self._end(*hub)
            elif self._candidates.clocks.ready(host(url), now):
                page = self._candidates.shards.find(url)
                if page is None or page[1].state != "candidate":
                    return hub
                if page[1].not_before <= now and self._candidates.choosable(url) is not None:
                    return page
        return None

    def _end(self, shard: Rows, row: HubRow) -> None:
        self._drop([row.url])
        shard.delete(hub_key(row.url))
        self._orders.soon(shard)

    # revisits

    def order(self, shard: Rows, row: HubRow, now: float) -> None:
        """Order a revisit that is conditional on the known version."""
        page = self._candidates.shards.find(row.url)
        choice = Choice("", INSTANT, False, 1.0, 0.0, now)
        self._send(shard, row, None if page is None else page[1], choice, Revisit(row.version, row.visited))

    def _row_of(self, shard: Rows, url: str) -> HubRow | None:
        return hub_of(shard, url)

    def _ordered(self, shard: Rows, row: HubRow) -> None:
        shard.put(hub_key(row.url), row)
        self._revisits.postpone(row.url, row.lease)

    def _lost(self, shard: Rows, row: HubRow) -> None:
        self._tally.hub_visits["lost"] += 1
        shard.put(hub_key(row.url), row)
        self._put([row])

    def ended(self, end: Fetched) -> None:
        """Count an answered revisit."""
        self._tally.hub_visits[outcome_of(end.result)] += 1
