"""Numbers by page, as many as there is room for."""

from collections.abc import Hashable, Iterator
from heapq import nsmallest
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

#: Pages that an estimate keeps a number of, unless it is told otherwise.
PAGES = 1_000_000


class BoundedCounts(Generic[K]):
    """Counts of at most ``limit`` keys: beyond it the tenth with the lowest counts is forgotten.

    >>> counts = BoundedCounts[str](2)
    >>> for key in ("a", "a", "b", "b", "b", "c"):
    ...     counts.add(key)
    >>> counts["a"], counts["b"], counts["c"], len(counts)
    (2, 3, 0, 2)
    """

    def __init__(self, limit: int = PAGES) -> None:
        if limit < 1:
            raise ValueError(f"counts: the limit is {limit}, expected at least 1")
        self._limit = limit
        self._counts: dict[K, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[K]:
        return iter(self._counts)

    def __getitem__(self, key: K) -> int:
        return self._counts.get(key, 0)

    def add(self, key: K, times: int = 1) -> None:
        """Count a key."""
        counts = self._counts
        counts[key] = counts.get(key, 0) + times
        if len(counts) > self._limit:
            for least in nsmallest(self._limit // 10 or 1, counts, key=counts.__getitem__):
                del counts[least]
