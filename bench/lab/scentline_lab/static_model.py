"""A table of word-piece vectors made of a static model: what a sentence encoder says of each piece of its
vocabulary alone (Model2Vec: Tulkens and van Dongen 2024, https://github.com/MinishLab/model2vec).
"""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from scentline.agents.stored import write_stored
from scentline.models.errors import ScentlineError
from scentline.models.semantic import INSIDE, NAME, SemanticTable, SemanticTableError, pack

Array = npt.NDArray[np.float64]
_STEPS = 127  # of a signed byte, either way


class StaticModelError(ScentlineError):
    """A directory that holds no static model that can be read; the text says what is wrong."""


def read_model(directory: Path) -> tuple[Sequence[str], Array]:
    """Return the pieces of a static model and their vectors, shape (pieces, any). Raises `StaticModelError`."""
    try:
        from model2vec import StaticModel
    except ImportError as error:
        raise StaticModelError(
            "reading a model needs the package model2vec: pip install 'scentline-lab[semantic]'"
        ) from error
    if not directory.is_dir():
        raise StaticModelError(f"{directory}: there is no such directory, expected that of a static model")
    try:
        model = StaticModel.from_pretrained(directory)
        pieces = msgspec.json.decode(model.tokenizer.to_str())["model"]
        kind, inside = pieces["type"], pieces.get("continuing_subword_prefix")
    except Exception as error:  # the readers of its files raise their own, and Exception itself
        raise StaticModelError(f"{directory}: no static model can be read: {error}") from error
    if (kind, inside) != ("WordPiece", INSIDE):
        raise StaticModelError(f"{directory}: its pieces are of the kind {kind}, expected WordPiece")
    vectors = np.asarray(model.embedding, np.float64)
    if model.token_mapping is not None:
        vectors = vectors[model.token_mapping]
    if model.weights is not None:
        vectors = vectors * np.asarray(model.weights)[:, np.newaxis]
    return model.tokens, vectors


def distilled(pieces: Sequence[str], vectors: Array, size: int = 32) -> SemanticTable:
    """Return the table of vectors, shape (pieces, any), in the ``size`` directions that say most of them, as
    bytes. Special pieces ("[CLS]") and those with a capital are left out; ValueError if none is left.
    """
    special = re.compile(r"\[.+\]", re.DOTALL).fullmatch
    kept = [place for place, piece in enumerate(pieces) if piece == piece.lower() and not special(piece)]
    if not kept:
        raise ValueError("none of its pieces is in lower case")
    found = vectors[kept]
    _, directions = np.linalg.eigh(np.matmul(found.T, found))  # by ascending size
    largest = directions[:, ::-1][:, :size]
    # A direction may come out either way round; the same one each time makes the same table.
    signs = np.sign(largest[np.abs(largest).argmax(axis=0), np.arange(largest.shape[1])])
    found = np.matmul(found, largest * signs)
    scales = np.abs(found).max(axis=1) / _STEPS
    scales[scales == 0] = 1.0
    rounded = np.rint(found / scales[:, np.newaxis]).astype(np.int8)
    return SemanticTable([pieces[place] for place in kept], rounded, scales.astype(np.float32))


def build(model: Path, path: Path) -> tuple[SemanticTable, int]:
    """Write a table of a directory's model, whole or not at all, in place of an earlier one; return it and its
    bytes. Raises `StaticModelError` and `SemanticTableError`.
    """
    if not path.parent.is_dir():
        raise SemanticTableError(f"{path}: there is no directory {path.parent}")
    if path.exists() and not (path.is_file() and path.read_bytes().startswith(NAME)):
        raise SemanticTableError(f"{path}: holds something else; expected an earlier table, or nothing yet")
    try:
        table = distilled(*read_model(model))
    except ValueError as error:
        raise StaticModelError(f"{model}: {error}") from error
    data = pack(table)
    write_stored(path, data)
    return table, len(data)
