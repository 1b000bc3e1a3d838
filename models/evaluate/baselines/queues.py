"""The URLs that may be fetched next, best first: by a fixed score, or by one that changes for all at once."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

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


_ROOM = 1024


def grown(values: npt.NDArray[np.float64], size: int, new: float = 0.0) -> npt.NDArray[np.float64]:
    """Return ``values`` lengthened to ``size``, each new one being ``new``."""
    missing = size - len(values)
    return np.concatenate((values, np.full(missing, new))) if missing > 0 else values


class Board:
    """Numbers URLs in order of discovery, the rows, and says which one not closed has the highest score.

    A new row has score 0; equal scores go by row. What only the log knows has no row and comes last.

    >>> board = Board(["logged"])
    >>> rows = [board.row(url) for url in ("a", "b", "c")]
    >>> board.score([1.0, 3.0, 2.0])
    >>> board.take(), board.take()
    ('b', 'c')
    """

    def __init__(self, logged: Iterable[str]) -> None:
        self._rows: dict[str, int] = {}
        self._urls: list[str] = []
        self._scores = np.zeros(_ROOM)
        self._open = np.zeros(_ROOM, np.bool_)
        self._closed: set[str] = set()
        self._logged = tuple(logged)
        self._late: Iterator[str] = iter(self._logged)
        self._next_late = next(self._late, None)

    def __len__(self) -> int:
        return len(self._urls)

    def row(self, url: str) -> int:
        """Return the row of a URL, a new one for a new URL."""
        row = self._rows.get(url)
        if row is None:
            row = self._rows[url] = len(self._urls)
            self._urls.append(url)
            if row == len(self._open):
                self._scores = grown(self._scores, 2 * row)
                self._open = np.concatenate((self._open, np.zeros(row, np.bool_)))
            self._open[row] = url not in self._closed
        return row

    def close(self, url: str) -> None:
        """Take a URL out for good."""
        self._closed.add(url)
        row = self._rows.get(url)
        if row is not None:
            self._open[row] = False

    def closed(self, url: str) -> bool:
        """Return whether a URL was taken out."""
        return url in self._closed

    def score(self, scores: Sequence[float] | npt.NDArray[np.float64]) -> None:
        """Set the scores of all rows, in their order."""
        self._scores[: len(self._urls)] = scores

    def scored(self, url: str) -> float:
        """Return the score of a URL, 0 of one that has no row."""
        row = self._rows.get(url)
        return 0.0 if row is None else float(self._scores[row])

    def top(self) -> float | None:
        """Return the highest score of a row that is open; None when there is none."""
        scores = self._scores[: len(self._urls)][self._open[: len(self._urls)]]
        return float(scores.max()) if len(scores) else None

    def take(self) -> str | None:
        """Close the best URL that is open and return it; None when there is none."""
        url = self._best()
        if url is not None:
            self.close(url)
        return url

    def _best(self) -> str | None:
        size = len(self._urls)
        if size:
            row = int(np.where(self._open[:size], self._scores[:size], -np.inf).argmax())
            if self._open[row]:
                return self._urls[row]
        while self._next_late in self._closed:
            self._next_late = next(self._late, None)
        return self._next_late
