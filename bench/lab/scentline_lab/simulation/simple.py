"""Crawlers that go by links alone, or by the truth: chance, Cho's orderings, OPIC, tag paths, the oracle."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scentline.models.ordering import DAMPING, EVERY, Crawled, Rank
from scentline.models.page import Page
from scentline.models.url import host
from scentline_lab.order.crawl import Backlinks, Estimate
from scentline_lab.simulation.virtual import Choice, Ready, Task, anywhere

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


class Ranked(ByBoard):
    """Fetches the URL of the highest score among those linked to, equal ones as discovered; the log's last."""

    def __init__(self, score: Callable[[str], float], logged: Iterable[str] = ()) -> None:
        super().__init__(logged)
        self._score = score
        self._known: set[str] = set()

    def add_seed(self, url: str) -> None:
        if url not in self._known:
            self._known.add(url)
            self._board.put(url, self._score(url))

    def judged(self, page: Page, holds: bool) -> None:
        self._board.close(page.url)
        for link in page.links:
            self.add_seed(link.url)


class Oracle(Ranked):
    """Takes a page that satisfies the predicate where links have made one known, else goes breadth-first. It is
    greedy, so no upper bound: it does not go through a page that fails to reach many that satisfy. ``hits`` are
    the URLs of the pages that satisfy the predicate. It knows no log, which would tell it every URL at once.
    """

    def __init__(self, hits: Collection[str]) -> None:
        super().__init__(lambda url: float(url in hits))


class BreadthFirst(Ranked):
    """First found, first fetched (Cho 1998, Figure 2, 1): the seeds, then their links, then those of these."""

    def __init__(self, task: Task) -> None:
        super().__init__(lambda url: 0.0, task.trace.accesses)


class Chance:
    """Draws uniformly among the log's URLs and the link targets: the base rate of what can be reached."""

    def __init__(self, task: Task) -> None:
        self._random = task.random
        self._open: list[str] = []
        self._places: dict[str, int] = {}
        self._closed: set[str] = set()
        for url in task.trace.accesses:
            self.add_seed(url)

    def add_seed(self, url: str) -> None:
        if url not in self._places and url not in self._closed:
            self._places[url] = len(self._open)
            self._open.append(url)

    def judged(self, page: Page, holds: bool) -> None:
        self.failed(page.url)
        for link in page.links:
            self.add_seed(link.url)

    def failed(self, url: str) -> None:
        """Take a URL out for good: the last of the list takes its place, so it costs O(1)."""
        self._closed.add(url)
        place = self._places.pop(url, None)
        if place is None:
            return
        last = self._open.pop()
        if last != url:
            self._open[place] = last
            self._places[last] = place

    def next(self, ready: Ready = anywhere) -> Choice | None:
        if not self._open:
            return None
        url = self._random.choice(self._open)
        if not ready(host(url)):
            may = [url for url in self._open if ready(host(url))]
            if not may:
                return None
            url = self._random.choice(may)
        self.failed(url)
        return Choice(url, explored=True)


class Estimated(ByBoard):
    """Orders candidates by an estimate of their importance (Cho 1998, Figure 2)."""

    def __init__(self, estimate: Estimate[str], task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._estimate = estimate
        self._found: dict[str, None] = {}

    def add_seed(self, url: str) -> None:
        self._found[url] = None
        self._board.put(url, self._estimate.value(url))

    def judged(self, page: Page, holds: bool) -> None:
        self._board.close(page.url)
        distinct = dict.fromkeys(link.url for link in page.links if link.url != page.url)
        for url in self._estimate.crawled(Crawled(page.url, tuple(distinct))):
            self.add_seed(url)
        for url in self._found if self._estimate.sweep() else ():
            self._board.put(url, self._estimate.value(url))


class Backlink(Estimated):
    """Orders candidates by the number of known in-links, each page's once: IB'(P) (Cho 1998, Figure 2, 2)."""

    def __init__(self, task: Task) -> None:
        super().__init__(Backlinks[str](), task)


class PageRank(Estimated):
    """Orders candidates by IR'(P), PageRank over what is known (Cho 1998, Figure 2, 3)."""

    def __init__(self, task: Task, every: int = EVERY) -> None:
        super().__init__(Rank[str](DAMPING, every), task)


class Opic(ByBoard):
    """Orders candidates by their cash (Abiteboul, Preda, Cobena, WWW 2003, sections 3 and 4: OPIC, greedy).

    All seeds start with the same cash. A page that is fetched hands its own on, in equal shares to the distinct
    pages that it links to and the virtual page, which every page links to; a URL that brought no page links to
    nothing else. The virtual page hands on what it has, to all URLs alike, when it is the richest. As pages are
    fetched once, the cash that comes to a page afterwards stays there, and the paper's history, the cash a page
    ever had, is not needed.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._cash = np.zeros(0)
        self._virtual = 0.0

    def add_seed(self, url: str) -> None:
        row = self._row(url)
        self._cash[row] = 1.0

    def judged(self, page: Page, holds: bool) -> None:
        targets = [self._row(url) for url in dict.fromkeys(link.url for link in page.links) if url != page.url]
        self._hand_on(page.url, targets)

    def failed(self, url: str) -> None:
        self._hand_on(url, [])

    def next(self, ready: Ready = anywhere) -> Choice | None:
        self._board.score(self._cash)
        best = self._board.top()
        if best is not None and self._virtual > best:
            self._cash += self._virtual / len(self._cash)
            self._virtual = 0.0
            self._board.score(self._cash)
        return super().next(ready)

    def _row(self, url: str) -> int:
        row = self._board.row(url)
        self._cash = grown(self._cash, len(self._board))
        return row

    def _hand_on(self, url: str, targets: list[int]) -> None:
        self._board.close(url)
        row = self._row(url)
        share = self._cash[row] / (len(targets) + 1)
        self._cash[row] = 0.0
        self._cash[targets] += share
        self._virtual += share
