"""The URLs that may be fetched next, best first, and the crawler that takes them so."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scentline.models.url import host
from scentline_lab.simulation.crawler import Choice, Ready, anywhere

_Array = npt.NDArray[Any]
_ROOM = 1024


def grown(values: _Array, size: int, new: float = 0.0) -> _Array:
    """Return ``values`` lengthened to ``size``, each new one being ``new``."""
    missing = size - len(values)
    return np.concatenate((values, np.full(missing, new, values.dtype))) if missing > 0 else values


class Board:
    """Numbers URLs as discovered, the rows, and finds the highest score not closed; a new row's is 0."""

    def __init__(self, logged: Iterable[str] = ()) -> None:
        self._rows: dict[str, int] = {}
        self._urls: list[str] = []
        #: The number of each host, and of the host of each row.
        self._hosts: dict[str, int] = {}
        self._host_of = np.zeros(_ROOM, np.int32)
        self._scores, self._open = np.zeros(_ROOM), np.zeros(_ROOM, np.bool_)
        self._closed: set[str] = set()
        self._late: dict[str, None] = dict.fromkeys(logged)

    def __len__(self) -> int:
        return len(self._urls)

    def row(self, url: str) -> int:
        """Return the row of a URL, a new one for a new URL."""
        row = self._rows.setdefault(url, len(self._urls))
        if row == len(self._urls):
            self._urls.append(url)
            if row == len(self._open):
                room = (grown(each, 2 * row) for each in (self._scores, self._open, self._host_of))
                self._scores, self._open, self._host_of = room
            self._open[row] = url not in self._closed
            self._host_of[row] = self._hosts.setdefault(host(url), len(self._hosts))
        return row

    def put(self, url: str, score: float) -> None:
        """Set the score of a URL, which may be new."""
        row = self.row(url)
        self._scores[row] = score

    def close(self, url: str) -> None:
        self._closed.add(url)
        self._late.pop(url, None)
        if url in self._rows:
            self._open[self._rows[url]] = False

    def closed(self, url: str) -> bool:
        return url in self._closed

    def score(self, scores: Sequence[float] | _Array) -> None:
        """Set the scores of all rows, in their order."""
        self._scores[: len(self._urls)] = scores

    def scored(self, url: str) -> float:
        """Return the score of a URL, 0 of one that has no row."""
        return float(self._scores[self._rows[url]]) if url in self._rows else 0.0

    def top(self) -> float | None:
        """Return the highest score of a row that is open; None when there is none."""
        return float(self._scores[self._open].max(initial=-np.inf)) if self._open.any() else None

    def take(self, ready: Ready = anywhere) -> str | None:
        """Close the best URL that is open and on a ready host and return it; None when there is none."""
        may = self._open
        if ready is not anywhere and self._urls:
            may = may & np.array([ready(name) for name in self._hosts])[self._host_of]
        row = int(np.where(may, self._scores, -np.inf).argmax())
        late = (url for url in self._late if ready(host(url)))
        url = self._urls[row] if may[row] else next(late, None)
        if url is not None:
            self.close(url)
        return url


class ByBoard:
    """A crawler whose candidates are on a `Board`."""

    def __init__(self, logged: Iterable[str] = ()) -> None:
        self._board = Board(logged)

    def add_seed(self, url: str) -> None:
        self._board.row(url)

    def failed(self, url: str) -> None:
        self._board.close(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        url = self._board.take(ready)
        return None if url is None else Choice(url)
