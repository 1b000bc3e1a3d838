"""The mode "instant": news hubs are revisited, and new links to news fetched before all else (Wang 2007).

What is here is memory, made anew from the rows when a partition is opened. The rows are those of
`agents.frontier.hubs` and `agents.frontier.news`.
"""

import math
from itertools import accumulate
from typing import NamedTuple

from agents.frontier.book import Book
from agents.frontier.candidates import Candidates
from agents.frontier.fresh import Fresh
from agents.frontier.keys import news_of
from agents.frontier.news import NewsLooks
from agents.frontier.news_rows import HubRow
from agents.frontier.rows import FrontierRow, FrontierShard, PageRow
from agents.frontier.schedule import HubSchedule
from agents.metrics.instant import InstantMetrics
from streams.logging import EventLog
from streams.metrics.catalogue import DELAYS
from streams.records import FetchOrder, Revisited
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import SIGHTINGS

#: Instant fetches at most that follow each other while others wait.
BURST = 5.0

log = EventLog("frontier")


class NewsStanding(NamedTuple):
    """The hubs that are revisited, and the new links to news that were fetched, by the crawl's runs in all.

    ``delay`` is the mean of their seconds from publication to fetch; half of them took ``half_within`` at most.
    """

    hubs: int
    pages: int
    delay: float
    half_within: float


class Instant:
    """Chooses instant fetches within their share: new links to news, and then revisits that are due.

    They take no more than ``frontier.instant_share`` of all fetches while others could be made in their place;
    what nobody else could use is free.
    """

    def __init__(
        self,
        runtime: Runtime,
        candidates: Candidates,
        book: Book,
        inbox: Stateful[FrontierRow],
        metrics: InstantMetrics,
    ) -> None:
        settings = runtime.settings
        self._candidates = candidates
        self._delays = book.hubs.delays
        self._partitions = runtime.publisher.partitions(SIGHTINGS.name)
        self._looks = NewsLooks(settings.news, book.prefixes, inbox.commit_soon)
        self._fresh = candidates.fresh = Fresh(book.prefixes, settings.frontier.queue)
        candidates.scope.news = self._fresh.wants
        self._schedule = HubSchedule(runtime, candidates, book.hubs, inbox)
        share = settings.frontier.instant_share
        self._earned = share / (1 - share) if share < 1 else math.inf
        self._credit = self._burst = BURST if share < 1 else math.inf
        self._metrics = metrics
        metrics.figures = self

    # shards

    def prepare(self, shard: FrontierShard) -> None:
        """Take up a shard's prefixes, before its candidates are: they tell which of these are news."""
        self._looks.open(shard)

    def open(self, shard: FrontierShard, now: float) -> None:
        """Take up the hubs of a shard that is held."""
        self._schedule.open(shard, now)

    def close(self, shard: FrontierShard) -> None:
        """Forget a shard that another worker has now."""
        self._looks.close(shard)
        self._schedule.close()

    # what happens

    def look(self, now: float) -> None:
        """Go on with a look at the log, where it is time."""
        self._schedule.renew(now)
        self._looks.step(iter(self._candidates.shards.values()), now, self._partitions)

    def settle(self) -> None:
        """Take up the hubs whose rows changed, and tell of the news that were fetched."""
        for url, delay in self._delays:
            self._metrics.fetched(delay)
            log.info("news fetched", url=url, delay=round(delay, 3))
        self._delays.clear()
        self._schedule.settle()

    def ended(self, sighting: Revisited) -> None:
        """Count a revisit that was waited for."""
        self._metrics.revisited(sighting.outcome)

    def lease_ended(self, url: str, now: float) -> None:
        """Take back a revisit that was never answered."""
        self._metrics.revisited("lost")
        self._schedule.lease_ended(url, now)

    def expect(self, order: FetchOrder, now: float) -> None:
        """Take note of a revisit that was ordered although the death of this process kept it out of the row."""
        self._schedule.expect(order, now)

    # how it stands

    @property
    def hubs(self) -> int:
        """How many hubs are revisited."""
        return len(self._schedule)

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

    def next(self, now: float, *, spare: bool) -> tuple[FrontierShard, PageRow | HubRow] | None:
        """Return the page to fetch at once, or the hub to revisit; None without one that may be asked now.

        ``spare`` says that nobody else could make a fetch: then it costs nothing.
        """
        if not spare and self._credit < 1:
            return None
        found = self._next_page(now) or self._schedule.next(now)
        if found is not None and not spare:
            self._credit -= 1
        return found

    def _next_page(self, now: float) -> tuple[FrontierShard, PageRow] | None:
        """Return the new link to news that was found last: it is of the greatest use."""
        while True:
            url = self._fresh.best(lambda name: self._candidates.clocks.ready(name, now))
            if url is None:
                return None
            found = self._candidates.choosable(url)
            if found is not None:
                return found
            self._fresh.discard(url)

    def order(self, shard: FrontierShard, row: HubRow, now: float) -> None:
        """Order a revisit."""
        self._schedule.order(shard, row, now)
