"""The URLs that wait until they may be tried again."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

# The heap may hold twice what waits and this much more before it is rebuilt.
_SLACK = 32


class Retries:
    """URLs by the time that they wait for, in seconds since the epoch: the ``most`` that are due first.

    Of the others their rows alone tell, and here from when on there are such: all that wait for less are here,
    so that nobody need look for them before. A URL that is put off again is met at its earlier time too: who
    takes it looks at its row.

    >>> retries = Retries(2)
    >>> for url, until in (("a", 30.0), ("b", 10.0), ("c", 20.0), ("d", 40.0)):
    ...     retries.put(url, until)
    >>> retries.urls, retries.passed(29.0), retries.passed(30.0)
    (2, False, True)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, str]] = []
        self._until: dict[str, float] = {}
        self._beyond: float | None = None

    def __bool__(self) -> bool:
        """Return whether any URL waits, here or as its row alone tells."""
        return bool(self._heap) or self._beyond is not None

    @property
    def urls(self) -> int:
        """How many URLs wait here."""
        return len(self._until)

    @property
    def next(self) -> float | None:
        """When the next wait ends, None where none is waited for."""
        first = self._heap[0][0] if self._heap else self._beyond
        return first if self._beyond is None or first is None else min(first, self._beyond)

    def put(self, url: str, until: float) -> None:
        """Have a URL wait until a time; it is no more than said again where it does."""
        if self._until.get(url) == until or (self._beyond is not None and until >= self._beyond):
            return
        self._until[url] = until
        heappush(self._heap, (until, url))
        if len(self._until) > self._most:
            self._leave()
        elif len(self._heap) > 2 * len(self._until) + _SLACK:
            self._rebuild()

    def due(self, now: float) -> Iterator[str]:
        """Take out the URLs here whose wait is over, the first first."""
        while self._heap and self._heap[0][0] <= now:
            time, url = heappop(self._heap)
            if self._until.get(url) == time:
                del self._until[url]
            yield url

    def passed(self, now: float) -> bool:
        """Return whether the wait of some that are not here is over: the rows have to be looked through."""
        return self._beyond is not None and self._beyond <= now

    def look_again(self) -> None:
        """Note that all rows are looked through from now on: what waits is put here once more."""
        self._beyond = None

    def _leave(self) -> None:
        """Have the tenth that waits longest leave, and all that wait as long as the first of these."""
        self._beyond = sorted(self._until.values())[-max(1, self._most // 10)]
        self._until = {url: until for url, until in self._until.items() if until < self._beyond}
        self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [(until, url) for url, until in self._until.items()]
        heapify(self._heap)
