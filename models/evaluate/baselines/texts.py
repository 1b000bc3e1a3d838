"""The words of the links to each candidate, as a list of occurrences that grows."""

from array import array
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


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
