"""When hubs are revisited: their schedule, in memory, over the rows that `agents.frontier.hubs` keeps."""

import math
from collections.abc import Iterable

from agents.frontier.candidates import Candidates
from agents.frontier.flights import Flight
from agents.frontier.hubs import Hubs
from agents.frontier.keys import HUB_PREFIX, hub_key, hub_of
from agents.frontier.news_rows import HubRow
from agents.frontier.orders import order_of, send
from agents.frontier.rows import INSTANT, Choice, FrontierRow, FrontierShard, PageRow
from models.news.revisits import Revisits
from models.url import host
from streams.records import FetchOrder, Hub, Revisit
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import SIGHTINGS

#: Links a second that a hub given by hand is expected to bring, until more is known of it.
GIVEN_RATE = 1 / 3600
#: For how long it is one, unless it is named again.
GIVEN_SECONDS = 86_400.0


class HubSchedule:
    """The hubs of the shards held: which is due, and the orders to visit it."""

    def __init__(
        self, runtime: Runtime, candidates: Candidates, hubs: Hubs, inbox: Stateful[FrontierRow]
    ) -> None:
        self._runtime = runtime
        self._news = news = runtime.settings.news
        self._candidates = candidates
        self._hubs = hubs
        self._inbox = inbox
        self._partitions = runtime.publisher.partitions(SIGHTINGS.name)
        self._revisits = Revisits(
            news.visits_a_minute / 60, shortest=news.shortest_seconds, longest=news.longest_seconds
        )
        self._named = -math.inf

    def __len__(self) -> int:
        return len(self._revisits)

    # shards

    def open(self, shard: FrontierShard, now: float) -> None:
        """Take up the hubs of a shard that is held, and those given by hand that are of its partition."""
        self._name_given(now)
        rows = [row for _, row in shard.scan(HUB_PREFIX) if isinstance(row, HubRow)]
        for row in rows:
            if row.lease > now:
                self._fly(row, now)
        self._spend()
        self._put(rows)

    def close(self) -> None:
        """Forget the hubs of shards that are held no more."""
        held = {url for url in self._revisits.hubs if self._candidates.shards.of(url) is not None}
        self._revisits.keep(held)
        self._spend()

    def _spend(self) -> None:
        """Give the hubs of the shards held their part of all visits."""
        part = max(1, len(self._candidates.shards)) / self._partitions
        self._revisits.spend(self._news.visits_a_minute / 60 * part)

    # hubs that come, change and go

    def renew(self, now: float) -> None:
        """Say again of the hubs given by hand that they are hubs, where it is time."""
        if now >= self._named + GIVEN_SECONDS / 2:
            self._name_given(now)

    def _name_given(self, now: float) -> None:
        self._named = now
        for url in self._news.hubs_given:
            shard = self._candidates.shards.of(url)
            if shard is not None:
                self._hubs.named(shard, Hub(url, GIVEN_RATE, now + GIVEN_SECONDS))
                self._inbox.commit_soon(shard)

    def settle(self) -> None:
        """Take up the hubs whose rows changed."""
        changed, self._hubs.changed = self._hubs.changed, set()
        found = (self._find(url) for url in changed)
        self._put([hub[1] for hub in found if hub is not None])

    def _find(self, url: str) -> tuple[FrontierShard, HubRow] | None:
        shard = self._candidates.shards.of(url)
        row = hub_of(shard, url) if shard is not None else None
        return (shard, row) if shard is not None and row is not None else None

    def _put(self, rows: list[HubRow]) -> None:
        kept = [row for row in rows if not row.moved]
        self._drop(row.url for row in rows if row.moved)
        self._revisits.know({row.url: (row.rate, row.visited) for row in kept})
        for row in kept:
            if row.not_before or row.lease:
                self._revisits.postpone(row.url, max(row.not_before, row.lease))

    def _drop(self, urls: Iterable[str]) -> None:
        self._revisits.keep(self._revisits.hubs - set(urls))

    # visits

    def next(self, now: float) -> tuple[FrontierShard, PageRow | HubRow] | None:
        """Return the hub whose links have waited longest: its page, where that was never fetched."""
        for url in self._revisits.due(now):
            hub = self._find(url)
            if hub is None or url in self._candidates.flights:
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

    def _end(self, shard: FrontierShard, row: HubRow) -> None:
        """Forget a hub that nobody has named for long."""
        self._drop([row.url])
        shard.delete(hub_key(row.url))
        self._inbox.commit_soon(shard)

    def order(self, shard: FrontierShard, row: HubRow, now: float) -> None:
        """Order a revisit, by the version that is known."""
        lease = now + self._runtime.settings.frontier.lease_seconds
        self._lease(shard, row, row.orders + 1, lease, now)
        page = self._candidates.shards.find(row.url)
        depth = 0 if page is None else page[1].depth
        choice = Choice("", INSTANT, False, 1.0, 0.0, now)
        revisit = Revisit(row.version, row.visited)
        send(self._runtime, shard, order_of(choice, row.url, row.orders, depth, lease, revisit=revisit))

    def expect(self, order: FetchOrder, now: float) -> None:
        """Take note of a revisit that was ordered although the death of this process kept it out of the row."""
        hub = self._find(order.url)
        if hub is not None and hub[1].orders < order.order and order.lease > now:
            self._lease(*hub, order.order, order.lease, now)
            self._inbox.commit_soon(hub[0])

    def _lease(self, shard: FrontierShard, row: HubRow, number: int, lease: float, now: float) -> None:
        row.orders, row.lease = number, lease
        shard.put(hub_key(row.url), row)
        self._fly(row, now)
        self._revisits.postpone(row.url, lease)

    def _fly(self, row: HubRow, now: float) -> None:
        self._candidates.flights.fly(row.url, Flight("", row.lease, False, now, instant=True, revisit=True))

    def lease_ended(self, url: str, now: float) -> None:
        """Take back a revisit that was never answered."""
        hub = self._find(url)
        if hub is not None and hub[1].lease:
            shard, row = hub
            row.lease = 0.0
            row.failures += 1
            self._hubs.fail(row, now)
            shard.put(hub_key(url), row)
            self._put([row])
            self._inbox.commit_soon(shard)
