"""Leases: a URL whose fetch is ordered is leased, until the fetch ends or no answer comes in time."""

from scentline.agents.frontier.candidates import Candidates
from scentline.agents.frontier.hosts import note_lost, tell_clocks
from scentline.agents.frontier.instant import Instant
from scentline.agents.frontier.keys import TOTALS_KEY, page_key, totals_of
from scentline.agents.frontier.metrics import FrontierMetrics
from scentline.agents.frontier.orders import choice_of, order_of, send
from scentline.agents.frontier.revisits import Revisits
from scentline.agents.frontier.rows import INSTANT, OPEN, Choice, FrontierRow, FrontierShard, PageRow
from scentline.models.frontier.turns import ProportionalTurns
from scentline.models.frontier.window import Pace
from scentline.models.url import host
from scentline.streams.facts import Early, Fetched, Missing, Page
from scentline.streams.logging import EventLog
from scentline.streams.records import FetchOrder
from scentline.streams.runtime import Runtime
from scentline.streams.stateful import Stateful

log = EventLog("frontier")


class Leases:
    """Gives the orders of pages, expects those that were given before, and ends what is not answered.

    ``instant`` has those of revisits to hubs, in its mode, ``revisits`` those to judged pages.
    """

    def __init__(
        self,
        runtime: Runtime,
        candidates: Candidates,
        inbox: Stateful[FrontierRow],
        metrics: FrontierMetrics,
        instant: Instant | None = None,
        revisits: Revisits | None = None,
    ) -> None:
        self._runtime = runtime
        self._settings = runtime.settings.frontier
        self._candidates = candidates
        self._inbox = inbox
        self._metrics = metrics
        self._instant = instant
        self._revisits = revisits

    def order(self, shard: FrontierShard, row: PageRow, choice: Choice, now: float) -> None:
        """Order the fetch of a page."""
        row.attempts, row.lease = row.attempts + 1, now + self._settings.lease_seconds
        self._candidates.lease(shard, row, choice, now)
        name = host(row.url)
        vouched = self._candidates.fairness.shares.vouched(name)
        silent = not row.seed and self._candidates.taught_enough(name)
        robots = self._candidates.robots.told(shard, row.url, now)
        order = order_of(
            choice, row.url, row.attempts, row.depth, row.lease,
            delay=self._candidates.clocks.apart(name), robots=robots, vouched=vouched,
            silent=silent, requests=self._candidates.answered + self._candidates.flights.pages,
        )  # fmt: skip
        send(self._runtime, shard, order)
        by = INSTANT if choice.policy == INSTANT else "chance" if choice.explored else "policy"
        self._metrics.ordered(choice.predicate, by)

    def expect(self, order: FetchOrder, now: float) -> None:
        """Note an order that was sent although the death of this process kept it out of the row."""
        if order.revisit is not None:
            kind = self._revisits if order.revisit.again else self._instant
            if kind is not None:
                kind.expect(order, now)
            return
        found = self._candidates.shards.find(order.url)
        if found is None or found[1].state != "candidate" or order.lease < now:
            return
        shard, row = found
        if row.attempts >= order.order:
            return  # it was put off since
        row.attempts, row.lease = order.order, order.lease
        self._candidates.lease(shard, row, choice_of(order, now), now)
        self._inbox.commit_soon(shard)

    def end(self, now: float) -> None:
        """Take back the URLs whose fetch was never answered."""
        for url in self._candidates.flights.overdue(now):
            flight = self._candidates.flights.land(url, now)
            if flight is not None and flight.revisit:
                kind = self._revisits if flight.again else self._instant
                if kind is not None:
                    kind.lease_ended(url, now)
                continue
            found = self._candidates.shards.find(url)
            if found is not None and found[1].state == "leased":
                self._end(*found, now)

    def _end(self, shard: FrontierShard, row: PageRow, now: float) -> None:
        self._metrics.lease_lost()
        log.warning("lease ran out", url=row.url, attempts=row.attempts)
        row.state = "candidate" if row.attempts - row.postponed < self._settings.attempts else "given up"
        row.reason = "no answer within the lease"
        shard.put(page_key(row.url), row)
        note_lost(shard, row.url, now)
        if row.state == "candidate":
            self._candidates.offer(shard, [row], now)
        else:
            totals = totals_of(shard)
            totals.count(row.state, 1)
            shard.put(TOTALS_KEY, totals)
        self._inbox.commit_soon(shard)


class Landing:
    """Takes in the ends of fetches, when the rows that they changed are safe."""

    def __init__(
        self,
        candidates: Candidates,
        turns: ProportionalTurns,
        pace: Pace,
        instant: Instant | None,
        revisits: Revisits | None,
    ) -> None:
        self._candidates = candidates
        self._turns = turns
        self._pace = pace
        self._instant = instant
        self._revisits = revisits
        #: Seeds that this run found to be no business of the crawl.
        self.refused_seeds: set[str] = set()

    def land(self, end: Fetched, now: float) -> None:
        """Note how one fetch ended."""
        put_off = end.visit == "first" and isinstance(end.result, Early)
        flight = self._candidates.flights.land(end.url, now, put_off=put_off)
        tell_clocks(self._candidates.clocks, end)
        self._candidates.robots.landed(end)
        self._candidates.fairness.shares.serves(end.host.server, host(end.url))
        if end.visit == "again":
            if self._revisits is not None:
                self._revisits.ended(end)
        elif end.visit == "links":
            if self._instant is not None:
                self._instant.ended(end)
        elif isinstance(end.result, Page):
            self._candidates.withdraw(end.url)
            self._pace.judged(now, now - end.time)
            chosen = flight is not None and not flight.explored and not flight.instant
            turn = flight.predicate if flight is not None and chosen else None
            self._turns.brought(end.result.verdict, turn)
        elif isinstance(end.result, Missing):
            self._tell_of_seeds(end.url, end.result)

    def _tell_of_seeds(self, url: str, missing: Missing) -> None:
        """Say so where a seed came to nothing, or its host has no address: people may have mistyped it."""
        found = self._candidates.shards.find(url)
        if found is not None and found[1].seed and (found[1].state not in OPEN or missing.reason == "dns"):
            advice = "name it in fetch.allow" if missing.reason.startswith("address") else "look at it"
            if found[1].state == "refused" and not missing.barren:  # its like is judged under another URL
                self.refused_seeds.add(url)
            log.warning("a seed could not be fetched", url=url, reason=missing.reason, advice=advice)
