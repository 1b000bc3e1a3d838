"""The candidates of one predicate that are in memory, best first among ready hosts."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace, nsmallest
from itertools import compress
from operator import itemgetter
from random import Random
from typing import TypeAlias

import numpy as np

from scentline.models.url import owner

# Negated priority, order, URL, host: the best compares least. A change creates a new item, and the old one
# stays in its heap until it is reached: an item is live while ``_live`` holds that very object.
_Item: TypeAlias = tuple[float, int, str, str]

# Heaps are rebuilt when they hold more than twice their live items and this many.
_SLACK = 32
# Draws from a host's heap, about half of it live, before it is rebuilt so that every draw succeeds.
_DRAWS = 16
#: Candidates examined together at a choice: the stale ones are rescored.
FEW = 10
#: Known URLs that a step of the sweep examines, and answered requests between two steps: so candidates behind
#: the best few are rescored in turn.
SWEPT, ANSWERS_A_SWEEP = 200, 20
#: Most hosts kept of one owner (`models.url`): a name costs its owner nothing, but time at every choice.
OWNER_HOSTS = 1_000
#: An unreachable limit.
UNLIMITED = 1 << 62


@dataclass(slots=True)
class _Lane:
    """One host's candidates.

    ``top`` is the host's valid entry in the heap of hosts, never worse than its best candidate; None while the
    host has none, so that an older entry of the same item does not count.
    """

    heap: list[_Item] = field(default_factory=list)
    size: int = 0
    top: _Item | None = None


class CandidateQueue:
    """At most ``limit`` candidates by host; the worst are evicted when there are more.

    A tenth is evicted at once. While nine tenths are left, candidates worse than the best evicted are refused.
    After as many arrivals as evictions, refused ones included, the worst are determined again.

    An owner has at most ``hosts`` hosts here: candidates on further hosts count as evicted at once.

    A candidate is better with a higher priority and, on a tie, with a smaller order (its discovery number).
    Each host has a heap with lazy deletion, and the hosts are in a heap by their best, so that a choice
    examines only the hosts and candidates it returns, and better hosts that are not ready.

    >>> queue = CandidateQueue(limit=1000)
    >>> queue.put("http://a.org/1", "a.org", priority=2.0, order=0)
    >>> queue.put("http://a.org/2", "a.org", priority=3.0, order=1)
    >>> queue.put("http://b.org/", "b.org", priority=4.0, order=2)
    >>> queue.best(2, ready=lambda host: host != "b.org")
    ['http://a.org/2', 'http://a.org/1']
    """

    def __init__(self, limit: int, hosts: int = OWNER_HOSTS) -> None:
        if limit < 1:
            raise ValueError(f"candidate queue: limit is {limit}, expected at least 1")
        self._limit = limit
        self._left = limit + 1 - max(1, limit // 10)
        self._hosts = hosts
        self._owners: Counter[str] = Counter()
        self._live: dict[str, _Item] = {}
        self._lanes: dict[str, _Lane] = {}
        self._tops: list[_Item] = []
        self._floor: float | None = None
        #: The best item of the last eviction, and the number refused since.
        self._cut: _Item | None = None
        self._refused = 0

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[str]:
        return iter(self._live)

    def __contains__(self, url: object) -> bool:
        return url in self._live

    @property
    def floor(self) -> float | None:
        """The highest priority evicted since ``reset_floor``; None when nothing was.

        While the best candidate here is above it, no evicted one would come first.
        """
        return self._floor

    def reset_floor(self) -> None:
        """Reset the floor: to be called when the evicted candidates are considered again."""
        self._floor = self._cut = None

    def priority(self, url: str) -> float:
        """Return the priority of a candidate; KeyError when it is not here."""
        return -self._live[url][0]

    def put(self, url: str, host: str, priority: float, order: int) -> None:
        """Insert a candidate or change its priority and order; ValueError for a priority that is NaN.

        When there are more than ``limit``, the worst are evicted, this one perhaps among them.
        """
        if math.isnan(priority):
            raise ValueError(f"candidate queue: the priority of {host} order {order} is nan, expected a number")
        item = (-priority, order, url, host)
        known = self._live.get(url)
        if known is not None:
            if known == item:
                return
            if known[3] != host:
                self.discard(url)
                known = None
        elif self._cut is not None and item > self._cut and len(self._live) >= self._left:
            self._refused += 1
            if len(self._live) + self._refused > self._limit:
                self._evict()
            return
        lane = self._lanes.get(host)
        if lane is None:
            if self._owners[owner(host)] >= self._hosts:
                self._lost(priority)
                return
            self._owners[owner(host)] += 1
            lane = self._lanes[host] = _Lane()
        if lane.top is None or item < lane.top:
            lane.top = item
            self._push_top(item)
        self._live[url] = item
        heappush(lane.heap, item)
        if known is None:
            lane.size += 1
            if len(self._live) + self._refused > self._limit:
                self._evict()
        elif len(lane.heap) > 2 * lane.size + _SLACK:
            self._compact(lane)

    def change(self, found: Iterable[tuple[str, float | None, int]], *, only_held: bool = False) -> None:
        """Put URLs with their priorities and orders, and remove those without a priority, one after the other.

        ``only_held`` skips URLs that are not here.

        >>> queue, again = CandidateQueue(limit=10), [("http://a.org/", None, 0), ("http://b.org/", 9.0, 1)]
        >>> queue.change([("http://a.org/", 2.0, 0), ("http://c.org/", 1.0, 2)])
        >>> queue.change(again, only_held=True)
        >>> queue.best(9)
        ['http://c.org/']
        """
        for url, priority, order in found:
            known = self._live.get(url)
            if priority is None:
                self.discard(url)
            elif known is not None or not only_held:
                # The host as `models.url.host` has it, without a call: this runs for every score.
                self.put(url, url.split("/", 3)[2] if known is None else known[3], priority, order)

    def holds(self, urls: Iterable[str]) -> int:
        """Return how many of the URLs are here."""
        return sum(url in self._live for url in urls)

    def discard(self, url: str) -> None:
        """Remove a candidate, if it is here."""
        item = self._live.pop(url, None)
        if item is None:
            return
        lane = self._lanes[item[3]]
        lane.size -= 1
        if not lane.size:
            del self._lanes[item[3]]
            self._owners[owner(item[3])] -= 1
        elif len(lane.heap) > 2 * lane.size + _SLACK:
            self._compact(lane)

    def best(self, count: int, ready: Callable[[str], bool] = lambda host: True) -> list[str]:
        """Return the ``count`` best candidates of ready hosts, best first; they stay in the queue.

        ``ready`` is called at most once a host, and must not change the queue.
        """
        chosen: list[_Item] = []
        opened: list[_Lane] = []
        try:
            self._take(count, ready, chosen, opened)
        finally:
            for item in chosen:
                heappush(self._lanes[item[3]].heap, item)
            for lane in opened:
                lane.top = lane.heap[0]
                heappush(self._tops, lane.top)
        return [item[2] for item in chosen]

    def heads(self, count: float = math.inf, meets: Callable[[str], bool] = lambda host: False) -> list[str]:
        """Return the best candidates of hosts, one each, best first: ``count``, or until ``meets`` is true.

        ``meets`` is called once a host, and must not change the queue; hosts behind the last are not examined.
        """
        found: list[str] = []
        opened: list[_Lane] = []
        while self._tops:
            lane = self._next_lane()
            if lane is None:
                continue
            opened.append(lane)
            found.append(lane.heap[0][2])
            if len(found) >= count or meets(lane.heap[0][3]):
                break
        for lane in opened:
            lane.top = lane.heap[0]
            heappush(self._tops, lane.top)
        return found

    def hosts(self) -> Collection[str]:
        """Return the hosts that have candidates."""
        return self._lanes.keys()

    def of_host(self, host: str) -> int:
        """Return the number of candidates of a host."""
        lane = self._lanes.get(host)
        return 0 if lane is None else lane.size

    def count(self, ready: Callable[[str], bool]) -> int:
        """Return the number of candidates of ready hosts, which `sample` draws from."""
        return sum(lane.size for host, lane in self._lanes.items() if ready(host))

    def nth(self, number: int, each: Callable[[str], float]) -> float:
        """Return the priority of the ``number``-th best candidate, minus infinity where there are fewer.

        Only the ``each(host)`` best of a host count, rounded up. Examines every candidate of these hosts.

        >>> queue = CandidateQueue(limit=10)
        >>> for order in range(4):
        ...     queue.put(f"http://a.org/{order}", "a.org", priority=order, order=order)
        >>> queue.put("http://b.org/", "b.org", priority=1.5, order=9)
        >>> queue.nth(3, lambda host: 9), queue.nth(3, lambda host: 2), queue.nth(4, lambda host: 2)
        (1.5, 1.5, -inf)
        """
        found: list[float] = []
        for host, lane in self._lanes.items():
            most = each(host)
            if most > 0:
                live = [item[0] for item in lane.heap if self._live.get(item[2]) is item]
                found += live if len(live) <= most else nsmallest(math.ceil(most), live)
        if len(found) < number:
            return -math.inf
        return -float(np.partition(np.array(found), number - 1)[number - 1])

    def sample(self, rng: Random, ready: Callable[[str], bool]) -> str | None:
        """Return a candidate drawn uniformly from those of ready hosts; None when there is none.

        Exact: a ready host is drawn by its number of candidates, then one of them. Calls ``ready`` for every
        host.
        """
        lanes = [lane for host, lane in self._lanes.items() if ready(host)]
        if not lanes:
            return None
        (lane,) = rng.choices(lanes, [lane.size for lane in lanes])
        for _ in range(_DRAWS):
            item = rng.choice(lane.heap)
            if self._live.get(item[2]) is item:
                return item[2]
        self._compact(lane)
        return rng.choice(lane.heap)[2]

    def _take(self, count: int, ready: Callable[[str], bool], chosen: list[_Item], opened: list[_Lane]) -> None:
        """Move the best items from their heaps to ``chosen``, and the hosts met from ``_tops`` to ``opened``.

        Items are removed and put back, so that every stale item is met only once: the best are rescored at each
        choice, and their old items would gather just where the next choice looks.
        """
        lanes, tops = self._lanes, self._tops
        heads: list[_Item] = []
        while len(chosen) < count:
            while tops and (not heads or tops[0] < heads[0]):
                lane = self._next_lane()
                if lane is None:
                    continue
                opened.append(lane)
                if ready(lane.heap[0][3]):
                    heappush(heads, lane.heap[0])
            if not heads:
                return
            item = heads[0]
            heap = lanes[item[3]].heap
            chosen.append(heappop(heap))
            self._drop_stale(heap)
            if heap:
                heapreplace(heads, heap[0])
            else:
                heappop(heads)

    def _next_lane(self) -> _Lane | None:
        """Take the best host's lane from ``_tops``; None where that entry is stale."""
        top = heappop(self._tops)
        lane = self._lanes.get(top[3])
        if lane is None or lane.top is not top:
            return None
        self._drop_stale(lane.heap)
        if lane.heap[0] is not top:
            lane.top = lane.heap[0]
            heappush(self._tops, lane.top)
            return None
        lane.top = None
        return lane

    def _drop_stale(self, heap: list[_Item]) -> None:
        live = self._live
        while heap and live.get(heap[0][2]) is not heap[0]:
            heappop(heap)

    def _push_top(self, item: _Item) -> None:
        heappush(self._tops, item)
        if len(self._tops) > 2 * len(self._lanes) + _SLACK:
            self._tops = [lane.top for lane in self._lanes.values() if lane.top is not None]
            heapify(self._tops)

    def _compact(self, lane: _Lane) -> None:
        lane.heap = [item for item in lane.heap if self._live.get(item[2]) is item]
        heapify(lane.heap)

    def _evict(self) -> None:
        """Evict the worst, so that the queue is nine tenths full."""
        self._refused, self._cut = 0, None
        count = len(self._live) - self._left
        if count <= 0:
            return
        # Only those at or beyond the cut are compared in full.
        items = self._live.values()
        numbers = np.fromiter(map(itemgetter(0), items), float, len(items))
        cut = np.partition(numbers, -count)[-count]
        worst = sorted(compress(items, (numbers >= cut).tolist()))[-count:]
        for _, _, url, _ in worst:
            self.discard(url)
        self._cut = worst[0]
        self._lost(-worst[0][0])

    def _lost(self, priority: float) -> None:
        self._floor = priority if self._floor is None else max(self._floor, priority)


def priorities(queues: Mapping[str, CandidateQueue], url: str) -> dict[str, float]:
    """Return a candidate's priority in each of the queues that has it."""
    return {name: -queue._live[url][0] for name, queue in queues.items() if url in queue._live}
