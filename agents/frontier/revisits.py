"""Which judged page is visited again, and when: discovery and revisits share one window, budget and politeness.

A page is due when it may well have changed, and of those that are due the one is visited of which that gains
most (`models.revisit.gain`). What a candidate is worth is the same at its limit, times its probability of a
hit: it was never visited. So a revisit comes before a candidate where it gains more, within `frontier.revisit`,
and where nothing else can be fetched.

What is here is memory, made anew from the rows, little by little, when a partition is opened.
"""

import math
from collections.abc import Iterator
from itertools import islice

from agents.frontier.candidates import Candidates
from agents.frontier.freshness import Freshness, Match
from agents.frontier.groups import Estimate
from agents.frontier.keys import VISIT_PREFIX, visit_key, visit_of
from agents.frontier.metrics import FrontierMetrics, RevisitMetrics
from agents.frontier.orders import Flight, order_of, send
from agents.frontier.retries import Retries
from agents.frontier.rows import Choice, FrontierRow, FrontierShard, PageRow, VisitRow
from agents.frontier.visits import Visits
from models.revisit.gain import limit, stale
from models.revisit.queue import DueQueue
from models.url import host
from models.verdict import Verdict
from streams.records import FetchOrder, Judged, Revisit, Revisited
from streams.runtime import Runtime, every
from streams.settings import RevisitSettings
from streams.stateful import Stateful

#: The policy of an order to visit a page again.
AGAIN = "revisit"
#: Revisits at most that follow each other while candidates wait.
BURST = 5.0
#: Rows that are taken up at a time.
TAKEN_UP = 100
#: Probability of a change from which on a page is due.
LEAST_STALE = 0.1
#: What a page is worth that satisfies no predicate, where one that does is worth 1: it may come to.
MISS = 0.1
#: Part that the newest order has in what candidates are worth.
NEWEST = 0.05


