"""The limited buffer crawl: only so many pages can be kept, and the least important is thrown out."""

from collections.abc import Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, TypeVar

from models.ordering.estimate import Crawled, Estimate, Values

K = TypeVar("K", bound=Hashable)


class Buffer(Generic[K]):
    """At most ``size`` pages; of one too many, that of the lowest value is thrown out (Cho 1998, section 3).

    ``values`` are asked at that moment. Of equal pages the one added last goes. Values may rise without a word;
    where some may have fallen, `reorder` has to be called.

    >>> from models.ordering.backlinks import Backlinks
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
