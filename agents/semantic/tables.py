"""A table of word-piece vectors as a file."""

from pathlib import Path
from typing import TYPE_CHECKING

from scentline.agents.stored import read_stored, write_stored
from scentline.models.semantic.table import MOST_BYTES, NAME, SemanticTable, SemanticTableError, pack, unpack
from scentline.streams.settings import AUTO

if TYPE_CHECKING:
    from scentline.agents.progress import Progress


#: The table that comes with the program; words.NOTICE says what it is made from, and how.
SHIPPED = Path(__file__).parent / "words.table"


def table_of(setting: str | None) -> SemanticTable | None:
    """Return the table that `learn.semantic` names, None where it names none; raises what `read_table` does."""
    if setting is None:
        return None
    return read_table(SHIPPED if setting == AUTO else Path(setting))


def read_table(path: Path) -> SemanticTable:
    """Return the table of a file; raises `models.semantic.table.SemanticTableError`, which names it."""
    return read_stored(path, MOST_BYTES, unpack, SemanticTableError, str(path))


def check_place(path: Path) -> None:
    """Raise `models.semantic.table.SemanticTableError` where `write_table` would lose a file that is none."""
    if not path.parent.is_dir():
        raise SemanticTableError(f"{path}: there is no directory {path.parent}")
    if not path.exists():
        return
    if not path.is_file():
        raise SemanticTableError(f"{path}: expected a file, or nothing yet")
    with path.open("rb") as file:
        if file.read(len(NAME)) != NAME:
            raise SemanticTableError(f"{path}: holds something else; expected an earlier table, or nothing yet")


def write_table(path: Path, table: SemanticTable) -> int:
    """Write a table in the place of an earlier one: the whole file, or none; return its bytes."""
    data = pack(table)
    write_stored(path, data)
    return len(data)


def build(model: Path, path: Path, bars: "Progress") -> tuple[SemanticTable, int]:
    """Distil the encoder in a directory into a table and write it; return it, and its bytes.

    Raises `agents.semantic.encoders.EncoderError` for what is no encoder that can be read, and what
    `check_place` and writing a file raise.
    """
    # Imported where a table is made: crawls take one that is there.
    import numpy as np

    from scentline.agents.semantic.encoders import read_encoder
    from scentline.models.semantic.encoder import batches, distilled

    check_place(path)
    encoder = read_encoder(model)
    texts = batches(encoder.vocabulary)
    bars.phase("encode word pieces", sum(map(len, texts)))
    found = []
    for batch in texts:
        found.append(encoder.bert.encode(batch))
        bars.advance(len(batch))
    table = distilled(encoder.vocabulary, np.concatenate(found))
    return table, write_table(path, table)
