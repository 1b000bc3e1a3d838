"""The candidates in memory: a queue for each predicate, those that wait for a retry, those being fetched."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from random import Random

from agents.frontier.fresh import Fresh
from agents.frontier.rows import (
    CHOOSABLE,
    INSTANT,
    OPEN,
    PAGE_PREFIX,
    Choice,
    FrontierRow,
    FrontierShard,
    HostRow,
    PageRow,
    host_key,
    page_key,
)
from agents.frontier.scorer import Scorer
from agents.frontier.scoring import highest
from agents.frontier.stops import Stops
from models.frontier.politeness import HostClocks
from models.frontier.queue import CandidateQueue
from models.traps.barren import space
from models.url import host
from streams.settings import FrontierSettings
from streams.topics import partition_of

#: Rows looked at by one step of the sweep that scores everything anew, a little at a time.
SWEPT = 200
#: Where breadth-first puts URLs that no fetched page links to.
UNLINKED_DEPTH = 1e9
#: Policies whose priorities can be below the threshold: they are sums of logs, or a logit.
LEARNED = ("learned", "combined", "collaborative", "linkage")
#: Seconds in flight after which a fetch no longer takes a place in the window.
SLOW_SECONDS = 3.0
#: How full a queue that evicted may be for the sweep to bring others back.
SWEPT_FULL = 0.95


@dataclass(frozen=True)
class Flight:
    """A fetch that was ordered: for which predicate, until when its answer is waited for, and since when.

    An ``instant`` one was not chosen by the policy, and a ``revisit`` brings no page to judge.
    """

    predicate: str
    lease: float
    explored: bool
    since: float
    instant: bool = False
    revisit: bool = False


class Candidates:
    """Every open URL of the shards held is in a queue, waiting, in flight, aside, or only on disk.

    Only on disk are those that a full queue evicted: the sweep brings them back when there is room.
    """

    def __init__(self, settings: FrontierSettings, scorer: Scorer, clocks: HostClocks, random: Random) -> None:
        self.settings = settings
        self.scorer = scorer
        self.clocks = clocks
        self.random = random
        self.shards: dict[int, FrontierShard] = {}
        self.queues: dict[str, CandidateQueue] = {}
        self.flights: dict[str, Flight] = {}
        self._partitions = 1
        self._waiting: list[tuple[float, str]] = []
        self._until: dict[str, float] = {}
        self._unswept: list[int] = []
        self._opening: dict[int, bytes | None] = {}
        self._cursor: bytes | None = None
        self.filling = False
        self._again = False
        self.paused: set[str] = set()
        #: Spaces of URLs that are worth no more fetches (`agents.frontier.spaces`).
        self.spent: set[bytes] = set()
        #: New links to news, in the mode "instant" (`agents.frontier.instant`).
        self.fresh: Fresh | None = None
        #: Tells of a URL which pattern it has, if that has no visits, where such URLs are left out.
        self.unvisited: Callable[[str], str] | None = None
        #: Tells which pages lie too deep in their sites, where these are stopped (`agents.frontier.depth`).
        self.stops: Stops | None = None

    def add_predicate(self, name: str, topic: tuple[str, ...]) -> None:
        """Start keeping a queue for a predicate; ``topic`` are the words that say what it is about.

        Where shards are held, sweeps have to fill it: `filling` says that they are not done.
        """
        self.scorer.add_predicate(name, topic)
        self.queues.setdefault(name, CandidateQueue(self.settings.queue))
        self._sweep_all()

    def reorder(self) -> None:
        """Have sweeps score every row anew: at once, or after those that go on."""
        if self.filling:
            self._again = True
        else:
            self._sweep_all()

    def _sweep_all(self) -> None:
        self._again = False
        self._unswept, self._cursor = list(self.shards), None
        self.filling = bool(self.shards)

    def remove_predicate(self, name: str) -> None:
        """Forget a predicate and its queue; what is in flight for it lands as anything else."""
        self.scorer.remove_predicate(name)
        self.queues.pop(name, None)
        self.paused.discard(name)

    # shards

    def open(self, shard: FrontierShard, partitions: int) -> None:
        """Begin to take up a shard; `take_up` does it."""
        self._partitions = partitions
        self.shards[shard.partition] = shard
        self._opening[shard.partition] = None

    @property
    def opening(self) -> bool:
        """Whether there are shards of which not all is taken up: what they hold may be the best there is."""
        return bool(self._opening)

    def take_up(self, now: float) -> None:
        """Take up the next few rows of a shard that was opened: every open URL in it is offered anew."""
        partition, cursor = next(iter(self._opening.items()))
        shard = self.shards[partition]
        rows = list(islice(shard.scan(PAGE_PREFIX, cursor), SWEPT))
        for _, row in rows:
            self._take_up(shard, row, now)
        if len(rows) < SWEPT:
            del self._opening[partition]
        else:
            self._opening[partition] = rows[-1][0]

    def _take_up(self, shard: FrontierShard, row: FrontierRow, now: float) -> None:
        if not isinstance(row, PageRow):
            return
        if row.state == "leased" and row.choice is not None:
            self._fly(row, row.choice, now)
        elif row.state in OPEN:
            self.offer(shard, row, now)

    def close(self, shard: FrontierShard) -> None:
        """Forget a shard that another worker has now."""
        self.shards.pop(shard.partition, None)
        self._opening.pop(shard.partition, None)
        for url in [url for url in self.flights if self._partition(url) == shard.partition]:
            self.land(url, 0.0)
        for queue in self.queues.values():
            for url in [url for url in queue if self._partition(url) == shard.partition]:
                queue.discard(url)
        if self.fresh is not None:
            for url in [url for url in self.fresh if self._partition(url) == shard.partition]:
                self.fresh.discard(url)

    def _partition(self, url: str) -> int:
        return partition_of(host(url), self._partitions)

    def find(self, url: str) -> tuple[FrontierShard, PageRow] | None:
        """Return a URL's shard and row, if its shard is held and it is known."""
        shard = self.shard_of(url)
        row = shard.get(page_key(url)) if shard is not None else None
        return (shard, row) if shard is not None and isinstance(row, PageRow) else None

    def shard_of(self, url: str) -> FrontierShard | None:
        """Return the shard of a URL, if it is held."""
        return self.shards.get(self._partition(url))

    def choosable(self, url: str) -> tuple[FrontierShard, PageRow] | None:
        """Return a URL's shard and row, if it may be fetched."""
        found = self.find(url)
        return found if found is not None and found[1].state in CHOOSABLE and self._allowed(*found) else None

    # offers

    def refresh(self, shard: FrontierShard, keys: Iterable[bytes], now: float) -> None:
        """Score rows anew and put them where they belong."""
        for key in keys:
            row = shard.get(key)
            if isinstance(row, PageRow) and row.state in CHOOSABLE:
                self.offer(shard, row, now)

    def offer(self, shard: FrontierShard, row: PageRow, now: float) -> None:
        """Put an open URL in the queues, or where it has to wait; one below the threshold is set aside."""
        if row.not_before > now:
            self.withdraw(row.url)
            if self._until.get(row.url) != row.not_before:
                self._until[row.url] = row.not_before
                heappush(self._waiting, (row.not_before, row.url))
            return
        if not self._allowed(shard, row):
            self.withdraw(row.url)
            return
        row.priorities = {name: self.priority(shard, row, name) for name in self.queues}
        kept = self._kept(row, highest(row.priorities.values()))
        row.state = "candidate" if kept else "aside"
        if not kept:
            self.withdraw(row.url)
            return
        name = host(row.url)
        for predicate, priority in row.priorities.items():
            self.queues[predicate].put(row.url, name, priority, row.discovered)
        if self.fresh is not None:
            self.fresh.offer(row)

    def priority(self, shard: FrontierShard, row: PageRow, predicate: str) -> float:
        """Return a candidate's priority under the policy, at least what a redirect to it handed on.

        Chance and breadth-first have none but order.
        """
        if self.settings.rule == "random":
            return 0.0
        if self.settings.rule == "breadth-first":
            # What is known from the log alone is at no distance from the seeds: it comes last.
            near = row.seed or row.links or row.inherited or row.found
            return -float(row.depth) if near else -UNLINKED_DEPTH
        found = self.scorer.priority(shard, row, predicate)
        inherited = row.inherited.get(predicate)
        return found if inherited is None else max(found, inherited)

    def _kept(self, row: PageRow, priority: float) -> bool:
        """Return whether a candidate is worth keeping (ExpandList in Aggarwal 2004, Figure 1)."""
        return row.seed or self.settings.rule not in LEARNED or priority >= self.settings.threshold

    def _allowed(self, shard: FrontierShard, row: PageRow) -> bool:
        news = self.fresh is not None and self.fresh.wants(row)  # an endless space has no hub that tells of it
        if self.spent and not row.seed and not news and space(row.url) in self.spent:
            return False
        if self.unvisited is not None and not row.seed and self.unvisited(row.url):
            return False
        if self.settings.max_depth and row.depth > self.settings.max_depth:
            return False
        if self.stops is not None and self.stops.beyond(shard, row):
            return False
        if not self.settings.host_budget:
            return True
        name = host(row.url)
        counts = shard.get(host_key(name))
        judged = counts.judged if isinstance(counts, HostRow) else 0
        flying = sum(host(url) == name for url in self.flights)
        return judged + flying < self.settings.host_budget

    def withdraw(self, url: str) -> None:
        """Take a URL out of the queues."""
        for queue in self.queues.values():
            queue.discard(url)
        if self.fresh is not None:
            self.fresh.discard(url)

    def wake(self, now: float) -> None:
        """Offer the URLs whose wait for a retry is over."""
        while self._waiting and self._waiting[0][0] <= now:
            time, url = heappop(self._waiting)
            if self._until.get(url) == time:
                del self._until[url]
            found = self.find(url)
            if found is not None and found[1].state in CHOOSABLE:
                self.offer(*found, now)

    @property
    def retrying(self) -> int:
        """How many URLs wait for a retry."""
        return len(self._until)

    @property
    def next_wake(self) -> float | None:
        """When the next wait for a retry ends."""
        return self._waiting[0][0] if self._waiting else None

    def next_ready(self, now: float) -> float:
        """Return when a host with candidates may be asked, or a wait for a retry ends; infinity for never."""
        times = [] if self.next_wake is None else [self.next_wake]
        for queue in self.queues.values():
            ready = self.clocks.next_ready(queue.hosts(), now)
            if ready is not None:
                times.append(ready)
        return min(times, default=math.inf)

    # choice

    def pick(self, predicate: str, now: float) -> tuple[FrontierShard, PageRow, bool, float] | None:
        """Return the next URL for a predicate, whether chance chose it, and the probability of that choice.

        The best few are scored anew first, since what was learned since they were put in may have changed
        their order. None when no host that may be asked has a candidate.
        """
        queue = self.queues[predicate]
        explore = 1.0 if self.settings.rule == "random" else self.settings.explore
        explored = self.random.random() < explore

        def ready(name: str) -> bool:
            return self.clocks.ready(name, now)

        while True:
            drawn_from = queue.count(ready) if explored else 1
            url = queue.sample(self.random, ready) if explored else self._best(queue, predicate, ready)
            if url is None:
                return None
            found = self.find(url)
            if found is not None and found[1].state in CHOOSABLE and self._allowed(*found):
                probability = explore / drawn_from if explored else 1.0 - explore
                return (*found, explored, probability)
            self.withdraw(url)  # its host's budget, or its space, was spent since it came in

    def _best(self, queue: CandidateQueue, predicate: str, ready: Callable[[str], bool]) -> str | None:
        for _ in range(self.settings.rescored):
            top = queue.best(self.settings.rescored, ready)
            for url in top:
                found = self.find(url)
                if found is not None:
                    self._reprice(*found, predicate)
            best = queue.best(1, ready)
            # Scoring anew may have set aside all that was looked at, while worse ones wait behind.
            if best or not top:
                return best[0] if best else None
        return None

    def _reprice(self, shard: FrontierShard, row: PageRow, predicate: str) -> None:
        """Score a queued candidate anew for one predicate."""
        priority = row.priorities[predicate] = self.priority(shard, row, predicate)
        if self._kept(row, priority):
            self.queues[predicate].put(row.url, host(row.url), priority, row.discovered)
        else:
            self.queues[predicate].discard(row.url)

    def take(self, row: PageRow, choice: Choice, now: float) -> None:
        """Take a URL out of the queues: its fetch is ordered."""
        self.withdraw(row.url)
        self._fly(row, choice, now)

    def _fly(self, row: PageRow, choice: Choice, now: float) -> None:
        instant = choice.policy == INSTANT
        self.fly(row.url, Flight(choice.predicate, row.lease, choice.explored, now, instant=instant))

    def fly(self, url: str, flight: Flight) -> None:
        """Note that a fetch was ordered."""
        if url not in self.flights:
            self.clocks.started(host(url), flight.since)
        self.flights[url] = flight

    def land(self, url: str, now: float) -> Flight | None:
        """Note that a fetch ended; return what it was, None where it was not waited for."""
        flight = self.flights.pop(url, None)
        if flight is not None:
            self.clocks.finished(host(url), now)
        return flight

    def prompt(self, now: float) -> int:
        """Return how many fetches are in flight and not slow: what waits for a slow host holds up no other."""
        return sum(now - flight.since < SLOW_SECONDS for flight in self.flights.values())

    def overdue(self, now: float) -> list[str]:
        """Return the URLs whose leases ran out."""
        return [url for url, flight in self.flights.items() if flight.lease <= now]

    @property
    def queued(self) -> bool:
        """Whether there is a candidate in the queue of a predicate that has turns, or of any if none has."""
        turns = self.queues.keys() - self.paused or self.queues.keys()
        return any(len(self.queues[name]) for name in turns)

    def __len__(self) -> int:
        return max((len(queue) for queue in self.queues.values()), default=0) + len(self._waiting)

    # sweep

    def _room(self, url: str) -> bool:
        """Return whether a candidate is in a queue, or would not push another one out of all of them."""
        return any(
            url in queue or queue.floor is None or len(queue) < SWEPT_FULL * self.settings.queue
            for queue in self.queues.values()
        )

    def sweep(self, now: float) -> bool:
        """Score the next few rows anew, shard by shard; return whether that ended a round of all of them.

        Evicted candidates come back this way.
        """
        if not self._unswept:
            self._unswept = list(self.shards)
            for queue in self.queues.values():
                queue.reset_floor()
        looked_at = 0
        while self._unswept and looked_at < SWEPT:
            looked_at += self._sweep_shard(self.shards.get(self._unswept[0]), SWEPT - looked_at, now)
        ended = not self._unswept
        self.filling = self.filling and not ended
        if ended and self._again:
            self._sweep_all()
        return ended

    def _sweep_shard(self, shard: FrontierShard | None, rows: int, now: float) -> int:
        looked_at = 0
        if shard is not None:
            for key, row in islice(shard.scan(PAGE_PREFIX, self._cursor), rows):
                looked_at += 1
                self._cursor = key
                if isinstance(row, PageRow) and row.state in CHOOSABLE and self._room(row.url):
                    self.offer(shard, row, now)
        if looked_at < rows:
            self._cursor = None
            del self._unswept[0]
        return looked_at
