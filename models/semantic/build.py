"""A table of word-piece vectors made from what a sentence encoder says of each piece alone."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.semantic.bert import Array, Numbers
from models.semantic.table import SemanticTable

#: Numbers in a vector of the table.
SIZE = 64
#: Pieces that are encoded at a time.
BATCH = 256
#: The special pieces around a text.
START, END = "[CLS]", "[SEP]"

_STEPS = 127  # of a signed byte, either way


def is_text(piece: str) -> bool:
    """Tell whether a piece of a vocabulary stands for text: "[CLS]", "[unused7]" and the like do not."""
    return not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)


def batches(vocabulary: Sequence[str]) -> list[Numbers]:
    """Return the vocabulary's pieces of text, each as [CLS] piece [SEP], in arrays of shape (texts, 3).

    Raises ValueError where the vocabulary lacks one of the two.
    """
    for piece in (START, END):
        if piece not in vocabulary:
            raise ValueError(f"vocabulary: there is no piece {piece}, expected that of a BERT model")
    start, end = vocabulary.index(START), vocabulary.index(END)
    texts = [[start, number, end] for number, piece in enumerate(vocabulary) if is_text(piece)]
    return [np.array(texts[first : first + BATCH], np.intp) for first in range(0, len(texts), BATCH)]


def distilled(vocabulary: Sequence[str], found: Array, size: int = SIZE) -> SemanticTable:
    """Return the table of the vectors ``found`` of the vocabulary's pieces of text, shape (pieces, any).

    They are centred, brought to their ``size`` principal components and weighted by log(id + 2): a vocabulary
    lists pieces by their frequency, and a rare one says more about a text. Then they are rounded to bytes.

    >>> table = distilled(["[CLS]", "ski", "snow", "war"], np.eye(3, dtype=np.float32), size=2)
    >>> table.pieces, table.vectors.shape
    (('ski', 'snow', 'war'), (3, 2))
    """
    numbers = [number for number, piece in enumerate(vocabulary) if is_text(piece)]
    kept = _principal(np.asarray(found, np.float64), size)
    kept *= np.log(np.array(numbers)[:, np.newaxis] + 2.0)
    scales = np.abs(kept).max(axis=1) / _STEPS
    scales[scales == 0] = 1.0
    rounded = np.rint(kept / scales[:, np.newaxis]).astype(np.int8)
    return SemanticTable([vocabulary[number] for number in numbers], rounded, scales.astype(np.float32))


def _principal(found: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Return the coordinates of centred vectors along the directions of their largest variance."""
    centred = found - found.mean(axis=0)
    _, directions = np.linalg.eigh(np.matmul(centred.T, centred))  # by ascending variance
    kept = directions[:, ::-1][:, :size]
    # A direction may come out either way round; the same one each time makes the same table.
    largest = kept[np.abs(kept).argmax(axis=0), np.arange(kept.shape[1])]
    coordinates: npt.NDArray[np.float64] = np.matmul(centred, kept * np.sign(largest))
    return coordinates
