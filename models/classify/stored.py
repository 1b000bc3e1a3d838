"""A trained classifier as the bytes of a file: one MessagePack document under Zstandard, with a checksum.

Numbers and words only: reading a file runs nothing that it holds. ``checksum`` is the BLAKE2b digest of
``body``, a MessagePack map of the counts and the hold-out figures.
"""

import io
from hashlib import blake2b

import msgspec
import zstandard

from models.categories import expand
from models.classify.classifier import Classifier
from models.classify.holdout import Holdout
from models.words import MAX_LENGTH

#: What a file says it is, and the version of its format.
NAME, VERSION = "scentline classifier", 1
#: Bounds of a file, of what it decompresses to, of categories, words and counts.
MOST_BYTES = 64_000_000
MOST_DECOMPRESSED = 256_000_000
MOST_CATEGORIES = 1_000
MOST_WORDS = 2_000_000
MOST_EXAMPLES = 1_000_000_000

_DIGEST = 32
_WINDOW = 1 << 27


class ClassifierError(ValueError):
    """Bytes that are no classifier; the text says what is wrong with them."""


class Trained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The counts of a classifier, as `Classifier.from_counts` takes them, and its hold-out figures."""

    categories: dict[str, int]
    counts: dict[str, dict[str, int]]
    holdout: Holdout


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document: ``checksum`` is that of ``body``, a `Trained`."""

    name: str
    version: int
    made_by: str
    checksum: bytes
    body: bytes


class _Head(msgspec.Struct, frozen=True):
    name: str
    version: int


def pack(classifier: Classifier, holdout: Holdout, made_by: str) -> bytes:
    """Return the bytes of a classifier."""
    body = msgspec.msgpack.encode(Trained(classifier.categories, classifier.counts(), holdout))
    stored = Stored(NAME, VERSION, made_by, _digest(body), body)
    return zstandard.ZstdCompressor(level=9).compress(msgspec.msgpack.encode(stored))


def unpack(data: bytes) -> tuple[Classifier, Holdout]:
    """Return what `pack` was given; raises `ClassifierError` for other bytes, before much memory is taken."""
    document = _decompressed(data)
    try:
        head = msgspec.msgpack.decode(document, type=_Head)
        if (head.name, head.version) != (NAME, VERSION):
            raise ClassifierError(
                f"it says it is {head.name[:40]!r}, version {head.version}; expected {NAME!r}, {VERSION}"
            )
        stored = msgspec.msgpack.decode(document, type=Stored)
        if _digest(stored.body) != stored.checksum:
            raise ClassifierError("its checksum does not fit what it holds: the file is damaged")
        trained = msgspec.msgpack.decode(stored.body, type=Trained)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ClassifierError(f"expected what `scentline classifier train` wrote: {error}") from error
    _check(trained)
    return Classifier.from_counts(trained.categories, trained.counts), trained.holdout


def _check(trained: Trained) -> None:
    if not 0 < len(trained.categories) <= MOST_CATEGORIES:
        raise ClassifierError(f"{len(trained.categories)} categories, expected 1 to {MOST_CATEGORIES}")
    if len(trained.counts) > MOST_WORDS:
        raise ClassifierError(f"{len(trained.counts)} words, expected at most {MOST_WORDS}")
    for category, examples in trained.categories.items():
        try:
            expand(category)
        except ValueError as error:
            raise ClassifierError(str(error)) from error
        _check_count(f"category {category!r}", examples, MOST_EXAMPLES)
    for word, cells in trained.counts.items():
        if not 0 < len(word) <= MAX_LENGTH:
            raise ClassifierError(f"a word of {len(word)} characters, expected 1 to {MAX_LENGTH}")
        for category, count in cells.items():
            if category not in trained.categories:
                raise ClassifierError(f"word {word!r}: there is no category {category[:80]!r}")
            _check_count(f"word {word!r}", count, trained.categories[category])


def _check_count(what: str, count: int, most: int) -> None:
    if not 0 < count <= most:
        raise ClassifierError(f"{what}: {count} examples, expected 1 to {most}")


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST).digest()


def _decompressed(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise ClassifierError(f"it has more than {MOST_BYTES} bytes, expected at most so many")
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with decompressor.stream_reader(io.BytesIO(data)) as reader:
            document = reader.read(MOST_DECOMPRESSED + 1)
    except zstandard.ZstdError as error:
        raise ClassifierError(f"decompressing it: {error}; expected Zstandard") from error
    if len(document) > MOST_DECOMPRESSED:
        raise ClassifierError(
            f"it decompresses to more than {MOST_DECOMPRESSED} bytes, expected at most so many"
        )
    return document
