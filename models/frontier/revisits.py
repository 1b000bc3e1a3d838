"""Which judged page is revisited, and when: discovery and revisits share one window, budget and politeness.

A page is due when it has probably changed, and the due page with the greatest gain is visited first
(`models.revisit.rate`). The gain of a candidate, which was never visited, is the limit of that gain times its
probability of a hit. So a revisit comes before a candidate where it gains more, within `frontier.revisit`, and
where nothing else can be fetched.

Rows index pages by due time. Due pages are read, a few at a time, into a bounded queue that evicts those of
least gain, and evicted pages are read again in the next round. So memory does not grow with the pages.
"""

import math
from collections.abc import Callable, Iterable
from itertools import islice

from scentline.models.facts import Fetched
from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.flights import Tally, outcome_of
from scentline.models.frontier.freshness import Estimate, Freshness, Match
from scentline.models.frontier.keys import (
    DUE_PREFIX,
    VISIT_PREFIX,
    Rows,
    due_at,
    due_before,
    page_key,
    visit_key,
    visit_of,
)
from scentline.models.frontier.leases import Orders, Visiting
from scentline.models.frontier.rows import Choice, PageRow, VisitRow
from scentline.models.frontier.visits import Visits
from scentline.models.page import Verdict
from scentline.models.published import RENEWED
from scentline.models.records import Revisit
from scentline.models.revisit.queue import DueQueue
from scentline.models.revisit.rate import limit, stale
from scentline.models.url import host

#: The policy of a revisit order.
AGAIN = "revisit"
#: Most consecutive revisits while candidates wait.
BURST = 5.0
#: Most due pages in memory: a look at all of them takes some 20 ms.
QUEUE = 10_000
#: Fill level at which a look reads only a few more pages; it always reads some, so that none starves.
FULL = 0.9
#: Rows read at a time, and seconds for which a look reads.
TAKEN_UP, LOOK_SECONDS = 20, 0.01
#: Worth of a page that satisfies no predicate, relative to one that does: it may satisfy one later.
MISS = 0.1
#: Weight of the newest order in the mean worth of candidates.
NEWEST = 0.05


