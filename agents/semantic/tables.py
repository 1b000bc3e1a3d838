"""A table of word-piece vectors as a file."""

from pathlib import Path

from scentline.agents.stored import read_stored
from scentline.models.semantic import MOST_BYTES, SemanticTable, SemanticTableError, unpack
from scentline.models.settings import AUTO

#: The table that comes with the program; words.NOTICE says what it is made from, and how.
SHIPPED = Path(__file__).parent / "words.table"


def table_of(setting: str | None) -> SemanticTable | None:
    """Return the table that `learn.semantic` names, None where it names none; raises what `read_table` does."""
    if setting is None:
        return None
    return read_table(SHIPPED if setting == AUTO else Path(setting))


def read_table(path: Path) -> SemanticTable:
    """Return the table of a file; raises `models.semantic.SemanticTableError`, which names it."""
    return read_stored(path, MOST_BYTES, unpack, SemanticTableError, str(path))
