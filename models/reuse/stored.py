"""What was learned, as the bytes of a file: one MessagePack document under Zstandard, with a checksum.

The document is a map: ``name`` says what it is, ``version`` is the format's, ``made_by`` the program's that
wrote it, ``checksum`` the BLAKE2b digest of ``body``, and ``body`` a MessagePack map of the policy and of what
was learned of each predicate.
"""

import io
from collections.abc import Sequence
from hashlib import blake2b

import msgspec
import zstandard

from models.reuse.checks import LearnedStateError, check
from models.reuse.learned import Learned

#: What a file says it is, and the version of its format.
NAME, VERSION = "scentline state", 1
#: Bounds of a file, and of what it holds when it is decompressed.
MOST_BYTES = 64_000_000
MOST_DECOMPRESSED = 256_000_000

_DIGEST = 32
_LEVEL = 9
_WINDOW = 1 << 27


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a crawl with ``policy`` has learned of its predicates."""

    policy: str
    learned: Sequence[Learned]


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document: ``checksum``, which identifies it too, is that of ``body``, a `State`."""

    name: str
    version: int
    made_by: str
    checksum: bytes
    body: bytes


class _Head(msgspec.Struct, frozen=True):
    name: str
    version: int


def pack(state: State, made_by: str) -> bytes:
    """Return the bytes of a state."""
    body = msgspec.msgpack.encode(state)
    stored = Stored(NAME, VERSION, made_by, digest(body), body)
    return zstandard.ZstdCompressor(level=_LEVEL).compress(msgspec.msgpack.encode(stored))


def unpack(data: bytes) -> tuple[State, str]:
    """Return the state of bytes that `pack` returned, and its checksum in hexadecimal digits.

    Raises `LearnedStateError` for any others, before memory is taken for more than `MOST_DECOMPRESSED`.
    """
    document = _decompressed(data)
    try:
        head = msgspec.msgpack.decode(document, type=_Head)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LearnedStateError(f"expected what `scentline state export` wrote: {error}") from error
    if head.name != NAME:
        raise LearnedStateError(f"it says it is {head.name[:40]!r}, expected {NAME!r}")
    if head.version != VERSION:
        raise LearnedStateError(f"its format has version {head.version}, expected {VERSION}")
    try:
        stored = msgspec.msgpack.decode(document, type=Stored)
        if digest(stored.body) != stored.checksum:
            raise LearnedStateError(
                f"its checksum is {stored.checksum.hex()[:16]}, expected {digest(stored.body).hex()[:16]}: "
                "the file is damaged"
            )
        state = msgspec.msgpack.decode(stored.body, type=State)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LearnedStateError(f"reading it: {error}") from error
    check(state.learned)
    return state, stored.checksum.hex()


def digest(body: bytes) -> bytes:
    """Return the checksum of a document's body."""
    return blake2b(body, digest_size=_DIGEST).digest()


def _decompressed(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise LearnedStateError(f"it has more than {MOST_BYTES} bytes, expected at most so many")
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with decompressor.stream_reader(io.BytesIO(data)) as reader:
            document = reader.read(MOST_DECOMPRESSED + 1)
    except zstandard.ZstdError as error:
        raise LearnedStateError(f"decompressing it: {error}; expected Zstandard") from error
    if len(document) > MOST_DECOMPRESSED:
        raise LearnedStateError(
            f"it decompresses to more than {MOST_DECOMPRESSED} bytes, expected at most so many"
        )
    return document
