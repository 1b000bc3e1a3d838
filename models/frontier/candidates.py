"""The candidates in memory: a queue for each predicate, URLs that wait for a retry, and fetches in flight."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, islice, zip_longest
from random import Random

from scentline.models.frontier import keys
from scentline.models.frontier.fairness import Fairness
from scentline.models.frontier.flights import Flight, Flights, Retries
from scentline.models.frontier.keys import Rows
from scentline.models.frontier.news import Fresh
from scentline.models.frontier.pages import KnownRobots
from scentline.models.frontier.politeness import HostClocks
from scentline.models.frontier.queue import FEW, CandidateQueue, priorities
from scentline.models.frontier.rendering import Renders
from scentline.models.frontier.rows import Choice, PageRow, TotalsRow
from scentline.models.frontier.steered import Scope
from scentline.models.frontier.sweep import Opening, Shards, Sweep
from scentline.models.page import FAILED
from scentline.models.policy.priorities import Priorities, Scorer
from scentline.models.predicate import ANYTHING, Sought
from scentline.models.published import Exclusion
from scentline.models.settings import CrawlSettings
from scentline.models.url import host, identifier, owner

#: Hosts whose clocks are kept in memory.
CLOCKS = 100_000
#: Most candidates that the shards held start with after a crash.
STARTED = 10_000
#: Most candidates scored again in a choice to find one of an owner below its share.
FAIR_TRIES = 5


class Candidates:
    """Every open URL of the shards held is in a queue, waiting, in flight, or only on disk.

    Candidates below the threshold, out of scope or evicted from a full queue are only on disk: the sweep brings
    them back when their priority rises or there is room.
    """

    def __init__(self, whole: CrawlSettings, scorer: Scorer, random: Random) -> None:
        self.settings = settings = whole.frontier
        self.scorer = scorer
        self.shards = Shards()
        fetch, states = whole.fetch, self.shards.host_state
        paces = fetch.delay_factor, fetch.host_connections
        self.clocks = clocks = HostClocks(fetch.delay_seconds, CLOCKS, states, *paces)
        self.robots = KnownRobots()
        self.opening = Opening()
        self.queues: dict[str, CandidateQueue] = {}
        self.paused: set[str] = set()
        self.flights = Flights(clocks)
        self.retries = Retries(settings.queue)
        self.scope = Scope(settings, self.flights)
        self.sweep = Sweep(self.shards, self.queues, settings.queue, self.offer)
        #: URLs scored since the scorer last learned.
        self._fresh: set[str] = set()
        #: New links to news, in the mode "instant" (`models.frontier.instant`).
        self.fresh: Fresh | None = None
        self.priorities = Priorities(settings, scorer)
        self.fairness = Fairness(settings.domain_share, clocks, self.priorities.worth)
        self.renders = Renders(whole, self.priorities, self.fairness, self.flights, random)
        #: The least priority of a page to fetch, by predicate; without one, any will do.
        self.prices: dict[str, float] = {}
        #: Whether the best candidate of a ready host was below its price since prices were set.
        self.refused = False
        self._random = random

    @property
    def queued(self) -> bool:
        """Whether there is a candidate in the queue of a predicate that has turns, or of any if none has."""
        turns = self.queues.keys() - self.paused or self.queues.keys()
        return any(len(self.queues[name]) for name in turns) or self.renders.waiting

    @property
    def judged(self) -> int:
        """How many pages were judged, those of other workers included as far as published."""
        return max([self.shards.totals().judged, *map(self.scorer.judged, self.queues)])

    @property
    def answered(self) -> int:
        """How many requests were answered, those of other workers included as far as published."""
        return max(self.shards.totals().requests, self.scorer.judged(FAILED))

    # predicates

    def add_predicate(self, name: str, sought: Sought = ANYTHING) -> None:
        """Add a queue for a predicate, which sweeps fill; for the rest see `Scorer.add_predicate`."""
        self.scorer.add_predicate(name, sought)
        self.queues.setdefault(name, CandidateQueue(self.settings.queue))
        self.renders.add(name, self.settings.queue)
        self._fresh.clear()
        self.sweep.begin()

    def remove_predicate(self, name: str) -> None:
        """Remove a predicate and its queue; its fetches in flight land like any other."""
        self.scorer.remove_predicate(name)
        self.queues.pop(name, None)
        self.renders.queues.pop(name, None)
        self.paused.discard(name)

    # steering

    def exclude(self, told: Exclusion) -> None:
        """Exclude URLs, or have a round of the sweep bring them back; their rows stay candidates."""
        exclusions = self.scope.exclusions
        if told.on:
            exclusions.put(told.name, told.prefix, told.expression)
            for url in {url for queue in self._queues() for url in queue if exclusions.has(url)}:
                self.withdraw(url)
        elif exclusions.discard(told.name):
            self.sweep.renew()

    # shards

    def open(self, shard: Rows, now: float) -> None:
        """Load a shard's fetches in flight, and begin to load its candidates, which `take_up` does."""
        self.shards[shard.partition] = shard
        self.opening.add(shard)
        self.fairness.open(shard)
        for page in keys.totals_of(shard).leased:
            row = shard.get(keys.PAGE_PREFIX + page)
            if isinstance(row, PageRow):
                self._wait_for(row, now)

    def take_up(self, now: float) -> None:
        """Load the next few rows of an opened shard."""
        shard, rows = self.opening.step()
        for row in rows:
            self.fairness.take_up(shard, row)
            self._wait_for(row, now)
        self.offer(shard, [row for row in rows if self._takes_up(shard, row, now)], now)
        shard.let_go_of_excess()

    def _takes_up(self, shard: Rows, row: PageRow, now: float) -> bool:
        """Return whether to offer a URL of an opened shard: it is new, it waits, or a queue has room for it."""
        if row.state != "candidate" or any(row.url in queue for queue in self.queues.values()):
            return False
        if row.not_before > now or (self.fresh is not None and self.fresh.wants(row)):
            return True
        start = keys.start_of(shard)
        return start is None or row.discovered >= start.discovered or self.sweep.has_room(row.url)

    def _wait_for(self, row: PageRow, now: float) -> None:
        if row.url in self.flights or row.choice is None:
            return
        flight = Flight.of(row.choice, row, now)
        if row.state == "leased":
            self.flights.fly(row.url, flight)
        elif row.state == "candidate" and row.postponed and row.lease > now:
            self.flights.put_off[row.url] = flight

    @property
    def unknown(self) -> bool:
        """Whether the next choice has to wait for candidates that are not loaded yet."""
        return bool(self.opening.unknown or (self.opening and self.settings.rule == "random"))

    def note_start(self, *, whole: bool = False) -> list[Rows]:
        """Store in the shards held what to start them with; return the shards where it changed.

        Nothing is stored before the last start is loaded. ``whole`` stores entire queues, not only their best.
        """
        if self.opening.starting:
            return []
        best, vouched = self._best_of_shards(whole=whole), self.fairness.vouched()
        changed = []
        for partition, shard in self.shards.items():
            discovered = keys.totals_of(shard).discovered
            row = TotalsRow(discovered, best=best.get(partition, []), vouched=vouched)
            if row != keys.start_of(shard):
                shard.put(keys.START_KEY, row)
                changed.append(shard)
        return changed

    def _best_of_shards(self, *, whole: bool) -> dict[int, list[bytes]]:
        """Return the best candidates of each predicate and host by partition; ``whole`` adds the others."""
        most = max(1, STARTED // max(1, 2 * len(self.queues)))
        lists = [found for queue in self.queues.values() for found in (queue.best(most), queue.heads(most))]
        found: defaultdict[int, list[bytes]] = defaultdict(list)
        best = filter(None, chain.from_iterable(zip_longest(*lists)))
        rest = chain.from_iterable(self.queues.values()) if whole else ()
        urls = dict.fromkeys(chain(best, rest))
        for url in islice(urls, max(STARTED, self.settings.queue)):
            found[self.shards.partition(url)].append(identifier(url))
        return found

    def close(self, shard: Rows) -> None:
        """Drop a shard that another worker owns now."""
        self.shards.pop(shard.partition, None)
        self.opening.discard(shard)
        for url in self._of(shard, [*self.flights, *self.flights.put_off]):
            self.flights.land(url, 0.0)
        for queue in self._queues():
            for url in self._of(shard, queue):
                queue.discard(url)
        self.clocks.forget(lambda name: self.shards.partition_of(name) == shard.partition)

    def restore(self, shard: Rows, now: float) -> None:
        """Offer again URLs in flight here whose rows are not leased: their orders were rolled back unsent."""
        for url in self._of(shard, self.flights):
            found = self.choosable(url)
            if found is not None:
                self.flights.land(url, now)
                self.offer(shard, [found[1]], now)

    def _of(self, shard: Rows, urls: Iterable[str]) -> list[str]:
        return [url for url in urls if self.shards.partition(url) == shard.partition]

    def choosable(self, url: str) -> tuple[Rows, PageRow] | None:
        """Return a URL's shard and row, if it may be fetched."""
        found = self.shards.find(url)
        return found if found is not None and found[1].state == "candidate" and self.scope.has(*found) else None

    # offers

    def learned(self) -> None:
        """Mark all scores as stale."""
        self._fresh.clear()

    def refresh(self, shard: Rows, pages: Sequence[bytes], now: float) -> None:
        """Score candidates again and queue them accordingly."""
        rows = keys.known_pages(shard, pages).values()
        self.offer(shard, [row for row in rows if row.state == "candidate"], now)

    def offer(self, shard: Rows, rows: Iterable[PageRow], now: float) -> None:
        """Put distinct open URLs in the queues or among the retries; set those below the threshold aside."""
        if len(self._fresh) > self.settings.queue:
            self._fresh.clear()
        found = self._ready(shard, list(rows), now)
        scored = zip(found, self.priorities.of(shard, found, self.queues), strict=True)
        kept = [(row, each if self._keeps(row, each.values()) else None) for row, each in scored]
        self._fresh.update(row.url for row, each in kept if each is not None)
        left = self.renders.take(shard, kept)
        for name, queue in self.queues.items():
            queue.change([(row.url, each[name] if each else None, row.discovered) for row, each in left])
        if self.fresh is not None:
            for row, each in kept:
                self.fresh.take(row, kept=each is not None)

    def _ready(self, shard: Rows, rows: Sequence[PageRow], now: float) -> list[PageRow]:
        """Return the rows that may be queued; the others leave the queues, and wait if they are not due."""
        waiting = [row for row in rows if row.not_before > now]
        found = self.scope.of(shard, [row for row in rows if row.not_before <= now])
        if len(found) < len(rows):
            held = {row.url for row in found}
            for url in (row.url for row in rows if row.url not in held):
                self.withdraw(url)
        for row in waiting:
            self.retries.put(row.url, row.not_before)
        return found

    def _keeps(self, row: PageRow, priorities: Iterable[float]) -> bool:
        """Return whether any of its priorities makes a candidate worth keeping.

        That is ExpandList in Aggarwal (2004), Figure 1.
        """
        least = self.priorities.least
        return least is None or row.seed or max(priorities, default=-math.inf) >= least

    def priorities_of(self, url: str) -> dict[str, float]:
        """Return a candidate's last priority for each predicate that has it in its queue."""
        return priorities(self.queues, url) | priorities(self.renders.queues, url)

    def withdraw(self, url: str) -> None:
        """Remove a URL from the queues."""
        for queue in self._queues():
            queue.discard(url)

    def _queues(self) -> list[CandidateQueue | Fresh]:
        fresh = () if self.fresh is None else (self.fresh,)
        return [*self.queues.values(), *self.renders.queues.values(), *fresh]

    def wake(self, now: float) -> None:
        """Offer the URLs whose retry is due; where some are known from their rows alone, sweep all rows."""
        for url in self.retries.due(now):
            found = self.shards.find(url)
            if found is not None and found[1].state == "candidate":
                self.offer(found[0], [found[1]], now)
        if self.retries.passed(now) and not self.opening and not self.sweep.filling:
            self.retries.look_again()
            self.sweep.begin()

    def next_ready(self, now: float) -> float:
        """Return when a host with candidates is ready or a retry is due; infinity for never."""
        hosts = self.renders.hosts().union(*(queue.hosts() for queue in self.queues.values()))
        times = (self.retries.next, self.clocks.next_ready(hosts, now))
        return min((when for when in times if when is not None), default=math.inf)

    # choice

    def pick(self, predicate: str, now: float) -> tuple[Rows, PageRow, bool, float] | None:
        """Return the shard and row of the next URL, whether chance chose it, and the choice's probability.

        The best few are scored again first, unless they are fresh: what was learned since may have changed
        their order. None when no ready host has a candidate that is worth its price.
        """
        queue = self.queues[predicate]
        explore = self._explore()
        explored = self._random.random() < explore
        ready = partial(self.clocks.ready, now=now)
        while True:
            drawn_from = queue.count(ready) if explored else 1
            url = queue.sample(self._random, ready) if explored else self.best(predicate, now)
            if url is None:
                return None
            found = self.choosable(url)
            if found is None:
                self.withdraw(url)  # its host's budget, or its space, was spent since it was queued
            elif self.renders.changes_place(*found):
                self.offer(found[0], [found[1]], now)
            else:
                probability = explore / drawn_from if explored else 1.0 - explore
                return (*found, explored, probability)

    def _explore(self) -> float:
        """Return the share of choices left to chance: all if "random", else none until all rows are loaded."""
        if self.settings.rule == "random":
            return 1.0
        return 0.0 if self.opening else self.settings.explore

    def taught_enough(self, name: str) -> bool:
        """Return whether a host's owner had more of the latest fetches than may teach, while others wait.

        Others wait if their best candidates are worth a third as much: dead links elsewhere do not count.
        """
        if not self.fairness.shares.beyond(name, self.settings.evidence_share):
            return False
        return any(self.fairness.others_wait(queue, owner(name)) for queue in self.queues.values())

    def glance(self, predicate: str, now: float) -> str | None:
        """Return a predicate's best candidate of a ready host, by the last scores."""
        best = next(iter(self.queues[predicate].best(1, partial(self.clocks.ready, now=now))), None)
        return self.renders.better(predicate, self.queues[predicate], best, now)

    def best(self, predicate: str, now: float) -> str | None:
        """Return the best candidate that is fair and worth its price, or that a browser has a slot for."""
        return self.renders.better(predicate, self.queues[predicate], self._best(predicate, now), now)

    def _best(self, predicate: str, now: float) -> str | None:
        """Return the best candidate for a plain request that is fair and worth its price, by fresh scores.

        The best few are scored again until a fresh one is the best, or `frontier.rescored` were. Those that
        scoring sets aside do not count: worse ones wait behind them.
        """
        queue, ready, scored = self.queues[predicate], partial(self.clocks.ready, now=now), 0
        while top := queue.best(1 if self.priorities.fixed else FEW, ready):
            if top[0] in self._fresh or scored >= self.settings.rescored:
                return self._fairest(queue, top[0], now, self.prices.get(predicate, -math.inf))
            stale = [url for url in top if url not in self._fresh]
            self._reprice(stale)
            scored += queue.holds(stale)
        return None

    def freshen(self, predicate: str, count: int) -> None:
        """Score the ``count`` best again, if a choice may score so many: overrated ones keep prices high."""
        if count <= self.settings.rescored and not self.priorities.fixed:
            self._reprice([url for url in self.queues[predicate].best(count) if url not in self._fresh])

    def _fairest(self, queue: CandidateQueue, best: str, now: float, price: float) -> str | None:
        """Return the best fair candidate, scored again; None to wait, or where none is worth its price."""
        for _ in range(FAIR_TRIES):
            url = self.fairness.choose(queue, best, now, price)
            if url is None:
                self.refused = not self.fairness.waits
            if url is None or url == best:
                return url
            before = queue.priority(url)
            self._reprice([url])
            if url in queue and queue.priority(url) >= before:
                return url
        return best if best in queue and queue.priority(best) >= price else None

    def _reprice(self, urls: Sequence[str]) -> None:
        """Score queued candidates again in their queues, and mark them as fresh."""
        self._fresh.update(urls)
        for shard, stale in self.shards.rows_of(urls):
            scores = self.priorities.of(shard, stale, self.queues)
            scored = list(zip(stale, scores, strict=True))
            for name, queue in self.queues.items():
                kept = [(row, each[name] if self._keeps(row, [each[name]]) else None) for row, each in scored]
                queue.change([(row.url, each, row.discovered) for row, each in kept], only_held=True)

    def lease(self, shard: Rows, row: PageRow, choice: Choice, now: float) -> None:
        """Lease a URL whose fetch is ordered; ``row`` has the attempt's number and the lease's end."""
        row.state, row.choice = "leased", choice
        row.priorities = self.priorities_of(row.url) | {choice.predicate: choice.priority}
        shard.put(keys.page_key(row.url), row)
        self.withdraw(row.url)
        self.flights.fly(row.url, Flight.of(choice, row, now))
        kept = self._of(shard, [*self.flights, *self.flights.put_off])
        totals = keys.totals_of(shard)
        totals.leased = [identifier(url) for url in kept]
        shard.put(keys.TOTALS_KEY, totals)
        self.fairness.shares.fetched(host(row.url), now)
