"""The candidates of a crawl in memory, best first."""

from heapq import heappop, heappush
from random import Random

from models.ordering.crawl import Queue


class LazyQueue(Queue[str]):
    """A queue of URLs of which the best few can be looked at.

    >>> queue = LazyQueue()
    >>> for url, priority in (("a", 1.0), ("b", 2.0), ("c", 2.0), ("a", 3.0)):
    ...     queue.put(url, priority)
    >>> queue.best(2)
    ['a', 'b']
    >>> queue.discard("a")
    >>> queue.best(2), len(queue)
    (['b', 'c'], 2)
    """

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
