"""The candidates of a crawl by priority."""

from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

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
