"""The policy `best-first`: the candidate whose links' words are most like those looked for comes first."""

import numpy as np

from scentline.models.page import Page
from scentline_lab.simulation.baselines.queues import Board, grown
from scentline_lab.simulation.baselines.texts import Query, Texts, by_length
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere


class BestFirst:
    """Orders candidates by the cosine of their text with a query (Cho 1998, section 2, IS(P); Menczer 2004).

    A candidate's text is the anchor and context words of all known links to it. Without keywords and without a
    hit all candidates are equal, so breadth-first; URLs that only the log knows have no text and come last.
    """

    def __init__(self, task: Task) -> None:
        self._board = Board(task.trace.accesses)
        self._texts = Texts()
        self._query = Query(task.keywords, self._texts)
        # For each row the product with the query and the square of its length.
        self._dots, self._squares = np.zeros(0), np.zeros(0)

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._board.row(url)

    def judged(self, page: Page, holds: bool) -> None:
        """Take in the words of the page and of its links to what was not fetched yet."""
        self._board.close(page.url)
        anew = self._query.count(page.words, holds)
        start = len(self._texts)
        for link in page.links:
            row = self._board.row(link.url)
            if not self._board.closed(link.url):
                self._texts.add(row, (*link.anchor, *link.context))
        if anew:
            self._dots[:] = self._squares[:] = 0
            start = 0
        self._score(start)

    def failed(self, url: str) -> None:
        """Take a URL that brought no page out for good."""
        self._board.close(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the candidate of the highest cosine."""
        url = self._board.take(ready)
        return None if url is None else Choice(url)

    def _score(self, start: int) -> None:
        """Bring in the occurrences from ``start`` on: cosines but for the query's length, the same for all."""
        rows, columns, repeats = self._texts.occurrences(start)
        size = len(self._board)
        weights, parts = self._query.weights()
        self._dots = grown(self._dots, size) + np.bincount(rows, parts[columns], minlength=size)
        squares = np.bincount(rows, weights[columns] ** 2 * (2 * repeats + 1), minlength=size)
        self._squares = grown(self._squares, size) + squares
        self._board.score(by_length(self._dots, self._squares))
