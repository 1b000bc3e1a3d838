"""The words of the links to each candidate, as they come, and what is looked for as a vector of words.

Looked for are the predicate's keywords, or what the hits so far have in common.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scentline_lab.simulation.baselines.queues import grown


class Occurrences(NamedTuple):
    """Words in texts: occurrence i is that of word ``columns[i]`` in text ``rows[i]``.

    ``repeats[i]`` says how often the text had that word already. So ``repeats == 0`` marks the distinct ones,
    and as t^2 is the sum of 2 r + 1 over r < t, sums over occurrences give the squares of word counts too.
    """

    rows: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    repeats: npt.NDArray[np.int32]


class Texts:
    """Texts by row, their words numbered by column in order of first occurrence, by field.

    >>> texts = Texts()
    >>> texts.add(0, ["ski", "alps", "ski"])
    >>> texts.add(2, ["alps"])
    >>> [part.tolist() for part in texts.occurrences()]
    [[0, 0, 0, 2], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> texts.column("alps"), texts.column("alps", field="url")
    (1, 2)
    """

    def __init__(self) -> None:
        #: The number of columns.
        self.words = 0
        self._columns: dict[str, dict[str, int]] = {}
        self._counts: list[dict[int, int]] = []
        self._found = (array("i"), array("i"), array("i"))

    def __len__(self) -> int:
        return len(self._found[0])

    def column(self, word: str, field: str = "") -> int:
        """Return the column of a word of a field, a new one for a new word."""
        columns = self._columns.setdefault(field, {})
        column = columns.get(word)
        if column is None:
            column = columns[word] = self.words
            self.words += 1
        return column

    def add(self, row: int, words: Iterable[str], field: str = "") -> None:
        """Add words to the text of a row."""
        while len(self._counts) <= row:
            self._counts.append({})
        counts = self._counts[row]
        known = self._columns.setdefault(field, {})
        rows, columns, repeats = self._found
        for word in words:
            column = known.get(word)
            if column is None:
                column = self.column(word, field)
            repeat = counts.get(column, 0)
            counts[column] = repeat + 1
            rows.append(row)
            columns.append(column)
            repeats.append(repeat)

    def occurrences(self, start: int = 0) -> Occurrences:
        """Return the occurrences from number ``start`` on, in the order in which they were added."""
        # Copies: an array that is looked at through a view can't grow.
        return Occurrences(*(np.array(part[start:] if start else part, np.int32) for part in self._found))


_Floats = npt.NDArray[np.float64]

# Weights of words are worked out anew when the fetched pages are more by this share: the order of the
# candidates moves with the share that a page has in what is known.
_GROWTH = 0.1


def by_length(dots: npt.NDArray[Any], squares: npt.NDArray[Any]) -> _Floats:
    """Return products of texts with something, each divided by the text's length; ``squares`` are theirs.

    >>> by_length(np.array([3.0, 0.0]), np.array([9.0, 0.0])).tolist()
    [1.0, 0.0]
    """
    lengths: _Floats = np.sqrt(np.maximum(squares, 1e-12))
    return dots / lengths


class Query:
    """The words of the predicate or, where it has none, the centroid of the fetched pages that satisfy it.

    Pages count by their distinct words. A word weighs its number times ln((1 + N) / (1 + n)), n of N fetched
    pages having it: without that, a cosine finds what shares "the" and "of". Columns of words are those of
    ``texts``.
    """

    def __init__(self, keywords: Iterable[str], texts: Texts) -> None:
        self._texts = texts
        self._keywords = [texts.column(word) for word in dict.fromkeys(keywords)]
        self._fetched = 0
        self._due = 0.0
        # For each word the fetched pages that have it and the hits among them, its weight, and its part in a
        # product with the query; the latter two stay as they are between two workings out.
        self._pages, self._hits, self._idf, self._part = (np.zeros(0) for _ in range(4))
        self._length = 0.0

    def count(self, words: Iterable[str], holds: bool) -> bool:
        """Take in the distinct words of a fetched page; return whether weights were worked out anew."""
        columns = np.array([self._texts.column(word) for word in words], np.int64)
        self._fetched += 1
        self._pages = grown(self._pages, self._texts.words)
        self._hits = grown(self._hits, self._texts.words)
        self._pages[columns] += 1
        self._hits[columns] += holds
        if self._fetched < self._due:
            return False
        self._due = self._fetched * (1 + _GROWTH)
        self._weigh()
        return True

    def weights(self) -> tuple[_Floats, _Floats]:
        """Return the weight of each word, and its part in a product with the query."""
        words = self._texts.words
        return grown(self._idf, words, np.log1p(self._fetched)), grown(self._part, words)

    def cosines(self, texts: Sequence[Sequence[str]]) -> _Floats:
        """Return how like the query each of some texts is, from 0 to 1."""
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
