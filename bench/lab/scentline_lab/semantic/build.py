"""A table of word-piece vectors, distilled from an encoder into a file."""

from pathlib import Path

import numpy as np

from scentline.agents.stored import write_stored
from scentline.models.semantic.table import NAME, SemanticTable, SemanticTableError, pack
from scentline_lab.progress import Progress
from scentline_lab.semantic.encoder import batches, distilled, read_encoder


def write_table(path: Path, table: SemanticTable) -> int:
    """Write a table in the place of an earlier one: the whole file, or none; return its bytes."""
    data = pack(table)
    write_stored(path, data)
    return len(data)


def build(model: Path, path: Path, bars: Progress) -> tuple[SemanticTable, int]:
    """Distil a directory's encoder into a table. Raises `EncoderError` and `SemanticTableError`."""
    if not path.parent.is_dir():
        raise SemanticTableError(f"{path}: there is no directory {path.parent}")
    if path.exists() and not path.is_file():
        raise SemanticTableError(f"{path}: expected a file, or nothing yet")
    if path.exists():
        with path.open("rb") as file:
            if file.read(len(NAME)) != NAME:
                raise SemanticTableError(
                    f"{path}: holds something else; expected an earlier table, or nothing yet"
                )
    encoder = read_encoder(model)
    texts = batches(encoder.vocabulary)
    bars.phase("encode word pieces", sum(map(len, texts)))
    found = []
    for batch in texts:
        found.append(encoder.bert.encode(batch))
        bars.advance(len(batch))
    table = distilled(encoder.vocabulary, np.concatenate(found))
    return table, write_table(path, table)
