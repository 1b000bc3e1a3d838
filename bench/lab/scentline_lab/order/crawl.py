"""The paper's virtual crawler: a web that is known, crawled in the order of an estimate.

Its candidates are a queue by priority, with those that look hot before all others. In the limited buffer crawl
only so many pages can be kept, and the least important is thrown out.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, Protocol, TypeVar

from scentline.models.ordering.estimate import Crawled, Estimate, Values

K = TypeVar("K", bound=Hashable)


# Stale items that are put up with before the heap is rebuilt.
_SLACK = 256


class Queue(Generic[K]):
    """Pages by priority, the highest first; equal ones in the order in which they were first put.

    A change of priority makes a new item, and the old one stays until it is met, so that each costs O(log n).

    >>> queue = Queue[str]()
    >>> for page, priority in (("a", 1.0), ("b", 2.0), ("c", 2.0), ("a", 3.0)):
    ...     queue.put(page, priority)
    >>> queue.pop(), "a" in queue, len(queue)
    ('a', False, 2)
    >>> queue.reorder({"b": 0.0, "c": 1.0}.__getitem__)
    >>> queue.pop(), queue.pop(), queue.pop()
    ('c', 'b', None)
    """

    def __init__(self) -> None:
        # Negated priority and place, by page; the place is unique, so that pages are never compared.
        self._live: dict[K, tuple[float, int, K]] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._found = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, page: object) -> bool:
        return page in self._live

    def put(self, page: K, priority: float) -> None:
        """Insert a page, or change its priority."""
        known = self._live.get(page)
        if known is None:
            place = self._found
            self._found += 1
        elif known[0] == -priority:
            return
        else:
            place = known[1]
        self._live[page] = item = (-priority, place, page)
        heappush(self._heap, item)
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._rebuild()

    def reorder(self, priority: Callable[[K], float]) -> None:
        """Change the priorities of all pages."""
        self._live = {page: (-priority(page), place, page) for page, (_, place, _) in self._live.items()}
        self._rebuild()

    def pop(self) -> K | None:
        """Take out and return the page of highest priority; None when there is none."""
        while self._heap:
            item = heappop(self._heap)
            if self._live.get(item[2]) is item:
                del self._live[item[2]]
                return item[2]
        return None

    def _rebuild(self) -> None:
        self._heap = list(self._live.values())
        heapify(self._heap)


class Frontier(Generic[K]):
    """url_queue and hot_queue, both kept in the order of ``estimate`` (Cho 1998, Figures 1, 2 and 4).

    Without an estimate both are first in, first out, which is breadth-first. Equal values go by order of
    discovery.

    >>> frontier = Frontier[str]()
    >>> for page, hot in (("a", False), ("b", True), ("c", False)):
    ...     frontier.add(page, hot)
    >>> frontier.next(), frontier.next(), frontier.next(), frontier.next()
    ('b', 'a', 'c', None)
    """

    def __init__(self, estimate: Estimate[K] | None = None) -> None:
        self._estimate = estimate
        self._hot, self._others = Queue[K](), Queue[K]()

    def add(self, page: K, hot: bool = False) -> None:
        """Make a page a candidate: enqueue."""
        (self._hot if hot else self._others).put(page, self._value(page))

    def crawled(self, found: Crawled[K]) -> None:
        """Let the estimate take in a crawled page, and put the queues in order: reorder_queue of Figure 2."""
        if self._estimate is None:
            return
        for page in self._estimate.crawled(found):
            for queue in (self._others, self._hot):
                if page in queue:
                    queue.put(page, self._estimate.value(page))
        if self._estimate.sweep():
            self._others.reorder(self._estimate.value)
            self._hot.reorder(self._estimate.value)

    def next(self) -> K | None:
        """Take out and return the best hot candidate, the best of the others where there is none: dequeue2."""
        hot = self._hot.pop()
        return self._others.pop() if hot is None else hot

    def _value(self, page: K) -> float:
        return 0.0 if self._estimate is None else self._estimate.value(page)


class Heat(Protocol[K]):
    """Says which links of a page lead to the hot queue."""

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Take in a crawled page; return of each of its targets whether it looks hot."""


def crawl(
    start: K, fetch: Callable[[K], Crawled[K]], frontier: Frontier[K], heat: Heat[K] | None = None
) -> Iterator[K]:
    """Yield the pages in the order in which they are crawled, from ``start`` (Cho 1998, Figure 1).

    With ``heat`` it is the similarity-based crawler of Figure 4 or 5. Their loops end when either queue is
    empty, which they mean of both.

    >>> links = {"a": "bc", "b": "d", "c": "d", "d": "a"}
    >>> "".join(crawl("a", lambda page: Crawled(page, links[page]), Frontier[str]()))
    'abcd'
    """
    known = {start}
    frontier.add(start)
    while (page := frontier.next()) is not None:
        yield page
        found = fetch(page)
        frontier.crawled(found)
        hot = heat.leads(found) if heat is not None else (False,) * len(found.targets)
        for target, looks_hot in zip(found.targets, hot, strict=True):
            if target not in known:
                known.add(target)
                frontier.add(target, looks_hot)


class Buffer(Generic[K]):
    """At most ``size`` pages; of one too many, that of the lowest value is thrown out (Cho 1998, section 3).

    ``values`` are asked at that moment. Of equal pages the one added last goes. Values may rise without a word;
    where some may have fallen, `reorder` has to be called.

    >>> from scentline_lab.order.orderings import Backlinks
    >>> kept = Buffer[str](2, Backlinks())
    >>> for page in "abc":
    ...     kept.add(page)
    >>> sorted(kept.pages())
    ['a', 'b']
    """

    def __init__(self, size: int, values: Values[K]) -> None:
        if size < 1:
            raise ValueError(f"buffer: the size is {size}, expected at least 1 page")
        self._size = size
        self._values = values
        self._heap: list[tuple[float, int, K]] = []
        self._added = 0
        self._stale = False

    def add(self, page: K) -> None:
        """Keep a page, and throw one out if there is no room."""
        self._added += 1
        heappush(self._heap, (self._values.value(page), -self._added, page))
        if len(self._heap) > self._size and self._stale:
            self._rebuild()
        while len(self._heap) > self._size:
            value, place, least = self._heap[0]
            now = self._values.value(least)
            if now > value:
                heapreplace(self._heap, (now, place, least))
            else:
                heappop(self._heap)

    def reorder(self) -> None:
        """Ask for the values of all pages anew before one is thrown out."""
        self._stale = True

    def pages(self) -> list[K]:
        """Return the pages that are kept, in no order."""
        return [page for _, _, page in self._heap]

    def _rebuild(self) -> None:
        self._stale = False
        self._heap = [(self._values.value(page), place, page) for _, place, page in self._heap]
        heapify(self._heap)


def limited_buffers(pages: Iterable[Crawled[K]], sizes: Sequence[int], estimate: Estimate[K]) -> list[list[K]]:
    """Return what buffers of some sizes hold after ``pages`` were visited in their order.

    What was thrown out is not visited again, but the links it had are not forgotten: ``estimate`` knows them.
    """
    buffers = [Buffer(size, estimate) for size in sizes]
    for found in pages:
        estimate.crawled(found)
        swept = estimate.sweep()
        for buffer in buffers:
            if swept:
                buffer.reorder()
            buffer.add(found.page)
    return [buffer.pages() for buffer in buffers]
