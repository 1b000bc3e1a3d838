"""Candidates with a score each, in one array: all of them can be scored anew at once."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

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
