"""The URLs that may be fetched next, best first, and the crawler that takes them so."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from scentline.models.url import host
from scentline_lab.simulation.crawler import Choice, Ready, anywhere

_ROOM = 1024


def grown(values: npt.NDArray[np.float64], size: int, new: float = 0.0) -> npt.NDArray[np.float64]:
    """Return ``values`` lengthened to ``size``, each new one being ``new``."""
    missing = size - len(values)
    return np.concatenate((values, np.full(missing, new))) if missing > 0 else values


class Board:
    """Numbers URLs as discovered, the rows, and finds the highest score not closed; a new row's is 0."""

    def __init__(self, logged: Iterable[str] = ()) -> None:
        self._rows: dict[str, int] = {}
        #: The number of each host, and of the host of each row.
        self._hosts: dict[str, int] = {}
        self._host_of = np.zeros(_ROOM, np.int32)
        self._urls: list[str] = []
        self._scores = np.zeros(_ROOM)
        self._open = np.zeros(_ROOM, np.bool_)
        self._closed: set[str] = set()
        self._late: dict[str, None] = dict.fromkeys(logged)

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
                self._host_of = np.concatenate((self._host_of, np.zeros(row, np.int32)))
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
        row = self._rows.get(url)
        if row is not None:
            self._open[row] = False

    def closed(self, url: str) -> bool:
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

    def take(self, ready: Ready = anywhere) -> str | None:
        """Close the best URL that is open and on a ready host and return it; None when there is none."""
        url = self._best(ready)
        if url is not None:
            self.close(url)
        return url

    def _best(self, ready: Ready) -> str | None:
        size = len(self._urls)
        if size:
            open_ = self._open[:size]
            if ready is not anywhere:
                open_ = open_ & np.array([ready(name) for name in self._hosts])[self._host_of[:size]]
            row = int(np.where(open_, self._scores[:size], -np.inf).argmax())
            if open_[row]:
                return self._urls[row]
        return next((url for url in self._late if ready(host(url))), None)


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