class Revisits:
    """Chooses the pages to visit again, and gives their orders."""

    def __init__(
        self,
        runtime: Runtime,
        candidates: Candidates,
        visits: Visits,
        inbox: Stateful[FrontierRow],
        orders: FrontierMetrics,
        metrics: RevisitMetrics,
    ) -> None:
        settings = runtime.settings
        self._runtime = runtime
        self._settings = settings.revisit
        self._candidates = candidates
        self._visits = visits
        self._groups = visits.groups
        self._inbox = inbox
        self._orders = orders
        self._metrics = metrics
        self._freshness = Freshness()
        metrics.figures = lambda: self._freshness.figures(runtime.clock())
        #: Of each visit that was ordered, how probable it was that the page is as it was.
        self._expected: dict[str, float] = {}
        self._queue = DueQueue(settings.frontier.queue)
        self._waiting = Retries(settings.frontier.queue)
        self._unread: dict[int, bytes | None] = {}
        share = settings.frontier.revisit
        self._earned = share / (1 - share)
        self._credit = BURST
        self._worth = MISS

    # shards

    def open(self, shard: FrontierShard) -> None:
        """Begin to take up a shard that is held."""
        self._unread[shard.partition] = None

    def close(self, shard: FrontierShard) -> None:
        """Forget a shard that another worker has now; its pages are passed over when their turn comes."""
        self._unread.pop(shard.partition, None)
        self._freshness.keep(lambda url: self._candidates.shards.of(url) is not None)

    def look(self, now: float) -> None:
        """Take up the next few rows of shards that were opened, and the pages whose wait is over."""
        for partition, cursor in list(self._unread.items()):
            shard = self._candidates.shards.get(partition)
            found = list(islice(shard.scan(VISIT_PREFIX, cursor), TAKEN_UP)) if shard is not None else []
            if shard is not None:
                self._take_up(shard, (row for _, row in found if isinstance(row, VisitRow)), now)
                shard.let_go_of_excess()
            if len(found) < TAKEN_UP:
                del self._unread[partition]
            else:
                self._unread[partition] = found[-1][0]
            break
        for url in self._waiting.due(now):
            self._put(url, now)
        if self._waiting.passed(now) and not self._unread:
            self._waiting.look_again()
            self._unread = dict.fromkeys(self._candidates.shards)

    def _take_up(self, shard: FrontierShard, rows: Iterator[VisitRow], now: float) -> None:
        for row in rows:
            if row.lease > now and row.url not in self._candidates.flights:
                self._fly(row, now)
            self._offer(shard, row, now)

    def settle(self, now: float) -> None:
        """Take up the pages whose rows changed."""
        changed, self._visits.changed = self._visits.changed, set()
        for url in changed:
            self._put(url, now)
        for predicate, kind in self._visits.take_told():
            self._metrics.changed(predicate, kind)

    def ended(self, sighting: Judged | Revisited) -> None:
        """Count a visit that was answered."""
        unchanged = self._expected.pop(sighting.url, 1.0)
        if isinstance(sighting, Revisited):
            self._metrics.ended(sighting.outcome, unchanged)
        else:
            self._metrics.ended("changed" if sighting.changed else "unchanged", unchanged)

    async def run(self) -> None:
        """Tell now and then how current the matches are; never returns."""
        await every(self._settings.tell_seconds, self._tell)

    async def _tell(self) -> None:
        shards = self._candidates.shards
        if messages := self._freshness.messages(shards.values(), self._runtime.clock()):
            await self._runtime.publisher.send_all(messages)

    # which is due

    def _put(self, url: str, now: float) -> None:
        shard = self._candidates.shards.of(url)
        visit = visit_of(shard, url) if shard is not None else None
        if shard is not None and visit is not None:
            self._offer(shard, visit, now)

    def _offer(self, shard: FrontierShard, visit: VisitRow, now: float) -> None:
        """Put a page in the queue, or where it waits until it is due."""
        self._queue.discard(visit.url)
        found = self._candidates.shards.find(visit.url)
        if found is None or found[1].state != "judged":
            self._freshness.discard(visit.url)
            return
        known = self._groups.estimate(shard, visit)
        holding = _holding(found[1].verdict)
        match = Match(holding, shard.partition, visit.visited, known.hidden, known.aged, visit.orders)
        self._freshness.put(visit.url, match)
        when = due(visit, known, self._settings)
        if when > now:
            self._waiting.put(visit.url, when)
        else:
            importance = self._importance(found[1])
            self._queue.put(
                visit.url, host(visit.url), importance, known.rate, visit.visited, known.aged, known.recall
            )

    def _importance(self, page: PageRow) -> float:
        """Return what a page is worth: by its matches, by its requests, or by both."""
        by = self._settings.importance
        matches = 1.0 if _holding(page.verdict) else MISS
        requests = 1.0 + page.visits
        return matches if by == "matches" else requests if by == "requests" else matches * requests

    # choices

    def earn(self, promised: float | None) -> None:
        """Count the order of a candidate, and how many hits it promises, where that is told."""
        self._credit = min(BURST, self._credit + self._earned)
        if promised is not None:
            self._worth += NEWEST * (promised - self._worth)

    def next(self, now: float, *, spare: bool) -> tuple[FrontierShard, VisitRow, float] | None:
        """Return the page to visit next, with what that gains; None where there is none that may be asked.

        ``spare`` says that no candidate can be fetched: then it costs nothing, and is held against none.
        """
        if not spare and self._credit < 1:
            return None
        least = 0.0 if spare else limit(self._worth, self._groups.expected)
        while True:
            best = self._queue.best(now, lambda name: self._candidates.clocks.ready(name, now), least)
            if best is None:
                return None
            url, gain = best
            self._queue.discard(url)
            shard = self._candidates.shards.of(url)
            visit = visit_of(shard, url) if shard is not None else None
            found = self._candidates.shards.find(url)
            if shard is None or visit is None or found is None or found[1].state != "judged":
                continue
            if url not in self._candidates.flights:
                self._credit -= not spare
                return shard, visit, gain

    def order(self, shard: FrontierShard, visit: VisitRow, gain: float, now: float) -> None:
        """Order a visit, by the version that is known."""
        found = self._candidates.shards.find(visit.url)
        assert found is not None and found[1].verdict is not None, "a judged page was chosen"
        page = found[1]
        known = self._groups.estimate(shard, visit)
        self._expected[visit.url] = 1 - stale(known.hidden, now - visit.visited + known.aged)
        self._lease(shard, visit, visit.orders + 1, now + self._runtime.settings.frontier.lease_seconds, now)
        revisit = Revisit(
            visit.version, visit.visited, True, page.verdict or {}, visit.content, visit.links,
            visit.partitions, page.judged_at,
        )  # fmt: skip
        predicate = next(iter(sorted(_holding(page.verdict))), "")
        order = order_of(
            Choice(predicate, AGAIN, False, 1.0, gain, now), visit.url, visit.orders, page.depth, visit.lease,
            delay=self._candidates.clocks.apart(host(visit.url)),
            robots=self._candidates.robots.told(shard, visit.url, now), pattern=visit.pattern,
            silent=page.silent, requests=self._candidates.answered, revisit=revisit,
        )  # fmt: skip
        send(self._runtime, shard, order)
        if predicate:
            self._orders.ordered(predicate, AGAIN)

    def _lease(self, shard: FrontierShard, visit: VisitRow, number: int, lease: float, now: float) -> None:
        visit.orders, visit.lease = number, lease
        shard.put(visit_key(visit.url), visit)
        self._fly(visit, now)

    def _fly(self, visit: VisitRow, now: float) -> None:
        flight = Flight("", visit.lease, False, now, instant=True, revisit=True, again=True)
        self._candidates.flights.fly(visit.url, flight)

    def expect(self, order: FetchOrder, now: float) -> None:
        """Take note of a visit that was ordered although the death of this process kept it out of the row."""
        shard = self._candidates.shards.of(order.url)
        visit = visit_of(shard, order.url) if shard is not None else None
        if shard is not None and visit is not None and visit.orders < order.order and order.lease > now:
            self._lease(shard, visit, order.order, order.lease, now)
            self._inbox.commit_soon(shard)

    def lease_ended(self, url: str, now: float) -> None:
        """Take back a visit that was never answered."""
        shard = self._candidates.shards.of(url)
        visit = visit_of(shard, url) if shard is not None else None
        self._expected.pop(url, None)
        if shard is not None and visit is not None and visit.lease:
            self._metrics.ended("lost", 1.0)
            self._visits.fail(visit, now)
            shard.put(visit_key(url), visit)
            self._inbox.commit_soon(shard)
            self._offer(shard, visit, now)


def due(visit: VisitRow, known: Estimate, settings: RevisitSettings) -> float:
    """Return the time from which on a page is visited again.

    What pages of a like URL showed may bring that forward, but not put it off: of a site whose first pages are
    as they were, the others would never be looked at. In which order they are is another matter.
    """
    if visit.missing or visit.lease or visit.not_before:
        return max(visit.not_before, visit.lease)
    rate = max(known.rate, known.alone) * (1 - known.recall)
    stale = -math.log1p(-LEAST_STALE) / rate - known.aged
    return visit.visited + max(settings.shortest_seconds, min(settings.longest_seconds, stale))


def _holding(verdict: Verdict | None) -> tuple[str, ...]:
    """Return the predicates that hold."""
    return tuple(name for name, holds in (verdict or {}).items() if holds)
