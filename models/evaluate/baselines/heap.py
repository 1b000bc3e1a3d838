"""The URLs that may be fetched next, best first."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TypeAlias

# Negated priority, order, URL: the best compares least.
_Item: TypeAlias = tuple[float, int, str]

# URLs that only the log knows come after all that links or seeds lead to.
_LATE = 1 << 62
# Stale items that are put up with before the heap is rebuilt.
_SLACK = 256


class Heap:
    """Candidates by priority, equal ones by order of discovery; those that only the log knows come last.

    A candidate is discovered when it is first put. A change of priority makes a new item; the old one stays
    until it is met (lazy deletion), so that each change costs O(log n).

    >>> heap = Heap(["logged"])
    >>> heap.put("a", 1.0)
    >>> heap.put("b", 2.0)
    >>> heap.take()
    'b'
    >>> heap.put("b", 3.0)
    >>> heap.take()
    'a'
    """

    def __init__(self, logged: Iterable[str] = ()) -> None:
        self._live: dict[str, _Item] = {url: (0.0, _LATE + place, url) for place, url in enumerate(logged)}
        self._heap = list(self._live.values())
        heapify(self._heap)
        self._closed: set[str] = set()
        self._found = count()

    def put(self, url: str, priority: float) -> None:
        """Insert a candidate or change its priority; one that was closed stays so."""
        if url in self._closed:
            return
        known = self._live.get(url)
        order = known[1] if known is not None and known[1] < _LATE else next(self._found)
        item = (-priority, order, url)
        if item == known:
            return
        self._live[url] = item
        heappush(self._heap, item)
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._heap = list(self._live.values())
            heapify(self._heap)

    def close(self, url: str) -> None:
        """Take a URL out for good."""
        self._closed.add(url)
        self._live.pop(url, None)

    def take(self) -> str | None:
        """Close the best candidate and return it; None when there is none."""
        while self._heap:
            item = heappop(self._heap)
            if self._live.get(item[2]) is item:
                self.close(item[2])
                return item[2]
        return None
