"""Leases: a URL whose fetch is ordered is leased until the fetch ends or the lease runs out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from scentline.models.errors import EventLog
from scentline.models.facts import Early, Fetched, Missing, Page
from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.flights import Flight, Tally
from scentline.models.frontier.keys import TOTALS_KEY, Rows, memo_of, page_key, referrer_of, totals_of
from scentline.models.frontier.pages import note_lost, tell_clocks
from scentline.models.frontier.rows import INSTANT, OPEN, Choice, HubRow, PageRow, VisitRow, failed
from scentline.models.frontier.turns import Pace, ProportionalTurns
from scentline.models.records import FETCHES, RENDERS, FetchOrder, Revisit, Visit, encode, partition_of
from scentline.models.url import host

log = EventLog("frontier")

Row = TypeVar("Row", HubRow, VisitRow)


class Orders:
    """Sends orders with a shard's next commit; ``partitions`` are those of the topics of orders.

    ``soon`` commits a shard whose rows changed without a message.
    """

    def __init__(self, candidates: Candidates, partitions: int, soon: Callable[[Rows], None]) -> None:
        self._candidates = candidates
        self._partitions = partitions
        self.soon = soon

    def send(self, shard: Rows, choice: Choice, now: float, **said: Any) -> None:
        """Send the order for a choice; ``said`` are the fields that come from a row."""
        name, candidates, memo = host(said["url"]), self._candidates, memo_of(shard, said["url"])
        robots = candidates.robots.told(shard, said["url"], now)
        order = FetchOrder(
            predicate=choice.predicate, policy=choice.policy, explored=choice.explored,
            probability=choice.probability, priority=choice.priority, expected=choice.expected,
            comes=choice.comes, delay=candidates.clocks.apart(name), robots=robots,
            memo=memo.memo, source=memo.source, **said,
        )  # fmt: skip
        topic = RENDERS if order.render else FETCHES
        shard.send(topic, partition_of(name, self._partitions), None, encode(order))


class Visiting(ABC, Generic[Row]):
    """Orders visits to known pages of one kind, hubs or judged ones, and takes back unanswered ones."""

    visit: ClassVar[Visit]

    def __init__(self, candidates: Candidates, orders: Orders) -> None:
        self._candidates = candidates
        self._orders = orders

    @abstractmethod
    def _row_of(self, shard: Rows, url: str) -> Row | None: ...

    @abstractmethod
    def _ordered(self, shard: Rows, row: Row) -> None:
        """Stage a row with a new order."""

    @abstractmethod
    def _lost(self, shard: Rows, row: Row) -> None:
        """Stage the row of a page that waits, because its visit was not answered."""

    @abstractmethod
    def ended(self, end: Fetched) -> None:
        """Count an answered visit."""

    def _find(self, url: str) -> tuple[Rows, Row] | None:
        shard = self._candidates.shards.of(url)
        row = self._row_of(shard, url) if shard is not None else None
        return (shard, row) if shard is not None and row is not None else None

    def _send(self, shard: Rows, row: Row, page: PageRow | None, choice: Choice, revisit: Revisit) -> None:
        renders = self._candidates.renders
        render = renders.always or (page is not None and page.render)
        lease = choice.time + self._candidates.settings.lease_seconds + (renders.seconds if render else 0.0)
        self._lease(shard, row, row.orders + 1, lease, choice.time, render=render)
        self._orders.send(
            shard, choice, choice.time,
            url=row.url, order=row.orders, lease=row.lease,
            depth=0 if page is None else page.depth, silent=page is not None and page.silent,
            render=render,
            requests=self._candidates.answered, revisit=revisit,
            referrer="" if page is None else referrer_of(shard, page),
        )  # fmt: skip

    def _lease(self, shard: Rows, row: Row, number: int, lease: float, now: float, *, render: bool) -> None:
        row.orders, row.lease = number, lease
        self._ordered(shard, row)
        self._fly(row, now, render=render)

    def _fly(self, row: Row, now: float, *, render: bool = False) -> None:
        flight = Flight("", row.lease, False, now, instant=True, visit=self.visit, render=render)
        self._candidates.flights.fly(row.url, flight)

    def expect(self, order: FetchOrder, now: float) -> None:
        """Note a visit whose order was sent, but not stored in its row before the process died."""
        found = self._find(order.url)
        if found is not None and found[1].orders < order.order and order.lease > now:
            self._lease(*found, order.order, order.lease, now, render=order.render)
            self._orders.soon(found[0])

    def lease_ended(self, url: str, now: float) -> None:
        """Take back a visit whose lease ran out."""
        found = self._find(url)
        if found is not None and found[1].lease:
            failed(found[1], self._candidates.settings.retry_seconds, now)
            self._lost(*found)
            self._orders.soon(found[0])


class Leases:
    """Orders fetches of pages, expects orders sent before, and ends leases that ran out.

    ``visiting`` does so for visits to known pages, by kind.
    """

    def __init__(
        self,
        candidates: Candidates,
        orders: Orders,
        tally: Tally,
        visiting: Mapping[Visit, Visiting[Any]],
    ) -> None:
        self._settings = candidates.settings
        self._candidates = candidates
        self._orders = orders
        self._tally = tally
        self._visiting = visiting

    def order(self, shard: Rows, row: PageRow, choice: Choice, now: float) -> None:
        """Order the fetch of a page."""
        renders = self._candidates.renders
        row.render = row.render or renders.always
        row.attempts, row.lease = row.attempts + 1, now + self._settings.lease_seconds
        row.lease += renders.seconds if row.render else 0.0
        self._candidates.lease(shard, row, choice, now)
        name = host(row.url)
        vouched = self._candidates.fairness.shares.vouched(name)
        silent = not row.seed and self._candidates.taught_enough(name)
        self._orders.send(
            shard, choice, now,
            url=row.url, order=row.attempts, lease=row.lease, depth=row.depth, silent=silent, vouched=vouched,
            render=row.render,
            requests=self._candidates.answered + self._candidates.flights.pages,
            referrer=referrer_of(shard, row),
        )  # fmt: skip
        by = INSTANT if choice.policy == INSTANT else "chance" if choice.explored else "policy"
        self._tally.orders[choice.predicate, by] += 1

    def expect(self, order: FetchOrder, now: float) -> None:
        """Note an order that was sent, but not stored in its row before the process died."""
        if order.visit != "first":
            if order.visit in self._visiting:
                self._visiting[order.visit].expect(order, now)
            return
        found = self._candidates.shards.find(order.url)
        if found is None or found[1].state != "candidate" or order.lease < now:
            return
        shard, row = found
        if row.attempts >= order.order:
            return  # it was put off since
        row.attempts, row.lease, row.render = order.order, order.lease, order.render
        self._candidates.lease(
            shard,
            row,
            Choice(
                order.predicate,
                order.policy,
                order.explored,
                order.probability,
                order.priority,
                now,
                order.expected,
                order.comes,
            ),
            now,
        )
        self._orders.soon(shard)

    def awaits(self, order: FetchOrder) -> bool:
        """Return whether an order's answer is still to come: it is in flight, or not stored in its row yet."""
        if order.visit != "first":
            return order.url in self._candidates.flights
        found = self._candidates.shards.find(order.url)
        if found is None:
            return True
        state, attempts = found[1].state, found[1].attempts
        stored = state == "leased" and attempts == order.order
        return stored or (state == "candidate" and attempts < order.order)

    def end(self, now: float) -> None:
        """Take back the URLs whose leases ran out."""
        for url in self._candidates.flights.overdue(now):
            flight = self._candidates.flights.land(url, now)
            if flight is not None and flight.visit != "first":
                self._visiting[flight.visit].lease_ended(url, now)
                continue
            found = self._candidates.shards.find(url)
            if found is not None and found[1].state == "leased":
                self._end(*found, now)

    def _end(self, shard: Rows, row: PageRow, now: float) -> None:
        self._tally.leases_lost += 1
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
        self._orders.soon(shard)


