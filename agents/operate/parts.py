"""The parts of an export: files in a directory, and beside them how far it has come.

A part is written whole or not at all, and counts once the cursor says so: what else a killed export left is
removed.
"""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import msgspec

from scentline.agents.stored import read_stored, write_stored
from scentline.models.columns import COLUMNS, LINKS, VERDICTS
from scentline.models.errors import ScentlineError
from scentline.streams.settings import ConfigurationError

Form: TypeAlias = Literal["parquet", "jsonl", "csv"]
#: The values of a page, in the order of the columns.
Row: TypeAlias = Sequence[Any]
Write: TypeAlias = Callable[[Sequence[Row]], object]
#: Begins a part in a file, and ends it.
Begin: TypeAlias = Callable[[BinaryIO], AbstractContextManager[Write]]

CURSOR = "_export.json"
_MOST_BYTES = 10_000_000


class ExportError(ScentlineError, ValueError):
    """A directory whose export can't go on; the text says why, and what to do."""


class Cursor(msgspec.Struct, kw_only=True):
    """How far an export has come."""

    version: Literal[1] = 1
    form: Form
    #: The type or the expression of each column by its name.
    columns: dict[str, str]
    #: The predicates of which pages satisfy one; empty for all, None for every judged page.
    predicates: list[str] | None
    #: The next offset of each partition of `outcomes`.
    offsets: dict[int, int] = {}
    rows: int = 0
    parts: int = 0


def columns_of(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of an export with some fields."""
    return {column.name: column.type for column in COLUMNS} | dict(fields)


def _read(data: bytes) -> Cursor:
    try:
        return msgspec.json.decode(data, type=Cursor)
    except msgspec.MsgspecError as error:
        raise ExportError(f"not the state of an export: {error}; give another directory") from error


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Make the directory of an export; raises `ExportError` while another process writes there, `OSError`."""
    out.mkdir(parents=True, exist_ok=True)
    number = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ExportError(f"--out {out}: another export is writing there") from error
    else:
        yield
    finally:
        os.close(number)


def resumed(out: Path, asked: Cursor) -> Cursor:
    """Return how far the export in a directory has come, ``asked`` where there is none.

    Parts that it does not count are removed. Raises `ExportError`.
    """
    path = out / CURSOR
    if not path.exists():
        if any(out.iterdir()):
            raise ExportError(f"--out {out}: expected an empty directory, a new one, or one of an export")
        return asked
    known = read_stored(path, _MOST_BYTES, _read, ExportError, str(path))
    for name in ("form", "columns", "predicates"):
        before, now = getattr(known, name), getattr(asked, name)
        if name == "columns":
            before, now = (dict(a.items() - b.items()) for a, b in ((before, now), (now, before)))
        if before != now:
            raise ExportError(f"--out {out}: was begun with {name} {before}, not {now}; give another directory")
    for part in out.glob("part-*"):
        if part.name not in {name_of(known, number + 1) for number in range(known.parts)}:
            part.unlink()
    return known


def name_of(cursor: Cursor, number: int) -> str:
    """Return the name of a part, counted from 1."""
    return f"part-{number:05d}.{cursor.form}"


def advance(out: Path, cursor: Cursor) -> None:
    """Write how far an export has come; raises `OSError`."""
    write_stored(out / CURSOR, msgspec.json.encode(cursor))


@contextmanager
def lines(head: Iterable[str], line: Callable[[Row], str], file: BinaryIO) -> Iterator[Write]:
    """Begin a part of lines."""
    file.writelines(f"{each}\n".encode() for each in head)
    yield lambda rows: file.writelines(f"{line(row)}\n".encode() for row in rows)


def parquet(columns: Mapping[str, str]) -> Begin:
    """Return what begins a part in Parquet, with a row group for each addition.

    Raises `ConfigurationError` where pyarrow is missing.
    """
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise ConfigurationError(
            "--format parquet: needs pyarrow: pip install 'scentline[parquet]', or give --format jsonl or csv"
        ) from error
    types: dict[str, Any] = {
        "int16": pa.int16(), "int32": pa.int32(), "timestamp": pa.timestamp("us", "UTC"),
        "list<string>": pa.list_(pa.string()),
        LINKS: pa.list_(pa.struct({"url": pa.string(), "anchor": pa.string()})),
        VERDICTS: pa.list_(pa.struct({
            "name": pa.string(), "holds": pa.bool_(), "score": pa.float64(), "expected": pa.float64(),
        })),
    }  # fmt: skip
    schema = pa.schema([(name, types.get(kind, pa.string())) for name, kind in columns.items()])

    @contextmanager
    def table(file: BinaryIO) -> Iterator[Write]:
        with ParquetWriter(file, schema, compression="zstd") as writer:

            def write(rows: Sequence[Row]) -> None:
                columns = zip(zip(*rows, strict=True), schema.types, strict=True)
                arrays = [pa.array(values, kind) for values, kind in columns]
                writer.write_batch(pa.record_batch(arrays, schema))

            yield write

    return table
