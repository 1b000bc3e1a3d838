"""A table of word-piece vectors as a file."""

import os
from pathlib import Path

from agents.stored import read_stored, write_stored
from models.semantic.stored import MOST_BYTES, NAME, SemanticTableError, pack, unpack
from models.semantic.table import SemanticTable


def usual_place() -> Path:
    """Return where this user's table is made and looked for: in the directory for what can be made again.

    See the XDG Base Directory Specification, XDG_CACHE_HOME.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "scentline" / "words.table"


def read_table(path: Path) -> SemanticTable:
    """Return the table of a file; raises `models.semantic.stored.SemanticTableError`, which names it."""
    return read_stored(path, MOST_BYTES, unpack, SemanticTableError, str(path))


def check_place(path: Path) -> None:
    """Raise `models.semantic.stored.SemanticTableError` where `write_table` would lose a file that is none."""
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
