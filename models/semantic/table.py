"""A table of word-piece vectors, and the vectors of texts that it gives."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.semantic.pieces import piece_numbers

Vector = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.int8]
Scales = npt.NDArray[np.float32]

#: Texts whose vectors are kept in memory: about 15 MB of them.
CACHED = 20_000
#: Signs of a text that are looked at; the rest is passed over.
MOST_TEXT = 2_000


class SemanticTable:
    """Vectors of word pieces: a row of ``vectors`` for each of ``pieces``, times its number in ``scales``.

    Shapes: vectors (pieces, size), scales (pieces,). The pieces are those of a BERT vocabulary, in lower case,
    without its special ones.

    >>> table = SemanticTable(["ski", "snow"], np.array([[3, 0], [0, 2]], np.int8), np.ones(2, np.float32))
    >>> table.vector("Ski, snow, snow!").tolist()
    [0.6, 0.8]
    """

    def __init__(self, pieces: Sequence[str], vectors: Bytes, scales: Scales) -> None:
        self.pieces = tuple(pieces)
        self.vectors = vectors
        self.scales = scales
        self._numbers = {piece: number for number, piece in enumerate(self.pieces)}
        self._known: dict[str, Vector] = {}

    @property
    def size(self) -> int:
        """Numbers in a vector."""
        return int(self.vectors.shape[1])

    def vector(self, text: str) -> Vector:
        """Return the sum of the vectors of the text's pieces as a unit vector; zeros where it has none.

        The array is not to be written to: it is kept for the next time.
        """
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= CACHED:
                self._known.clear()
            known = self._known[text] = self._sum(text[:MOST_TEXT])
            known.flags.writeable = False
        return known

    def _sum(self, text: str) -> Vector:
        numbers = piece_numbers(text, self._numbers)
        rows = self.vectors[numbers].astype(np.float64)
        total: Vector = (rows * self.scales[numbers, np.newaxis]).sum(axis=0)
        length = float(np.sqrt(np.square(total).sum()))
        return total / length if length else total
