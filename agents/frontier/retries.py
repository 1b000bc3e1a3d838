"""The URLs that wait until they may be tried again."""

from collections.abc import Iterator
from heapq import heappop, heappush


class Retries:
    """URLs by the time that they wait for, in seconds since the epoch.

    A URL that is put off again is met at its earlier time too: who takes it looks at its row.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def urls(self) -> int:
        """How many URLs wait."""
        return len(self._until)

    @property
    def next(self) -> float | None:
        """When the next wait ends, None where none is waited for."""
        return self._heap[0][0] if self._heap else None

    def put(self, url: str, until: float) -> None:
        """Have a URL wait until a time; it is no more than said again where it does."""
        if self._until.get(url) != until:
            self._until[url] = until
            heappush(self._heap, (until, url))

    def due(self, now: float) -> Iterator[str]:
        """Take out the URLs whose wait is over, the first first."""
        while self._heap and self._heap[0][0] <= now:
            time, url = heappop(self._heap)
            if self._until.get(url) == time:
                del self._until[url]
            yield url