class Landing:
    """Applies the ends of fetches, once the rows that they changed are committed."""

    def __init__(
        self,
        candidates: Candidates,
        turns: ProportionalTurns,
        pace: Pace,
        visiting: Mapping[Visit, Visiting[Any]],
    ) -> None:
        self._candidates = candidates
        self._turns = turns
        self._pace = pace
        self._visiting = visiting
        #: Seeds that were refused in this run.
        self.refused_seeds: set[str] = set()

    def land(self, end: Fetched, now: float) -> None:
        """Apply the end of one fetch."""
        put_off = end.visit == "first" and isinstance(end.result, Early)
        flight = self._candidates.flights.land(end.url, now, put_off=put_off)
        tell_clocks(self._candidates.clocks, end)
        self._candidates.robots.landed(end)
        self._candidates.fairness.shares.serves(end.host.server, host(end.url))
        if end.visit != "first":
            if end.visit in self._visiting:
                self._visiting[end.visit].ended(end)
        elif isinstance(end.result, Page):
            self._candidates.withdraw(end.url)
            self._pace.judged(now, now - end.time)
            chosen = flight is not None and not flight.explored and not flight.instant
            turn = flight.predicate if flight is not None and chosen else None
            self._turns.brought(end.result.verdict, turn)
        elif isinstance(end.result, Missing):
            self._tell_of_seeds(end.url, end.result)

    def _tell_of_seeds(self, url: str, missing: Missing) -> None:
        """Log a seed that brought no page, or whose host has no address: it may be mistyped."""
        found = self._candidates.shards.find(url)
        if found is not None and found[1].seed and (found[1].state not in OPEN or missing.reason == "dns"):
            advice = "name it in fetch.allow" if missing.reason.startswith("address") else "look at it"
            if found[1].state == "refused" and not missing.barren:  # a copy is judged under another URL
                self.refused_seeds.add(url)
            log.warning("a seed could not be fetched", url=url, reason=missing.reason, advice=advice)
