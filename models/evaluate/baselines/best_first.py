"""The policy `best-first`: the candidate whose links' words are most like those looked for comes first."""

import numpy as np

from models.evaluate.baselines.board import Board, grown
from models.evaluate.baselines.texts import Texts
from models.evaluate.crawler import Choice, Task
from models.page import Page

# Weights of words are worked out anew when the fetched pages are more by this share: the order of the
# candidates moves with the share that a page has in what is known.
_GROWTH = 0.1
_TINY = 1e-12


class BestFirst:
    """Orders candidates by the cosine of their text with a query (Cho 1998, section 2, IS(P); Menczer 2004).

    A candidate's text is the anchor and context words of all known links to it. The query is the predicate's
    keywords or, where it has none, the centroid of the fetched pages that satisfy it, by their distinct
    words. Words weigh their number times ln((1 + N) / (1 + n)), n of N fetched pages having them: without
    that, the cosine finds what shares "the" and "of". Without a hit all candidates are equal, so
    breadth-first; URLs that only the log knows have no text and come last.
    """

    def __init__(self, task: Task) -> None:
        self._board = Board(task.trace.accesses)
        self._texts = Texts()
        self._keywords = [self._texts.column(word) for word in dict.fromkeys(task.keywords)]
        self._fetched = 0
        self._due = 0.0
        # For each word the fetched pages that have it and the hits among them, its weight and its part in the
        # product with the query; the latter two stay as they are between two workings out.
        self._pages, self._hits, self._idf, self._part = (np.zeros(0) for _ in range(4))
        # For each row the product with the query and the square of its length.
        self._dots, self._squares = np.zeros(0), np.zeros(0)

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._board.row(url)

    def judged(self, page: Page, holds: bool) -> None:
        """Take in the words of the page and of its links to what was not fetched yet."""
        self._board.close(page.url)
        self._fetched += 1
        self._count(page.words, holds)
        start = len(self._texts)
        for link in page.links:
            row = self._board.row(link.url)
            if not self._board.closed(link.url):
                self._texts.add(row, (*link.anchor, *link.context))
        if self._fetched >= self._due:
            self._due = self._fetched * (1 + _GROWTH)
            self._weigh()
            start = 0
        self._score(start)

    def failed(self, url: str) -> None:
        """Take a URL that brought no page out for good."""
        self._board.close(url)

    def next(self) -> Choice | None:
        """Return the candidate of the highest cosine."""
        url = self._board.take()
        return None if url is None else Choice(url)

    def _count(self, words: tuple[str, ...], holds: bool) -> None:
        columns = np.array([self._texts.column(word) for word in words], np.int64)
        self._pages = grown(self._pages, self._texts.words)
        self._hits = grown(self._hits, self._texts.words)
        self._pages[columns] += 1
        self._hits[columns] += holds

    def _weigh(self) -> None:
        """Work out the weights of words and the query, and forget the scores."""
        self._idf = np.log1p(self._fetched) - np.log1p(self._pages)
        if self._keywords:
            query = np.zeros(len(self._idf))
            query[self._keywords] = self._idf[self._keywords]
        else:
            query = self._hits * self._idf
        self._part = query * self._idf
        self._dots[:] = self._squares[:] = 0

    def _score(self, start: int) -> None:
        """Bring in the occurrences from ``start`` on: cosines but for the query's length, the same for all."""
        rows, columns, repeats = self._texts.occurrences(start)
        size = len(self._board)
        idf = grown(self._idf, self._texts.words, np.log1p(self._fetched))[columns]
        part = grown(self._part, self._texts.words)[columns]
        self._dots = grown(self._dots, size) + np.bincount(rows, part, minlength=size)
        squares = np.bincount(rows, idf * idf * (2 * repeats + 1), minlength=size)
        self._squares = grown(self._squares, size) + squares
        self._board.score(self._dots / np.sqrt(np.maximum(self._squares, _TINY)))
