"""Crawlers that go by likeness to a query: the predicate's keywords, or what the hits so far have in common."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scentline.models.page import Page
from scentline_lab.simulation.simple import ByBoard, grown
from scentline_lab.simulation.virtual import Task


class Texts:
    """Texts by row, the words of each field numbered by column in order of first occurrence."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], int] = {}
        self._counts = defaultdict[int, Counter[int]](Counter)
        self._found = (array("i"), array("i"), array("i"))

    @property
    def words(self) -> int:
        return len(self._columns)

    def column(self, word: str, field: str = "") -> int:
        return self._columns.setdefault((field, word), len(self._columns))

    def add(self, row: int, words: Iterable[str], field: str = "") -> None:
        counts, (rows, columns, repeats) = self._counts[row], self._found
        for word in words:
            column = self.column(word, field)
            rows.append(row)
            columns.append(column)
            repeats.append(counts[column])
            counts[column] += 1

    def occurrences(self) -> list[npt.NDArray[np.int32]]:
        """Return the row and column of each occurrence as added, and how often the text had the word before: 0
        marks the distinct ones, and the sum of 2 r + 1 over r < t is the square t^2 of a word count.
        """
        # Copies: an array with a view on it can't grow.
        return [np.array(part, np.int32) for part in self._found]


_Floats = npt.NDArray[np.float64]
# Words are weighed anew when the fetched pages are more by this share.
_GROWTH = 0.1


def by_length(dots: npt.NDArray[Any], squares: npt.NDArray[Any]) -> _Floats:
    """Return products of texts with a query, each divided by the text's length, given its square."""
    return np.asarray(dots / np.sqrt(np.maximum(squares, 1e-12)), np.float64)


class WordQuery:
    """The words of the predicate or, where it has none, the centroid of the fetched pages that satisfy it.

    Pages count by their distinct words; a word weighs its number times ln((1 + N) / (1 + n)), n of N fetched
    pages having it. Columns of words are those of ``texts``.
    """

    def __init__(self, keywords: Iterable[str], texts: Texts) -> None:
        self._texts = texts
        self._keywords = [texts.column(word) for word in dict.fromkeys(keywords)]
        self._fetched, self._due, self._length = 0, 0.0, 0.0
        # By word: the fetched pages and the hits that have it, its weight, and its part in a product with the
        # query; the latter two stay between two weighings.
        self._pages, self._hits, self._idf, self._part = (np.zeros(0) for _ in range(4))

    def count(self, words: Iterable[str], holds: bool) -> None:
        """Count the distinct words of a fetched page."""
        columns = np.array([self._texts.column(word) for word in words], np.int64)
        self._fetched += 1
        self._pages, self._hits = (grown(each, self._texts.words) for each in (self._pages, self._hits))
        self._pages[columns] += 1
        self._hits[columns] += holds
        if self._fetched >= self._due:
            self._due = self._fetched * (1 + _GROWTH)
            self._weigh()

    def weights(self) -> tuple[_Floats, _Floats]:
        """Return the weight of each word, and its part in a product with the query."""
        words = self._texts.words
        return grown(self._idf, words, np.log1p(self._fetched)), grown(self._part, words)

    def cosines(self, texts: Sequence[Sequence[str]]) -> _Floats:
        """Return the cosine of each text with the query, from 0 to 1."""
        if not self._length:
            return np.zeros(len(texts))
        rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        columns = np.array([self._texts.column(word) for text in texts for word in text], np.int64)
        pairs, times = np.unique(rows * self._texts.words + columns, return_counts=True)
        rows, columns = np.divmod(pairs, self._texts.words)
        weights, parts = self.weights()
        dots = np.bincount(rows, times * parts[columns], minlength=len(texts))
        squares = np.bincount(rows, (times * weights[columns]) ** 2, minlength=len(texts))
        return by_length(dots, squares) / self._length

    def _weigh(self) -> None:
        self._idf = np.log1p(self._fetched) - np.log1p(self._pages)
        if self._keywords:
            query = np.zeros(len(self._idf))
            query[self._keywords] = self._idf[self._keywords]
        else:
            query = self._hits * self._idf
        self._part = query * self._idf
        self._length = float(np.sqrt((query**2).sum()))


class BestFirst(ByBoard):
    """Orders candidates by the cosine of the anchors and contexts of all known links to them with a query (Cho
    1998, section 2, IS(P); Menczer 2004); breadth-first without keywords and hits. The log's URLs come last.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._texts = Texts()
        self._query = WordQuery(task.keywords, self._texts)

    def judged(self, page: Page, holds: bool) -> None:
        self._board.close(page.url)
        self._query.count(page.words, holds)
        for link in page.links:
            row = self._board.row(link.url)
            if not self._board.closed(link.url):
                self._texts.add(row, (*link.anchor, *link.context))
        rows, columns, repeats = self._texts.occurrences()
        size, (weights, parts) = len(self._board), self._query.weights()
        dots = np.bincount(rows, parts[columns], minlength=size)
        squares = np.bincount(rows, weights[columns] ** 2 * (2 * repeats + 1), minlength=size)
        self._board.score(by_length(dots, squares))


#: The paper's delta, beta and gamma.
DECAY, ANCHOR, INHERITED = 0.5, 0.8, 0.5


class SharkSearch(ByBoard):
    """Orders candidates by Shark-Search's potential score (Hersovici and others, WWW7 1998, section 3).

    A child inherits `DECAY` times the similarity of a relevant page, else times what that page inherited. Its
    neighborhood score is `ANCHOR` times the anchor's similarity, and the rest times the context's, 1 where the
    anchor has some. The potential score is `INHERITED` times the first and the rest times the second; the best
    link to a page counts. Similarity is the cosine with a `WordQuery`, 1 of a hit. Depth is not bounded.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._query = WordQuery(task.keywords, Texts())
        self._best: dict[str, tuple[float, float]] = {}  # the potential and the inherited score by URL

    def judged(self, page: Page, holds: bool) -> None:
        self._board.close(page.url)
        self._query.count(page.words, holds)
        passed = DECAY * (1.0 if holds else self._best.get(page.url, (0.0, 0.0))[1])
        anchors = self._query.cosines([link.anchor for link in page.links]).tolist()
        contexts = self._query.cosines([link.context for link in page.links]).tolist()
        for link, anchor, context in zip(page.links, anchors, contexts, strict=True):
            near = ANCHOR * anchor + (1 - ANCHOR) * (1.0 if anchor else context)
            score = INHERITED * passed + (1 - INHERITED) * near
            if link.url not in self._best or score > self._best[link.url][0]:
                self._best[link.url] = score, passed
                self._board.put(link.url, score)
