"""Files that this program writes and reads again: written whole, read bounded, named in every error."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def read_stored(path: Path, most: int, unpack: Callable[[bytes], T], error: type[ValueError], name: str) -> T:
    """Return what ``unpack`` makes of a file of at most ``most`` bytes; it refuses more than that.

    Raises ``error``, which ``unpack`` raises too, with ``name`` in front.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as cause:
        raise error(f"{name}: can't be read: {cause.strerror}") from cause
    try:
        return unpack(data)
    except error as cause:
        raise error(f"{name}: {cause}") from cause


def write_stored(path: Path, data: bytes) -> None:
    """Write a file in the place of an earlier one: the whole file, or none; raises `OSError`."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
