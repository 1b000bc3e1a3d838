"""The candidates of a crawl in memory, best first."""

from heapq import heapify, heappop, heappush
from random import Random

# The heap may hold twice what is live and this much more before it is rebuilt.
_SLACK = 64


class LazyQueue:
    """URLs with a priority; equal priorities go by order of discovery, that of the first `put`.

    A change of priority makes a new entry, and the old one stays in the heap until it is met.

    >>> queue = LazyQueue()
    >>> for url, priority in (("a", 1.0), ("b", 2.0), ("c", 2.0), ("a", 3.0)):
    ...     queue.put(url, priority)
    >>> queue.best(2)
    ['a', 'b']
    >>> queue.discard("a")
    >>> queue.best(2), len(queue)
    (['b', 'c'], 2)
    """

    def __init__(self) -> None:
        self._live: dict[str, tuple[float, int, str]] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._discovered = 0

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, url: object) -> bool:
        return url in self._live

    def put(self, url: str, priority: float) -> None:
        """Insert a URL, or change its priority."""
        known = self._live.get(url)
        if known is None:
            order = self._discovered
            self._discovered += 1
        elif known[0] == -priority:
            return
        else:
            order = known[1]
        self._live[url] = item = (-priority, order, url)
        heappush(self._heap, item)
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._heap = list(self._live.values())
            heapify(self._heap)

    def discard(self, url: str) -> None:
        """Remove a URL, if it is there."""
        self._live.pop(url, None)

    def sample(self, rng: Random) -> str | None:
        """Return one of the URLs by chance, None when there is none. O(n)."""
        return rng.choice(list(self._live)) if self._live else None

    def best(self, count: int) -> list[str]:
        """Return the ``count`` URLs of highest priority, best first; they stay."""
        live, heap = self._live, self._heap
        found: list[tuple[float, int, str]] = []
        while heap and len(found) < count:
            item = heappop(heap)
            if live.get(item[2]) is item:
                found.append(item)
        for item in found:
            heappush(heap, item)
        return [url for _, _, url in found]
