"""The policy `opic`: pages hand their cash on to what they link to, and the richest candidate is next."""

import numpy as np

from scentline.models.page import Page
from scentline_lab.simulation.baselines.queues import Board, grown
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere


class Opic:
    """Orders candidates by their cash (Abiteboul, Preda, Cobena, WWW 2003, sections 3 and 4: OPIC, greedy).

    All seeds start with the same cash. A page that is fetched hands its own on, in equal shares to the distinct
    pages that it links to and the virtual page, which every page links to; a URL that brought no page links to
    nothing else. The virtual page hands on what it has, to all URLs alike, when it is the richest. As pages are
    fetched once, what comes to a page afterwards stays there; so of the paper's history, the cash a page ever
    had, nothing is asked.
    """

    def __init__(self, task: Task) -> None:
        self._board = Board(task.trace.accesses)
        self._cash = np.zeros(0)
        self._virtual = 0.0

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        row = self._row(url)
        self._cash[row] = 1.0

    def judged(self, page: Page, holds: bool) -> None:
        """Hand the page's cash on; the verdict is of no account."""
        targets = [self._row(url) for url in dict.fromkeys(link.url for link in page.links) if url != page.url]
        self._hand_on(page.url, targets)

    def failed(self, url: str) -> None:
        """Take a URL that brought no page out for good: its cash is the virtual page's."""
        self._hand_on(url, [])

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the candidate with the most cash."""
        self._board.score(self._cash)
        best = self._board.top()
        if best is not None and self._virtual > best:
            self._cash += self._virtual / len(self._cash)
            self._virtual = 0.0
            self._board.score(self._cash)
        url = self._board.take(ready)
        return None if url is None else Choice(url)

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
