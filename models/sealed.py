"""The file format of learned state: one MessagePack document, compressed by Zstandard, with a checksum.

The document is a map: ``name`` is its kind, ``version`` that of the format, ``made_by`` that of the program
that wrote it, ``checksum`` the BLAKE2b digest of ``body``, and ``body`` MessagePack again. Reading a file runs
no code from it, and takes bounded memory.
"""

import io
from hashlib import blake2b
from typing import NamedTuple, TypeVar

import msgspec
import zstandard

from scentline.models.errors import ScentlineError

T = TypeVar("T")

#: Bounds of a file, compressed and decompressed.
MOST_BYTES = 64_000_000
MOST_DECOMPRESSED = 256_000_000

_DIGEST = 32
_LEVEL = 9
_WINDOW = 1 << 27


class SealedError(ScentlineError, ValueError):
    """Bytes that are not the expected file; the text says what is wrong with them."""

    explains_itself = False


class Kind(NamedTuple):
    """A kind of file: its name, the version of its format, the command that writes it."""

    name: str
    version: int
    writer: str


class Sealed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document; ``checksum`` is that of ``body``, and identifies it."""

    name: str
    version: int
    made_by: str
    checksum: bytes
    body: bytes


class _Head(msgspec.Struct, frozen=True):
    name: str
    version: int


def seal(kind: Kind, content: object, made_by: str) -> bytes:
    """Return the bytes of a file of this kind."""
    body = msgspec.msgpack.encode(content)
    sealed = Sealed(kind.name, kind.version, made_by, digest(body), body)
    return zstandard.ZstdCompressor(level=_LEVEL).compress(msgspec.msgpack.encode(sealed))


def unseal(kind: Kind, data: bytes, content: type[T]) -> tuple[T, str]:
    """Return the content of the bytes of `seal`, and its checksum in hexadecimal digits.

    Other bytes raise `SealedError`; none take memory for more than `MOST_DECOMPRESSED`.
    """
    document = _decompressed(data)
    try:
        head = msgspec.msgpack.decode(document, type=_Head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SealedError(f"expected what `{kind.writer}` wrote: {_on_one_line(error)}") from error
    if head.name != kind.name:
        raise SealedError(f"it says it is {head.name[:40]!r}, expected {kind.name!r}")
    if head.version != kind.version:
        raise SealedError(f"its format has version {head.version}, expected {kind.version}")
    try:
        sealed = msgspec.msgpack.decode(document, type=Sealed)
        found, told = digest(sealed.body).hex(), sealed.checksum.hex()
        if found != told:
            raise SealedError(f"its checksum is {told[:16]}, expected {found[:16]}: the file is damaged")
        return msgspec.msgpack.decode(sealed.body, type=content), told
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SealedError(f"reading it: {_on_one_line(error)}") from error


def _on_one_line(error: Exception) -> str:
    """Return an error's text, which may quote an untrusted file, printable and bounded."""
    return "".join(sign if sign.isprintable() else " " for sign in str(error)[:200])


def digest(body: bytes) -> bytes:
    """Return the checksum of a document's body."""
    return blake2b(body, digest_size=_DIGEST).digest()


def _decompressed(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise SealedError(f"it has more than {MOST_BYTES} bytes, expected at most so many")
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with decompressor.stream_reader(io.BytesIO(data)) as reader:
            document = reader.read(MOST_DECOMPRESSED + 1)
    except zstandard.ZstdError as error:
        raise SealedError(f"decompressing it: {error}; expected Zstandard") from error
    if len(document) > MOST_DECOMPRESSED:
        raise SealedError(f"it decompresses to more than {MOST_DECOMPRESSED} bytes, expected at most so many")
    return document
