"""The candidates of a crawl in the order of an estimate, those that look hot before all others."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from models.ordering.estimate import Crawled, Estimate
from models.ordering.queue import Queue

K = TypeVar("K", bound=Hashable)


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