class Revisits(Visiting[VisitRow]):
    """Chooses the pages to revisit, and orders them."""

    visit = "again"

    def __init__(
        self,
        importance: str,
        candidates: Candidates,
        visits: Visits,
        orders: Orders,
        tally: Tally,
        stopwatch: Callable[[], float],
    ) -> None:
        super().__init__(candidates, orders)
        self._by = importance
        self._visits = visits
        self._groups = visits.groups
        self._tally = tally
        self._stopwatch = stopwatch
        self.freshness = Freshness()
        #: By URL of an ordered visit: the probability that the page is unchanged.
        self._expected: dict[str, float] = {}
        #: The estimates of the pages in the queue.
        self._known: dict[str, Estimate] = {}
        #: When the next page of each shard is due, as far as its rows were read.
        self._next: dict[int, float] = {}
        most = min(QUEUE, candidates.settings.queue)
        self._queue, self._full = DueQueue(most), FULL * most
        #: How far the rows of each shard are read: those of due pages, and those of all pages.
        self._read: dict[int, bytes | None] = {}
        self._unseen: dict[int, bytes | None] = {}
        self._more = False
        self._rests = 0.0
        share = candidates.settings.revisit
        self._earned = share / (1 - share)
        self._credit = BURST
        self._worth = MISS

    # shards

    def open(self, shard: Rows, now: float) -> None:
        """Begin to load a shard that is newly held, or was rolled back to its state on disk."""
        self._read[shard.partition] = self._unseen[shard.partition] = None
        self._next.pop(shard.partition, None)

    def close(self, shard: Rows) -> None:
        """Forget a shard that another worker has now; its pages in the queue are skipped in their turn."""
        self._read.pop(shard.partition, None)
        self._unseen.pop(shard.partition, None)
        self.freshness.keep(lambda url: self._candidates.shards.of(url) is not None)

    def renew(self) -> None:
        """Read all due pages once more, as some were skipped."""
        self._read = dict.fromkeys(self._read)
        self._next = {}

    @property
    def busy(self) -> bool:
        """Whether there is more to load at once."""
        return self._more

    def look(self, now: float) -> None:
        """Load due pages: a few or, while there is room for many, for at most half of the time.

        The loading of candidates has precedence.
        """
        begun = self._stopwatch()
        if begun < self._rests:
            return
        due = True
        while True:
            due = due and self._take_up(now)
            unseen = self._see_all(now)
            self._more = due or unseen
            if not self._more or self._candidates.opening:
                return
            if self._stopwatch() >= begun + LOOK_SECONDS:
                break
        self._rests = 2 * self._stopwatch() - begun

    def _take_up(self, now: float) -> bool:
        ended = [self._take_due(shard, now) for shard in self._held(self._read)]
        if all(ended) and self._queue.evicted:
            self._queue.evicted = False
            self._known = {url: known for url, known in self._known.items() if url in self._queue}
            self.renew()
        return not all(ended) and len(self._queue) < self._full

    def _see_all(self, now: float) -> bool:
        """Continue with all rows of opened shards; return whether there are more."""
        for shard in self._held(self._unseen):
            self._see(shard, now)
        return bool(self._unseen)

    def _held(self, partitions: Iterable[int]) -> list[Rows]:
        found = (self._candidates.shards.get(partition) for partition in list(partitions))
        return [shard for shard in found if shard is not None]

    def _take_due(self, shard: Rows, now: float) -> bool:
        """Load the next few due pages, the longest due first; return whether they were the last.

        Pages due later follow in the rows, so none of them needs to be in memory.
        """
        if now < self._next.get(shard.partition, 0.0):
            return True
        end, taken = due_before(now), 0
        self._next[shard.partition] = math.inf
        for key, row in islice(shard.scan(DUE_PREFIX, self._read[shard.partition]), TAKEN_UP):
            self._next[shard.partition] = due_at(key)
            if key >= end:
                break
            taken += 1
            self._read[shard.partition] = key
            if isinstance(row, VisitRow) and row.url not in self._queue:
                self._put(row.url, now)
        shard.let_go_of_excess()
        return taken < TAKEN_UP

    def _see(self, shard: Rows, now: float) -> None:
        """Continue with the rows of an opened shard: for the figures, and the visits in flight."""
        found = list(islice(shard.scan(VISIT_PREFIX, self._unseen[shard.partition]), TAKEN_UP))
        for _, row in found:
            if isinstance(row, VisitRow):
                if row.lease > now:
                    self._expect_answer(row, now)
                self._count(shard, row, self._judged(shard, row.url))
        if len(found) < TAKEN_UP:
            del self._unseen[shard.partition]
        else:
            self._unseen[shard.partition] = found[-1][0]
        shard.let_go_of_excess()

    def settle(self, now: float) -> None:
        """Apply the changed rows that are on disk, from where pages due later are read."""
        changed, self._visits.changed = self._visits.changed, set()
        for url in changed:
            shard = self._candidates.shards.of(url)
            if shard is not None and shard.staged(visit_key(url)):
                self._visits.changed.add(url)
            else:
                self._put(url, now)
        for predicate, kind in self._visits.take_told():
            self._tally.changes[predicate, kind] += 1

    def ended(self, end: Fetched) -> None:
        """Count a visit that was answered."""
        self._tally.visited(outcome_of(end.result), self._expected.pop(end.url, 1.0))

    # which is due

    def _put(self, url: str, now: float) -> None:
        found = self._find(url)
        if found is not None:
            self._offer(*found, now)

    def _offer(self, shard: Rows, visit: VisitRow, now: float) -> None:
        self._queue.discard(visit.url)
        page = self._judged(shard, visit.url)
        if visit.lease > now:
            self._expect_answer(visit, now)
        elif page is not None and visit.due > now:
            self._next[shard.partition] = min(self._next.get(shard.partition, 0.0), visit.due)
        elif page is not None and not self._excluded(visit.url):
            known = self._known[visit.url] = self._groups.estimate(shard, visit)
            importance = self._importance(page)
            self._queue.put(
                visit.url, host(visit.url), importance, known.rate, visit.visited, known.aged, known.recall
            )
        self._count(shard, visit, page)

    def _judged(self, shard: Rows, url: str) -> PageRow | None:
        page = shard.get(page_key(url))
        return page if isinstance(page, PageRow) and page.state == "judged" else None

    def _count(self, shard: Rows, visit: VisitRow, page: PageRow | None) -> None:
        holding = _holding(page.verdict) if page is not None else ()
        if not holding or not self.freshness.sampled(visit.url):
            self.freshness.discard(visit.url)
            return
        known = self._groups.estimate(shard, visit)
        match = Match(holding, shard.partition, visit.visited, known.hidden, known.aged, visit.orders)
        self.freshness.put(visit.url, match)

    def _importance(self, page: PageRow) -> float:
        """Return the worth of a page: by its matches, by its requests, or by both."""
        by = self._by
        matches = 1.0 if _holding(page.verdict) else MISS
        requests = 1.0 + page.visits
        return matches if by == "matches" else requests if by == "requests" else matches * requests

    # choices

    def earn(self, promised: float | None) -> None:
        """Count the order of a candidate, and its expected hits, where known."""
        self._credit = min(BURST, self._credit + self._earned)
        if promised is not None:
            self._worth += NEWEST * (promised - self._worth)

    def next(self, now: float, *, spare: bool) -> tuple[Rows, VisitRow, float] | None:
        """Return the next page to revisit, with its gain; None where none is ready.

        ``spare`` means that no candidate can be fetched: then any gain will do, and no credit is spent.
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
            found = self._find(url)
            if found is not None and self._may_visit(found[0], url):
                self._credit -= not spare
                return *found, gain
            self._known.pop(url, None)

    def _may_visit(self, shard: Rows, url: str) -> bool:
        judged = self._judged(shard, url) is not None
        return judged and url not in self._candidates.flights and not self._excluded(url)

    def _excluded(self, url: str) -> bool:
        return self._candidates.scope.exclusions.has(url)

    def order(self, shard: Rows, visit: VisitRow, gain: float, now: float) -> None:
        """Order a visit, conditional on the known version."""
        page = self._judged(shard, visit.url)
        assert page is not None and page.verdict is not None, "a judged page was chosen"
        known = self._known.pop(visit.url)
        self._expected[visit.url] = 1 - stale(known.hidden, now - visit.visited + known.aged)
        # Without a version the page is sent in full, and judged again before its outcome is forgotten.
        version = visit.version if now - page.judged_at < RENEWED else None
        revisit = Revisit(
            version, visit.visited, True, page.verdict, visit.content, visit.links,
            visit.partitions, page.judged_at,
        )  # fmt: skip
        predicate = next(iter(sorted(_holding(page.verdict))), "")
        self._send(shard, visit, page, Choice(predicate, AGAIN, False, 1.0, gain, now), revisit)
        if predicate:
            self._tally.orders[predicate, AGAIN] += 1

    def _row_of(self, shard: Rows, url: str) -> VisitRow | None:
        return visit_of(shard, url)

    def _ordered(self, shard: Rows, row: VisitRow) -> None:
        shard.put(visit_key(row.url), row)

    def _lost(self, shard: Rows, row: VisitRow) -> None:
        self._expected.pop(row.url, None)
        self._tally.visited("lost", 1.0)
        self._visits.keep(shard, row)

    def _expect_answer(self, visit: VisitRow, now: float) -> None:
        """Note a visit that was ordered before the shard was opened."""
        if visit.url not in self._candidates.flights:
            self._fly(visit, now)


def _holding(verdict: Verdict | None) -> tuple[str, ...]:
    return tuple(name for name, holds in (verdict or {}).items() if holds)
