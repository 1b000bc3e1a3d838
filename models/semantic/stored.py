"""A table of word-piece vectors as the bytes of a file: a line that names it, a checksum, then MessagePack."""

from hashlib import sha256

import msgspec
import numpy as np

from models.errors import ScentlineError
from models.semantic.table import SemanticTable

#: What a file begins with; the number is the format's version.
NAME, VERSION = b"scentline semantic table ", b"1\n"
#: Bounds of a file, of its pieces and of the numbers in a vector.
MOST_BYTES = 64_000_000
MOST_PIECES = 300_000
MOST_SIZE = 1_024

_CHECKSUM = sha256().digest_size


class SemanticTableError(ScentlineError, ValueError):
    """Bytes that are no table; the text says what is wrong with them."""


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pieces: list[str]
    size: int
    vectors: bytes
    scales: bytes


def pack(table: SemanticTable) -> bytes:
    """Return the bytes of a table: the same for an equal one."""
    scales = table.scales.astype("<f4").tobytes()
    body = msgspec.msgpack.encode(
        _Stored(list(table.pieces), table.size, table.vectors.astype(np.int8).tobytes(), scales)
    )
    return NAME + VERSION + sha256(body).digest() + body


def unpack(data: bytes) -> SemanticTable:
    """Return the table of bytes that `pack` returned.

    Raises `SemanticTableError` for any others, before memory is taken for more than they hold.
    """
    if len(data) > MOST_BYTES:
        raise SemanticTableError(f"semantic table: {len(data)} bytes, expected at most {MOST_BYTES}")
    if not data.startswith(NAME):
        raise SemanticTableError(f"semantic table: begins with {data[:16]!r}, expected {NAME!r}")
    body = memoryview(data)[len(NAME) :]
    if body[: len(VERSION)] != VERSION:
        found = bytes(body[: len(VERSION)])
        raise SemanticTableError(f"semantic table: of version {found!r}, expected {VERSION!r}")
    checksum, body = body[len(VERSION) :][:_CHECKSUM], body[len(VERSION) + _CHECKSUM :]
    if sha256(body).digest() != checksum:
        raise SemanticTableError("semantic table: its checksum is wrong; the file is damaged or cut short")
    try:
        stored = msgspec.msgpack.decode(body, type=_Stored)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SemanticTableError(f"semantic table: {error}") from error
    return _checked(stored)


def _checked(stored: _Stored) -> SemanticTable:
    pieces, size = len(stored.pieces), stored.size
    for name, number, most in (("pieces", pieces, MOST_PIECES), ("numbers in a vector", size, MOST_SIZE)):
        if not 1 <= number <= most:
            raise SemanticTableError(f"semantic table: {number} {name}, expected 1 to {most}")
    if len(set(stored.pieces)) != pieces:
        raise SemanticTableError("semantic table: a piece occurs twice, expected each once")
    for name, data, expected in (
        ("vectors", stored.vectors, pieces * size),
        ("scales", stored.scales, 4 * pieces),
    ):
        if len(data) != expected:
            raise SemanticTableError(f"semantic table: {len(data)} bytes of {name}, expected {expected}")
    scales = np.frombuffer(stored.scales, "<f4").astype(np.float32)
    if not bool(np.all(np.isfinite(scales) & (scales > 0))):
        raise SemanticTableError("semantic table: a scale is not a positive number")
    vectors = np.frombuffer(stored.vectors, np.int8).reshape(pieces, size)
    return SemanticTable(stored.pieces, vectors, scales)
