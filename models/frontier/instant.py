"""The mode "instant": news hubs are revisited, and new links to news fetched before all else (Wang 2007).

What is here is memory, made again from the rows when a partition is opened. The rows are those of
`models.frontier.news` and `models.frontier.news`.
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

#: Instant fetches at most that follow each other while others wait.
BURST = 5.0

log = EventLog("frontier")
#: Links a second that a hub given by hand is expected to bring, until more is known of it.
GIVEN_RATE = 1 / 3600
#: For how long it is one, unless it is named again.
GIVEN_SECONDS = 86_400.0


class NewsStanding(NamedTuple):
    """The hubs that are revisited, and the new links to news that were fetched, by the crawl's runs in all.

    ``delay`` is the mean of their seconds from publication to fetch; half of them took ``half_within`` at most.
    """

    hubs: int
    pages: int
    delay: float
    half_within: float


class Instant(Visiting[HubRow]):
    """Chooses instant fetches within their share: new links to news, and then revisits that are due.

    They take no more than ``frontier.instant_share`` of all fetches while others could be made in their place;
    what nobody else could use is free.
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
        """Take up a shard's prefixes, before its candidates are: they tell which of these are news."""
        self._looks.open(shard)

    def open(self, shard: Rows, now: float) -> None:
        """Take up the hubs of a shard that is held, and those given by hand that are of its partition."""
        self._name_given(now)
        rows = [row for _, row in shard.scan(HUB_PREFIX) if isinstance(row, HubRow)]
        for row in rows:
            if row.lease > now:
                self._fly(row, now)
        self._spend()
        self._put(rows)

    def close(self, shard: Rows) -> None:
        """Forget a shard that another worker has now, and the hubs of all that are held no more."""
        self._looks.close(shard)
        held = {url for url in self._revisits.hubs if self._candidates.shards.of(url) is not None}
        self._revisits.keep(held)
        self._spend()

    def _spend(self) -> None:
        shards = self._candidates.shards
        part = max(1, len(shards)) / shards.partitions
        self._revisits.spend(self._news.visits_a_minute / 60 * part)

    # what happens

    def look(self, now: float) -> None:
        """Go on with a look at the log, and say again of hubs given by hand that they are some, in time."""
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
        """Take up the hubs whose rows changed, and tell of the news that were fetched."""
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

    # how it stands

    @property
    def hubs(self) -> int:
        """How many hubs are revisited."""
        return len(self._revisits)

    @property
    def waiting(self) -> int:
        """How many new links to news wait to be fetched."""
        return len(self._fresh)

    def standing(self) -> NewsStanding:
        """Return how it stands in the shards held."""
        rows = [news_of(shard) for shard in self._candidates.shards.values()]
        pages = sum(row.pages for row in rows)
        counts = [sum(column) for column in zip(*(row.delays for row in rows if row.delays), strict=True)]
        place = next((place for place, so_far in enumerate(accumulate(counts)) if 2 * so_far >= pages), 0)
        within = (*DELAYS, math.inf)[place]
        delay = sum(row.delay for row in rows)
        return NewsStanding(self.hubs, pages, delay / pages if pages else 0.0, within if pages else 0.0)

    # choices

    def earn(self) -> None:
        """Count a fetch that is no instant one."""
        self._credit = min(self._burst, self._credit + self._earned)

    def next(self, now: float, *, spare: bool) -> tuple[Rows, PageRow | HubRow] | None:
        """Return the page to fetch at once, or the hub to revisit; None without one that may be asked now.

        ``spare`` says that nobody else could make a fetch: then it costs nothing.
        """
        if not spare and self._credit < 1:
            return None
        found = self._next_page(now) or self._next_hub(now)
        if found is not None and not spare:
            self._credit -= 1
        return found

    def _next_page(self, now: float) -> tuple[Rows, PageRow] | None:
        """Return the new link to news that was found last: it is of the greatest use."""
        while True:
            url = self._fresh.best(lambda name: self._candidates.clocks.ready(name, now))
            if url is None:
                return None
            found = self._candidates.choosable(url)
            if found is not None:
                return found
            self._fresh.discard(url)

    def _next_hub(self, now: float) -> tuple[Rows, PageRow | HubRow] | None:
        """Return the hub whose links have waited longest: its page, where that was never fetched."""
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
        """Order a revisit, by the version that is known."""
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
        """Count a revisit that was answered."""
        self._tally.hub_visits[outcome_of(end.result)] += 1
